"""A ledger in one SQLite file: write-ahead log, one writer at a time.

A commit is on the disk before it returns, except one that need not last (`durable=False`), which the next one syncs.

Errors of SQLite are translated to sentences for people; its own text is never shown. An owner may open a ledger's files
to a group; files that are open to everybody are warned of.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from dpselect._ground.processes import leave_to_parent
from dpselect.errors import LedgerError, LedgerWarning
from dpselect.ledger.port import (
    LOCK_TIMEOUT_SECONDS,
    VERIFY_HINT,
    WRITE_PREFIXES,
    Cell,
    Row,
    StoreDialect,
    interrupted_change_error,
    transact,
)

_PRAGMAS = (
    "fullfsync=ON",  # macOS: through the disk's own cache as well
    "checkpoint_fullfsync=ON",
    "foreign_keys=ON",
    "trusted_schema=OFF",
    "cell_size_check=ON",
)

# Write-ahead log: one sync per commit makes it durable; without one it is durable after the next sync.
_DURABLE = ("PRAGMA synchronous=FULL", "BEGIN IMMEDIATE")
_NOT_DURABLE = ("PRAGMA synchronous=NORMAL", "BEGIN IMMEDIATE")


class SqliteStore:
    """Connection to one file."""

    dialect = StoreDialect.SQLITE
    alive = True

    def __init__(self, path: Path, connection: sqlite3.Connection, *, writable: bool, is_new: bool = False) -> None:
        self.location: str = str(path)
        self._is_new = is_new
        self._path = path
        self._file = _file_identity(path)
        self.writable = writable
        self._connection = connection
        leave_to_parent(self)

    def run(self, sql: str, values: Sequence[Cell] = ()) -> list[Row]:
        """Run a statement, and return all rows."""
        if sql.startswith(WRITE_PREFIXES) and not self._connection.in_transaction:
            raise interrupted_change_error(self.location)
        with _translated_errors(self.location):
            return self._connection.execute(sql, values).fetchall()

    @contextmanager
    def creation(self, check_rebuild: Callable[[], None] | None = None) -> Iterator[None]:
        """Open the transaction that makes the tables, then switch to the write-ahead log.

        `check_rebuild` allows existing tables: it raises LedgerError unless they may be made anew.
        """
        owns_file = False
        try:
            with self._transact(*_DURABLE):
                if check_rebuild is not None:
                    check_rebuild()
                elif not _has_no_tables(self._connection):  # another process was faster
                    raise _already_exists(self._path)
                owns_file = True
                yield
            self.run("PRAGMA journal_mode=WAL")
            _sync_folder(self._path)
        except BaseException:
            self.close()
            if self._is_new and owns_file:
                self._path.unlink(missing_ok=True)
            raise

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[None]:
        """Wait for the write lock first, so that what is read stays true until it writes."""
        if _file_identity(self._path) != self._file:
            raise LedgerError(
                f"the ledger at {self.location} was removed or replaced while it was open", "close it and open it again"
            )
        _check_one_name(self._path)
        with self._transact(*(_DURABLE if durable else _NOT_DURABLE)):
            yield

    def snapshot(self) -> AbstractContextManager[None]:
        """Read one moment, without blocking writers."""
        return self._transact("BEGIN")

    def problems(self) -> list[str]:
        """Return the problems that SQLite's own check of pages, tables and indexes finds."""
        findings = [str(row[0]) for row in self.run("PRAGMA integrity_check(10)")]
        return (
            []
            if findings == ["ok"]
            else [f"SQLite finds: {line}" for finding in findings for line in finding.splitlines()]
        )

    def close(self) -> None:
        """Close the connection; the last one also empties the write-ahead log."""
        with _translated_errors(self.location):
            self._connection.close()

    def _transact(self, *begin: str) -> AbstractContextManager[None]:
        return transact(self.run, self._roll_back, begin)

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")


def create_sqlite(path: Path, *, may_exist: bool = False) -> SqliteStore:
    """Create a file for this user alone, or open an existing one without tables; the caller makes the tables."""
    _check_folder(path.resolve())
    exists = may_exist and path.exists()
    try:
        if exists:
            path.chmod(0o600)
        else:  # SQLite makes its log with the same rights
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        raise _already_exists(path) from None
    except OSError as error:
        raise LedgerError(
            f"no ledger can be made at {path}: {_system_reason(error)}", "check the folder and the rights to it"
        ) from None
    path = path.resolve()
    return SqliteStore(path, _connect(path, "mode=rw"), writable=True, is_new=not exists)


def is_empty_sqlite(path: Path) -> bool:
    """Return whether there is no file, or one without tables, as a process leaves that died while making a ledger."""
    with suppress(OSError, ValueError):
        if not path.exists() or (path.is_file() and not path.stat().st_size):
            return True
    _check_file(path)
    connection = _connect(path.resolve(), "mode=rw")
    try:
        with _translated_errors(str(path)):
            return _has_no_tables(connection)
    finally:
        connection.close()


