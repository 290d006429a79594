"""The tables of a ledger in today's format, and the SQL statements for every store."""

from __future__ import annotations

from collections.abc import Callable

from dpselect.draws import fresh_key
from dpselect.errors import LedgerError
from dpselect.ledger.entry import genesis_digest
from dpselect.ledger.port import Store, StoreDialect

PAGE_SIZE = 1_000  # entries that are read at once
ENTRY = (
    "number, kind, dataset, analyst, epsilon, delta, question, refers_to, release, at, previous, digest, "
    "question_hash, renyi, terms"
)
DATA = "dataset, epsilon, delta, terms, seal"
QUOTA = "dataset, analyst, granted_epsilon, granted_delta, seal"
USED = (
    "dataset, period, analyst, spent_epsilon, spent_delta, spent_renyi, "
    "reserved_epsilon, reserved_delta, reserved_renyi, seal"
)


def _qualified_columns(table: str, columns: str) -> str:
    """Return the columns with the name of their table."""
    return ", ".join(f"{table}.{name}" for name in columns.split(", "))


META = "SELECT version, ledger, entries, head FROM meta WHERE id = 1"
_VERSION = "SELECT version FROM meta WHERE id = 1"
CHAIN_END = (
    "SELECT version, ledger, entries, head, number, digest, kind FROM meta LEFT JOIN entry "
    "ON number = (SELECT max(number) FROM entry) WHERE id = 1"
)
ONE_ENTRY = f"SELECT {ENTRY} FROM entry WHERE number = ?"
ONE_DATA = f"SELECT {DATA} FROM data WHERE dataset = ?"
ALL_DATA = f"SELECT {DATA} FROM data"
ONE_QUOTA = f"SELECT {QUOTA} FROM quota WHERE dataset = ? AND analyst = ?"
QUOTA_AND_DATA = (
    f"SELECT {_qualified_columns('quota', QUOTA)}, {_qualified_columns('data', DATA)} "
    "FROM quota LEFT JOIN data ON data.dataset = quota.dataset "
    "WHERE quota.dataset = ? AND quota.analyst = ?"
)
QUOTAS = f"SELECT {QUOTA} FROM quota"
TWO_USED = f"SELECT {USED} FROM used WHERE dataset = ? AND period = ? AND analyst IN (?, ?)"
ALL_USED = f"SELECT {USED} FROM used"
FOLLOWERS = (
    "SELECT kind, number FROM entry WHERE kind IN ('settle', 'return') AND refers_to = ? "
    "UNION ALL SELECT kind, number FROM entry WHERE kind = 'read' AND refers_to = ?"
)
ANY_HOLD = "SELECT number FROM entry WHERE kind = 'hold' AND dataset = ? LIMIT 1"
ENTRIES = f"SELECT {ENTRY} FROM entry WHERE number > ? ORDER BY number LIMIT {PAGE_SIZE}"
ENTRIES_OF = (
    f"SELECT {ENTRY} FROM entry WHERE number > ? AND dataset = ? AND analyst = ? ORDER BY number LIMIT {PAGE_SIZE}"
)
PENDING = f"""
SELECT {ENTRY} FROM entry WHERE number > ? AND kind = 'hold' AND NOT EXISTS (
    SELECT 1 FROM entry AS later WHERE later.kind IN ('settle', 'return') AND later.refers_to = entry.number
) ORDER BY number LIMIT {PAGE_SIZE}
"""
# SQLite takes the index `entry_closes` only where its own condition is repeated; else every question reads all entries.
RELEASED = """
SELECT s.number FROM entry r
JOIN entry s ON s.kind IN ('settle', 'return') AND s.kind = 'settle' AND s.refers_to = r.number
WHERE r.kind = 'hold' AND r.question_hash = ? AND r.dataset = ? AND r.question = ?
AND s.release IS NOT NULL ORDER BY s.number DESC LIMIT 1
"""


def _placeholders(columns: str) -> str:
    return ", ".join("?" * len(columns.split(", ")))


def _upsert(table: str, columns: str, key: str, rows: int = 1) -> str:
    """Return a statement that writes rows, in place of rows with the same keys."""
    other_columns = [name for name in columns.split(", ") if name not in key.split(", ")]
    assignments = ", ".join(f"{name} = excluded.{name}" for name in other_columns)
    values = ", ".join([f"({_placeholders(columns)})"] * rows)
    return f"INSERT INTO {table} ({columns}) VALUES {values} ON CONFLICT ({key}) DO UPDATE SET {assignments}"


