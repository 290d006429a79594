"""Inspecting prepared data for their owner: when they were written, by which rules, and whether they are intact."""

from __future__ import annotations

from collections.abc import Iterator

from dpselect.engines.duckdb.workspace import Workspace
from dpselect.engines.prepared.file import PreparedFile, format_columns
from dpselect.errors import DataError


def prepared_findings(path: str) -> Iterator[str]:
    """Yield the findings on prepared data, one sentence each: when they were written, and whether they are intact."""
    workspace = Workspace()
    try:
        opened = PreparedFile.open(workspace, path)
        state, rules = opened.state, opened.state.rules
        yield f"{path}: written {state.made} by dpselect {state.version}; parts of rows: {len(state.sources):,}"
        rule_texts = [f"user {format_columns(rules.user)}", f"item {format_columns(rules.item)}"]
        rule_texts += [f"kept {', '.join(rules.keep)}"] if rules.keep else []
        rule_texts += [f"weights {', '.join(rules.weight)}"] if rules.weight else []
        rule_texts += [f"the {rules.period} of {rules.time} in {rules.timezone}"] if rules.time else []
        if rules.max_rows_per_user is not None:
            per_period = f" in a {rules.period}" if rules.period else ""
            rule_texts.append(f"at most {rules.max_rows_per_user:,} rows of a user{per_period}")
        yield f"{path}: {'; '.join(rule_texts)}"
        try:
            for name in opened.tables:
                workspace.fetch(f"SELECT bit_xor(hash(t)) FROM {opened.table(name)} AS t")
            yield f"{path}: intact"
        except DataError:
            yield f"{path}: FAILS: it is damaged; prepare the source again, or use a copy"
    finally:
        workspace.close()
