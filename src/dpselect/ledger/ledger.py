"""The ledger: promises, quotas, reservations and releases."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, SupportsIndex

from dpselect._ground.first_use import door
from dpselect._ground.parameters import Number, flag, names_checked
from dpselect._ground.periods import Periods
from dpselect._ground.processes import here, refuse_copy
from dpselect.accounting.prices import Price
from dpselect.errors import LedgerError, ParameterError, came
from dpselect.ledger.account import ALWAYS, EVERYBODY, Account, Balance, check_unit, clean_name
from dpselect.ledger.chains import Chain, Chains
from dpselect.ledger.charge import ZERO, Ceiling, Charge, check_text, format_amount, parse_grant
from dpselect.ledger.declaration import Declaration
from dpselect.ledger.entry import (
    Draft,
    Entry,
    EntryKind,
    Outcome,
    Pending,
    Reservation,
    format_granter,
    format_parts,
    largest_charge,
)
from dpselect.ledger.journal import Journal
from dpselect.ledger.places import LedgerPlace, create_store, open_store
from dpselect.ledger.port import Store
from dpselect.ledger.rows import Meta
from dpselect.ledger.sql import build_tables, check_format
from dpselect.ledger.standing import DataAccount, Standing, Usage, charged_periods, check_user, format_data_terms

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpselect.release.picture import Picture

_VERIFY_HINT = "run `dpselect ledger verify`, then take it from a backup"
_RIGHTS_HINT = "ask its owner for the right to write to it"


@names_checked
class Ledger:
    """Budgets, charges and releases, stored permanently in a SQLite file or in PostgreSQL (postgresql://...).

    Entries are only ever appended, each chained to all earlier ones. A question reserves its highest price, records
    that it now reads rows, and settles what it really cost. If it is interrupted before it reads rows, its reservation
    can be given back; after that it stays reserved. Threads may share a ledger; a forked process must open it again.

    Args:
        where: A path, or a postgresql:// address.
    """

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        refuse_copy(self, protocol)

    def __init__(self, where: LedgerPlace) -> None:
        """Open the ledger that is there."""
        self._start(open_store(where), check_format)

    @staticmethod
    def create(where: LedgerPlace) -> Ledger:
        """Make a new ledger; an existing one is never overwritten.

        Args:
            where: A path, or a postgresql:// address.
        """
        ledger = Ledger.__new__(Ledger)
        ledger._start(create_store(where), build_tables)
        return ledger

    @staticmethod
    def upgrade(old: LedgerPlace, new: LedgerPlace) -> Ledger:
        """Make a ledger of today's format that continues an old one, and close the old one.

        Every entry is carried over: promises, quotas, what was spent and is reserved, stored answers. The old ledger
        takes no more entries from the moment at which the new one takes its first; it can still be read and verified.
        If this is interrupted, the old ledger is whole, and the same call again makes or finishes the new one.

        Args:
            old: A path, or a postgresql:// address.
            new: The same of a place where there is no ledger.
        """
        from dpselect.ledger.upgrade import upgrade

        upgrade(old, new)
        return Ledger(new)

    def _start(self, store: Store, prepare: Callable[[Store], None]) -> None:
        try:
            prepare(store)
        except BaseException:
            store.close()
            raise
        self._store: Store | None = store
        self._journal = Journal(store)
        self._lock = threading.RLock()
        self._home = here()
        self._place = store.place

    # ---- promises and quotas ------------------------------------------------------------------------------

    def data(
        self,
        dataset: str,
        epsilon: Number,
        delta: Number,
        *,
        keep: Number | None = None,
        unit: str | None = None,
        user: str | Sequence[str] | None = None,
        period: str | None = None,
        time: str | None = None,
        timezone: str | None = None,
    ) -> DataAccount:
        """Promise (epsilon, delta) for all answers about the data, to all analysts together, or change the promise.

        Parameters that are left out stay unchanged. After the first question only `keep` and the total can change. The
        total may be changed at any time, also by an owner who saw answers: up, or down to what is used. How the account
        composes is fixed when it is made (docs/composing.md); one that adds up begins to compose now if its delta has
        room for that.

        Args:
            dataset: The name of the data in the ledger.
            epsilon: The epsilon of all answers together.
            delta: The delta of all answers together. Half of the first one is reserved for composition, and stays so.
            keep: A share that analysts cannot use, such as "20%".
            unit: What the promise protects; one user by default.
            user: The column of users, or several columns; questions with another one are refused.
            period: "day", "week", "month", "quarter" or "year": the promise is for each period separately.
            time: The column with the time of a row, if there is a period.
            timezone: The time zone in which days begin; UTC by default.
        """
        total, everybody = parse_grant(epsilon, delta), Account.for_everybody(dataset)
        declaration = Declaration.parse(keep, unit=unit, user=user, period=period, time=time, timezone=timezone)
        with self._writing() as (journal, end):
            previous = journal.find_data(everybody.dataset)
            usages = [usage for (owner, _), usage in journal.all_used().items() if owner == everybody]
            was_asked = journal.was_asked(everybody.dataset)
            account = declaration.update_account(everybody.dataset, total, previous, usages, was_asked=was_asked)
            journal.append(end, Draft(EntryKind.DATA, everybody, total, terms=format_data_terms(account)))
            journal.set_data(account)
            journal.begin_used(everybody)
            return account

    def grant(
        self,
        account: Account,
        epsilon: Number,
        delta: Number,
        *,
        total: bool = False,
        every: str | None = None,
        by: str | None = None,
    ) -> Balance:
        """Let an analyst use more of the data's account.

        A quota is a cap on the sum of epsilons, or on the same share of the account's divergence, and a cap on delta.
        Quotas may add up to more than the account, which refuses what does not fit. If the data have periods, the quota
        is for each of them, and never refills one.

        Args:
            account: The data and the analyst.
            epsilon: Added to what was granted before.
            delta: Added to what was granted before.
            total: Set the quota to these amounts instead of adding them.
            every: The period of the data, to state that the quota is for each of them.
            by: Who grants it, for the record; the ledger does not check the name.
        """
        amount, total = parse_grant(epsilon, delta), flag("total", total)
        terms = format_granter(None if by is None else clean_name("by", by))
        with self._writing() as (journal, end):
            period = journal.data(account.dataset).period
            if every is not None and every != period:
                must = (
                    "be left out, because the data have no periods"
                    if period is None
                    else f"be {period}, as the data have"
                )
                raise ParameterError("every", must, came(every))
            previous = journal.find_quota(account)
            granted = amount if total or previous is None else previous + amount
            if granted.delta >= 1:
                raise ParameterError(
                    "delta", "be less than 1 in total", format_amount(granted.delta), "1 would allow everything"
                )
            journal.append(end, Draft(EntryKind.GRANT, account, granted, terms=terms))
            journal.set_quota(account, granted)
            journal.begin_used(account)
            usage, _ = journal.used(account, ALWAYS)
            return Balance(account, granted, usage.spent, usage.reserved)

    # ---- questions ----------------------------------------------------------------------------------------

    def reserve(
        self,
        account: Account,
        price: Price | Charge,
        question: str,
        *,
        order: int | None = None,
        user: str | None = None,
        during: Periods | None = None,
        unit: str | None = None,
        approved_by: str | None = None,
    ) -> Reservation:
        """Set aside the most that a question may cost, or record that it was refused and raise BudgetError.

        It must fit into the analyst's quota and into the account of the data, in each period of the question. A `price`
        has the `order` of that account; a charge has every order. `user` is the text of the column of users; `unit` is
        the unit of a stated price, which must be that of the account. `approved_by` is recorded.

        No row may be read before `start`. So the entry need not be durable here; it is when `start` returns.
        """
        check_text("question", question)
        ceiling, entry = Ceiling.from_price(price), None
        refusal = None
        try:
            with self._writing(durable=False) as (journal, end):
                standings = journal.standings(account, lambda data: charged_periods(data, during))
                check_user(data := next(iter(standings.values())).data, user)
                check_unit(data.unit if unit is None else unit, data.unit)
                if isinstance(price, Price) and any(standing.order != order for standing in standings.values()):
                    raise LedgerError(f"the account of {account.dataset!r} was changed meanwhile", "ask again")
                uncomposed = ceiling.without_composition
                if (
                    any(standing.order is None for standing in standings.values())
                    and uncomposed.renyi < uncomposed.epsilon
                ):
                    raise ValueError("a divergence counts by its epsilon where epsilons add up")
                parts = {period: standing.ceiling(ceiling) for period, standing in standings.items()}
                refusal = next(
                    (
                        standing.refusal(parts[period], period)
                        for period, standing in standings.items()
                        if not standing.admits(parts[period])
                    ),
                    None,
                )
                if refusal is None:
                    terms = format_parts(parts, approved_by)
                    draft = Draft(EntryKind.HOLD, account, largest_charge(parts.values()), question, terms=terms)
                    entry = journal.append(end, draft)
                    for period, standing in standings.items():
                        part = parts[period]
                        journal.set_used(account, period, standing.own.with_hold(part), standing.all.with_hold(part))
            if entry is not None:
                return Reservation.from_hold(entry)
        except BaseException:  # the entry may have been written nevertheless
            if entry is not None:
                self.abandon(Reservation.from_hold(entry))
            raise
        with self._writing() as (journal, end):
            draft = Draft(
                EntryKind.REFUSED,
                account,
                largest_charge(parts.values()),
                question,
                terms=format_parts(parts, approved_by),
            )
            journal.append(end, draft)
        assert refusal is not None
        raise refusal

    def start(self, reservation: Reservation) -> None:
        """Record that rows may be read from now on, so that the ceiling stays reserved; a second call does nothing."""
        self._check_home(reservation)
        with self._writing() as (journal, end):
            entry, may_have_read = self._open_entry(journal, reservation)
            if not may_have_read:
                journal.append(end, Draft(EntryKind.READ, entry.account, ZERO, refers_to=entry.number))

    def settle(self, reservation: Reservation, spent: Price | Charge, release: str | None) -> Standing:
        """Record what the question cost and what was released; the rest of the reservation is free again.

        The answer has two prices; the one whose ceiling was reserved is charged.
        """
        self._check_home(reservation)
        costs = {period: Ceiling.from_price(spent).charge_for_hold(hold) for period, hold in reservation.parts.items()}
        if not all(costs[period].fits(hold) for period, hold in reservation.parts.items()):
            raise ValueError("a question must not cost more than what was reserved for it")
        if release is not None:
            check_text("release", release)
        with self._writing() as (journal, end):
            entry, may_have_read = self._open_entry(journal, reservation)
            if not may_have_read:
                raise ValueError("a question must be started before it is settled")
            standing = self._close(
                journal, entry, lambda usage, period, hold: usage.with_settlement(hold, costs[period])
            )
            draft = Draft(
                EntryKind.SETTLE,
                entry.account,
                largest_charge(costs.values()),
                refers_to=entry.number,
                release=release,
                terms=format_parts(costs),
            )
            journal.append(end, draft)
            return standing

    def _close(self, journal: Journal, entry: Entry, change: Callable[[Usage, str, Charge], Usage]) -> Standing:
        """Change what each period of a reservation holds; return the standing in the period with the least left."""
        account, parts = entry.account, entry.parts
        standings = []
        for period, standing in journal.standings(account, lambda _: parts).items():
            hold = parts[period]
            if not (hold.fits(standing.own.reserved) and hold.fits(standing.all.reserved)):
                raise LedgerError(f"the ledger at {self._place} is damaged: {account} has less reserved", _VERIFY_HINT)
            own_usage, all_usage = (change(usage, period, hold) for usage in (standing.own, standing.all))
            journal.set_used(account, period, own_usage, all_usage)
            standings.append(replace(standing, own=own_usage, all=all_usage))
        return standings[0] if len(standings) == 1 else min(standings, key=lambda standing: standing.left)

    def pending(self) -> Iterator[Pending]:
        """Return every open reservation, oldest first: of running questions, and of those that died."""
        last_number = 0
        while True:
            with self._reading() as journal:
                page = journal.pending(last_number)
            if not page:
                return
            yield from page
            last_number = page[-1].entry.number

    def give_back(self, reservation: Reservation | Pending) -> Standing:
        """Free a reservation under which no row was read. A question that is still running is refused at `start`."""
        if isinstance(reservation, Pending):
            reservation = Reservation.from_hold(reservation.entry)
        self._check_home(reservation)
        with self._writing() as (journal, end):
            entry, may_have_read = self._open_entry(journal, reservation)
            if may_have_read:
                raise LedgerError(f"rows may have been read under reservation {entry.number}", "it stays spent")
            standing = self._close(journal, entry, lambda usage, _, hold: usage.without_hold(hold))
            journal.append(end, Draft(EntryKind.RETURN, entry.account, ZERO, refers_to=entry.number))
            return standing

    def abandon(self, reservation: Reservation) -> None:
        """Give a reservation back on the way out of an error; if that fails, it stays as it is."""
        with suppress(LedgerError):
            self.give_back(reservation)

    def repeat(self, account: Account, question: str) -> str | None:
        """Return the latest release of exactly this question of these data, for free; None without one.

        The first who asked paid for all who have a right to the data.
        """
        check_text("question", question)
        with self._reading() as journal:
            journal.quota(account)
            if journal.find_release(account.dataset, question) is None:
                return None
        with self._writing() as (journal, end):
            journal.quota(account)
            settlement = journal.find_release(account.dataset, question)
            if settlement is None:
                return None
            journal.append(end, Draft(EntryKind.REPEAT, account, ZERO, question, settlement.number))
            return settlement.release

    def find_settlement(self, dataset: str, question: str) -> Entry | None:
        """Return the settlement with the latest release of exactly this question of these data; None without one."""
        check_text("question", question)
        with self._reading() as journal:
            return journal.find_release(dataset, question)

    def entry(self, number: int) -> Entry | None:
        """Return one entry, unchanged since it was written."""
        with self._reading() as journal:
            return journal.entry(number)

    def outcome(self, hold: int) -> Outcome | None:
        """Return the outcome of a reservation by its number; None if there is no such reservation."""
        with self._snapshot() as journal:
            entry = journal.entry(hold)
            if entry is None or entry.kind is not EntryKind.HOLD:
                return None
            closed, may_have_read = journal.reservation_state(entry)
            return Outcome(Pending(entry, may_have_read), journal.find_settlement(hold), closed is EntryKind.RETURN)

    def record_repeats(self, repeats: Iterable[tuple[Account, str, int]]) -> None:
        """Record that analysts were given stored releases again, for free: question, and number of the settlement.

        The entries charge nothing, so they need not be durable at once. Analysts without a quota are skipped.
        """
        with self._writing(durable=False) as (journal, end):
            last = end
            for account, question, settle in repeats:
                if journal.find_quota(account) is None:
                    continue
                entry = journal.append(last, Draft(EntryKind.REPEAT, account, ZERO, question, settle))
                last = replace(last, entries=entry.number, head=entry.digest)

    # ---- reading ------------------------------------------------------------------------------------------

    def standing(self, account: Account, period: str = ALWAYS) -> Standing:
        """Return what the analyst may use, has used and has left in one period."""
        with self._snapshot() as journal:
            return journal.standings(account, lambda _: [period])[period]

    def standings(self, account: Account, during: Periods | None = None) -> dict[str, Standing]:
        """Return the standing in each period of a question.

        If `during` is None and the data have periods: in those in which anything was asked, or else in a new one.
        """
        with self._snapshot() as journal:

            def list_periods(data: DataAccount) -> Iterable[str]:
                if data.period is None or during is not None:
                    return charged_periods(data, during)
                used_periods = {period for owner, period in journal.all_used() if owner.dataset == data.dataset} - {
                    ALWAYS
                }
                return sorted(used_periods) or [ALWAYS]

            return journal.standings(account, list_periods)

    def promise_standings(self, account: Account, during: Periods | None = None) -> list[Standing]:
        """Return how an owner stands: as if the whole promise for the data were their quota."""
        data, used = next(one for one in self.data_accounts() if one[0].dataset == account.dataset)
        whole = Charge.round_up(data.promise.epsilon, data.promise.delta)
        usages = [used.get(name, Usage()) for name in ([ALWAYS] if during is None else during.names)]
        return [Standing(account, data, whole, usage, usage) for usage in usages]

    def balance(self, account: Account) -> Balance:
        """Return what the analyst was granted and used, as amounts."""
        with self._snapshot() as journal:
            granted, (usage, _) = journal.quota(account), journal.used(account, ALWAYS)
            return Balance(account, granted, usage.spent, usage.reserved)

    def has_quota(self, account: Account) -> bool:
        """Return whether the analyst was granted anything."""
        with self._reading() as journal:
            return journal.find_quota(account) is not None

    def balances(self) -> list[Balance]:
        """Return the balance of every analyst, by data set and name."""
        with self._snapshot() as journal:
            return journal.balances()

    def data_account(self, dataset: str) -> DataAccount:
        """Return the promise for the data of this name."""
        with self._reading() as journal:
            return journal.data(dataset)

    def data_accounts(self) -> list[tuple[DataAccount, dict[str, Usage]]]:
        """Return the promise for each data set, and what was used of it, by period."""
        with self._snapshot() as journal:
            usages = sorted(journal.all_used().items(), key=lambda item: item[0][1])
            accounts: list[tuple[DataAccount, dict[str, Usage]]] = []
            for data in journal.all_data():
                everybody = Account.from_stored(data.dataset, EVERYBODY)
                used_by_period = {period: usage for (owner, period), usage in usages if owner == everybody}
                accounts.append(
                    (
                        data,
                        {
                            period: usage
                            for period, usage in used_by_period.items()
                            if period or len(used_by_period) == 1
                        },
                    )
                )
            return accounts

    def entries(self, account: Account | None = None) -> Iterator[Entry]:
        """Return all entries, or those of one account, oldest first."""
        last_number = 0
        while True:
            with self._reading() as journal:
                page = journal.read_page(last_number, account)
            if not page:
                return
            yield from page
            last_number = page[-1].number

    @property
    def head(self) -> str:
        """The digest of the last entry. Note it elsewhere: it shows later that no earlier entry was changed."""
        with self._reading() as journal:
            return journal.meta().head

    @property
    def count(self) -> int:
        """The number of entries."""
        with self._reading() as journal:
            return journal.meta().entries

    @property
    def continued_from(self) -> Chain | None:
        """The ledger that this one continues, as it was before it was closed; None if it continues none."""
        with self._reading() as journal:
            return journal.continued_from()

    @property
    def continued_in(self) -> Chain | None:
        """The ledger that continues this one, as it was when this one was closed; None if this one is open."""
        with self._snapshot() as journal:
            return journal.continued_in(journal.meta())

    def check_open(self) -> None:
        """Raise LedgerError if the ledger takes no more entries: it is closed, or has an older format."""
        with self._snapshot() as journal:
            journal.open_end()

    def former_entries(self) -> Iterator[tuple[int, str, Entry]]:
        """Yield each entry that was carried over, after its number and digest in the ledger that it was written in.

        An entry that was carried over twice is yielded for both former ledgers.
        """
        with self._reading() as journal:
            meta = journal.meta()
        chains = Chains(meta.ledger, meta.version)
        for entry in self.entries():
            for _ in chains.problems(entry):
                pass  # `verify` reports them
            yield from ((number, digest, entry) for number, digest in chains.former_places if number)

    def verify(self, head: str | None = None) -> list[str]:
        """Check every entry, sum and reference, and return the problems, one sentence each.

        Args:
            head: A digest that was noted earlier, of this ledger or of one that it continues, which must still be met.
        """
        problems: list[str] = door("audit.verification", "verify")(self, head)
        return problems

    def plot(
        self, *, analyst: str | None = None, data: str | None = None, ax: Axes | Iterable[Axes] | None = None
    ) -> Picture:
        """Return a picture of the used part of each budget after every entry; `save` writes it as SVG.

        Args:
            analyst: Only this analyst.
            data: Only this data set.
            ax: Matplotlib axes to draw on too.
        """
        picture: Picture = door("audit.spending", "plot")(self, analyst=analyst, data=data, ax=ax)
        return picture

    # ---- lifetime -----------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the file or the connection; closing twice, or in a forked child, does nothing."""
        if self._home != here():  # without the lock: a fork may have copied it locked
            return
        with self._lock:
            store, self._store = self._store, None
            if store is not None:
                store.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger({self._place!r})"

    @property
    def alive(self) -> bool:
        """True if the ledger can still be used, as far as is known. If its connection was cut, open it again."""
        with self._lock:
            return self._store is not None and self._store.alive

    def _usable_store(self) -> Store:
        """Return the store, in the process that opened it: SQLite's locks and sockets do not survive a fork."""
        if self._store is None:
            raise LedgerError(f"the ledger at {self._place} is closed", "open it again")
        self._check_process()
        return self._store

    def _check_process(self) -> None:
        """Refuse another process, before any lock is taken: a fork may have copied it locked."""
        if self._home != here():
            raise LedgerError(f"the ledger at {self._place} was opened in another process", "open it again in this one")

    def _check_home(self, reservation: Reservation) -> None:
        """Refuse a reservation of another process, whichever opened the ledger."""
        if reservation.home != here():
            raise LedgerError(f"reservation {reservation.number} was made in another process", "make one in this one")

    def _open_entry(self, journal: Journal, reservation: Reservation) -> tuple[Entry, bool]:
        """Return an open reservation as it was written, and whether rows may have been read under it.

        Raises: LedgerError if the reservation is not open.
        """
        entry = journal.entry(reservation.number)
        if entry is None or entry.kind is not EntryKind.HOLD or Reservation.from_hold(entry) != reservation:
            raise LedgerError(f"the ledger at {self._place} holds no such reservation")
        closed, may_have_read = journal.reservation_state(entry)
        match closed:
            case EntryKind.SETTLE:
                raise LedgerError(f"reservation {entry.number} was settled already")
            case EntryKind.RETURN:
                raise LedgerError(f"reservation {entry.number} was given back already", "ask again")
        return entry, may_have_read

    @contextmanager
    def _reading(self) -> Iterator[Journal]:
        self._check_process()
        with self._lock:
            self._usable_store()
            yield self._journal

    @contextmanager
    def locked_store(self) -> Iterator[Store]:
        """Hold the ledger's lock, and yield its store, to read all of it."""
        with self._reading():
            yield self._usable_store()

    @contextmanager
    def _snapshot(self) -> Iterator[Journal]:
        """Hold the lock, and yield the journal of one moment."""
        with self._reading() as journal, self._usable_store().snapshot():
            yield journal

    @contextmanager
    def _writing(self, *, durable: bool = True) -> Iterator[tuple[Journal, Meta]]:
        self._check_process()
        with self._lock:
            store = self._usable_store()
            if not store.writable:
                raise LedgerError(f"this user may not write to the ledger at {self._place}", _RIGHTS_HINT)
            with store.transaction(durable=durable):
                yield self._journal, self._journal.open_end()
