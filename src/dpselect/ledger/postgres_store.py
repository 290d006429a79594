"""A ledger in PostgreSQL: the schema dpselect, whose writers queue at the one row of the table meta.

Errors of the server are translated to sentences for people; its own text is never shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING

from dpselect._ground.processes import leave_to_parent
from dpselect.errors import LedgerError, install_hint
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

if TYPE_CHECKING:
    import psycopg


_SESSION_SETTINGS = (
    "SET search_path = dpselect, pg_temp",
    f"SET lock_timeout = '{LOCK_TIMEOUT_SECONDS}s'",
    f"SET idle_in_transaction_session_timeout = '{LOCK_TIMEOUT_SECONDS}s'",  # of a client that hangs
    # A commit is durable before it returns; a server with a stricter setting keeps it.
    "SELECT set_config('synchronous_commit', 'on', false) "
    "WHERE current_setting('synchronous_commit') IN ('off', 'local')",
)
# A silent network is noticed within about a minute. Settings in the address come first.
_CONNECTION_OPTIONS = {
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": f"{LOCK_TIMEOUT_SECONDS}000",
    "application_name": "dpselect",
}
# The owner of a schema may drop its tables: it must be this user, or a superuser.
_IS_OWNED = (
    "SELECT pg_has_role(r.oid, 'MEMBER') OR r.rolsuper FROM pg_namespace n JOIN pg_roles r ON r.oid = n.nspowner "
    "WHERE n.nspname = 'dpselect'"
)
_FIND_META = "SELECT to_regclass('dpselect.meta')"
_BEGIN_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"  # each statement sees what was committed before it
_WAIT_FOR_TURN = "SELECT id FROM meta WHERE id = 1 FOR UPDATE"
_BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


class PostgresStore:
    """Connection to one database."""

    dialect = StoreDialect.POSTGRES

    def __init__(self, location: str, connection: psycopg.Connection) -> None:
        self.location = location
        self._connection = connection
        leave_to_parent(self)
        for setting in _SESSION_SETTINGS:
            self.run(setting)

    @property
    def alive(self) -> bool:
        """True unless the connection is known to be lost."""
        return not (self._connection.closed or self._connection.broken)

    @cached_property
    def writable(self) -> bool:
        """True if this user may append entries, on a server that takes writes."""
        server = self.run("SELECT current_setting('transaction_read_only') = 'off'")
        user = self.run("SELECT has_table_privilege('entry', 'INSERT')")
        return bool(server[0][0] and user[0][0])

    def run(self, sql: str, values: Sequence[Cell] = ()) -> list[Row]:
        """Run a statement, and return all rows."""
        import psycopg
        from psycopg.pq import TransactionStatus

        if sql.startswith(WRITE_PREFIXES) and self._connection.info.transaction_status == TransactionStatus.IDLE:
            raise interrupted_change_error(self.location)
        try:
            cursor = self._connection.execute(sql.replace("?", "%s").encode(), values or None)
            return cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            raise _ledger_error(self.location, error.sqlstate) from None

    @contextmanager
    def creation(self, check_rebuild: Callable[[], None] | None = None) -> Iterator[None]:
        """Open the transaction that makes the schema and the tables."""
        with self._transact(_BEGIN_WRITE):
            if check_rebuild is not None:
                self.run(_WAIT_FOR_TURN)
                check_rebuild()
            elif self.run(_FIND_META) != [(None,)]:
                raise _ledger_error(self.location, "42P07")
            elif self.run("SELECT to_regnamespace('dpselect')") == [(None,)]:
                self.run("CREATE SCHEMA dpselect")
            elif self.run(_IS_OWNED) != [(True,)]:
                raise LedgerError(
                    f"no ledger can be made at {self.location}: its schema dpselect belongs to another user, "
                    "who could remove the tables",
                    "let an administrator run: ALTER SCHEMA dpselect OWNER TO the owner of the ledger",
                )
            yield

    def transaction(self, *, durable: bool = True) -> AbstractContextManager[None]:
        """Wait for the write lock first, so that what is read stays true until it writes."""
        not_durable = () if durable else ("SET LOCAL synchronous_commit = off",)
        return self._transact(_BEGIN_WRITE, *not_durable, _WAIT_FOR_TURN)

    def snapshot(self) -> AbstractContextManager[None]:
        """Read one moment, without blocking writers."""
        return self._transact(_BEGIN_READ)

    def problems(self) -> list[str]:
        """Return nothing: PostgreSQL reports a damaged page when it is read."""
        return []

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _transact(self, *begin: str) -> AbstractContextManager[None]:
        return transact(self.run, self._roll_back, begin)

    def _roll_back(self) -> None:
        import psycopg

        with suppress(psycopg.Error):
            self._connection.rollback()


def open_postgres(url: str) -> PostgresStore:
    """Connect to a server; the caller checks whether the ledger is there."""
    try:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict, make_conninfo
    except ImportError:
        raise LedgerError("a ledger in PostgreSQL needs psycopg", install_hint("postgres")) from None
    try:
        # libpq takes a password that holds a / for a port and a database, which are shown.
        is_clear = "@" not in url.partition("://")[2].partition("?")[0].partition("/")[2]
        address_parts = conninfo_to_dict(url) if is_clear else None
    except psycopg.Error:
        address_parts = None
    if address_parts is None:
        raise LedgerError(
            "the address of the ledger is not a PostgreSQL address",
            "write postgresql://USER@HOST/DATABASE, other characters as %XX",
        )
    location = _format_location(address_parts)
    try:
        address = make_conninfo(
            url, **{name: value for name, value in _CONNECTION_OPTIONS.items() if name not in address_parts}
        )
        connection = psycopg.connect(address, autocommit=True)
    except psycopg.Error:
        raise LedgerError(
            f"no connection to the ledger at {location}",
            "check host, database, user and password, and that the server is running",
        ) from None
    try:
        return PostgresStore(location, connection)
    except BaseException:
        connection.close()
        raise


def is_empty_postgres(url: str) -> bool:
    """Return whether there is no ledger."""
    store = open_postgres(url)
    try:
        return store.run(_FIND_META) == [(None,)]
    finally:
        store.close()


def _format_location(address_parts: dict[str, str | int | None]) -> str:
    """Format host and database: a message must not hold more of an address."""
    port = f":{address_parts['port']}" if "port" in address_parts else ""
    return f"postgresql://{address_parts.get('host') or 'localhost'}{port}/{address_parts.get('dbname') or ''}"


_LOST_CONNECTION = (
    "lost its connection: it is unknown whether the last step was recorded",
    "open the ledger again and look at its history",
)
_ABSENT = (
    "is not a ledger: its tables do not exist, or this user may not see them",
    "make one with `dpselect ledger init`, or ask its owner for rights to the schema dpselect",
)
_RIGHTS = ("may not be used in this way by this user", "ask its owner for rights to the schema dpselect and its tables")
_EXISTS = ("is already there", "a ledger is never overwritten: name another database")
_DAMAGED = ("is damaged", VERIFY_HINT)

# By the SQLSTATE, or by its first two characters: https://www.postgresql.org/docs/current/errcodes-appendix.html
_SENTENCES: dict[str, tuple[str, str | None]] = {
    "08": _LOST_CONNECTION,
    "57P01": _LOST_CONNECTION,
    "57P02": _LOST_CONNECTION,
    "57P03": _LOST_CONNECTION,
    "25P03": _LOST_CONNECTION,
    "3F000": _ABSENT,
    "42P01": _ABSENT,
    "42703": _ABSENT,
    "42501": _RIGHTS,
    "42P06": _EXISTS,
    "42P07": _EXISTS,
    "25006": ("may not be written: the server or this user is read-only", "write to the primary server"),
    "53100": ("could not be written: the server's disk is full", "make room, then ask again"),
    "53": ("could not be used: the server ran out of something it needs", "ask the administrator of the server"),
    "55P03": (f"was in use by others for {LOCK_TIMEOUT_SECONDS} seconds", "ask again, or find out who is using it"),
    "57014": ("did not answer: the statement was cancelled", "ask again"),
    "58": (
        "could not be read or written: the server's disk or file system failed",
        "ask the administrator of the server",
    ),
    "XX001": _DAMAGED,
    "XX002": _DAMAGED,
    "23": ("refused an unexpected change", "run `dpselect ledger verify`"),
    "P0001": ("refused an unexpected change", "run `dpselect ledger verify`"),
}


def _ledger_error(location: str, sqlstate: str | None) -> LedgerError:
    """Return the LedgerError for a SQLSTATE; without one, the connection broke."""
    state = sqlstate or "08000"
    unknown = (f"failed (SQLSTATE {state})", "ask the administrator of the server")
    sentence, hint = _SENTENCES.get(state) or _SENTENCES.get(state[:2]) or unknown
    return LedgerError(f"the ledger at {location} {sentence}", hint)
