"""What the entries of a ledger add up to, from the first one on, and which of them could not have been written."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from dpselect._ground.dataclass import dataclass
from dpselect.ledger import ALWAYS, ZERO, Account, Charge, DataAccount, Entry, EntryKind, Standing, Usage


@dataclass(frozen=True)
class Question:
    """The question that an entry is about: the number of the entry that asked it, its periods, and its text if open.

    An entry that is about no question is its own.
    """

    number: int
    periods: Sequence[str]
    text: str | None = None


@dataclass(frozen=True)
class _OpenHold:
    account: Account | None
    parts: Mapping[str, Charge]
    text: str | None = None


_NOTHING_OPEN = _OpenHold(None, {})


def replay(entries: Iterable[Entry]) -> Iterator[tuple[Entry, Question, Sums]]:
    """Yield each entry, its question, and the sums after it; keep none of the entries.

    What is wrong with an entry is left to `verify`.
    """
    sums = Sums()
    for entry in entries:
        question = sums.find_question(entry)
        for _ in sums.problems(entry):
            pass
        yield entry, question, sums


class _Settlements:
    """Settlements in the order of their numbers, in 24 bytes each: any may be repeated later, and there are many."""

    def __init__(self) -> None:
        self._numbers, self._holds, self._subject_indexes = array("q"), array("q"), array("q")
        self._subjects: list[tuple[str, tuple[str, ...]]] = []  # data set and periods, each pair once
        self._index_by_subject: dict[tuple[str, tuple[str, ...]], int] = {}

    def add(self, entry: Entry, periods: Iterable[str]) -> None:
        """Add the next settlement, of a question about these periods."""
        subject = (entry.account.dataset, tuple(periods))
        if subject not in self._index_by_subject:
            self._index_by_subject[subject] = len(self._subjects)
            self._subjects.append(subject)
        self._numbers.append(entry.number)
        self._holds.append(entry.refers_to or 0)
        self._subject_indexes.append(self._index_by_subject[subject])

    def find(self, number: int) -> tuple[str, Question] | None:
        """Return the data set and the question of the settlement with this number; None if there is none."""
        position = bisect_left(self._numbers, number)
        if position == len(self._numbers) or self._numbers[position] != number:
            return None
        dataset, periods = self._subjects[self._subject_indexes[position]]
        return dataset, Question(self._holds[position], periods)


class Sums:
    """Accounts recomputed from the entries alone, one after the other."""

    def __init__(self) -> None:
        self.data: dict[str, DataAccount] = {}
        self.granted: dict[Account, Charge] = {}
        self.used: defaultdict[tuple[Account, str], Usage] = defaultdict(Usage)
        self._open_holds: dict[int, _OpenHold] = {}
        self._unread_holds: set[int] = set()
        self._settlements = _Settlements()
        self._asked_datasets: set[str] = set()

    def standing(self, account: Account, period: str) -> Standing | None:
        """Return the analyst's standing by the entries so far; None before anything was promised or granted."""
        data, granted = self.data.get(account.dataset), self.granted.get(account)
        if data is None or granted is None:
            return None
        own_usage, all_usage = (self.used.get((owner, period), Usage()) for owner in (account, account.everybody))
        return Standing(account, data, granted, own_usage, all_usage, period)

    def find_question(self, entry: Entry) -> Question:
        """Return the question of the next entry, before it is added.

        In a ledger of which `problems` tells, an entry whose hold is closed already is its own question.
        """
        number = entry.refers_to or 0
        hold = self._open_holds.get(number)
        if hold is not None:
            return Question(number, tuple(hold.parts), hold.text)
        _, question = self._settlements.find(number) or ("", Question(entry.number, tuple(entry.parts), entry.question))
        return question

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
                dataset, _ = self._settlements.find(entry.refers_to or 0) or (None, None)
                if dataset != entry.account.dataset:
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
        self._open_holds[entry.number] = _OpenHold(account, parts, entry.question)
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
        hold = self._open_holds.pop(entry.refers_to or 0, _NOTHING_OPEN)
        if hold.account == entry.account:
            for period, ceiling in hold.parts.items():
                self._change(entry.account, period, lambda usage, ceiling=ceiling: usage.with_settlement(ceiling, ZERO))  # type: ignore[misc]

    def _is_unread(self, entry: Entry) -> bool:
        number = entry.refers_to or 0
        return number in self._unread_holds and self._open_holds.get(number, _NOTHING_OPEN).account == entry.account

    def _settle(self, entry: Entry) -> Iterator[str]:
        hold, costs = self._open_holds.pop(entry.refers_to or 0, _NOTHING_OPEN), entry.parts
        parts = hold.parts
        self._settlements.add(entry, parts or costs)
        if hold.account is None:
            yield "settles no open reservation"
        elif hold.account != entry.account:
            yield "settles a reservation of another account"
        elif set(costs) != set(parts) or not all(cost.fits(parts[period]) for period, cost in costs.items()):
            yield "settles for more than was reserved"
        if entry.refers_to in self._unread_holds:
            yield "settles a question that was never marked as reading"
        own_parts = parts if hold.account == entry.account else {}
        for period, cost in costs.items():
            ceiling = own_parts.get(period, ZERO)
            self._change(
                entry.account,
                period,
                lambda usage, cost=cost, ceiling=ceiling: usage.with_settlement(ceiling, cost),  # type: ignore[misc]
            )
