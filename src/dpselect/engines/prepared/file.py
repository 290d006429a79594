"""The file of prepared data: a DuckDB database that is written once, beside its path, and put there whole.

Nobody writes to it where it is. So who has opened it keeps what they opened, whatever replaces it meanwhile,
and a process that dies leaves what was there. Every block in it has a checksum, which DuckDB looks at when it reads it.

Its rules say which columns were prepared, as what, and which questions they answer exactly.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import suggest
from dpselect._ground.row_bound import RowBound
from dpselect._ground.temporary import Folder, is_same_file, try_lock
from dpselect.engines.duckdb.types import OBJECT
from dpselect.engines.duckdb.workspace import Workspace, literal
from dpselect.errors import DataError, DpselectError, OutputError, SourceError, came

if TYPE_CHECKING:
    from dpselect._ground.periods import Periods
    from dpselect.engines.row_periods import RowPeriods
    from dpselect.engines.sources.scans.scan import RequestedColumns


_TABLES = ("state", "users", "items", "rows", "cells", "counts", "sets")
FORM = 5  # of the file: one that another version wrote in another form is refused
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True)
class State:
    """The state that the file records: a unique name, when and by which version it was made, its sources and rules."""

    name: str
    made: str
    version: str
    sources: tuple[Any, ...]
    rules: Rules

    def text(self) -> str:
        """Return the state as JSON. Types are those of the tables; only the columns without a type are listed."""
        document = asdict(self)
        types = document["rules"].pop("types")
        return json.dumps({"form": FORM, "objects": [name for name in types if types[name] == OBJECT], **document})


@dataclass(frozen=True)
class PreparedFile:
    """An open file: its state, and the name of its database in the workspace."""

    state: State
    database: str

    @classmethod
    def open(cls, workspace: Workspace, path: str) -> PreparedFile:
        """Open the current file, to read it until the workspace is closed; refuse one that is not as it was written."""
        refuse_foreign_writers(path, DataError)
        state, real_path = None, os.path.realpath(path)
        name = workspace.attached_files.get(real_path) or workspace.fresh_name()
        try:
            if not os.path.lexists(real_path + ".wal"):  # we never write one, and DuckDB would take rows from it
                if real_path not in workspace.attached_files:  # a domain may come from the same file as the rows
                    workspace.fetch(f"ATTACH {literal(real_path)} AS {name} (TYPE duckdb, READ_ONLY)")
                    workspace.attached_files[real_path] = name
                state = _parse_state(workspace, name)
        except (DataError, LookupError, AttributeError, TypeError, ValueError, RecursionError):
            pass
        if state is None:
            hint = "it may be damaged or of another version: prepare the source again, or use a copy"
            raise DataError(f"{path!r} cannot be read as prepared data", hint)
        return cls(state, name)

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of all tables."""
        return (*_TABLES, *(["kept"] if self.state.rules.keep else []))

    def table(self, name: str) -> str:
        """Return the SQL after FROM of a table."""
        return f"{self.database}.main.{name}"


