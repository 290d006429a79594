"""Preparation: rows put in order once, so that many questions about them are answered quickly (docs/prepared.md)."""

from __future__ import annotations

import datetime
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, fields, replace
from importlib.metadata import version
from typing import Any

from dpselect._ground.keys import key_columns, parse_key
from dpselect._ground.parameters import Progress, check_callable, flag
from dpselect.draws import fresh_key
from dpselect.engines.address import Address, SourceKind
from dpselect.engines.duckdb.database import counted_column
from dpselect.engines.duckdb.scans import Scan, missing_column
from dpselect.engines.duckdb.sources import open_scan
from dpselect.engines.duckdb.types import OBJECT, item_form, kind
from dpselect.engines.duckdb.workspace import Workspace, literal
from dpselect.engines.identity import source_of
from dpselect.engines.memory import size_of
from dpselect.engines.prepared.file import PreparedFile, State, read_state, write_draft
from dpselect.engines.prepared.preparing import Preparing, stored_type
from dpselect.engines.prepared.rules import Rules, format_columns
from dpselect.engines.sources.csv_form import USUAL_CSV, CsvForm
from dpselect.engines.sources.files import ENDING, find_files, prepared_path
from dpselect.engines.sources.scans.columns import RequestedColumns
from dpselect.engines.sources.scans.declarations import Types, parse_type
from dpselect.engines.sources.tables import is_lake
from dpselect.engines.sql.totals import refuse_non_numbers
from dpselect.errors import DataError, ParameterError, came

MANY = 1000
"""Distinct values of a kept column, above which it is worth a word."""
_SHARES = (0.2, 0.3, 0.1, 0.3, 0.1)  # of the time that each step takes, about


@dataclass(frozen=True)
class Prepared:
    """What was prepared. Its numbers are not private: they are for the owner of the data."""

    file: str
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
            f"{did.format(self.rows)} {self.users:,} users and {self.items:,} items in {self.file} ({size})",
            "the file is as sensitive as the rows themselves; only your user may open it",
        ]
        for name, number in self.values.items():
            if number > MANY:
                fewer = "fewer values, such as days instead of times, make the file smaller and faster"
                lines.append(f"{name} has {number:,} values: {fewer}")
        return "\n".join(lines)


def prepare(
    source: object,
    rules: Rules,
    to: object,
    *,
    add: bool = False,
    table: str | None = None,
    csv: CsvForm = USUAL_CSV,
    types: Types | None = None,
    memory: str | None = None,
    progress: Progress | None = None,
) -> Prepared:
    """Put some columns of a source in order once, in the file `to`: `Dataset.prepare` says what each parameter is.

    The rules are without types, which are those of the source.
    """
    flag("add", add)
    check_callable("progress", progress)
    path, address = path_of(to), Address.parse(source, table, csv=csv)
    if add and prepared_path(path) is None:
        raise ParameterError("to", "be a file of prepared data, to add to it", came(path), "leave out add= to make it")
    most = None if memory is None else size_of("memory", memory)
    if address.kind is SourceKind.SPARK:
        hint = "save the rows as Parquet files and prepare these"
        raise ParameterError("source", "be files, a frame or a table in DuckDB", "one of Spark", hint)
    if add:
        types = _declared(read_state(path).rules, types or {})
    workspace = Workspace()
    try:
        if most is not None:
            workspace.fetch(f"SET memory_limit = '{most} B'")
        workspace.fetch("SET preserve_insertion_order = false")
        if add:
            _refuse_missing(open_scan(workspace, address), read_state(path).rules)
        scan = open_scan(workspace, address.with_types(types or {}))
        if scan.state is not None:
            hint = "use the source that they were prepared from"
            raise ParameterError("source", "be a source of rows", "prepared data", hint)
        with write_draft(path, add=add) as made:
            before = read_state(made) if add else None
            rules = _typed(workspace, scan, rules if before is None else _told(before.rules, rules))
            if before is not None:
                _refuse_other_types(rules, before.rules)
            state = State(
                name=fresh_key().hex(),
                made=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
                version=version("dpselect"),
                sources=_sources(address, before),
                rules=replace(rules, types={name: _kept(one) for name, one in rules.types.items()}),
            )
            work = Preparing(workspace, rules, add)
            rows, values = _written(work, scan, state.text(), made, progress)
    finally:
        workspace.close()
    users, items, size = values.pop("users"), values.pop("named"), os.path.getsize(path)
    return Prepared(path, rows=rows, users=users, items=items, bytes=size, values=values, added=add)


