"""The file of prepared data: a DuckDB database that is written once, beside its place, and put there whole.

Nobody writes to it where it is. So who has opened it keeps what they opened, whatever is put in its place meanwhile,
and a process that dies leaves what was there. Every block in it has a checksum, which DuckDB looks at when it reads it.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from dpselect._ground.temporary import Folder, is_same_file, try_lock
from dpselect.engines.duckdb.types import OBJECT
from dpselect.engines.duckdb.workspace import Workspace, literal
from dpselect.engines.prepared.rules import Rules
from dpselect.errors import DataError, DpselectError, OutputError

_TABLES = ("state", "users", "items", "rows", "cells", "counts", "sets")
FORM = 5  # of the file: what another version wrote in another form is not read
_OTHERS = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True)
class State:
    """What the file says of itself: a name that no other has, when and by what it was made, its sources and rules."""

    name: str
    made: str
    version: str
    sources: tuple[Any, ...]
    rules: Rules

    def text(self) -> str:
        """As it is written. Types are those of the tables; which columns had none is said."""
        said = asdict(self)
        types = said["rules"].pop("types")
        return json.dumps({"form": FORM, "objects": [name for name in types if types[name] == OBJECT], **said})


@dataclass(frozen=True)
class PreparedFile:
    """An open file: its state, and what its tables are called in the workspace."""

    state: State
    database: str

    @classmethod
    def open(cls, workspace: Workspace, path: str) -> PreparedFile:
        """Open what is there now, to read it until the workspace is closed; refuse what is not as it was written."""
        refuse_others(path, DataError)
        found, real = None, os.path.realpath(path)
        name = workspace.files.get(real) or workspace.fresh()
        try:
            if not os.path.lexists(real + ".wal"):  # of ours there is none, and DuckDB would take rows from it
                if real not in workspace.files:  # a domain may come from the same one as the rows
                    workspace.fetch(f"ATTACH {literal(real)} AS {name} (TYPE duckdb, READ_ONLY)")
                    workspace.files[real] = name
                found = _state(workspace, name)
        except (DataError, LookupError, AttributeError, TypeError, ValueError, RecursionError):
            pass
        if found is None:
            hint = "it may be damaged or of another version: prepare the source again, or use a copy"
            raise DataError(f"{path!r} cannot be read as prepared data", hint)
        return cls(found, name)

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of all tables."""
        return (*_TABLES, *(["kept"] if self.state.rules.keep else []))

    def table(self, name: str) -> str:
        """What stands after FROM."""
        return f"{self.database}.main.{name}"


def state_of(path: str) -> State:
    """What the file says of itself now. A file that was read before, and is the same, is not opened again."""
    refuse_others(path, DataError)
    try:
        found = os.stat(path)
    except OSError:
        return _state_of.__wrapped__(path)
    return _state_of(path, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


@lru_cache(maxsize=32)
def _state_of(path: str, *_identity: int) -> State:
    workspace = Workspace()
    try:
        return PreparedFile.open(workspace, path).state
    finally:
        workspace.close()


def _state(workspace: Workspace, database: str) -> State:
    """The state, whose tables are there: a view has no rowid, and may read anything."""
    said = json.loads(workspace.fetch(f"SELECT text FROM {database}.main.state WHERE rowid >= 0")[0][0])
    objects, rules = said.pop("objects"), {key: _tuple(value) for key, value in said.pop("rules").items()}
    if said.pop("form") != FORM:
        raise ValueError
    found = Rules(**rules)
    placed = [(f"{table}.{found.place(name)}", name) for table, columns in found.tables.items() for name in columns]
    tables = [one for one in (*_TABLES, "kept") if found.tables.get(one, True)]
    columns = ", ".join([*(column for column, _ in placed), *(f"{one}.rowid" for one in tables)])
    read = ", ".join(f"{database}.main.{one} AS {one}" for one in tables)
    types = [str(row[1]) for row in workspace.fetch(f"DESCRIBE SELECT {columns} FROM {read}")]
    own = {name: OBJECT if name in objects else types[at] for at, (_, name) in enumerate(placed)}
    said["sources"] = tuple(said["sources"])
    return State(rules=replace(found, types=own), **said)


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


# ---- writing -----------------------------------------------------------------------------------------------------


@contextmanager
def draft(path: str, *, add: bool) -> Iterator[str]:
    """A file to write to, beside its place, to which it goes where the block ends well; with what is there to `add`."""
    real, held = os.path.realpath(path), None
    refuse_others(path, OutputError)
    try:
        if os.path.lexists(path):
            held = os.open(real, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
            if not stat.S_ISREG(os.fstat(held).st_mode):
                raise OutputError(f"{path!r} is no file", "name a new file for the prepared data")
            if not try_lock(held):
                raise OutputError(f"another process is writing to {path!r}", "wait until it is done")
        with Folder(os.path.dirname(real)) as folder:
            made = os.path.join(folder.path, "draft")
            if add and held is not None:
                new = os.open(made, os.O_WRONLY | os.O_CREAT, 0o600)
                with open(held, "rb", closefd=False) as before, open(new, "wb") as after:
                    shutil.copyfileobj(before, after, 1 << 20)
            yield made
            os.chmod(made, 0o600)
            _settle(made)
            if os.path.exists(made + ".wal") or (held is not None and not is_same_file(real, held)):
                raise OutputError(f"another process has changed {path!r} meanwhile", "do it again")
            if held is not None and os.name != "posix":  # what is open there cannot be replaced
                os.close(held)
                held = None
            os.replace(made, real)
            _settle(os.path.dirname(real))
    except OSError as error:
        raise OutputError(f"{path!r} cannot be written: {error.strerror}") from None
    finally:
        if held is not None:
            os.close(held)


def _settle(path: str) -> None:
    """A file, or the names in a folder, down on the disk."""
    if os.name == "posix":
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# ---- who may write -----------------------------------------------------------------------------------------------


def refuse_others(path: str, error: type[DpselectError]) -> None:
    """Refuse a file where others may write to it, or to a folder or link on the way, and so put another in its place.

    In a sticky folder, such as /tmp, nobody replaces what is not theirs; but the file's own folder must be closed, for
    DuckDB reads what stands beside it.
    """
    if os.name != "posix":
        return
    real, seen, left = Path(os.path.realpath(path)), set[Path](), [Path(os.path.abspath(path))]
    trusted = {0, os.geteuid(), *([real.stat().st_uid] if real.exists() else [])}  # whose file it is may change it
    while left:
        one = left.pop()
        for at in {one, *one.parents} - seen:
            seen.add(at)
            try:
                found = at.lstat()
            except OSError:
                continue
            if stat.S_ISLNK(found.st_mode):
                left.append(Path(os.path.abspath(at.parent / os.readlink(at))))
                continue
            open_ = found.st_mode & _OTHERS and (at in (real, real.parent) or not found.st_mode & stat.S_ISVTX)
            if open_ or found.st_uid not in trusted:
                hint = f"chmod go-w {shlex.quote(str(at))}, or choose another place"
                raise error(f"other users of this machine may write to {str(at)!r}", hint)
