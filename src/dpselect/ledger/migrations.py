"""The tables, as numbered steps: a new ledger takes all of them, an older one those that it has not seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dpselect.draws import fresh_key
from dpselect.errors import LedgerError
from dpselect.ledger import sql
from dpselect.ledger.earlier import move_balances
from dpselect.ledger.entry import first_digest
from dpselect.ledger.port import Dialect, Store


@dataclass(frozen=True)
class Step:
    """From the version before to this one. `{whole}` is the dialect's type for whole numbers."""

    version: int
    everywhere: tuple[str, ...]
    then: Mapping[Dialect, tuple[str, ...]] = field(default_factory=dict)
    move: Callable[[Store], None] | None = None  # what is there is brought along


_ONE = Step(
    version=1,
    everywhere=(
        """CREATE TABLE meta (
            id {whole} PRIMARY KEY CHECK (id = 1), version {whole} NOT NULL, born {whole} NOT NULL,
            ledger TEXT NOT NULL, entries {whole} NOT NULL, head TEXT NOT NULL
        )""",
        """CREATE TABLE entry (
            number {whole} PRIMARY KEY, kind TEXT NOT NULL, dataset TEXT NOT NULL, analyst TEXT NOT NULL,
            epsilon TEXT NOT NULL, delta TEXT NOT NULL, question TEXT, question_hash TEXT,
            refers_to {whole} REFERENCES entry (number), release TEXT,
            at TEXT NOT NULL, previous TEXT NOT NULL, digest TEXT NOT NULL
        )""",
        "CREATE UNIQUE INDEX entry_settles ON entry (refers_to) WHERE kind = 'settle'",
        "CREATE INDEX entry_asked ON entry (question_hash) WHERE kind = 'reserve'",
        """CREATE TABLE balance (
            dataset TEXT NOT NULL, analyst TEXT NOT NULL,
            granted_epsilon TEXT NOT NULL, granted_delta TEXT NOT NULL,
            spent_epsilon TEXT NOT NULL, spent_delta TEXT NOT NULL,
            reserved_epsilon TEXT NOT NULL, reserved_delta TEXT NOT NULL,
            seal TEXT NOT NULL, PRIMARY KEY (dataset, analyst)
        )""",
    ),
    then={
        Dialect.SQLITE: tuple(
            f"CREATE TRIGGER entry_{event} BEFORE {event} ON entry "
            "BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END"
            for event in ("UPDATE", "DELETE")
        ),
        Dialect.POSTGRES: (
            """CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN RAISE EXCEPTION ''entries are never changed''; END'""",
            """CREATE TRIGGER entry_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON entry
            FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()""",
        ),
    },
)
# A reservation is closed once, by a settle or by a return, and read under once.
_TWO = Step(
    version=2,
    everywhere=(
        "CREATE UNIQUE INDEX entry_closes ON entry (refers_to) WHERE kind IN ('settle', 'return')",
        "CREATE UNIQUE INDEX entry_reads ON entry (refers_to) WHERE kind = 'read'",
        "DROP INDEX entry_settles",
        "DROP INDEX entry_asked",
        "CREATE INDEX entry_asked ON entry (question_hash) WHERE question_hash IS NOT NULL",
    ),
)
# The account of the data keeps the promise; analysts' accounts became quotas in it. A program of an earlier version
# that has the ledger open cannot spend any more: its table is gone.
_THREE = Step(
    version=3,
    everywhere=(
        "ALTER TABLE entry ADD COLUMN renyi TEXT",
        "ALTER TABLE entry ADD COLUMN terms TEXT",
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
    ),
    move=move_balances,
)
STEPS = [_ONE, _TWO, _THREE]
_WHOLE = {Dialect.SQLITE: "INTEGER", Dialect.POSTGRES: "BIGINT"}


def build(store: Store) -> None:
    """Make the tables of a new ledger, all or none."""
    with store.creation():
        version, ledger = STEPS[-1].version, fresh_key().hex()
        for step in STEPS:
            _take(store, step)
            if step.version == 1:
                store.run(sql.NEW_META, (version, version, ledger, first_digest(ledger, version)))


def bring_up(store: Store) -> None:
    """Take the steps that an opened ledger has not seen; refuse one that is newer than this program."""
    if _version(store) == STEPS[-1].version:
        return
    if not store.writable:
        raise LedgerError(
            f"the ledger at {store.place} has an older form, and this user may not write to it",
            "open it once as a user who may write",
        )
    with store.transaction():
        seen = _version(store)
        for step in STEPS:
            if step.version > seen:
                _take(store, step)
        store.run(sql.SET_VERSION, (STEPS[-1].version,))


def _version(store: Store) -> int:
    """The schema version of the ledger, which is at most ours."""
    rows = store.run(sql.VERSION)
    version = rows[0][0] if rows else None
    if not isinstance(version, int) or version < 1:
        raise LedgerError(
            f"the ledger at {store.place} is damaged: it does not say its version", "take it from a backup"
        )
    if version > STEPS[-1].version:
        raise LedgerError(
            f"the ledger at {store.place} has form {version}, this dpselect knows forms up to {STEPS[-1].version}",
            "use the newer dpselect that wrote it",
        )
    return version


def _take(store: Store, step: Step) -> None:
    for statement in (*step.everywhere, *step.then.get(store.dialect, ())):
        store.run(statement.replace("{whole}", _WHOLE[store.dialect]))
    if step.move is not None:
        step.move(store)
