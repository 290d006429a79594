"""Verification of a ledger from its first entry to its last, against itself and against a digest noted elsewhere.

`Sums` adds entries up, and finds those that could not have been written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dpselect.errors import LedgerError
from dpselect.ledger import sql
from dpselect.ledger.account import ALWAYS, EVERYBODY, Account, Balance
from dpselect.ledger.chains import Chains
from dpselect.ledger.charge import ZERO, Charge
from dpselect.ledger.entry import Entry, EntryKind, compute_digest, genesis_digest
from dpselect.ledger.port import Row, Store
from dpselect.ledger.rows import (
    DamagedRowError,
    Meta,
    parse_data_account,
    parse_entry,
    parse_intact_entry,
    parse_meta,
    parse_quota,
    parse_used,
    promised_account,
)
from dpselect.ledger.standing import DataAccount, Standing, Usage, format_data_terms, total_charge

if TYPE_CHECKING:
    from dpselect.ledger.ledger import Ledger

_NOTHING_OPEN: tuple[Account | None, Mapping[str, Charge]] = (None, {})
_MAX_LISTED_PROBLEMS = 100  # the others are only counted


def verify(ledger: Ledger, head: str | None) -> list[str]:
    """Return the problems of a ledger, one sentence each. A damaged ledger is never an error here."""
    problems: list[str] = []
    with ledger.locked_store() as store:
        for part in (_store_problems(store), _table_problems(store, head)):
            try:
                for problem in part:
                    problems.append(problem)
            except LedgerError as error:
                problems.append(str(error).partition("\n")[0])
    unlisted = len(problems) - _MAX_LISTED_PROBLEMS
    return problems if unlisted <= 0 else [*problems[:_MAX_LISTED_PROBLEMS], f"and {unlisted} more problems"]


def _store_problems(store: Store) -> Iterator[str]:
    yield from store.problems()


def _table_problems(store: Store, head: str | None) -> Iterator[str]:
    with store.snapshot():
        yield from find_problems(store, head)


def find_problems(store: Store, head: str | None = None) -> Iterator[str]:
    """Yield the problems of all entries, in a transaction of the caller."""
    meta = _parse_meta_row(store)
    if meta is None:
        yield "the ledger cannot be identified: its id, its version and its last entry are damaged"
    sums = Sums()
    walk = _ChainWalk(meta, head)
    for row in _all_entries(store):
        yield from walk.problems(row, sums)
    yield from walk.problems_at_the_end()
    yield from _cache_problems(store, sums)


def _parse_meta_row(store: Store) -> Meta | None:
    rows = store.run(sql.META)
    try:
        return parse_meta(rows[0])
    except (DamagedRowError, IndexError):
        return None


def _all_entries(store: Store) -> Iterator[Row]:
    """Yield every row of the table entry by number, up to one whose number is damaged."""
    last_number = 0
    while rows := store.run(sql.ENTRIES, (last_number,)):
        yield from rows
        number = rows[-1][0]
        if not isinstance(number, int) or number <= last_number:
            return
        last_number = number


class _ChainWalk:
    """A walk along the chain, which knows what the next entry must be numbered and follow."""

    def __init__(self, meta: Meta | None, head: str | None) -> None:
        self._parse_meta_row = meta
        self._number = 0
        self._digest = None if meta is None else genesis_digest(meta.ledger, meta.version)
        self._chains = None if meta is None else Chains(meta.ledger, meta.version)
        self._noted_head = head
        self._is_noted_head_found = head is None or head == self._digest

    def problems(self, row: Row, sums: Sums) -> Iterator[str]:
        """Yield what is wrong with the next entry, by itself and after the earlier ones."""
        number = row[0] if isinstance(row[0], int) else self._number + 1
        if number != self._number + 1:
            yield f"entries are missing: {number} follows {self._number}"
        self._number = number
        try:
            entry = parse_entry(row)
        except DamagedRowError as error:
            yield f"entry {number} is damaged: {error}"
            self._digest = row[11] if isinstance(row[11], str) else None
            self._chains = None
            return
        yield from self._problems_of_the_chain(entry, row)
        yield from (f"entry {number} {problem}" for problem in sums.problems(entry))

    def _problems_of_the_chain(self, entry: Entry, row: Row) -> Iterator[str]:
        if self._digest is not None and entry.previous != self._digest:
            yield f"entry {entry.number} does not follow the entry before it: its previous digest is another"
        try:
            parse_intact_entry(row)
        except DamagedRowError as error:
            yield f"entry {entry.number} was changed: {error}"
        self._digest = entry.digest
        self._is_noted_head_found = self._is_noted_head_found or self._noted_head == entry.digest == compute_digest(
            entry
        )
        if self._chains is not None:
            yield from (f"entry {entry.number} {problem}" for problem in self._chains.problems(entry))
            self._is_noted_head_found = self._is_noted_head_found or self._chains.is_former_head(
                self._noted_head or "", entry
            )

    def problems_at_the_end(self) -> Iterator[str]:
        """Check that the last entry is the one on record, and that the noted head was found."""
        if self._parse_meta_row is not None and (self._parse_meta_row.entries, self._parse_meta_row.head) != (
            self._number,
            self._digest,
        ):
            yield (
                f"the last entry is not the one on record: "
                f"it has {self._number} entries and the record says {self._parse_meta_row.entries}"
                + ("" if self._parse_meta_row.entries != self._number else " too, but the digests differ")
            )
        if self._chains is not None:
            yield from self._chains.problems_at_the_end()
        if not self._is_noted_head_found:
            yield "no entry has the digest that was noted: the ledger was rewritten or restored from an earlier copy"


def _cache_problems(store: Store, sums: Sums) -> Iterator[str]:
    """Compare the tables data, quota and used, which are caches, with what the entries add up to."""
    tables: list[tuple[str, str, Callable[[Row], tuple[object, object]], Mapping[Any, object]]] = [
        ("the account", sql.ALL_DATA, lambda row: ((account := parse_data_account(row)).dataset, account), sums.data),
        ("the quota", sql.QUOTAS, parse_quota, sums.granted),
        ("what is used", sql.ALL_USED, lambda row: ((account := parse_used(row))[:2], account[2]), sums.used),
    ]
    for subject, statement, parse, expected in tables:
        found_keys = set()
        for row in store.run(statement):
            try:
                key, cached = parse(row)
            except DamagedRowError as error:
                yield f"{subject} of {row[0]!r} is damaged: {error}"
                continue
            found_keys.add(key)
            if cached != expected.get(key):
                sums_to = _format_value(expected.get(key))
                yield f"{subject} of {_format_key(key)} is {_format_value(cached)}, its entries add up to {sums_to}"
        yield from (
            f"{subject} of {_format_key(key)} is missing or damaged" for key in expected if key not in found_keys
        )


def _format_key(key: object) -> str:
    match key:
        case (Account() as account, str(period)):
            return f"{account} in {period}" if period else str(account)
        case _:
            return str(key) if isinstance(key, Account) else repr(key)


def _format_value(value: object) -> str:
    match value:
        case Usage():
            return f"{value.spent} spent and {value.reserved} reserved"
        case DataAccount():
            return f"{total_charge(value)}, {format_data_terms(value)}"
        case _:
            return "nothing" if value is None else str(value)


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

    def balance(self, account: Account, period: str = ALWAYS) -> Balance:
        """Return what the analyst was granted and used by the entries so far."""
        usage = self.used.get((account, period), Usage())
        return Balance(account, self.granted.get(account, ZERO), usage.spent, usage.reserved, period)

    def standing(self, account: Account, period: str) -> Standing | None:
        """Return the analyst's standing by the entries so far; None before anything was promised or granted."""
        data, granted = self.data.get(account.dataset), self.granted.get(account)
        if data is None or granted is None:
            return None
        everybody = Account.from_stored(account.dataset, EVERYBODY)
        own_usage, all_usage = (self.used.get((owner, period), Usage()) for owner in (account, everybody))
        return Standing(account, data, granted, own_usage, all_usage)

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
        data, name = promised_account(entry), entry.account.dataset
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
            if (account.dataset, account.analyst) == (name, EVERYBODY) and not data.promise.keeps(usage.total.as_spent):
                yield f"promises less than was used of {name!r}"

    def _grant(self, entry: Entry) -> Iterator[str]:
        self.granted[entry.account] = entry.charge
        self.used.setdefault((entry.account, ALWAYS), Usage())
        if entry.account.dataset not in self.data:
            yield "grants a quota in an account that does not exist"

    def _change(self, account: Account, period: str, change: Callable[[Usage], Usage]) -> None:
        for owner in (account, Account.from_stored(account.dataset, EVERYBODY)):
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
                self._change(entry.account, period, lambda usage, ceiling=ceiling: usage.without_hold(ceiling))  # type: ignore[misc]

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
