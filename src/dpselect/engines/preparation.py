"""Preparation: rows put in order once, so that many questions about them are answered quickly (docs/prepared.md)."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dpselect._ground.keys import key_of, names
from dpselect._ground.parameters import Progress, called, flag, one_of, whole
from dpselect._ground.periods import SORTS, UTC, Periods, zone_of
from dpselect.draws import fresh_key
from dpselect.engines.duckdb.dialect import counted_type
from dpselect.engines.duckdb.preparing.preparation import Written, written
from dpselect.engines.duckdb.preparing.work import kept_types, refuse_types
from dpselect.engines.duckdb.scans import Scan, missing_column
from dpselect.engines.duckdb.sources import open_scan
from dpselect.engines.duckdb.times import row_time
from dpselect.engines.duckdb.types import kind
from dpselect.engines.duckdb.workspace import Workspace
from dpselect.engines.identity import source_of
from dpselect.engines.memory import size_of
from dpselect.engines.prepared.reading import Reading
from dpselect.engines.prepared.rules import Rules
from dpselect.engines.prepared.state import DICTIONARIES, PreparedState
from dpselect.engines.prepared.writing import Writing, ready
from dpselect.engines.sources.files import is_prepared
from dpselect.engines.sources.wrapped import native
from dpselect.engines.spark.source import is_spark
from dpselect.engines.sql.totals import refuse_no_numbers
from dpselect.errors import DataError, ParameterError, came

MANY = 1000
"""Distinct values of a kept column, above which it is worth a word."""

_ADDRESS = re.compile(r"[A-Za-z][\w+.-]+:/")  # also one that was a Path, which drops the second stroke

Given = str | Sequence[str]


@dataclass(frozen=True)
class Prepared:
    """What was prepared. Its numbers are not private: they are for the owner of the data."""

    folder: str
    _: KW_ONLY
    rows: int
    users: int
    items: int
    bytes: int
    values: dict[str, int]
    added: bool

    def __str__(self) -> str:
        size = f"{self.bytes / 2**20:,.1f} MiB" if self.bytes >= 2**20 else f"{self.bytes / 2**10:,.0f} KiB"
        did = "added {:,} rows: there are" if self.added else "prepared {:,} rows:"
        lines = [
            f"{did.format(self.rows)} {self.users:,} users and {self.items:,} items in {self.folder} ({size})",
            "the folder is as private as the rows themselves; only your own user may open its files",
        ]
        for name, number in self.values.items():
            if number > MANY:
                lines.append(
                    f"{name} has {number:,} values: fewer, such as days for moments, make it smaller and quicker"
                )
        return "\n".join(lines)


def prepare(
    source: object,
    *,
    to: str | os.PathLike[str],
    user: Given | None = None,
    item: Given | None = None,
    keep: Given = (),
    weight: Given = (),
    time: str | None = None,
    period: str | None = None,
    timezone: str = UTC,
    max_rows_per_user: int | None = None,
    add: bool = False,
    table: str | None = None,
    newlines_in_values: bool = False,
    memory: str | None = None,
    progress: Progress | None = None,
) -> Prepared:
    """Put some columns of a source in order once, in the folder `to`: `Dataset.prepare` says what each parameter is.

    `user` and `item` may be left out where rows are added, by the rules that were given when the folder was made.
    """
    flag("add", add)
    flag("newlines_in_values", newlines_in_values)
    called("progress", progress)
    folder = _folder(to)
    most = None if memory is None else size_of("memory", memory)
    given = _given(user, item, keep, weight, time, period, timezone, max_rows_per_user)
    if add and not is_prepared(folder):
        raise ParameterError(
            "to", "be a folder of prepared data, to add to it", came(folder), "leave out add= to make it"
        )
    if not add and (user is None or item is None):
        name = "user" if user is None else "item"
        raise ParameterError(name, "be the name of a column", "nothing")
    source = native(source)
    if is_spark(source):
        hint = "save the rows as Parquet files and prepare these"
        raise ParameterError("source", "be files, a frame or a table in DuckDB", "one of Spark", hint)
    workspace = Workspace()
    try:
        if most is not None:
            workspace.fetch(f"SET memory_limit = '{most} B'")
        workspace.fetch("SET preserve_insertion_order = false")
        scan = open_scan(workspace, source, table, newlines_in_values=newlines_in_values)
        if scan.state is not None:
            hint = "give the source that they were prepared from"
            raise ParameterError("source", "be rows as they come", "prepared data", hint)
        before, rules = None, None if add else _rules(workspace, scan, given)  # refused before a folder is made
        ready(folder)
        writing = Writing(folder)
        workspace.closes(writing.close)
        if rules is None:
            before = Reading(folder)
            workspace.closes(before.close)
            rules = _of_before(workspace, scan, before.state.rules, given)
        made_from = _made_from(source, table, before)
        found = written(workspace, scan, rules, writing, before, progress)
        state = _state(rules, found, (*(() if before is None else before.state.sources), made_from))
        writing.replace(state)
    finally:
        workspace.close()
    return Prepared(
        folder,
        rows=found.rows,
        users=found.values.pop("users"),
        items=found.values.pop("items"),
        bytes=sum(part.size for part in state.parts),
        values=found.values,
        added=add,
    )


def _folder(to: object) -> str:
    """The path of a folder on this machine."""
    folder = os.path.expanduser(os.fsdecode(to)) if isinstance(to, (str, os.PathLike)) else ""
    if not folder.strip() or _ADDRESS.match(folder) or "\0" in folder:
        raise ParameterError("to", "be the path of a folder on this machine", came(folder or to))
    return folder


def _columns(parameter: str, given: object) -> tuple[str, ...]:
    """Columns that are named, as many as there are, or none; a text is one."""
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, (list, tuple)):
        raise ParameterError(parameter, "be the name of a column, or a list of several", came(given))
    return tuple(name for one in listed for name in names(key_of(parameter, [one])))


def _given(
    user: object,
    item: object,
    keep: object,
    weight: object,
    time: object,
    period: object,
    timezone: object,
    max_rows_per_user: int | None,
) -> dict[str, Any]:
    """What the caller says of columns, checked: each has one part to play, but for a time that is kept whole."""
    found: dict[str, Any] = {
        "user": None if user is None else names(key_of("user", user)),
        "item": None if item is None else names(key_of("item", item)),
        "keep": _columns("keep", keep),
        "weight": _columns("weight", weight),
        "time": None if time is None else names(key_of("time", time))[0],
        "period": None,
        "timezone": zone_of(timezone),
        "max_rows_per_user": None
        if max_rows_per_user is None
        else whole("max_rows_per_user", max_rows_per_user, least=1),
    }
    if (time is None) != (period is None):
        name, other = ("period", "time") if period is None else ("time", "period")
        raise ParameterError(name, f"be given with {other}", "nothing")
    if period is not None:
        found["period"] = one_of("period", period, SORTS)
    elif timezone != UTC:
        raise ParameterError("timezone", "be given with time and period", came(timezone))
    seen: dict[str, str] = {}
    for parameter in ("user", "item", "keep", "weight"):
        for name in found[parameter] or ():
            if name.lower() in seen:
                other = seen[name.lower()]
                must = "name each column once" if other == parameter else f"be other columns than {other}"
                raise ParameterError(parameter, must, came(name))
            seen[name.lower()] = parameter
    if found["time"] is not None and seen.get(found["time"].lower(), "keep") != "keep":
        raise ParameterError("time", f"be another column than {seen[found['time'].lower()]}", came(found["time"]))
    return found


def _rules(workspace: Workspace, scan: Scan, given: dict[str, Any]) -> Rules:
    """The rules of new data, of columns that the source has, each of a type that can be kept as it is."""
    asked = [(parameter, name) for parameter in ("user", "item", "keep", "weight") for name in given[parameter]]
    asked += [] if given["time"] is None else [("time", given["time"])]
    for parameter, name in asked:
        if scan.names and name not in scan.names:
            raise missing_column(parameter, name, scan)
    types = dict(scan.types(workspace, list(dict.fromkeys(name for _, name in asked))))
    kept = {name for parameter, name in asked if parameter != "time"}
    for parameter, name in asked:
        if name in kept:
            _refuse_type(parameter, name, types[name])
    for name in given["weight"]:
        refuse_no_numbers(counted_type(types[name], untyped=scan.untyped))
    rules = Rules(**given, types=types, untyped=scan.untyped)
    if rules.time is not None and rules.period is not None:
        row_time(Periods(rules.time, rules.period, rules.timezone, ()), types)
    return replace(rules, types=kept_types(types))


def _said(value: object) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _refuse_type(parameter: str, name: str, sql_type: str) -> None:
    """Refuse a column whose values cannot be kept as they are."""
    try:
        refuse_types({name: sql_type}, [name])
    except DataError as error:
        must = "be columns whose values can be told apart"
        raise ParameterError(parameter, must, f"{name!r} of type {kind(sql_type)}", error.hint) from None


def _of_before(workspace: Workspace, scan: Scan, before: Rules, given: dict[str, Any]) -> Rules:
    """The rules of the data to which rows are added. What is said of them must be the same, and so must the types."""
    for name, value in given.items():
        given_too = value not in (None, ()) and not (name == "timezone" and value == UTC)
        was = getattr(before, name)
        if given_too and value != was:
            must = "be left out where rows are added" + (f", or be {_said(was)} as before" if was else "")
            raise ParameterError(name, must, came(_said(value)))
    same = {name: getattr(before, name) for name in given}
    rules = _rules(workspace, scan, same)
    if rules.untyped != before.untyped:
        must = "have columns with types, as before" if rules.untyped else "be text files, as before"
        raise ParameterError("source", must, "another kind of source")
    for name, one in rules.types.items():
        if one != before.types[name]:
            must = f"have {name} as {before.types[name]}, as before"
            raise ParameterError("source", must, f"a column of type {one}", "cast it in the source")
    return before


def _made_from(source: object, table: str | None, before: Reading | None) -> dict[str, Any]:
    """What rows were read from, as a ledger would know it again; a file that was read before is refused.

    It is the same one by its path or its place on the disk, and by when it was written. A table in memory is not known
    again.
    """
    found, pinned = source_of(source, named=True)
    if pinned and before is not None:
        old = [one["source"] for one in before.state.sources if one["pinned"] and one["table"] == table]
        known = {mark for stamps in old for stamp in stamps for mark in _marks(stamp)}
        twice = next((stamp for stamp in found if not known.isdisjoint(_marks(stamp))), None)
        if twice is not None:
            must = "be files that are not in these data yet"
            raise ParameterError("source", must, f"one that was added before, {Path(twice[0]).name}")
    return {"source": found, "table": table, "pinned": pinned}


def _marks(stamp: Sequence[Any]) -> set[tuple[Any, int]]:
    path, place, written, _changed = stamp[-4:]
    return {(path, written), (place, written)}


def _state(rules: Rules, found: Written, sources: tuple[Any, ...]) -> PreparedState:
    return PreparedState(
        name=fresh_key().hex(),
        made=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        version=version("dpselect"),
        sources=sources,
        rules=rules,
        **{name: found.files.get(name, ()) for name in DICTIONARIES},
        segments=found.segments,
    )
