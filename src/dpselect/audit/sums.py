"""What the entries of a ledger add up to, from the first one on, and which of them could not have been written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from dpselect.ledger import ALWAYS, ZERO, Account, Charge, DataAccount, Entry, EntryKind, Standing, Usage

_NOTHING_OPEN: tuple[Account | None, Mapping[str, Charge]] = (None, {})


def replay(entries: Iterable[Entry]) -> Iterator[tuple[Entry, Entry, Sums]]:
    """Yield each entry, the one that asked its question, and the sums after it.

    An entry that belongs to no question is its own. What is wrong with an entry is left to `verify`.
    """
    sums, questions = Sums(), dict[int, Entry]()
    for entry in entries:
        for _ in sums.problems(entry):
            pass
        questions[entry.number] = questions.get(entry.refers_to or 0, entry)
        yield entry, questions[entry.number], sums


class Sums:
    """Accounts recomputed from the entries alone, one after the other."""

    def __init__(self) -> None:
        self.data: dict[str, DataAccount] = {}
        self.granted: dict[Account, Charge] = {}
        self.used: defaultdict[tuple[Account, str], Usage] = defaultdict(Usage)
        self._open_holds: dict[int, tuple[Account, Mapping[str, Charge]]] = {}
        self._unread_holds: set[int] = set()
        self._settlements: dict[int, str] = {}
        self._asked_datasets: set[str] = set()

    def standing(self, account: Account, period: str) -> Standing | None:
        """Return the analyst's standing by the entries so far; None before anything was promised or granted."""
        data, granted = self.data.get(account.dataset), self.granted.get(account)
        if data is None or granted is None:
            return None
        own_usage, all_usage = (self.used.get((owner, period), Usage()) for owner in (account, account.everybody))
        return Standing(account, data, granted, own_usage, all_usage, period)

    def problems(self, entry: Entry) -> Iterator[str]:
        """Add the entry, and yield what is wrong with it after the earlier ones."""
        match entry.kind:
            case EntryKind.DATA:
                yield from self._promise(entry)
            case EntryKind.GRANT:
                yield from self._grant(entry)
            case EntryKind.HOLD:
                yield from self._hold(entry)
            case EntryKind.SETTLE:
                yield from self._settle(entry)
            case EntryKind.READ:
                yield from self._read(entry)
            case EntryKind.RETURN:
                yield from self._return(entry)
            case EntryKind.REPEAT:
                if entry.charge != ZERO:
                    yield "repeats a release and charges for it"
                if self._settlements.get(entry.refers_to or 0) != entry.account.dataset:
                    yield "repeats a release that these data do not have"
                if entry.account not in self.granted:
                    yield "repeats a release for somebody who may not have it"
            case EntryKind.CONTINUES | EntryKind.OPENED | EntryKind.CLOSED if entry.charge != ZERO:
                yield "is about the ledger and charges for it"

    def _promise(self, entry: Entry) -> Iterator[str]:
        """Add an account of data, or its new total; order and what is set apart never change."""
        data, name = entry.data_account, entry.account.dataset
        previous = self.data.get(name)
        if previous is not None:
            old_promise, new_promise = previous.promise, data.promise
            if old_promise.order is not None and (old_promise.order, old_promise.apart) != (
                new_promise.order,
                new_promise.apart,
            ):
                yield "changes how an account composes, which is fixed when it is made"
            if name in self._asked_datasets and previous.fixed_terms != data.fixed_terms:
                yield "changes the unit, user, period, time or timezone of a promise after questions were asked"
        self.data[name] = data
        self.used.setdefault(
            (entry.account, ALWAYS), Usage()
        )  # written from the beginning, so that a missing row is damage
        for (account, _), usage in self.used.items():
            if account == entry.account.everybody and not data.promise.keeps(usage.total.as_spent):
                yield f"promises less than was used of {name!r}"

    def _grant(self, entry: Entry) -> Iterator[str]:
        self.granted[entry.account] = entry.charge
        self.used.setdefault((entry.account, ALWAYS), Usage())
        if entry.account.dataset not in self.data:
            yield "grants a quota in an account that does not exist"

    def _change(self, account: Account, period: str, change: Callable[[Usage], Usage]) -> None:
        for owner in (account, account.everybody):
            self.used[owner, period] = change(self.used[owner, period])

    def _hold(self, entry: Entry) -> Iterator[str]:
        account, parts = entry.account, dict(entry.parts)
        self._asked_datasets.add(account.dataset)
        self._open_holds[entry.number] = (account, parts)
        self._unread_holds.add(entry.number)
        for period, ceiling in parts.items():
            standing = self.standing(account, period)
            if standing is None:
                yield "asks without a quota, or about data without a promise"
            elif (standing.data.period is None) != (period == ALWAYS):
                yield "asks about a period in an account without periods, or about none in an account with periods"
            elif standing.order is None and ceiling.renyi < ceiling.epsilon:
                yield "counts a divergence below its epsilon where epsilons add up"
            elif not standing.admits(ceiling):
                yield f"leaves {account} with more spent and reserved than its quota or the account allows"
            self._change(account, period, lambda usage, ceiling=ceiling: usage.with_hold(ceiling))  # type: ignore[misc]

    def _read(self, entry: Entry) -> Iterator[str]:
        if entry.charge != ZERO:
            yield "marks a question as reading and charges for it"
        if not self._is_unread(entry):
            yield "marks as reading something other than an unmarked open reservation of this account"
        self._unread_holds.discard(entry.refers_to or 0)

    def _return(self, entry: Entry) -> Iterator[str]:
        if entry.charge != ZERO:
            yield "gives a reservation back and charges for it"
        if not self._is_unread(entry):
            yield "gives back something other than an open reservation of this account that read no row"
        account, parts = self._open_holds.pop(entry.refers_to or 0, _NOTHING_OPEN)
        if account == entry.account:
            for period, ceiling in parts.items():
                self._change(entry.account, period, lambda usage, ceiling=ceiling: usage.with_settlement(ceiling, ZERO))  # type: ignore[misc]

    def _is_unread(self, entry: Entry) -> bool:
        number = entry.refers_to or 0
        return number in self._unread_holds and self._open_holds.get(number, _NOTHING_OPEN)[0] == entry.account

    def _settle(self, entry: Entry) -> Iterator[str]:
        self._settlements[entry.number] = entry.account.dataset
        account, parts = self._open_holds.pop(entry.refers_to or 0, _NOTHING_OPEN)
        costs = entry.parts
        if account is None:
            yield "settles no open reservation"
        elif account != entry.account:
            yield "settles a reservation of another account"
        elif set(costs) != set(parts) or not all(cost.fits(parts[period]) for period, cost in costs.items()):
            yield "settles for more than was reserved"
        if entry.refers_to in self._unread_holds:
            yield "settles a question that was never marked as reading"
        own_parts = parts if account == entry.account else {}
        for period, cost in costs.items():
            hold = own_parts.get(period, ZERO)
            self._change(
                entry.account,
                period,
                lambda usage, cost=cost, hold=hold: usage.with_settlement(hold, cost),  # type: ignore[misc]
            )
