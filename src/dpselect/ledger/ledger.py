"""The ledger as its callers see it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, SupportsIndex

from dpselect._ground.first_use import door
from dpselect._ground.parameters import Number, check_keywords, flag
from dpselect._ground.periods import Periods
from dpselect._ground.processes import process_identity, refuse_copy
from dpselect.accounting.prices import Price
from dpselect.errors import LedgerError, ParameterError, came
from dpselect.ledger.account import ALWAYS, EVERYBODY, Account, Balance, check_unit, clean_name
from dpselect.ledger.chains import Chain, Chains
from dpselect.ledger.charge import ZERO, Ceiling, Charge, amount_granted, check_text, short
from dpselect.ledger.declaration import Given
from dpselect.ledger.entry import Draft, Entry, EntryKind, Outcome, Pending, Reservation, by_text, largest, parts_text
from dpselect.ledger.journal import Journal
from dpselect.ledger.places import Where, create_store, open_store
from dpselect.ledger.port import Store
from dpselect.ledger.rows import Meta
from dpselect.ledger.sql import build, check_form
from dpselect.ledger.standing import DataAccount, Standing, Used, charged_periods, check_user, data_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpselect.release.picture import Picture

_FIND_OUT = "run `dpselect ledger verify`, then take it from a backup"
_FOR_RIGHTS = "ask its owner for the right to write to it"


@check_keywords
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

    def __init__(self, where: Where) -> None:
        """Open the ledger that is there."""
        self._start(open_store(where), check_form)

    @staticmethod
    def create(where: Where) -> Ledger:
        """Make a new ledger; an existing one is never overwritten.

        Args:
            where: A path, or a postgresql:// address.
        """
        ledger = Ledger.__new__(Ledger)
        ledger._start(create_store(where), build)
        return ledger

    @staticmethod
    def upgrade(old: Where, new: Where) -> Ledger:
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
        self._home = process_identity()
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
        total, everybody = amount_granted(epsilon, delta), Account.everybody(dataset)
        given = Given.read(keep, unit=unit, user=user, period=period, time=time, timezone=timezone)
        with self._writing() as (journal, end):
            before = journal.find_data(everybody.dataset)
            used = [one for (who, _), one in journal.all_used().items() if who == everybody]
            asked = journal.was_asked(everybody.dataset)
            after = given.account(everybody.dataset, total, before, used, asked=asked)
            journal.append(end, Draft(EntryKind.DATA, everybody, total, terms=data_text(after)))
            journal.set_data(after)
            journal.begin_used(everybody)
            return after

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
        amount, total = amount_granted(epsilon, delta), flag("total", total)
        terms = by_text(None if by is None else clean_name("by", by))
        with self._writing() as (journal, end):
            period = journal.data(account.dataset).period
            if every is not None and every != period:
                must = (
                    "be left out, because the data have no periods"
                    if period is None
                    else f"be {period}, as the data have"
                )
                raise ParameterError("every", must, came(every))
            before = journal.find_quota(account)
            granted = amount if total or before is None else before + amount
            if granted.delta >= 1:
                raise ParameterError(
                    "delta", "be less than 1 in total", short(granted.delta), "1 would allow everything"
                )
            journal.append(end, Draft(EntryKind.GRANT, account, granted, terms=terms))
            journal.set_quota(account, granted)
            journal.begin_used(account)
            own, _ = journal.used(account, ALWAYS)
            return Balance(account, granted, own.spent, own.reserved)

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

        It must fit into the analyst's quota and into the account of the data, in each period that it is about. A
        `price` is one at the `order` of that account; an amount is one at every order. `user` is the column of users;
        `unit` is whom a stated price is about, which must be whom the account is about. `approved_by` goes on record.

        No row may be read before `start`. So this entry may not be on the disk yet; it is when `start` returns.
        """
        check_text("question", question)
        offered, entry = Ceiling.of(price), None
        refusal = None
        try:
            with self._writing(durable=False) as (journal, end):
                found = journal.standings(account, lambda data: charged_periods(data, during))
                check_user(data := next(iter(found.values())).data, user)
                check_unit(data.unit if unit is None else unit, data.unit)
                if isinstance(price, Price) and any(standing.order != order for standing in found.values()):
                    raise LedgerError(f"the account of {account.dataset!r} was changed meanwhile", "ask again")
                added = offered.without_composition
                if any(standing.order is None for standing in found.values()) and added.renyi < added.epsilon:
                    raise ValueError("a divergence counts by its epsilon where epsilons add up")
                parts = {period: standing.ceiling(offered) for period, standing in found.items()}
                refusal = next((s.refusal(parts[p], p) for p, s in found.items() if not s.admits(parts[p])), None)
                if refusal is None:
                    terms = parts_text(parts, approved_by)
                    draft = Draft(EntryKind.HOLD, account, largest(parts.values()), question, terms=terms)
                    entry = journal.append(end, draft)
                    for period, s in found.items():
                        ceiling = parts[period]
                        journal.change(account, period, s.own.holding(ceiling), s.all.holding(ceiling))
            if entry is not None:
                return Reservation.of(entry)
        except BaseException:  # it may have been written all the same
            if entry is not None:
                self.abandon(Reservation.of(entry))
            raise
        with self._writing() as (journal, end):
            draft = Draft(
                EntryKind.REFUSED, account, largest(parts.values()), question, terms=parts_text(parts, approved_by)
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
        costs = {period: Ceiling.of(spent).held_as(held) for period, held in reservation.parts.items()}
        if not all(costs[period].fits(held) for period, held in reservation.parts.items()):
            raise ValueError("a question must not cost more than what was reserved for it")
        if release is not None:
            check_text("release", release)
        with self._writing() as (journal, end):
            entry, may_have_read = self._open_entry(journal, reservation)
            if not may_have_read:
                raise ValueError("a question must be started before it is settled")
            changed = self._close(journal, entry, lambda used, period, held: used.settling(held, costs[period]))
            draft = Draft(
                EntryKind.SETTLE,
                entry.account,
                largest(costs.values()),
                refers_to=entry.number,
                release=release,
                terms=parts_text(costs),
            )
            journal.append(end, draft)
            return changed

    def _close(self, journal: Journal, entry: Entry, change: Callable[[Used, str, Charge], Used]) -> Standing:
        """Change what every period of a reservation holds; how the analyst stands where least is left."""
        account, parts = entry.account, entry.parts
        changed = []
        for period, standing in journal.standings(account, lambda _: parts).items():
            held = parts[period]
            if not (held.fits(standing.own.reserved) and held.fits(standing.all.reserved)):
                raise LedgerError(f"the ledger at {self._place} is damaged: {account} has less reserved", _FIND_OUT)
            own, of_all = (change(used, period, held) for used in (standing.own, standing.all))
            journal.change(account, period, own, of_all)
            changed.append(replace(standing, own=own, all=of_all))
        return changed[0] if len(changed) == 1 else min(changed, key=lambda standing: standing.left)

    def pending(self) -> Iterator[Pending]:
        """Return every open reservation, oldest first: of running questions, and of those that died."""
        after = 0
        while True:
            with self._reading() as journal:
                page = journal.pending(after)
            if not page:
                return
            yield from page
            after = page[-1].entry.number

    def give_back(self, reservation: Reservation | Pending) -> Standing:
        """Free a reservation under which no row was read. A question that is still running is refused at `start`."""
        if isinstance(reservation, Pending):
            reservation = Reservation.of(reservation.entry)
        self._check_home(reservation)
        with self._writing() as (journal, end):
            entry, may_have_read = self._open_entry(journal, reservation)
            if may_have_read:
                raise LedgerError(f"rows may have been read under reservation {entry.number}", "it stays spent")
            changed = self._close(journal, entry, lambda used, _, held: used.returning(held))
            journal.append(end, Draft(EntryKind.RETURN, entry.account, ZERO, refers_to=entry.number))
            return changed

    def abandon(self, reservation: Reservation) -> None:
        """`give_back` on the way out of an error: where it cannot be done, the reservation stays as it is."""
        with suppress(LedgerError):
            self.give_back(reservation)

    def repeat(self, account: Account, question: str) -> str | None:
        """The latest release of exactly this question of these data, for free; None without one.

        Whoever asked it paid for all who have a right to the data.
        """
        check_text("question", question)
        with self._reading() as journal:
            journal.quota(account)
            if journal.released(account.dataset, question) is None:
                return None
        with self._writing() as (journal, end):
            journal.quota(account)
            settle = journal.released(account.dataset, question)
            if settle is None:
                return None
            journal.append(end, Draft(EntryKind.REPEAT, account, ZERO, question, settle.number))
            return settle.release

    def stored(self, dataset: str, question: str) -> Entry | None:
        """The settle that holds the latest release of exactly this question of these data; None without one."""
        check_text("question", question)
        with self._reading() as journal:
            return journal.released(dataset, question)

    def entry(self, number: int) -> Entry | None:
        """Return one entry, unchanged since it was written."""
        with self._reading() as journal:
            return journal.entry(number)

    def outcome(self, hold: int) -> Outcome | None:
        """The outcome of a reservation, by its number; None if there is no such reservation."""
        with self._moment() as journal:
            entry = journal.entry(hold)
            if entry is None or entry.kind is not EntryKind.HOLD:
                return None
            closed, may_have_read = journal.after(entry)
            return Outcome(Pending(entry, may_have_read), journal.settle_of(hold), closed is EntryKind.RETURN)

    def told(self, repeats: Iterable[tuple[Account, str, int]]) -> None:
        """Record that analysts were given stored releases again, for free: question, and the settle that holds it.

        It need not be on the disk at once: it charges nothing. Analysts without a quota of the data are not recorded.
        """
        with self._writing(durable=False) as (journal, end):
            last = end
            for account, question, settle in repeats:
                if journal.find_quota(account) is None:
                    continue
                entry = journal.append(last, Draft(EntryKind.REPEAT, account, ZERO, question, settle))
                last = replace(last, entries=entry.number, head=entry.digest)

    # ---- looking ------------------------------------------------------------------------------------------

    def standing(self, account: Account, period: str = ALWAYS) -> Standing:
        """What the analyst may use, has used and has left in one period."""
        with self._moment() as journal:
            return journal.standings(account, lambda _: [period])[period]

    def standings(self, account: Account, during: Periods | None = None) -> dict[str, Standing]:
        """The same in each of the periods that a question is about.

        Without any, of data that have periods, in those in which anything was asked, or else in one that is still new.
        """
        with self._moment() as journal:

            def meant(data: DataAccount) -> Iterable[str]:
                if data.period is None or during is not None:
                    return charged_periods(data, during)
                asked = {period for who, period in journal.all_used() if who.dataset == data.dataset} - {ALWAYS}
                return sorted(asked) or [ALWAYS]

            return journal.standings(account, meant)

    def balance(self, account: Account) -> Balance:
        """Return what the analyst was granted and used, as amounts."""
        with self._moment() as journal:
            granted, (own, _) = journal.quota(account), journal.used(account, ALWAYS)
            return Balance(account, granted, own.spent, own.reserved)

    def has_quota(self, account: Account) -> bool:
        """Was the analyst granted anything?"""
        with self._reading() as journal:
            return journal.find_quota(account) is not None

    def balances(self) -> list[Balance]:
        """Return the balance of every analyst, by data set and name."""
        with self._moment() as journal:
            return journal.balances()

    def data_account(self, dataset: str) -> DataAccount:
        """Return the promise for the data of this name."""
        with self._reading() as journal:
            return journal.data(dataset)

    def data_accounts(self) -> list[tuple[DataAccount, dict[str, Used]]]:
        """Return the promise for each data set, and what was used of it, by period."""
        with self._moment() as journal:
            used = sorted(journal.all_used().items(), key=lambda one: one[0][1])
            found: list[tuple[DataAccount, dict[str, Used]]] = []
            for data in journal.all_data():
                everybody = Account.kept(data.dataset, EVERYBODY)
                of_data = {period: one for (who, period), one in used if who == everybody}
                found.append((data, {period: one for period, one in of_data.items() if period or len(of_data) == 1}))
            return found

    def entries(self, account: Account | None = None) -> Iterator[Entry]:
        """Return all entries, or those of one account, oldest first."""
        after = 0
        while True:
            with self._reading() as journal:
                page = journal.page(after, account)
            if not page:
                return
            yield from page
            after = page[-1].number

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
        with self._moment() as journal:
            return journal.continued_in(journal.meta())

    def check_open(self) -> None:
        """LedgerError if the ledger takes no more entries: it is closed, or of an older format."""
        with self._moment() as journal:
            journal.open_end()

    def former(self) -> Iterator[tuple[int, str, Entry]]:
        """Return each entry that was carried over, after its number and digest in the ledger that it was written in.

        A ledger that continues one that continues another gives an entry twice.
        """
        with self._reading() as journal:
            meta = journal.meta()
        chains = Chains(meta.ledger, meta.version)
        for entry in self.entries():
            for _ in chains.problems(entry):
                pass  # verify tells of them
            yield from ((number, digest, entry) for number, digest in chains.places if number)

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
        if self._home != process_identity():  # and take no lock: a fork may have copied it locked
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
        """Can it still be used, as far as is known? A connection may have been cut, and then it is opened anew."""
        with self._lock:
            return self._store is not None and self._store.alive

    def _opened(self) -> Store:
        """The store, for the process that opened it: SQLite's locks and sockets do not survive a fork."""
        if self._store is None:
            raise LedgerError(f"the ledger at {self._place} is closed", "open it again")
        self._check_process()
        return self._store

    def _check_process(self) -> None:
        """Before any lock: a fork may have copied it locked."""
        if self._home != process_identity():
            raise LedgerError(f"the ledger at {self._place} was opened in another process", "open it again in this one")

    def _check_home(self, reservation: Reservation) -> None:
        """A reservation is used by the process that made it, whichever opened the ledger."""
        if reservation.home != process_identity():
            raise LedgerError(f"reservation {reservation.number} was made in another process", "make one in this one")

    def _open_entry(self, journal: Journal, reservation: Reservation) -> tuple[Entry, bool]:
        """The reservation as it is written, and whether rows may have been read; LedgerError unless it is open."""
        entry = journal.entry(reservation.number)
        if entry is None or entry.kind is not EntryKind.HOLD or Reservation.of(entry) != reservation:
            raise LedgerError(f"the ledger at {self._place} holds no such reservation")
        closed, may_have_read = journal.after(entry)
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
            self._opened()
            yield self._journal

    @contextmanager
    def locked_store(self) -> Iterator[Store]:
        """Hold the ledger's lock, and yield what it is stored in, for whoever reads all of it."""
        with self._reading():
            yield self._opened()

    @contextmanager
    def _moment(self) -> Iterator[Journal]:
        """For what must be read at one moment."""
        with self._reading() as journal, self._opened().snapshot():
            yield journal

    @contextmanager
    def _writing(self, *, durable: bool = True) -> Iterator[tuple[Journal, Meta]]:
        self._check_process()
        with self._lock:
            store = self._opened()
            if not store.writable:
                raise LedgerError(f"this user may not write to the ledger at {self._place}", _FOR_RIGHTS)
            with store.transaction(durable=durable):
                yield self._journal, self._journal.open_end()