_NEW_META = "INSERT INTO meta (id, version, ledger, entries, head) VALUES (1, ?, ?, 0, ?)"
NEW_ENTRY = f"INSERT INTO entry ({ENTRY}) VALUES ({_placeholders(ENTRY)})"
SET_HEAD = "UPDATE meta SET entries = ?, head = ? WHERE id = 1"
SET_VERSION = "UPDATE meta SET version = ? WHERE id = 1"
SET_DATA = _upsert("data", DATA, "dataset")
SET_QUOTA = _upsert("quota", QUOTA, "dataset, analyst")
NEW_USED = f"INSERT INTO used ({USED}) VALUES ({_placeholders(USED)}) ON CONFLICT (dataset, period, analyst) DO NOTHING"
SET_TWO_USED = _upsert("used", USED, "dataset, period, analyst", rows=2)
UPGRADE = "`dpselect ledger upgrade OLD NEW` makes a ledger of today's format that continues it"
UPGRADE_AGAIN = "run the same `dpselect ledger upgrade OLD NEW` again, which makes or finishes it"
FORMAT = 6
READABLE_FORMATS = (4, 5)  # they lack some kinds and terms of today's
UNFINISHED = 0  # the format while an upgrade carries entries over: nobody can open the ledger
_INTEGER_TYPES = {
    StoreDialect.SQLITE: "INTEGER",
    StoreDialect.POSTGRES: "BIGINT",
}  # replaces {whole} below
_CREATE_TABLES = (
    """CREATE TABLE meta (
        id {whole} PRIMARY KEY CHECK (id = 1), version {whole} NOT NULL, ledger TEXT NOT NULL,
        entries {whole} NOT NULL, head TEXT NOT NULL
    )""",
    """CREATE TABLE entry (
        number {whole} PRIMARY KEY, kind TEXT NOT NULL, dataset TEXT NOT NULL, analyst TEXT NOT NULL,
        epsilon TEXT NOT NULL, delta TEXT NOT NULL, renyi TEXT NOT NULL, question TEXT, question_hash TEXT,
        refers_to {whole} REFERENCES entry (number), release TEXT, terms TEXT,
        at TEXT NOT NULL, previous TEXT NOT NULL, digest TEXT NOT NULL
    )""",
    # A reservation is closed once, by a settle or a return, and has one read.
    "CREATE UNIQUE INDEX entry_closes ON entry (refers_to) WHERE kind IN ('settle', 'return')",
    "CREATE UNIQUE INDEX entry_reads ON entry (refers_to) WHERE kind = 'read'",
    "CREATE INDEX entry_asked ON entry (question_hash) WHERE question_hash IS NOT NULL",
    """CREATE TABLE data (
        dataset TEXT PRIMARY KEY, epsilon TEXT NOT NULL, delta TEXT NOT NULL, terms TEXT NOT NULL,
        seal TEXT NOT NULL
    )""",
    """CREATE TABLE quota (
        dataset TEXT NOT NULL, analyst TEXT NOT NULL,
        granted_epsilon TEXT NOT NULL, granted_delta TEXT NOT NULL,
        seal TEXT NOT NULL, PRIMARY KEY (dataset, analyst)
    )""",
    """CREATE TABLE used (
        dataset TEXT NOT NULL, period TEXT NOT NULL, analyst TEXT NOT NULL,
        spent_epsilon TEXT NOT NULL, spent_delta TEXT NOT NULL, spent_renyi TEXT NOT NULL,
        reserved_epsilon TEXT NOT NULL, reserved_delta TEXT NOT NULL, reserved_renyi TEXT NOT NULL,
        seal TEXT NOT NULL, PRIMARY KEY (dataset, period, analyst)
    )""",
)
_APPEND_ONLY = {
    StoreDialect.SQLITE: tuple(
        f"CREATE TRIGGER entry_{event} BEFORE {event} ON entry "
        "BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END"
        for event in ("UPDATE", "DELETE")
    ),
    StoreDialect.POSTGRES: (
        """CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN RAISE EXCEPTION ''entries are never changed''; END'""",
        """CREATE TRIGGER entry_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON entry
        FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()""",
    ),
}
# The store itself refuses the next entry, also from an older program that has it open.
CLOSE_TABLES = {
    StoreDialect.SQLITE: "CREATE TRIGGER entry_closed BEFORE INSERT ON entry "
    "BEGIN SELECT RAISE(ABORT, 'the ledger is closed'); END",
    StoreDialect.POSTGRES: "CREATE TRIGGER entry_closed BEFORE INSERT ON entry "
    "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()",
}
_DROP_TABLES = (
    *(f"DROP TABLE {table}" for table in ("used", "quota", "data", "entry", "meta")),
    "DROP FUNCTION IF EXISTS refuse_change",
)


def build_tables(store: Store, version: int | None = None) -> None:
    """Make the tables of a new ledger, all or none."""
    with store.creation():
        _make_tables(store, FORMAT if version is None else version)


def rebuild_tables(store: Store, check: Callable[[], None]) -> None:
    """Make the tables of an unfinished ledger again, if `check` raises nothing."""
    with store.creation(check):
        for statement in _DROP_TABLES if store.dialect is StoreDialect.POSTGRES else _DROP_TABLES[:-1]:
            store.run(statement)
        _make_tables(store, UNFINISHED)


def _make_tables(store: Store, version: int) -> None:
    for statement in (*_CREATE_TABLES, *_APPEND_ONLY[store.dialect]):
        store.run(statement.replace("{whole}", _INTEGER_TYPES[store.dialect]))
    ledger = fresh_key().hex()
    store.run(_NEW_META, (version, ledger, genesis_digest(ledger, FORMAT)))


def check_format(store: Store) -> None:
    """Refuse a ledger of a format that this program cannot read. Older formats are read, never written."""
    rows = store.run(_VERSION)
    version = rows[0][0] if rows else None
    if not isinstance(version, int):
        hint = "take it from a backup"
        raise LedgerError(f"the ledger at {store.location} is damaged: its version is missing", hint)
    if version == UNFINISHED:
        raise LedgerError(f"the ledger at {store.location} is unfinished: an upgrade was interrupted", UPGRADE_AGAIN)
    if version not in (*READABLE_FORMATS, FORMAT):
        hint = "use the version of dpselect that made it"
        raise LedgerError(
            f"the ledger at {store.location} has format {version}, but this dpselect reads format {FORMAT}", hint
        )