def _has_no_tables(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT count(*) FROM sqlite_master").fetchall() == [(0,)]


def _already_exists(path: Path) -> LedgerError:
    return LedgerError(f"{path} is already there", "a ledger is never overwritten: name another file")


def _sync_folder(path: Path) -> None:
    """Sync the folder, so that the file keeps its name after a power failure."""
    if os.name == "posix":
        with suppress(OSError):
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


def open_sqlite(path: Path) -> SqliteStore:
    """Open an existing file, read-only if this user may not write to it."""
    _check_file(path)
    path = path.resolve()  # the log lies beside the file itself, not beside a link to it
    _check_one_name(path)
    _warn_of_others(path)
    if _has_right(path, os.W_OK) and _has_right(path.parent, os.W_OK):
        return SqliteStore(path, _connect(path, "mode=rw"), writable=True)
    return _open_to_read(path)


def _open_to_read(path: Path) -> SqliteStore:
    """Open a file that others may write: its log must be read too, unless there is none."""
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
            f"the ledger at {path} cannot be opened: {_system_reason(error)}", "check the path and the rights to it"
        ) from None
    if path.is_dir():
        raise LedgerError(f"{path} is a folder, not a ledger", "name the file of the ledger")
    if not _has_right(path, os.R_OK):
        raise LedgerError(f"the ledger at {path} may not be read by this user", "ask its owner for the right")
    if not size:
        raise LedgerError(
            f"{path} is empty, not a ledger", f"remove it, then make one with `dpselect ledger init {path}`"
        )


def _check_one_name(path: Path) -> None:
    """Refuse a file with several hard links.

    SQLite's log lies beside the name, so under two names one budget would be spent twice, each unseen by the other.
    """
    with suppress(OSError):
        if path.stat().st_nlink > 1:
            raise LedgerError(
                f"the ledger at {path} has another name (a hard link), through which it could be spent again",
                "remove that name; a backup is a copy, not a link",
            )


def _connect(path: Path, uri_options: str) -> sqlite3.Connection:
    with _translated_errors(str(path)):
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?{uri_options}",
            uri=True,
            timeout=LOCK_TIMEOUT_SECONDS,
            isolation_level=None,  # every BEGIN and COMMIT is explicit
            check_same_thread=False,  # the ledger has a lock
        )
        # Damaged bytes become text, which the digests then refuse.
        connection.text_factory = _text
        try:
            for setting in _PRAGMAS:
                connection.execute(f"PRAGMA {setting}")
            connection.execute(
                "SELECT count(*) FROM sqlite_master"
            ).fetchall()  # only a read shows that the file can be read
        except BaseException:
            connection.close()
            raise
        return connection


def _file_identity(path: Path) -> tuple[int, int] | None:
    """Return which file it is on this machine, or None if it is gone."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _text(cell: bytes) -> str:
    return cell.decode("utf-8", "surrogateescape")


def _has_right(path: Path, right: int) -> bool:
    return os.access(path, right, effective_ids=os.access in os.supports_effective_ids)


def _system_reason(error: OSError | ValueError) -> str:
    """Return the system's reason for an error, without any path."""
    return (error.strerror or type(error).__name__) if isinstance(error, OSError) else "it is no path"


_PRIMARY = 0xFF  # the low byte of SQLite's extended error codes
_NO_TABLE = ("no such table", "no such column")

_SENTENCES: dict[int, tuple[str, str | None]] = {
    sqlite3.SQLITE_FULL: ("could not be written: the disk is full", "make room, then ask again"),
    sqlite3.SQLITE_READONLY: (
        "may not be written by this user",
        "ask its owner for the right to write to the file and its folder",
    ),
    sqlite3.SQLITE_CORRUPT: ("is damaged", VERIFY_HINT),
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
def _translated_errors(location: str) -> Iterator[None]:
    """Turn SQLite's errors into LedgerError."""
    try:
        yield
    except sqlite3.Error as error:
        sentence, hint = _translate(error)
        raise LedgerError(f"the ledger at {location} {sentence}", hint) from None
    except UnicodeDecodeError:  # the message itself quotes damaged bytes
        sentence, hint = _SENTENCES[sqlite3.SQLITE_CORRUPT]
        raise LedgerError(f"the ledger at {location} {sentence}", hint) from None


def _translate(error: sqlite3.Error) -> tuple[str, str | None]:
    code = getattr(error, "sqlite_errorcode", None)
    if isinstance(code, int) and code & _PRIMARY in _SENTENCES:
        return _SENTENCES[code & _PRIMARY]
    if any(message in str(error) for message in _NO_TABLE):
        return "is not a ledger: its tables do not exist", "make one with `dpselect ledger init`"
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    return f"failed ({name})", "run `dpselect ledger verify`"


_FILE_SUFFIXES = ("", "-wal", "-shm", "-journal")  # of the files that SQLite keeps beside the database


def _check_folder(path: Path) -> None:
    """Refuse to make a ledger where every user could replace it."""
    if _is_replaceable_by_all(path):
        raise LedgerError(
            f"no ledger can be made at {path}: every user of this machine may replace files in its folder",
            f"name another folder, or chmod o-w {path.parent}",
        )


def _warn_of_others(path: Path) -> None:
    """Warn of a ledger that is open to every user of the machine."""
    for file in (path.with_name(path.name + end) for end in _FILE_SUFFIXES):
        if _mode(file) & (stat.S_IROTH | stat.S_IWOTH):
            _warn(
                f"{file} may be read by every user of this machine, and it holds questions and answers", f"600 {file}"
            )
    if _is_replaceable_by_all(path):
        _warn(f"every user of this machine may replace the ledger at {path}", f"o-w {path.parent}")


def _warn(problem: str, chmod: str) -> None:
    warnings.warn(f"{problem}\nhint: chmod {chmod}", LedgerWarning, stacklevel=2)


def _is_replaceable_by_all(path: Path) -> bool:
    """Return whether every user may replace a file; in a sticky folder, such as /tmp, only its owner may."""
    mode = _mode(path.parent)
    return bool(mode & stat.S_IWOTH and not mode & stat.S_ISVTX)


def _mode(path: Path) -> int:
    """Return the mode of a file, or 0 if it is not there or the system has no modes (Windows)."""
    try:
        return path.stat().st_mode if os.name == "posix" else 0
    except OSError:
        return 0
