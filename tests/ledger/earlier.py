"""Ledgers as earlier versions wrote them, forms 1 and 2: tables, digests and sums, with nothing of today's code but
the connection.

Every analyst had a balance for each data set: what was granted, spent and reserved, all of which added up.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction

from dpselect.ledger import Account
from dpselect.ledger.places import create_store
from dpselect.ledger.port import Cell, Dialect, Row, Store

ONE = (
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
)
TRIGGERS = {
    Dialect.SQLITE: tuple(
        f"CREATE TRIGGER entry_{event} BEFORE {event} ON entry "
        "BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END"
        for event in ("UPDATE", "DELETE")
    ),
    Dialect.POSTGRES: (
        "CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN RAISE EXCEPTION ''entries are never changed''; END'",
        "CREATE TRIGGER entry_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON entry "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()",
    ),
}
TWO = (
    "CREATE UNIQUE INDEX entry_closes ON entry (refers_to) WHERE kind IN ('settle', 'return')",
    "CREATE UNIQUE INDEX entry_reads ON entry (refers_to) WHERE kind = 'read'",
    "DROP INDEX entry_settles",
    "DROP INDEX entry_asked",
    "CREATE INDEX entry_asked ON entry (question_hash) WHERE question_hash IS NOT NULL",
)
ID = "0123456789abcdef"
WHOLE = {Dialect.SQLITE: "INTEGER", Dialect.POSTGRES: "BIGINT"}
AMOUNTS = "granted_epsilon, granted_delta, spent_epsilon, spent_delta, reserved_epsilon, reserved_delta"

Amount = tuple[Fraction, Fraction]
"""Epsilon and delta."""

NOTHING: Amount = (Fraction(0), Fraction(0))


@dataclass(frozen=True)
class Kept:
    """A balance of the time."""

    granted: Amount = NOTHING
    spent: Amount = NOTHING
    reserved: Amount = NOTHING

    @property
    def left(self) -> Amount:
        return less(less(self.granted, self.spent), self.reserved)

    def affords(self, price: Amount) -> bool:
        """The rule of the time: both parts fit into what is left."""
        return price[0] <= self.left[0] and price[1] <= self.left[1]


class Earlier:
    """A ledger of form 1 or 2 that a program of the time has open; `born` in form 1 where that brought it up."""

    def __init__(self, where: str, form: int, *, born: int | None = None) -> None:
        self.store: Store = create_store(where)
        self.form, born = form, born or form
        head = sha256(["dpselect ledger", ID, born])
        with self.store.creation():
            for statement in (*ONE, *TRIGGERS[self.store.dialect], *(TWO if form == 2 else ())):
                self.store.run(statement.replace("{whole}", WHOLE[self.store.dialect]))
            self.store.run(
                "INSERT INTO meta (id, version, born, ledger, entries, head) VALUES (1, ?, ?, ?, 0, ?)",
                (form, born, ID, head),
            )

    def grant(self, account: Account, epsilon: str, delta: str) -> None:
        """Add to what was granted."""
        with self.store.transaction():
            before = self.found(account) or Kept()
            after = Kept(more(before.granted, amount(epsilon, delta)), before.spent, before.reserved)
            self._append("grant", account, after.granted)
            self._keep(account, after)

    def reserve(self, account: Account, price: Amount, question: str) -> int | None:
        """The number of the entry that sets the price aside; None for a question that is refused.

        In form 1 rows were read from then on; in form 2 once it was started.
        """
        with self.store.transaction():
            before = self.balance(account)
            if not before.affords(price):
                self._append("refused", account, price, question)
                return None
            number = self._append("hold" if self.form == 2 else "reserve", account, price, question)
            self._keep(account, Kept(before.granted, before.spent, more(before.reserved, price)))
            return number

    def start(self, number: int) -> None:
        """Say that rows may be read: in form 2."""
        if self.form == 2:
            with self.store.transaction():
                account, _ = self._asked(number)
                self._append("read", account, NOTHING, refers_to=number)

    def settle(self, number: int, price: Amount, release: str | None) -> None:
        """The answer, and what it cost."""
        with self.store.transaction():
            account, held = self._asked(number)
            before = self.balance(account)
            self._append("settle", account, price, refers_to=number, release=release)
            self._keep(account, Kept(before.granted, more(before.spent, price), less(before.reserved, held)))

    def give_back(self, number: int) -> None:
        """Free what was reserved: in form 2."""
        with self.store.transaction():
            account, held = self._asked(number)
            before = self.balance(account)
            self._append("return", account, NOTHING, refers_to=number)
            self._keep(account, Kept(before.granted, before.spent, less(before.reserved, held)))

    def repeat(self, account: Account, question: str, settle: int) -> None:
        """Give the release of a settle again."""
        with self.store.transaction():
            self._append("repeat", account, NOTHING, question, settle)

    def ask(self, account: Account, price: Amount, question: str, release: str | None) -> int:
        """A whole life; the number of its settle."""
        number = self.reserve(account, price, question)
        assert number is not None
        self.start(number)
        self.settle(number, price, release)
        return self.count

    # ---- looking --------------------------------------------------------------------------------------------

    @property
    def head(self) -> str:
        return str(self._meta()[1])

    @property
    def count(self) -> int:
        return int(str(self._meta()[0]))

    def balance(self, account: Account) -> Kept:
        """How the analyst stands, who must have been granted something."""
        found = self.found(account)
        assert found is not None
        return found

    def found(self, account: Account) -> Kept | None:
        """The same; None for one who was granted nothing."""
        rows = self.store.run(
            f"SELECT {AMOUNTS} FROM balance WHERE dataset = ? AND analyst = ?", (account.dataset, account.analyst)
        )
        return kept(rows[0]) if rows else None

    def _meta(self) -> Row:
        return self.store.run("SELECT entries, head FROM meta WHERE id = 1")[0]

    # ---- writing --------------------------------------------------------------------------------------------

    def _asked(self, number: int) -> tuple[Account, Amount]:
        row = self.store.run("SELECT dataset, analyst, epsilon, delta FROM entry WHERE number = ?", (number,))[0]
        return Account.kept(str(row[0]), str(row[1])), (Fraction(str(row[2])), Fraction(str(row[3])))

    def _append(
        self,
        kind: str,
        account: Account,
        price: Amount,
        question: str | None = None,
        refers_to: int | None = None,
        release: str | None = None,
    ) -> int:
        count, previous = self._meta()
        number, at = int(str(count)) + 1, datetime.now(UTC).isoformat(timespec="microseconds")
        whose, amounts = (account.dataset, account.analyst), tuple(map(decimal, price))
        digest = sha256([str(previous), number, kind, *whose, *amounts, question, refers_to, release, at])
        asked = None if question is None else hashlib.sha256(question.encode()).hexdigest()
        cells: list[Cell] = [number, kind, *whose, *amounts, question, asked, refers_to, release, at]
        self.store.run(
            "INSERT INTO entry (number, kind, dataset, analyst, epsilon, delta, question, question_hash, refers_to, "
            "release, at, previous, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [*cells, str(previous), digest],
        )
        self.store.run("UPDATE meta SET entries = ?, head = ? WHERE id = 1", (number, digest))
        return number

    def _keep(self, account: Account, balance: Kept) -> None:
        self.store.run("DELETE FROM balance WHERE dataset = ? AND analyst = ?", (account.dataset, account.analyst))
        cells = balance_cells(account, balance)
        self.store.run(
            f"INSERT INTO balance (dataset, analyst, {AMOUNTS}, seal) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", cells
        )


def balance_cells(account: Account, balance: Kept) -> list[Cell]:
    """A row of the table balance, with its seal."""
    amounts = map(decimal, (*balance.granted, *balance.spent, *balance.reserved))
    cells = [account.dataset, account.analyst, *amounts]
    return [*cells, hashlib.sha256(json.dumps(cells).encode()).hexdigest()]


def kept(row: Row) -> Kept:
    """What a row of amounts says."""
    a, b, c, d, e, f = (Fraction(str(cell)) for cell in row)
    return Kept((a, b), (c, d), (e, f))


def amount(epsilon: str, delta: str = "0") -> Amount:
    return Fraction(epsilon), Fraction(delta)


def more(one: Amount, other: Amount) -> Amount:
    return one[0] + other[0], one[1] + other[1]


def less(one: Amount, other: Amount) -> Amount:
    return one[0] - other[0], one[1] - other[1]


def decimal(number: Fraction) -> str:
    """With 30 digits after the point."""
    scaled = number * 10**30
    assert scaled.denominator == 1
    return f"{scaled.numerator // 10**30}.{scaled.numerator % 10**30:030d}"


def sha256(cells: list[str | int | None]) -> str:
    """The digest of cells, as all versions make it."""
    return hashlib.sha256(json.dumps(cells, ensure_ascii=True, separators=(",", ":")).encode()).hexdigest()
