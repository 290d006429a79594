"""Preparation: rows put in order once, so that many questions about them are answered quickly (docs/prepared.md)."""

from __future__ import annotations

import datetime
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, fields, replace
from importlib.metadata import version
from typing import Any

from dpselect._ground.dataclass import dataclass
from dpselect._ground.keys import key_columns, parse_key
from dpselect._ground.parameters import Progress, check_callable, flag
from dpselect.draws import fresh_key
from dpselect.engines.address import Address, SourceKind
from dpselect.engines.duckdb.database import counted_column
from dpselect.engines.duckdb.sources import open_scan
from dpselect.engines.duckdb.types import OBJECT, base_type, item_form
from dpselect.engines.duckdb.workspace import Workspace, literal
from dpselect.engines.identity import identify_source
from dpselect.engines.memory import parse_size
from dpselect.engines.prepared.file import Rules, State, format_columns, read_state, write_draft
from dpselect.engines.prepared.preparing import Preparing, stored_type
from dpselect.engines.sources.csv_form import USUAL_CSV, CsvForm
from dpselect.engines.sources.files import PREPARED_EXTENSION, find_files, prepared_path
from dpselect.engines.sources.scans.declarations import Types, parse_type
from dpselect.engines.sources.scans.scan import RequestedColumns, Scan
from dpselect.engines.sql.numbers import refuse_non_numbers
from dpselect.errors import DataError, ParameterError, came

MANY = 1000
"""Distinct values of a kept column, above which it is worth a word."""
_SHARES = (0.2, 0.3, 0.1, 0.3, 0.1)  # of the time that each step takes, about


@dataclass(frozen=True)
class Prepared:
    """A report on prepared data. Its numbers are not private: they are for the owner of the data."""

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
    max_bytes = None if memory is None else parse_size("memory", memory)
    if address.kind is SourceKind.SPARK:
        hint = "save the rows as Parquet files and prepare these"
        raise ParameterError("source", "be files, a frame or a table in DuckDB", "one of Spark", hint)
    if add:
        types = _previous_types(read_state(path).rules, types or {})
    workspace = Workspace()
    try:
        if max_bytes is not None:
            workspace.fetch(f"SET memory_limit = '{max_bytes} B'")
        workspace.fetch("SET preserve_insertion_order = false")
        if add:
            _refuse_missing(open_scan(workspace, address), read_state(path).rules)
        scan = open_scan(workspace, address.with_types(types or {}))
        if scan.state is not None:
            hint = "use the source that they were prepared from"
            raise ParameterError("source", "be a source of rows", "prepared data", hint)
        with write_draft(path, add=add) as draft:
            previous = read_state(draft) if add else None
            rules = _with_types(workspace, scan, rules if previous is None else _previous_rules(previous.rules, rules))
            if previous is not None:
                _refuse_other_types(rules, previous.rules)
            state = State(
                name=fresh_key().hex(),
                made=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
                version=version("dpselect"),
                sources=_sources(address, previous),
                rules=replace(rules, types={name: _kept_type(sql_type) for name, sql_type in rules.types.items()}),
            )
            work = Preparing(workspace, rules, add)
            rows, values = _run_steps(work, scan, state.text(), draft, progress)
    finally:
        workspace.close()
    users, items, size = values.pop("users"), values.pop("named"), os.path.getsize(path)
    return Prepared(path, rows=rows, users=users, items=items, bytes=size, values=values, added=add)


def _run_steps(
    work: Preparing, scan: Scan, text: str, draft: str, progress: Progress | None
) -> tuple[int, dict[str, int]]:
    """Run all steps, each with its share of the progress; return the number of rows read, and those of values."""
    furthest = 0.0

    def step(index: int, run: Callable[[], Any]) -> Any:
        def tell(part: float | None) -> None:
            nonlocal furthest
            if progress is not None:
                furthest = max(furthest, sum(_SHARES[:index]) + _SHARES[index] * (part or 0))  # each statement is anew
                progress(furthest)

        return work.workspace.guarded(run, progress=tell)

    rows = step(0, lambda: work.stage(scan))
    with _attached(work.workspace, draft):
        step(1, lambda: work.encode(rows))
        step(2, work.bound_rows)
        step(3, work.count_users)
        return rows, step(4, lambda: work.write(text))


@contextmanager
def _attached(workspace: Workspace, path: str) -> Iterator[None]:
    """Open a database to write; when the block ends well, all of it is in its file."""
    name, previous = workspace.fresh_name(), workspace.fetch("SELECT current_database()")[0][0]
    workspace.fetch(f"ATTACH {literal(path)} AS {name} (TYPE duckdb)")
    workspace.fetch(f"USE {name}")
    yield
    workspace.fetch(f"USE {previous}")
    workspace.fetch(f"CHECKPOINT {name}")
    workspace.fetch(f"DETACH {name}")


def path_of(to: object) -> str:
    """Return the path of a file of prepared data on this machine."""
    path = os.path.expanduser(os.fsdecode(to)) if isinstance(to, (str, os.PathLike)) else ""
    if not path.lower().endswith(PREPARED_EXTENSION) or ":/" in path or "\0" in path:
        raise ParameterError(
            "to", f"be the path of a file on this machine that ends in {PREPARED_EXTENSION}", came(path or to)
        )
    return path


