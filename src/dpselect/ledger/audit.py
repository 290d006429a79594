"""The ledger checked from its first entry to its last, against itself and against a digest noted elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from dpselect.errors import LedgerError
from dpselect.ledger import sql
from dpselect.ledger.account import Account, Balance
from dpselect.ledger.entry import Entry, digest_of, first_digest
from dpselect.ledger.port import Row, Store
from dpselect.ledger.rows import DamagedRowError, Meta, balance_from, entry_from, intact_entry_from, meta_from
from dpselect.ledger.sums import Sums

MOST = 100  # problems that are told one by one


def audit(store: Store, head: str | None) -> list[str]:
    """The problems, one sentence each. A damaged ledger is never an error here."""
    found: list[str] = []
    for part in (_of_the_place(store), _of_the_tables(store, head)):
        try:
            for problem in part:
                found.append(problem)
        except LedgerError as error:
            found.append(str(error).partition("\n")[0])
    more = len(found) - MOST
    return found if more <= 0 else [*found[:MOST], f"and {more} more problems"]


def _of_the_place(store: Store) -> Iterator[str]:
    yield from store.problems()


def _of_the_tables(store: Store, head: str | None) -> Iterator[str]:
    with store.snapshot():
        meta = _meta(store)
        if meta is None:
            yield "the ledger does not say what it is: its id, its version and its last entry are damaged"
        sums = Sums()
        walk = _Walk(meta, head)
        for row in _all_entries(store):
            yield from walk.problems(row, sums)
        yield from walk.problems_at_the_end()
        yield from _of_balances(store, sums)


def _meta(store: Store) -> Meta | None:
    rows = store.run(sql.META)
    try:
        return meta_from(rows[0])
    except (DamagedRowError, IndexError):
        return None


def _all_entries(store: Store) -> Iterator[Row]:
    """Every row of the table entry in the order of the numbers; a number that is none ends the walk."""
    after = 0
    while rows := store.run(sql.ENTRIES, (after,)):
        yield from rows
        last = rows[-1][0]
        if not isinstance(last, int) or last <= after:
            return
        after = last


class _Walk:
    """Along the chain: what the next entry must be numbered and must follow."""

    def __init__(self, meta: Meta | None, head: str | None) -> None:
        self._meta = meta
        self._number = 0
        self._digest = None if meta is None else first_digest(meta.ledger, meta.born)
        self._noted = head
        self._seen = head is None or head == self._digest

    def problems(self, row: Row, sums: Sums) -> Iterator[str]:
        """What is wrong with the next entry, by itself and after those before it."""
        number = row[0] if isinstance(row[0], int) else self._number + 1
        if number != self._number + 1:
            yield f"entries are missing: {number} follows {self._number}"
        self._number = number
        try:
            entry = entry_from(row)
        except DamagedRowError as error:
            yield f"entry {number} is damaged: {error}"
            self._digest = row[11] if isinstance(row[11], str) else None
            return
        yield from self._problems_of_the_chain(entry, row)
        yield from (f"entry {number} {problem}" for problem in sums.problems(entry))

    def _problems_of_the_chain(self, entry: Entry, row: Row) -> Iterator[str]:
        if self._digest is not None and entry.previous != self._digest:
            yield f"entry {entry.number} does not follow the entry before it: its previous digest is another"
        try:
            intact_entry_from(row)
        except DamagedRowError as error:
            yield f"entry {entry.number} was changed: {error}"
        self._digest = entry.digest
        self._seen = self._seen or self._noted == entry.digest == digest_of(entry)

    def problems_at_the_end(self) -> Iterator[str]:
        """Is the last entry the one that the ledger says it has, and was the noted one met?"""
        if self._meta is not None and (self._meta.entries, self._meta.head) != (self._number, self._digest):
            yield (
                f"the last entry is not the one that the ledger says it has: "
                f"it has {self._number} entries and says {self._meta.entries}"
                + ("" if self._meta.entries != self._number else " too, but the digests differ")
            )
        if not self._seen:
            yield "no entry has the digest that was noted: the ledger was rewritten, or set back to an earlier state"


def _of_balances(store: Store, sums: Sums) -> Iterator[str]:
    """The table balance is a cache; what the entries add up to is the truth."""
    met: set[Account] = set()
    for row in store.run(sql.BALANCES):
        try:
            balance = balance_from(row)
        except DamagedRowError as error:
            yield f"the balance of {row[1]!r} on {row[0]!r} is damaged: {error}"
            continue
        met.add(balance.account)
        yield from _differences(balance, sums.balance(balance.account))
    for account in sums.accounts():
        if account not in met:
            yield f"the balance of {account} is missing or damaged"


def _differences(kept: Balance, summed: Balance) -> Iterator[str]:
    for part in ("granted", "spent", "reserved"):
        if getattr(kept, part) != getattr(summed, part):
            yield (
                f"the balance of {kept.account} says {part} {getattr(kept, part)}, "
                f"its entries add up to {getattr(summed, part)}"
            )