def read_state(path: str) -> State:
    """Return the current state of the file. A file that was read before, and has not changed, is not opened again."""
    refuse_foreign_writers(path, DataError)
    try:
        status = os.stat(path)
    except OSError:
        return _read_known_state.__wrapped__(path)
    return _read_known_state(path, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def has_counts_of(path: str, item: tuple[str, ...]) -> bool:
    """Return whether the file has one number of users for each of these items, and no numbers for periods."""
    rules = read_state(path).rules
    return rules.item == item and rules.time is None


@lru_cache(maxsize=32)
def _read_known_state(path: str, *_identity: int) -> State:
    workspace = Workspace()
    try:
        return PreparedFile.open(workspace, path).state
    finally:
        workspace.close()


def _parse_state(workspace: Workspace, database: str) -> State:
    """Read the state from tables that exist: a view has no rowid, and may read anything."""
    document = json.loads(workspace.fetch(f"SELECT text FROM {database}.main.state WHERE rowid >= 0")[0][0])
    objects = document.pop("objects")
    rule_values = {key: _to_tuple(value) for key, value in document.pop("rules").items()}
    if document.pop("form") != FORM:
        raise ValueError
    rules = Rules(**rule_values)
    columns_and_names = [
        (f"{table}.{rules.column_of(name)}", name) for table, columns in rules.tables.items() for name in columns
    ]
    tables = [table for table in (*_TABLES, "kept") if rules.tables.get(table, True)]
    columns = ", ".join([*(column for column, _ in columns_and_names), *(f"{table}.rowid" for table in tables)])
    read = ", ".join(f"{database}.main.{table} AS {table}" for table in tables)
    types = [str(row[1]) for row in workspace.fetch(f"DESCRIBE SELECT {columns} FROM {read}")]
    types_by_name = {
        name: OBJECT if name in objects else types[index] for index, (_, name) in enumerate(columns_and_names)
    }
    document["sources"] = tuple(document["sources"])
    return State(rules=replace(rules, types=types_by_name), **document)


def _to_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


# ---- writing -----------------------------------------------------------------------------------------------------


@contextmanager
def write_draft(path: str, *, add: bool) -> Iterator[str]:
    """Yield the path of a file to write to, in the same folder, and move it to `path` if the block ends well.

    With `add`, it is a copy of the current file.
    """
    real_path, current_descriptor = os.path.realpath(path), None
    refuse_foreign_writers(path, OutputError)
    try:
        if os.path.lexists(path):
            current_descriptor = os.open(real_path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
            if not stat.S_ISREG(os.fstat(current_descriptor).st_mode):
                raise OutputError(f"{path!r} is no file", "name a new file for the prepared data")
            if not try_lock(current_descriptor):
                raise OutputError(f"another process is writing to {path!r}", "wait until it is done")
        with Folder(os.path.dirname(real_path)) as folder:
            draft_path = os.path.join(folder.path, "draft")
            if add and current_descriptor is not None:
                draft_descriptor = os.open(draft_path, os.O_WRONLY | os.O_CREAT, 0o600)
                with (
                    open(current_descriptor, "rb", closefd=False) as current_file,
                    open(draft_descriptor, "wb") as draft_file,
                ):
                    shutil.copyfileobj(current_file, draft_file, 1 << 20)
            yield draft_path
            os.chmod(draft_path, 0o600)
            _sync_to_disk(draft_path)
            if os.path.exists(draft_path + ".wal") or (
                current_descriptor is not None and not is_same_file(real_path, current_descriptor)
            ):
                raise OutputError(f"another process has changed {path!r} meanwhile", "do it again")
            if current_descriptor is not None and os.name != "posix":  # what is open there cannot be replaced
                os.close(current_descriptor)
                current_descriptor = None
            os.replace(draft_path, real_path)
            _sync_to_disk(os.path.dirname(real_path))
    except OSError as error:
        raise OutputError(f"{path!r} cannot be written: {error.strerror}") from None
    finally:
        if current_descriptor is not None:
            os.close(current_descriptor)


def _sync_to_disk(path: str) -> None:
    """Write a file, or the names in a folder, to the disk."""
    if os.name == "posix":
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# ---- who may write -----------------------------------------------------------------------------------------------


def refuse_foreign_writers(path: str, error: type[DpselectError]) -> None:
    """Refuse a file if others may write to it, or to a folder or link on its path, and so replace it.

    In a sticky folder, such as /tmp, nobody replaces the files of others; but the file's own folder must be closed, for
    DuckDB reads other files there.
    """
    if os.name != "posix":
        return
    real_path, checked, to_check = Path(os.path.realpath(path)), set[Path](), [Path(os.path.abspath(path))]
    # The owner of the file may change it.
    trusted = {0, os.geteuid(), *([real_path.stat().st_uid] if real_path.exists() else [])}
    while to_check:
        unchecked = to_check.pop()
        for ancestor in {unchecked, *unchecked.parents} - checked:
            checked.add(ancestor)
            try:
                status = ancestor.lstat()
            except OSError:
                continue
            if stat.S_ISLNK(status.st_mode):
                to_check.append(Path(os.path.abspath(ancestor.parent / os.readlink(ancestor))))
                continue
            open_ = status.st_mode & _WRITABLE_BY_OTHERS and (
                ancestor in (real_path, real_path.parent) or not status.st_mode & stat.S_ISVTX
            )
            if open_ or status.st_uid not in trusted:
                hint = f"chmod go-w {shlex.quote(str(ancestor))}, or choose another place"
                raise error(f"other users of this machine may write to {str(ancestor)!r}", hint)


ALL = "DATE 'infinity'"  # the period of counts over all time
CODES = {"users": "u", "items": "i", "kept": "c"}  # dictionaries, and the columns of their codes

# Periods of these sorts consist of whole periods of the key's sort.
_COARSER_SORTS = {
    "day": ("day", "week", "month", "quarter", "year"),
    "week": ("week",),
    "month": ("month", "quarter", "year"),
    "quarter": ("quarter", "year"),
    "year": ("year",),
}


@dataclass(frozen=True)
class Rules:
    """The columns of users and items, the kept columns, and what is kept of the time.

    `max_rows_per_user` is the largest number of rows of a user, in each period if there are periods.
    `types` are those of every column, in SQL, as it can be read; `declared` has the types that the owner declared.
    """

    user: tuple[str, ...]
    item: tuple[str, ...]
    keep: tuple[str, ...] = ()
    weight: tuple[str, ...] = ()
    time: str | None = None
    period: str | None = None
    timezone: str = "UTC"
    max_rows_per_user: int | None = None
    declared: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)

    @property
    def row_bound(self) -> RowBound | None:
        """The bound on rows of a user; None if all rows were kept."""
        return None if self.max_rows_per_user is None else RowBound(self.max_rows_per_user, self.period)

    @property
    def tables(self) -> dict[str, tuple[str, ...]]:
        """The columns of each dictionary, whose values have codes, and those whose values are in the rows."""
        return {"users": self.user, "items": self.item, "kept": self.keep, "rows": self.weight}

    def table_of(self, column: str) -> str:
        """Return the table with the values of a column; those of a time are in the rows."""
        return next((table for table, columns in self.tables.items() if column in columns), "rows")

    def column_of(self, column: str) -> str:
        """Return the name of the column in its table; of a time that is not kept exactly, the name of the period."""
        table = self.table_of(column)
        if column not in self.stored:
            return "p"
        return f"{'w' if table == 'rows' else 'v'}{self.tables[table].index(column)}"

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns whose values are stored."""
        return tuple(name for columns in self.tables.values() for name in columns)

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that a question can name."""
        return tuple(dict.fromkeys([*self.stored, *([] if self.time is None else [self.time])]))

    def refuse(self, requested: RequestedColumns) -> None:
        """Refuse a question that these data cannot answer as the source would: of another user or of an unkept time."""
        user, periods = requested.user, requested.periods
        if user is not None and user != self.user:
            requirement = f"be {format_columns(self.user)}, for which these data were prepared"
            raise SourceError(
                "user", requirement, came(format_columns(user)), "prepare the source again for another user"
            )
        exact_time_hint = f"prepare the source again with keep={self.time!r}"
        for parameter, name in requested.all_columns:
            if name == self.time and name not in self.stored and parameter != "time":
                unkept_column = f"{name!r}, of which the {self.period} was"
                raise SourceError(parameter, "use columns that were kept", unkept_column, exact_time_hint)
        if periods is None or periods.column in self.stored:
            return
        if periods.column != self.time or self.period is None:
            requirement = "be the column of the prepared periods" if self.time else "be a column that was kept"
            raise SourceError("time", requirement, came(periods.column), "prepare the source again with time=")
        sorts = _COARSER_SORTS[self.period]
        if periods.kind not in sorts:
            requirement = f"be {' or '.join(sorts)}, which these data were prepared for"
            raise SourceError("period", requirement, came(periods.kind), f"{exact_time_hint}, or by {periods.kind}")
        if periods.timezone != self.timezone:
            requirement = f"be {self.timezone}, as prepared"
            raise SourceError(
                "timezone", requirement, came(periods.timezone), f"{exact_time_hint}, or in that time zone"
            )

    def row_periods(self) -> RowPeriods:
        """Return the periods of a row of the source, as questions compare it; refuse a column that has no times."""
        from dpselect._ground.periods import Periods
        from dpselect.engines.duckdb.types import duckdb_row_periods
        from dpselect.engines.duckdb.workspace import quoted

        periods = Periods(self.time or "", self.period or "", self.timezone, ())
        return duckdb_row_periods(periods, self.types, quoted(periods.column))

    def has_periods(self, periods: Periods | None) -> bool:
        """Return whether the periods are those in which users were counted."""
        if periods is None:
            return True
        return (periods.column, periods.kind, periods.timezone) == (self.time, self.period, self.timezone)

    def hint(self, column: str) -> str:
        """Return a hint about a column that does not exist."""
        hint = suggest(column, self.names)
        if hint.startswith("did you mean"):
            return hint
        return f"the prepared columns are {', '.join(self.names)}; for another one prepare the source again with keep="


def format_columns(value: object) -> str:
    """Format columns, or a number, for a sentence."""
    if isinstance(value, (tuple, list)):
        return value[0] if len(value) == 1 else f"({', '.join(value)})"
    return str(value)
