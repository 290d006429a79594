"""The tables of a ledger, in the form that this program reads and writes, and the statements for every store."""

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


def _of(table: str, columns: str) -> str:
    """The columns by their full names."""
    return ", ".join(f"{table}.{name}" for name in columns.split(", "))


META = "SELECT version, ledger, entries, head FROM meta WHERE id = 1"
VERSION = "SELECT version FROM meta WHERE id = 1"
CHAIN_END = (
    "SELECT version, ledger, entries, head, number, digest, kind FROM meta LEFT JOIN entry "
    "ON number = (SELECT max(number) FROM entry) WHERE id = 1"
)
ONE_ENTRY = f"SELECT {ENTRY} FROM entry WHERE number = ?"
ONE_DATA = f"SELECT {DATA} FROM data WHERE dataset = ?"
ALL_DATA = f"SELECT {DATA} FROM data"
ONE_QUOTA = f"SELECT {QUOTA} FROM quota WHERE dataset = ? AND analyst = ?"
QUOTA_AND_DATA = (
    f"SELECT {_of('quota', QUOTA)}, {_of('data', DATA)} FROM quota LEFT JOIN data ON data.dataset = quota.dataset "
    "WHERE quota.dataset = ? AND quota.analyst = ?"
)
QUOTAS = f"SELECT {QUOTA} FROM quota"
TWO_USED = f"SELECT {USED} FROM used WHERE dataset = ? AND period = ? AND analyst IN (?, ?)"
ALL_USED = f"SELECT {USED} FROM used"
READ_OF = "SELECT number FROM entry WHERE kind = 'read' AND refers_to = ?"
CLOSED_OR_READ = (
    "SELECT kind FROM entry WHERE kind IN ('settle', 'return') AND refers_to = ? "
    "UNION ALL SELECT kind FROM entry WHERE kind = 'read' AND refers_to = ?"
)
SETTLE_OF = "SELECT number FROM entry WHERE kind = 'settle' AND refers_to = ?"
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
RELEASED = """
SELECT s.number FROM entry r JOIN entry s ON s.kind = 'settle' AND s.refers_to = r.number
WHERE r.kind = 'hold' AND r.question_hash = ? AND r.dataset = ? AND r.question = ?
AND s.release IS NOT NULL ORDER BY s.number DESC LIMIT 1
"""


def _places(columns: str) -> str:
    return ", ".join("?" * len(columns.split(", ")))


def _put(table: str, columns: str, key: str, rows: int = 1) -> str:
    """Write rows in the place of those of the same keys."""
    rest = [name for name in columns.split(", ") if name not in key.split(", ")]
    given = ", ".join(f"{name} = excluded.{name}" for name in rest)
    places = ", ".join([f"({_places(columns)})"] * rows)
    return f"INSERT INTO {table} ({columns}) VALUES {places} ON CONFLICT ({key}) DO UPDATE SET {given}"


NEW_META = "INSERT INTO meta (id, version, ledger, entries, head) VALUES (1, ?, ?, 0, ?)"
NEW_ENTRY = f"INSERT INTO entry ({ENTRY}) VALUES ({_places(ENTRY)})"
SET_HEAD = "UPDATE meta SET entries = ?, head = ? WHERE id = 1"
SET_VERSION = "UPDATE meta SET version = ? WHERE id = 1"
SET_DATA = _put("data", DATA, "dataset")
SET_QUOTA = _put("quota", QUOTA, "dataset, analyst")
NEW_USED = f"INSERT INTO used ({USED}) VALUES ({_places(USED)}) ON CONFLICT (dataset, period, analyst) DO NOTHING"
SET_TWO_USED = _put("used", USED, "dataset, period, analyst", rows=2)
UPGRADE = "`dpselect ledger upgrade OLD NEW` makes a ledger of today's format that continues it"
UPGRADE_AGAIN = "run the same `dpselect ledger upgrade OLD NEW` again, which makes or finishes it"
FORMAT = 6
READABLE_FORMATS = (4, 5)  # whose tables and entries are those of today, but for kinds and terms that they lack
UNFINISHED = 0  # in the place of the form while entries are carried over into a ledger: nobody spends from it
_WHOLE = {
    StoreDialect.SQLITE: "INTEGER",
    StoreDialect.POSTGRES: "BIGINT",
}  # a dialect's type for whole numbers, {whole} below
_TABLES = (
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
    # A reservation is closed once, by a settle or by a return, and read under once.
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
_NEVER_CHANGED = {
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
# The place itself refuses the next entry, also one of an older program that had it open.
CLOSE = {
    StoreDialect.SQLITE: "CREATE TRIGGER entry_closed BEFORE INSERT ON entry "
    "BEGIN SELECT RAISE(ABORT, 'the ledger is closed'); END",
    StoreDialect.POSTGRES: "CREATE TRIGGER entry_closed BEFORE INSERT ON entry "
    "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()",
}
_NO_TABLES = (
    *(f"DROP TABLE {table}" for table in ("used", "quota", "data", "entry", "meta")),
    "DROP FUNCTION IF EXISTS refuse_change",
)


def build_tables(store: Store, version: int | None = None) -> None:
    """Make the tables of a new ledger, all or none."""
    with store.creation():
        _make(store, FORMAT if version is None else version)


def rebuild_tables(store: Store, check: Callable[[], None]) -> None:
    """Make the tables of an unfinished ledger anew, where `check` raises nothing."""
    with store.creation(check):
        for statement in _NO_TABLES if store.dialect is StoreDialect.POSTGRES else _NO_TABLES[:-1]:
            store.run(statement)
        _make(store, UNFINISHED)


def _make(store: Store, version: int) -> None:
    for statement in (*_TABLES, *_NEVER_CHANGED[store.dialect]):
        store.run(statement.replace("{whole}", _WHOLE[store.dialect]))
    ledger = fresh_key().hex()
    store.run(NEW_META, (version, ledger, genesis_digest(ledger, FORMAT)))


def check_format(store: Store) -> None:
    """Refuse a ledger that this program cannot read. Of an older form that it reads, it writes none."""
    rows = store.run(VERSION)
    form = rows[0][0] if rows else None
    if not isinstance(form, int):
        hint = "take it from a backup"
        raise LedgerError(f"the ledger at {store.place} is damaged: its version is missing", hint)
    if form == UNFINISHED:
        raise LedgerError(f"the ledger at {store.place} is unfinished: an upgrade was interrupted", UPGRADE_AGAIN)
    if form not in (*READABLE_FORMATS, FORMAT):
        hint = "use the version of dpselect that made it"
        raise LedgerError(
            f"the ledger at {store.place} has format {form}, but this dpselect reads format {FORMAT}", hint
        )