def _written(
    work: Preparing, scan: Scan, text: str, made: str, progress: Progress | None
) -> tuple[int, dict[str, int]]:
    """All steps, guarded, each with its share of the progress; how many rows were read, and values are there."""
    furthest = 0.0

    def step(place: int, run: Callable[[], Any]) -> Any:
        def tell(part: float | None) -> None:
            nonlocal furthest
            if progress is not None:
                furthest = max(furthest, sum(_SHARES[:place]) + _SHARES[place] * (part or 0))  # each statement is anew
                progress(furthest)

        return work.workspace.guarded(run, progress=tell)

    rows = step(0, lambda: work.stage(scan))
    with _used(work.workspace, made):
        step(1, lambda: work.encode(rows))
        step(2, work.bound_rows)
        step(3, work.count_users)
        return rows, step(4, lambda: work.write(text))


@contextmanager
def _used(workspace: Workspace, path: str) -> Iterator[None]:
    """A database that is written; when the block ends well, all of it is in its file."""
    name, before = workspace.fresh_name(), workspace.fetch("SELECT current_database()")[0][0]
    workspace.fetch(f"ATTACH {literal(path)} AS {name} (TYPE duckdb)")
    workspace.fetch(f"USE {name}")
    yield
    workspace.fetch(f"USE {before}")
    workspace.fetch(f"CHECKPOINT {name}")
    workspace.fetch(f"DETACH {name}")


def path_of(to: object) -> str:
    """The path of a file of prepared data on this machine."""
    path = os.path.expanduser(os.fsdecode(to)) if isinstance(to, (str, os.PathLike)) else ""
    if not path.lower().endswith(ENDING) or ":/" in path or "\0" in path:
        raise ParameterError("to", f"be the path of a file on this machine that ends in {ENDING}", came(path or to))
    return path


def rules_of(user: object, item: object, keep: object, weight: object, **more: Any) -> Rules:
    """Rules of what a caller says of columns: each has one part to play, but for a time that is kept whole."""
    given: dict[str, Any] = {"user": key_columns(parse_key("user", user)), "item": key_columns(parse_key("item", item))}
    given |= {"keep": _columns("keep", keep), "weight": _columns("weight", weight)}
    seen: dict[str, str] = {}
    for parameter, columns in given.items():
        for name in columns:
            if name.lower() in seen:
                other = seen[name.lower()]
                must = "name each column once" if other == parameter else f"be columns other than {other}"
                raise ParameterError(parameter, must, came(name))
            seen[name.lower()] = parameter
    time = more.get("time")
    role = None if time is None else seen.get(time.lower())
    if role is not None and not (role == "keep" and time in given["keep"]):
        raise ParameterError("time", f"be another column than {role}", came(time))
    return Rules(**given, **more)


def _columns(parameter: str, given: object) -> tuple[str, ...]:
    """Columns that are named, as many as there are, or none; a text is one."""
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, (list, tuple)):
        raise ParameterError(parameter, "be the name of a column, or a list of several", came(given))
    return tuple(name for one in listed for name in key_columns(parse_key(parameter, [one])))


def _columns_of(rules: Rules) -> list[tuple[str, str]]:
    """The columns whose values are kept, each with the parameter that names it."""
    return [(parameter, name) for parameter in ("user", "item", "keep", "weight") for name in getattr(rules, parameter)]


def _refuse_missing(scan: Scan, rules: Rules) -> None:
    """Refuse a source without a column of the rules."""
    named = [*_columns_of(rules), *([] if rules.time is None else [("time", rules.time)])]
    scan.refuse(RequestedColumns(None, named))
    for parameter, name in named:
        if scan.names and name not in scan.names:
            raise missing_column(parameter, name, scan)


