"""What one transaction reads and writes: the end of the chain, an account's balance, the next entry."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from dpselect.errors import LedgerError
from dpselect.ledger import sql
from dpselect.ledger.account import Account, Balance
from dpselect.ledger.entry import Draft, Entry, Kind, Pending, chained, hash_of
from dpselect.ledger.port import Row, Store
from dpselect.ledger.rows import (
    DamagedRowError,
    Meta,
    balance_from,
    balance_row,
    entry_from,
    entry_row,
    intact_entry_from,
    meta_from,
)
from dpselect.parameters import near

T = TypeVar("T")
_FOUND_OUT = "run `dpselect ledger verify`, then take it from a backup"


class Journal:
    """The tables of one store, in our own words."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def meta(self) -> Meta:
        """What the ledger says of itself."""
        rows = self._store.run(sql.META)
        return self._parsed("what it says of itself", meta_from, rows[0] if rows else ())

    def end(self) -> Meta:
        """The same, for a writer: its last entry must be the one that is really there."""
        meta = self.meta()
        last = self._store.run(sql.LAST)
        if (last[0] if last else (0, meta.head)) != (meta.entries, meta.head):
            raise self._damaged("its last entries are missing or are not its own")
        return meta

    def append(self, end: Meta, draft: Draft, balance: Balance | None = None) -> Entry:
        """Write the next entry, and the balance that it leads to."""
        entry = chained(draft, end.entries + 1, end.head)
        self._store.run(sql.NEW_ENTRY, entry_row(entry))
        if balance is not None:
            self._store.run(sql.SET_BALANCE, balance_row(balance))
        self._store.run(sql.SET_HEAD, (entry.number, entry.digest))
        return entry

    def find_balance(self, account: Account) -> Balance | None:
        """How the account stands; None where nothing was ever granted to it."""
        rows = self._store.run(sql.ONE_BALANCE, (account.dataset, account.analyst))
        if not rows:
            return None
        balance = self._parsed(f"the balance of {account}", balance_from, rows[0])
        if balance.account != account:
            raise self._damaged(f"the balance of {account} is that of another")
        return balance

    def balance(self, account: Account) -> Balance:
        """How the account stands; an account without any grant is unknown."""
        balance = self.find_balance(account)
        if balance is None:
            raise LedgerError(
                f"analyst {account.analyst!r} has no budget for the data set {account.dataset!r}", self._hint(account)
            )
        return balance

    def _hint(self, account: Account) -> str | None:
        """Who may be meant by an account that is not there."""
        accounts = [balance.account for balance in self.balances()]
        for old in accounts:
            if not old.is_named_today and old.looks_like(account):
                return (
                    f"it looks like {old.analyst!a} on {old.dataset!a}, a name that can no longer be given: "
                    "grant what that has left (`dpselect ledger show`) to the new name"
                )
        known = sorted(one.analyst for one in accounts if one.dataset == account.dataset)
        return near(account.analyst, known) if known else "nobody has: grant one with `dpselect ledger grant`"

    def balances(self) -> list[Balance]:
        """Every account, by data set and analyst."""
        found = [self._parsed("a balance", balance_from, row) for row in self._store.run(sql.BALANCES)]
        return sorted(found, key=lambda balance: (balance.account.dataset, balance.account.analyst))

    def entry(self, number: int) -> Entry | None:
        """The entry of that number, unchanged since it was written."""
        rows = self._store.run(sql.ONE_ENTRY, (number,))
        return self._parsed(f"entry {number}", intact_entry_from, rows[0]) if rows else None

    def closed(self, number: int) -> Kind | None:
        """How this reservation ended; None while it is open."""
        rows = self._store.run(sql.CLOSED, (number,))
        return Kind(str(rows[0][1])) if rows else None

    def may_have_read(self, entry: Entry) -> bool:
        """May rows have been read under this reservation? Earlier versions never said that none was."""
        return entry.kind is Kind.RESERVE or bool(self._store.run(sql.READ, (entry.number,)))

    def pending(self, after: int) -> list[Pending]:
        """The next reservations after that number that nobody closed."""
        entries = [self._parsed("an entry", intact_entry_from, row) for row in self._store.run(sql.PENDING, (after,))]
        return [Pending(entry, self.may_have_read(entry)) for entry in entries]

    def released(self, account: Account, question: str) -> Entry | None:
        """The latest settle with a release of exactly this question of exactly this account."""
        rows = self._store.run(sql.RELEASED, (hash_of(question), account.dataset, account.analyst, question))
        number = rows[0][0] if rows else None
        return self.entry(number) if isinstance(number, int) else None

    def page(self, after: int, account: Account | None = None) -> list[Entry]:
        """The next entries after that number."""
        if account is None:
            rows = self._store.run(sql.ENTRIES, (after,))
        else:
            rows = self._store.run(sql.ENTRIES_OF, (after, account.dataset, account.analyst))
        return [self._parsed("an entry", entry_from, row) for row in rows]

    def _parsed(self, what: str, parse: Callable[[Row], T], row: Row) -> T:
        try:
            return parse(row)
        except (DamagedRowError, IndexError) as error:
            why = str(error) if isinstance(error, DamagedRowError) else "it is missing"
            raise self._damaged(f"{what} cannot be trusted: {why}") from None

    def _damaged(self, why: str) -> LedgerError:
        return LedgerError(f"the ledger at {self._store.place} is damaged: {why}", _FOUND_OUT)
