"""The tables of a ledger, and the form that this program reads and writes."""

from __future__ import annotations

from dpselect.draws import fresh_key
from dpselect.errors import LedgerError
from dpselect.ledger import sql
from dpselect.ledger.entry import first_digest
from dpselect.ledger.port import Store, StoreDialect

FORM = 4
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


def build(store: Store) -> None:
    """Make the tables of a new ledger, all or none."""
    with store.creation():
        for statement in (*_TABLES, *_NEVER_CHANGED[store.dialect]):
            store.run(statement.replace("{whole}", _WHOLE[store.dialect]))
        ledger = fresh_key().hex()
        store.run(sql.NEW_META, (FORM, ledger, first_digest(ledger, FORM)))


def check_form(store: Store) -> None:
    """Refuse a ledger that another version of this program made."""
    rows = store.run(sql.VERSION)
    form = rows[0][0] if rows else None
    if not isinstance(form, int):
        hint = "take it from a backup"
        raise LedgerError(f"the ledger at {store.place} is damaged: it does not say its version", hint)
    if form != FORM:
        hint = "use the dpselect that made it"
        raise LedgerError(f"the ledger at {store.place} has form {form}, this dpselect knows form {FORM}", hint)