def rules_of(user: object, item: object, keep: object, weight: object, **other_rules: Any) -> Rules:
    """Return the rules that a caller declares of columns: each has one role, but for a time that is kept whole."""
    columns_by_role: dict[str, Any] = {
        "user": key_columns(parse_key("user", user)),
        "item": key_columns(parse_key("item", item)),
    }
    columns_by_role |= {"keep": _columns("keep", keep), "weight": _columns("weight", weight)}
    seen: dict[str, str] = {}
    for parameter, columns in columns_by_role.items():
        for name in columns:
            if name.lower() in seen:
                other_role = seen[name.lower()]
                requirement = (
                    "name each column once" if other_role == parameter else f"be columns other than {other_role}"
                )
                raise ParameterError(parameter, requirement, came(name))
            seen[name.lower()] = parameter
    time = other_rules.get("time")
    role = None if time is None else seen.get(time.lower())
    if role is not None and not (role == "keep" and time in columns_by_role["keep"]):
        raise ParameterError("time", f"be another column than {role}", came(time))
    return Rules(**columns_by_role, **other_rules)


def _columns(parameter: str, names: object) -> tuple[str, ...]:
    """Return the columns that are named, as many as there are, or none; a text is one."""
    name_list = [names] if isinstance(names, str) else names
    if not isinstance(name_list, (list, tuple)):
        raise ParameterError(parameter, "be the name of a column, or a list of several", came(names))
    return tuple(name for element in name_list for name in key_columns(parse_key(parameter, [element])))


def _columns_of(rules: Rules) -> list[tuple[str, str]]:
    """Return the columns whose values are kept, each with the parameter that names it."""
    return [(parameter, name) for parameter in ("user", "item", "keep", "weight") for name in getattr(rules, parameter)]


def _refuse_missing(scan: Scan, rules: Rules) -> None:
    """Refuse a source without a column of the rules."""
    requested_columns = [*_columns_of(rules), *([] if rules.time is None else [("time", rules.time)])]
    scan.check(RequestedColumns(None, requested_columns))


def _with_types(workspace: Workspace, scan: Scan, rules: Rules) -> Rules:
    """Return the rules with the types of the source, which has all columns, each of a type that can be kept."""
    _refuse_missing(scan, rules)
    kept_columns = _columns_of(rules)
    types = scan.types(workspace, rules.names)
    for parameter, name in kept_columns:
        try:
            item_form(name, types[name])
        except DataError as error:
            requirement, refused = (
                "be columns whose values can be distinguished",
                f"{name!r} of type {base_type(types[name])}",
            )
            raise ParameterError(parameter, requirement, refused, error.hint) from None
    for name in rules.weight:
        refuse_non_numbers(counted_column(name, types[name]), name)
    if rules.time is not None and (text := counted_column(rules.time, types[rules.time]).undeclared_text) is not None:
        text.refuse("times")
    declared = {name: column.text for name, column in scan.declared.items() if name in rules.names}
    typed_rules = replace(rules, types=types, declared=declared)
    if rules.time is not None:
        typed_rules.row_periods()
    return typed_rules


def _kept_type(sql_type: str) -> str:
    return OBJECT if sql_type == OBJECT else stored_type(sql_type)


def _previous_types(previous: Rules, declared_types: Types) -> Types:
    """Return the types of the data to which rows are added; those that a caller declares must be the same."""
    for name, declared in declared_types.items():
        if previous.declared.get(name) != declared.text:
            requirement = f"be left out if rows are added, or declare {name!r} as before"
            raise ParameterError("types", requirement, declared.text)
    return {name: parse_type(name, text) for name, text in previous.declared.items()}


def _previous_rules(previous: Rules, rules: Rules) -> Rules:
    """Return the rules of the data to which rows are added; what a caller declares of them must be the same."""
    for field in fields(Rules):
        value, previous_value = getattr(rules, field.name), getattr(previous, field.name)
        if field.name not in ("types", "declared") and value not in (field.default, previous_value):
            requirement = "be left out if rows are added" + (
                f", or be {format_columns(previous_value)} as before" if previous_value else ""
            )
            raise ParameterError(field.name, requirement, came(format_columns(value)))
    return previous


def _refuse_other_types(rules: Rules, previous: Rules) -> None:
    for name in rules.stored:
        previous_type, new_type = previous.types[name], _kept_type(rules.types[name])
        if previous_type != new_type:
            requirement = f"have {name} as {previous_type}, as before"
            raise ParameterError("source", requirement, f"a column of type {new_type}", "cast it in the source")


def _sources(address: Address, previous: State | None) -> tuple[Any, ...]:
    """Return what rows were read from, by the contents of files. A table in memory is not known again."""
    identity, pinned = identify_source(address, is_named=True)
    digests = [(path, _digest(path, address.table)) for path in _files(address)] if pinned else []
    known_digests = {
        digest for source in ([] if previous is None else previous.sources) for digest in source["digests"]
    }
    for path, digest in digests:
        if digest in known_digests:
            repeated = f"{os.path.basename(path)}, whose contents were added before or are listed twice"
            raise ParameterError("source", "be files that are not in these data yet", repeated)
        known_digests.add(digest)
    source = {"source": identity, "table": address.table, "digests": [digest for _, digest in digests]}
    return (*([] if previous is None else previous.sources), source)


def _files(address: Address) -> Sequence[str]:
    """Return the files that hold the rows of a source."""
    if not address.is_read_by_pyarrow:
        return find_files(address.source).paths
    from dpselect.engines.sources.lake import files_of, files_of_iceberg

    if address.kind is SourceKind.ICEBERG:
        return files_of_iceberg(address.source, address.table)
    return files_of(address.source)


def _digest(path: str, table: str | None) -> str:
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    digest.update(b"" if table is None else b"\0" + table.encode())
    return digest.hexdigest()
