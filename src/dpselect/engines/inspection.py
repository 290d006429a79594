"""Inspection: what the owner of data should know before anybody asks. Everything is read, and nothing is private."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dpselect._ground.keys import key_of
from dpselect._ground.parameters import flag
from dpselect._ground.periods import settled
from dpselect.engines.duckdb.engine import DuckDBEngine
from dpselect.engines.duckdb.inspect import file_findings
from dpselect.engines.registry import Engine, open_engine
from dpselect.engines.sources.files import find, prepared_folder
from dpselect.errors import DataError, ParameterError

WARNING = "NOT PRIVATE: this reads every row, and what it says is for the owner of the data only"


@dataclass(frozen=True)
class Inspection:
    """What was found, one sentence each; as text it begins with the warning that it is not private."""

    findings: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join([WARNING, *self.findings])


def inspect(
    source: object,
    *,
    user: str | Sequence[str] | None = None,
    item: str | Sequence[str] | None = None,
    where: str | None = None,
    table: str | None = None,
    newlines_in_values: bool = False,
    time: str | None = None,
    period: str | None = None,
    during: str | Sequence[str] | None = None,
    timezone: str = "UTC",
) -> Inspection:
    """Read all of a source and say what would be left out, what would make a question fail, and what is in it.

    This is for the owner of the data: it has no privacy and costs no budget. Of files it says which lines are left out,
    and why, and which columns cannot be read. With `user` and `item` it says how many rows have none, how many users
    and items there are, and how many items a user has. With `time`, `period` and `during` it says
    how many rows are in none of those periods, and a user is one user in one of them. Prepared data name their own
    columns, and of all their files it says whether they are as they were written.
    """
    flag("newlines_in_values", newlines_in_values)
    periods = settled(time, period, during, timezone)
    for given, other, name in ((user, item, "item"), (item, user, "user")):
        if given is not None and other is None:
            raise ParameterError(name, "be given too, where one of user and item is", "nothing")
    for given, name in ((where, "where"), (time, "time")):
        if given is not None and user is None:
            raise ParameterError("user", f"be given with {name}", "nothing")
    folder = prepared_folder(source)
    if folder is not None and user is None:
        from dpselect.engines.prepared.reading import current

        rules = current(folder).rules
        user, item = rules.user, rules.item
    found = [*_files(source, newlines_in_values)]
    if user is not None and item is not None:
        engine = open_engine(
            source,
            user=key_of("user", user),
            item=key_of("item", item),
            where=where,
            table=table,
            newlines_in_values=newlines_in_values,
            periods=periods,
            key=b"",
        )
        with engine:
            found += _rows(engine)
    elif not found:
        raise ParameterError("user", "be given with item for a source that is no file", "nothing")
    return Inspection(tuple(found))


def _files(source: object, newlines_in_values: bool) -> Iterator[str]:
    """Nothing where the source is no file, or where its lines are no records."""
    if isinstance(source, (str, os.PathLike, list, tuple)) and "://" not in str(source):
        files = find(source)
        if newlines_in_values and files.kind in ("csv", "tsv"):
            yield "the lines are not looked at one by one: newlines_in_values says that records run over them"
        elif files.kind == "prepared":
            from dpselect.engines.prepared.findings import findings

            yield from findings(files.paths[0])
        elif files.kind != "duckdb":
            yield from file_findings(files)


def _rows(engine: Engine) -> Iterator[str]:
    if not isinstance(engine, DuckDBEngine):
        raise ParameterError("source", "be files, a frame, or a table of DuckDB", "a database", "ask it in its own SQL")
    try:
        yield from engine.findings()
    except DataError as error:
        yield f"FAILS: a question with these columns is refused: {error}"