def _typed(workspace: Workspace, scan: Scan, rules: Rules) -> Rules:
    """The rules with the types of the source, which has all columns, each of a type that can be kept as it is."""
    _refuse_missing(scan, rules)
    asked = _columns_of(rules)
    schema = scan.schema(workspace, rules.names)
    types = {name: one.type for name, one in schema.items()}
    for parameter, name in asked:
        try:
            item_form(name, types[name])
        except DataError as error:
            must, got = "be columns whose values can be distinguished", f"{name!r} of type {kind(types[name])}"
            raise ParameterError(parameter, must, got, error.hint) from None
    for name in rules.weight:
        refuse_non_numbers(counted_column(schema[name]), name)
    if rules.time is not None and (text := counted_column(schema[rules.time]).undeclared) is not None:
        text.refuse("times")
    declared = {name: one.text for name, one in scan.declared.items() if name in rules.names}
    found = replace(rules, types=types, declared=declared)
    if rules.time is not None:
        found.row_periods()
    return found


def _kept(sql_type: str) -> str:
    return OBJECT if sql_type == OBJECT else stored_type(sql_type)


def _declared(before: Rules, given: Types) -> Types:
    """The types of the data to which rows are added; what a caller declares of them must be the same."""
    for name, one in given.items():
        if before.declared.get(name) != one.text:
            must = f"be left out if rows are added, or declare {name!r} as before"
            raise ParameterError("types", must, one.text)
    return {name: parse_type(name, text) for name, text in before.declared.items()}


def _told(before: Rules, rules: Rules) -> Rules:
    """The rules of the data to which rows are added; what a caller says of them must be the same."""
    for one in fields(Rules):
        given, was = getattr(rules, one.name), getattr(before, one.name)
        if one.name not in ("types", "declared") and given not in (one.default, was):
            must = "be left out if rows are added" + (f", or be {format_columns(was)} as before" if was else "")
            raise ParameterError(one.name, must, came(format_columns(given)))
    return before


def _refuse_other_types(rules: Rules, before: Rules) -> None:
    for name in rules.stored:
        was, now = before.types[name], _kept(rules.types[name])
        if was != now:
            must = f"have {name} as {was}, as before"
            raise ParameterError("source", must, f"a column of type {now}", "cast it in the source")


def _sources(address: Address, before: State | None) -> tuple[Any, ...]:
    """What rows were read from, by the contents of files. A table in memory is not known again."""
    found, pinned = source_of(address, named=True)
    digests = [(path, _digest(path, address.table)) for path in _files(address.source)] if pinned else []
    known = {digest for one in ([] if before is None else before.sources) for digest in one["digests"]}
    for path, digest in digests:
        if digest in known:
            got = f"{os.path.basename(path)}, whose contents were added before or are listed twice"
            raise ParameterError("source", "be files that are not in these data yet", got)
        known.add(digest)
    one = {"source": found, "table": address.table, "digests": [digest for _, digest in digests]}
    return (*([] if before is None else before.sources), one)


def _files(source: object) -> Sequence[str]:
    """Return the files that hold the rows of a source."""
    if not is_lake(source):
        return find_files(source).paths
    from dpselect.engines.sources.lake import files_of

    return files_of(source)


def _digest(path: str, table: str | None) -> str:
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    digest.update(b"" if table is None else b"\0" + table.encode())
    return digest.hexdigest()


def findings(path: str) -> Iterator[str]:
    """What was prepared and when, and whether every block of it is as it was written, one sentence each."""
    workspace = Workspace()
    try:
        opened = PreparedFile.open(workspace, path)
        state, rules = opened.state, opened.state.rules
        yield f"{path}: written {state.made} by dpselect {state.version}; parts of rows: {len(state.sources):,}"
        named = [f"user {format_columns(rules.user)}", f"item {format_columns(rules.item)}"]
        named += [f"kept {', '.join(rules.keep)}"] if rules.keep else []
        named += [f"weights {', '.join(rules.weight)}"] if rules.weight else []
        named += [f"the {rules.period} of {rules.time} in {rules.timezone}"] if rules.time else []
        if rules.max_rows_per_user is not None:
            where = f" in a {rules.period}" if rules.period else ""
            named.append(f"at most {rules.max_rows_per_user:,} rows of a user{where}")
        yield f"{path}: {'; '.join(named)}"
        try:
            for name in opened.tables:
                workspace.fetch(f"SELECT bit_xor(hash(t)) FROM {opened.table(name)} AS t")
            yield f"{path}: intact"
        except DataError:
            yield f"{path}: FAILS: it is damaged; prepare the source again, or use a copy"
    finally:
        workspace.close()
