"""A ledger in one SQLite file: write-ahead log, one writer at a time.

A commit is on the disk before it returns, except one that need not last (`durable=False`), which the next one syncs.

What SQLite says when something fails becomes a sentence for a person; its own text is never shown. A group may get at
a ledger's files, where the owner says so; everybody may by oversight only.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from dpselect._ground.processes import leave_to_parent
from dpselect.errors import LedgerError, LedgerWarning
from dpselect.ledger.port import LOCK_TIMEOUT_SECONDS, WRITE_PREFIXES, Cell, Row, StoreDialect, interrupted_change_error

_SETTINGS = (
    "fullfsync=ON",  # macOS: through the disk's own cache as well
    "checkpoint_fullfsync=ON",
    "foreign_keys=ON",
    "trusted_schema=OFF",
    "cell_size_check=ON",
)

# Write-ahead log: one sync per commit, so that what was committed stays; or none, so that it stays with the next sync.
_DURABLE = ("PRAGMA synchronous=FULL", "BEGIN IMMEDIATE")
_SOON = ("PRAGMA synchronous=NORMAL", "BEGIN IMMEDIATE")


class SqliteStore:
    """One connection to one file."""

    dialect = StoreDialect.SQLITE
    alive = True

    def __init__(self, path: Path, connection: sqlite3.Connection, *, writable: bool, made: bool = False) -> None:
        self.place: str = str(path)
        self._made = made
        self._path = path
        self._file = _identity(path)
        self.writable = writable
        self._connection = connection
        leave_to_parent(self)

    def run(self, sql: str, values: Sequence[Cell] = ()) -> list[Row]:
        """All rows of one statement."""
        if sql.startswith(WRITE_PREFIXES) and not self._connection.in_transaction:
            raise interrupted_change_error(self.place)
        with translated_errors(self.place):
            return self._connection.execute(sql, values).fetchall()

    @contextmanager
    def creation(self, again: Callable[[], None] | None = None) -> Iterator[None]:
        """The transaction that makes the tables, then the write-ahead log for all that follows."""
        alone = False
        try:
            with self._between(*_DURABLE):
                if again is not None:
                    again()
                elif not _has_nothing(self._connection):  # another process was faster
                    raise _already_there(self._path)
                alone = True
                yield
            self.run("PRAGMA journal_mode=WAL")
            _sync_folder(self._path)
        except BaseException:
            self.close()
            if self._made and alone:
                self._path.unlink(missing_ok=True)
            raise

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[None]:
        """Waits for its turn first, so that what it reads is still true when it writes."""
        if _identity(self._path) != self._file:
            raise LedgerError(
                f"the ledger at {self.place} was removed or replaced while it was open", "close it and open it again"
            )
        _check_one_name(self._path)
        with self._between(*(_DURABLE if durable else _SOON)):
            yield

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Reads one moment and hinders nobody."""
        with self._between("BEGIN"):
            yield

    def problems(self) -> list[str]:
        """What SQLite's own check of pages, tables and indexes finds."""
        found = [str(row[0]) for row in self.run("PRAGMA integrity_check(10)")]
        return [] if found == ["ok"] else [f"SQLite finds: {one}" for lines in found for one in lines.splitlines()]

    def close(self) -> None:
        """Close the connection; the last one also empties the write-ahead log."""
        with translated_errors(self.place):
            self._connection.close()

    @contextmanager
    def _between(self, *begin: str) -> Iterator[None]:
        try:
            for statement in begin:
                self.run(statement)
            yield
            self.run("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
            raise


def create_sqlite(path: Path, *, there: bool = False) -> SqliteStore:
    """A new, empty file, for this user alone, or one that is `there`. The tables are for the caller to make."""
    check_folder(path.resolve())
    there = there and path.exists()
    try:
        if there:
            path.chmod(0o600)
        else:  # SQLite makes its log with the same rights
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        raise _already_there(path) from None
    except OSError as error:
        raise LedgerError(
            f"no ledger can be made at {path}: {_reason(error)}", "check the folder and the rights to it"
        ) from None
    path = path.resolve()
    return SqliteStore(path, _connect(path, "mode=rw"), writable=True, made=not there)


def is_empty_sqlite(path: Path) -> bool:
    """Is there no file, or one without tables, such as a process leaves that died when it made a ledger?"""
    with suppress(OSError, ValueError):
        if not path.exists() or (path.is_file() and not path.stat().st_size):
            return True
    _check_file(path)
    connection = _connect(path.resolve(), "mode=rw")
    try:
        with translated_errors(str(path)):
            return _has_nothing(connection)
    finally:
        connection.close()


def _has_nothing(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT count(*) FROM sqlite_master").fetchall() == [(0,)]


def _already_there(path: Path) -> LedgerError:
    return LedgerError(f"{path} is already there", "a ledger is never overwritten: name another file")


def _sync_folder(path: Path) -> None:
    """So that the file has its name also after the power failed."""
    if os.name == "posix":
        with suppress(OSError):
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


def open_sqlite(path: Path) -> SqliteStore:
    """An existing file, read-only where this user may not write to it."""
    _check_file(path)
    path = path.resolve()  # the log lies beside the file itself, not beside a link to it
    _check_one_name(path)
    warn_of_others(path)
    if _may(path, os.W_OK) and _may(path.parent, os.W_OK):
        return SqliteStore(path, _connect(path, "mode=rw"), writable=True)
    return _open_to_read(path)


def _open_to_read(path: Path) -> SqliteStore:
    """Beside a file that others write lies a log that must be read too; where there is none, the file is all."""
    with suppress(LedgerError):
        return SqliteStore(path, _connect(path, "mode=ro"), writable=False)
    logs = (path.with_name(path.name + end) for end in ("-wal", "-journal"))
    if any(log.exists() and log.stat().st_size for log in logs):
        raise LedgerError(
            f"the ledger at {path} is in use, and this user may not read its write-ahead log",
            "read it as a user who may write to its folder, or when nobody has it open",
        )
    return SqliteStore(path, _connect(path, "mode=ro&immutable=1"), writable=False)


def _check_file(path: Path) -> None:
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise LedgerError(f"there is no ledger at {path}", f"make one with `dpselect ledger init {path}`") from None
    except (OSError, ValueError) as error:
        raise LedgerError(
            f"the ledger at {path} cannot be opened: {_reason(error)}", "check the path and the rights to it"
        ) from None
    if path.is_dir():
        raise LedgerError(f"{path} is a folder, not a ledger", "name the file of the ledger")
    if not _may(path, os.R_OK):
        raise LedgerError(f"the ledger at {path} may not be read by this user", "ask its owner for the right")
    if not size:
        raise LedgerError(
            f"{path} is empty, not a ledger", f"remove it, then make one with `dpselect ledger init {path}`"
        )


def _check_one_name(path: Path) -> None:
    """SQLite's log lies beside the name: under two names (hard links) two would spend one budget, each unseen."""
    with suppress(OSError):
        if path.stat().st_nlink > 1:
            raise LedgerError(
                f"the ledger at {path} has another name (a hard link), through which it could be spent again",
                "remove that name; a backup is a copy, not a link",
            )


def _connect(path: Path, how: str) -> sqlite3.Connection:
    with translated_errors(str(path)):
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?{how}",
            uri=True,
            timeout=LOCK_TIMEOUT_SECONDS,
            isolation_level=None,  # every BEGIN and COMMIT is ours
            check_same_thread=False,  # the ledger has a lock
        )
        # Damaged bytes are still text for the digests to judge.
        connection.text_factory = _text
        try:
            for setting in _SETTINGS:
                connection.execute(f"PRAGMA {setting}")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchall()  # only reading shows that it can
        except BaseException:
            connection.close()
            raise
        return connection


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file it is on this machine; None where it is gone."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _text(cell: bytes) -> str:
    return cell.decode("utf-8", "surrogateescape")


def _may(path: Path, right: int) -> bool:
    return os.access(path, right, effective_ids=os.access in os.supports_effective_ids)


def _reason(error: OSError | ValueError) -> str:
    """The system's word for it, without any path."""
    return (error.strerror or type(error).__name__) if isinstance(error, OSError) else "it is no path"


_PRIMARY = 0xFF  # the low byte of SQLite's extended error codes
_NO_TABLE = ("no such table", "no such column")

_SAYS: dict[int, tuple[str, str | None]] = {
    sqlite3.SQLITE_FULL: ("could not be written: the disk is full", "make room, then ask again"),
    sqlite3.SQLITE_READONLY: (
        "may not be written by this user",
        "ask its owner for the right to write to the file and its folder",
    ),
    sqlite3.SQLITE_CORRUPT: ("is damaged", "run `dpselect ledger verify`, then take it from a backup"),
    sqlite3.SQLITE_NOTADB: ("is not a ledger: the file is not a SQLite database", "check the path"),
    sqlite3.SQLITE_BUSY: (
        f"was in use by others for {LOCK_TIMEOUT_SECONDS} seconds",
        "ask again, or find out who is using it",
    ),
    sqlite3.SQLITE_LOCKED: ("is in use", "ask again"),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened", "check the rights to the file and its folder"),
    sqlite3.SQLITE_IOERR: ("could not be read or written: the disk or its file system failed", "check the disk"),
    sqlite3.SQLITE_PERM: ("may not be used by this user", "check the rights to the file"),
    sqlite3.SQLITE_CONSTRAINT: ("refused an unexpected change", "run `dpselect ledger verify`"),
    sqlite3.SQLITE_NOMEM: ("could not be read or written: memory ran out", None),
    sqlite3.SQLITE_TOOBIG: ("could not store such a long text", None),
}


@contextmanager
def translated_errors(place: str) -> Iterator[None]:
    """Turn SQLite's errors into ledger errors."""
    try:
        yield
    except sqlite3.Error as error:
        says, hint = _sentence(error)
        raise LedgerError(f"the ledger at {place} {says}", hint) from None
    except UnicodeDecodeError:  # the message itself quotes damaged bytes
        says, hint = _SAYS[sqlite3.SQLITE_CORRUPT]
        raise LedgerError(f"the ledger at {place} {says}", hint) from None


def _sentence(error: sqlite3.Error) -> tuple[str, str | None]:
    code = getattr(error, "sqlite_errorcode", None)
    if isinstance(code, int) and code & _PRIMARY in _SAYS:
        return _SAYS[code & _PRIMARY]
    if any(words in str(error) for words in _NO_TABLE):
        return "is not a ledger: its tables do not exist", "make one with `dpselect ledger init`"
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    return f"failed ({name})", "run `dpselect ledger verify`"


_FILES = ("", "-wal", "-shm", "-journal")  # what SQLite keeps beside the file


def check_folder(path: Path) -> None:
    """Refuse to make a ledger where everybody could put another one in its place."""
    if _everybody_may_replace(path):
        raise LedgerError(
            f"no ledger can be made at {path}: every user of this machine may replace files in its folder",
            f"name another folder, or chmod o-w {path.parent}",
        )


def warn_of_others(path: Path) -> None:
    """Tell of a ledger that is open to everybody."""
    for file in (path.with_name(path.name + end) for end in _FILES):
        if _mode(file) & (stat.S_IROTH | stat.S_IWOTH):
            _warn(
                f"{file} may be read by every user of this machine, and it holds questions and answers", f"600 {file}"
            )
    if _everybody_may_replace(path):
        _warn(f"every user of this machine may replace the ledger at {path}", f"o-w {path.parent}")


def _warn(what: str, chmod: str) -> None:
    warnings.warn(f"{what}\nhint: chmod {chmod}", LedgerWarning, stacklevel=2)


def _everybody_may_replace(path: Path) -> bool:
    """A sticky folder, such as /tmp, lets nobody but its owner replace a file."""
    mode = _mode(path.parent)
    return bool(mode & stat.S_IWOTH and not mode & stat.S_ISVTX)


def _mode(path: Path) -> int:
    """The rights of a file, none where it is not there, or where rights are kept otherwise (Windows)."""
    try:
        return path.stat().st_mode if os.name == "posix" else 0
    except OSError:
        return 0
