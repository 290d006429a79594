"""The ledger checked from its first entry to its last, against itself and against a digest noted elsewhere.

`Sums` says what entries add up to, and which of them could not have been written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from dpselect.errors import LedgerError
from dpselect.ledger import sql
from dpselect.ledger.account import Account, Balance
from dpselect.ledger.charge import ZERO, Charge
from dpselect.ledger.entry import Entry, Kind, digest_of, first_digest
from dpselect.ledger.port import Row, Store
from dpselect.ledger.rows import DamagedRowError, Meta, balance_from, entry_from, intact_entry_from, meta_from

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


class Sums:
    """Balances recomputed from the entries alone, one entry after the other."""

    def __init__(self) -> None:
        self._balances: dict[Account, Balance] = {}
        self._open: dict[int, tuple[Account, Charge]] = {}
        self._unread: set[int] = set()
        self._settles: dict[int, Account] = {}

    def accounts(self) -> Iterable[Account]:
        """Every account that was granted anything or was charged."""
        return self._balances.keys()

    def balance(self, account: Account) -> Balance:
        """How the account stands by its entries."""
        return self._balances.get(account) or Balance(account, ZERO, ZERO, ZERO)

    def problems(self, entry: Entry) -> Iterator[str]:
        """Add the entry; what is wrong about it after all before it."""
        before = self.balance(entry.account)
        match entry.kind:
            case Kind.GRANT:
                yield from self._put(replace(before, granted=entry.charge))
            case Kind.RESERVE | Kind.HOLD:
                if entry.kind is Kind.HOLD:
                    self._unread.add(entry.number)
                self._open[entry.number] = (entry.account, entry.charge)
                yield from self._put(replace(before, reserved=before.reserved + entry.charge))
            case Kind.SETTLE:
                yield from self._settle(entry, before)
            case Kind.READ:
                yield from self._read(entry)
            case Kind.RETURN:
                yield from self._return(entry, before)
            case Kind.REPEAT:
                if entry.charge != ZERO:
                    yield "repeats a release and charges for it"
                if self._settles.get(entry.refers_to or 0) != entry.account:
                    yield "repeats a release that this account never had"
            case Kind.REFUSED:
                pass

    def _read(self, entry: Entry) -> Iterator[str]:
        if entry.charge != ZERO:
            yield "marks a question as reading and charges for it"
        if not self._is_unread(entry):
            yield "marks as reading what is no open reservation of this account, or was marked before"
        self._unread.discard(entry.refers_to or 0)

    def _return(self, entry: Entry, before: Balance) -> Iterator[str]:
        if entry.charge != ZERO:
            yield "gives a reservation back and charges for it"
        if not self._is_unread(entry):
            yield "gives back what is no open reservation of this account, or under which rows may have been read"
        account, ceiling = self._open.pop(entry.refers_to or 0, (None, ZERO))
        if account == entry.account and ceiling.fits(before.reserved):
            yield from self._put(replace(before, reserved=before.reserved - ceiling))

    def _is_unread(self, entry: Entry) -> bool:
        number = entry.refers_to or 0
        return number in self._unread and self._open.get(number, (None, ZERO))[0] == entry.account

    def _settle(self, entry: Entry, before: Balance) -> Iterator[str]:
        self._settles[entry.number] = entry.account
        account, ceiling = self._open.pop(entry.refers_to or 0, (None, ZERO))
        if account is None:
            yield "settles no open reservation"
        elif account != entry.account:
            yield "settles a reservation of another account"
        elif not entry.charge.fits(ceiling):
            yield "settles for more than what was reserved"
        if entry.refers_to in self._unread:
            yield "settles a question that was never marked as reading"
        if account == entry.account and ceiling.fits(before.reserved):
            before = replace(before, reserved=before.reserved - ceiling)
        yield from self._put(replace(before, spent=before.spent + entry.charge))

    def _put(self, balance: Balance) -> Iterator[str]:
        self._balances[balance.account] = balance
        if not balance.used.fits(balance.granted):
            yield f"leaves {balance.account} with more spent and reserved than granted"
