"""What entries add up to, and which of them could not have been written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from dpselect.ledger.account import Account, Balance
from dpselect.ledger.charge import ZERO, Charge
from dpselect.ledger.entry import Entry, Kind


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
