"""Findings: what the owner of prepared data should know of the folder itself. Nothing of it is private."""

from __future__ import annotations

from collections.abc import Iterator

from dpselect.engines.prepared.reading import Reading
from dpselect.engines.prepared.rules import Rules, said
from dpselect.errors import DataError


def findings(folder: str) -> Iterator[str]:
    """What was prepared and when, and whether every byte of it is as it was written, one sentence each."""
    reading = Reading(folder)
    try:
        state = reading.state
        yield f"{folder}: written {state.made} by dpselect {state.version}; rows came in {len(state.sources):,} parts"
        yield f"{folder}: {_prepared(state.rules)}"
        try:
            reading.paths(state.parts)
            yield f"{folder}: {len(state.parts):,} files, all as they were written"
        except DataError as error:
            yield f"{folder}: FAILS: {error}"
    finally:
        reading.close()


def _prepared(rules: Rules) -> str:
    found = [f"user {said(rules.user)}", f"item {said(rules.item)}"]
    found += [f"kept {', '.join(rules.keep)}"] if rules.keep else []
    found += [f"weights {', '.join(rules.weight)}"] if rules.weight else []
    found += [f"the {rules.period} of {rules.time} in {rules.timezone}"] if rules.time else []
    if rules.max_rows_per_user is not None:
        where = f" in a {rules.period}" if rules.period else ""
        found.append(f"at most {rules.max_rows_per_user:,} rows of a user{where}")
    return "; ".join(found)
