"""The ledger: promises, quotas, reservations and releases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, SupportsIndex, TypeVar

from dpselect._ground.first_use import door
from dpselect._ground.parameters import Number, check_keywords, flag
from dpselect._ground.periods import Periods
from dpselect._ground.processes import refuse_copy
from dpselect.accounting.prices import Price
from dpselect.errors import ParameterError, came
from dpselect.ledger import reservations
from dpselect.ledger.account import ALWAYS, Account, clean_name
from dpselect.ledger.chains import former_entries
from dpselect.ledger.charge import ZERO, Charge, check_text, format_amount, parse_grant
from dpselect.ledger.declaration import Declaration
from dpselect.ledger.entry import Draft, Entry, EntryKind, Pending, Reservation, ReservationOutcome
from dpselect.ledger.journal import Journal
from dpselect.ledger.locations import LedgerLocation, create_store, open_store
from dpselect.ledger.records import Records
from dpselect.ledger.session import Session
from dpselect.ledger.sql import build_tables, check_format
from dpselect.ledger.standing import NO_PERIODS, DataAccount, Standing, Usage
from dpselect.ledger.terms import Chain, format_data_terms, format_granter

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpselect.release.picture import Picture

T = TypeVar("T")


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

    def __init__(self, where: LedgerLocation) -> None:
        """Open the ledger that is there."""
        self._session = Session(open_store(where), check_format)

    @staticmethod
    def create(where: LedgerLocation) -> Ledger:
        """Make a new ledger; an existing one is never overwritten.

        Args:
            where: A path, or a postgresql:// address.
        """
        ledger = Ledger.__new__(Ledger)
        ledger._session = Session(create_store(where), build_tables)
        return ledger

    @staticmethod
    def upgrade(old: LedgerLocation, new: LedgerLocation) -> Ledger:
        """Make a ledger of today's format that continues an old one, and close the old one.

        Every entry is carried over: promises, quotas, what was spent and is reserved, stored answers. The old ledger
        takes no more entries from the moment at which the new one takes its first; it can still be read and verified.
        If this is interrupted, the old ledger is whole, and the same call again makes or finishes the new one.

        Args:
            old: A path, or a postgresql:// address.
            new: The same of a location where there is no ledger.
        """
        from dpselect.ledger.upgrade import upgrade

        upgrade(old, new)
        return Ledger(new)

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
        with self._session.writing() as (journal, end):
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
    ) -> Standing:
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
        with self._session.writing() as (journal, end):
            data = journal.data(account.dataset)
            if every is not None and every != data.period:
                must = NO_PERIODS if data.period is None else f"be {data.period}, as the data have"
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
            return Standing(account, data, granted, *journal.used(account, ALWAYS))

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
        request = reservations.Request(account, price, question, order, user, during, unit, approved_by)
        return reservations.reserve(self._session, request)

    def start(self, reservation: Reservation) -> None:
        """Record that rows may be read from now on, so that the ceiling stays reserved; a second call does nothing."""
        reservations.start(self._session, reservation)

    def settle(self, reservation: Reservation, spent: Price | Charge, release: str | None) -> Standing:
        """Record what the question cost and what was released; the rest of the reservation is free again.

        The answer has two prices; the one whose ceiling was reserved is charged.
        """
        return reservations.settle(self._session, reservation, spent, release)

    def pending(self) -> Iterator[Pending]:
        """Return every open reservation, oldest first: of running questions, and of those that died."""
        return self._pages(Journal.pending, lambda pending: pending.entry.number)

    def give_back(self, reservation: Reservation | Pending) -> Standing:
        """Free a reservation under which no row was read. A question that is still running is refused at `start`."""
        if isinstance(reservation, Pending):
            reservation = Reservation.from_hold(reservation.entry)
        return reservations.give_back(self._session, reservation)

    def abandon(self, reservation: Reservation) -> None:
        """Give a reservation back on the way out of an error; if that fails, it stays as it is."""
        reservations.abandon(self._session, reservation)

    # ---- stored answers -----------------------------------------------------------------------------------

    def repeat(self, account: Account, question: str) -> str | None:
        """Return the latest release of exactly this question of these data, for free; None without one.

        The first who asked paid for all who have a right to the data.
        """
        check_text("question", question)
        with self._session.reading() as journal:
            journal.quota(account)
            if journal.find_release(account.dataset, question) is None:
                return None
        with self._session.writing() as (journal, end):
            journal.quota(account)
            settlement = journal.find_release(account.dataset, question)
            if settlement is None:
                return None
            journal.append(end, Draft(EntryKind.REPEAT, account, ZERO, question, settlement.number))
            return settlement.release

    def find_settlement(self, dataset: str, question: str) -> Entry | None:
        """Return the settlement with the latest release of exactly this question of these data; None without one."""
        check_text("question", question)
        with self._session.reading() as journal:
            return journal.find_release(dataset, question)

    def entry(self, number: int) -> Entry | None:
        """Return one entry, unchanged since it was written."""
        with self._session.reading() as journal:
            return journal.entry(number)

    def outcome(self, hold: int) -> ReservationOutcome | None:
        """Return the outcome of a reservation by its number; None if there is no such reservation."""
        with self._session.snapshot() as journal:
            entry = journal.entry(hold)
            if entry is None or entry.kind is not EntryKind.HOLD:
                return None
            followers = journal.followers(hold)
            settle = journal.entry(followers[EntryKind.SETTLE]) if EntryKind.SETTLE in followers else None
            reservation = Pending(entry, EntryKind.READ in followers)
            return ReservationOutcome(reservation, settle, EntryKind.RETURN in followers)

    def record_repeats(self, repeats: Iterable[tuple[Account, str, int]]) -> None:
        """Record that analysts were given stored releases again, for free: question, and number of the settlement.

        The entries charge nothing, so they need not be durable at once. Analysts without a quota are skipped.
        """
        with self._session.writing(durable=False) as (journal, end):
            last = end
            for account, question, settle in repeats:
                if journal.find_quota(account) is None:
                    continue
                entry = journal.append(last, Draft(EntryKind.REPEAT, account, ZERO, question, settle))
                last = replace(last, entries=entry.number, head=entry.digest)

    # ---- reading ------------------------------------------------------------------------------------------

    def standing(self, account: Account, period: str = ALWAYS) -> Standing:
        """Return what the analyst may use, has used and has left in one period."""
        with self._session.snapshot() as journal:
            (standing,) = journal.standings(account, lambda _: [period])
            return standing

    def standings(self, account: Account, during: Periods | None = None) -> list[Standing]:
        """Return the standing in each period of a question.

        If `during` is None and the data have periods: in those in which anything was asked, or else in a new one.
        """
        with self._session.snapshot() as journal:
            return journal.standings(account, lambda data: journal.periods(data, during))

    def all_standings(self) -> list[Standing]:
        """Return the standing of every analyst in each period with questions, by data set, name and period."""
        with self._session.snapshot() as journal:
            return journal.all_standings()

    def promise_standings(self, account: Account, during: Periods | None = None) -> list[Standing]:
        """Return how an owner stands: as if the whole promise for the data were their quota."""
        accounts = ((data, used) for data, used in self.data_accounts() if data.dataset == account.dataset)
        data, used = next(accounts)
        periods = [ALWAYS] if during is None else during.names
        usages = [(used.get(name, Usage()), name) for name in periods]
        return [Standing(account, data, data.total, usage, usage, period) for usage, period in usages]

    def has_quota(self, account: Account) -> bool:
        """Return whether the analyst was granted anything."""
        with self._session.reading() as journal:
            return journal.find_quota(account) is not None

    def data_account(self, dataset: str) -> DataAccount:
        """Return the promise for the data of this name."""
        with self._session.reading() as journal:
            return journal.data(dataset)

    def data_accounts(self) -> list[tuple[DataAccount, dict[str, Usage]]]:
        """Return the promise for each data set, and what was used of it, by period."""
        with self._session.snapshot() as journal:
            return journal.data_accounts()

    def entries(self, account: Account | None = None) -> Iterator[Entry]:
        """Return all entries, or those of one account, oldest first."""
        return self._pages(lambda journal, number: journal.read_page(number, account), lambda entry: entry.number)

    def _pages(self, read: Callable[[Journal, int], list[T]], number_of: Callable[[T], int]) -> Iterator[T]:
        """Yield what lies after each number, page by page, without a lock between two pages."""
        last_number = 0
        while True:
            with self._session.reading() as journal:
                page = read(journal, last_number)
            if not page:
                return
            yield from page
            last_number = number_of(page[-1])

    @property
    def head(self) -> str:
        """The digest of the last entry. Note it elsewhere: it shows later that no earlier entry was changed."""
        with self._session.reading() as journal:
            return journal.meta().head

    @property
    def count(self) -> int:
        """The number of entries."""
        with self._session.reading() as journal:
            return journal.meta().entries

    @property
    def continued_from(self) -> Chain | None:
        """The ledger that this one continues, as it was before it was closed; None if it continues none."""
        with self._session.reading() as journal:
            return journal.continued_from()

    @property
    def continued_in(self) -> Chain | None:
        """The ledger that continues this one, as it was when this one was closed; None if this one is open."""
        with self._session.snapshot() as journal:
            return journal.continued_in(journal.meta())

    def check_open(self) -> None:
        """Raise LedgerError if the ledger takes no more entries: it is closed, or has an older format."""
        with self._session.snapshot() as journal:
            journal.open_end()

    def former_entries(self) -> Iterator[tuple[int, str, Entry]]:
        """Return each entry that was carried over, after its number and digest in the ledger that it was written in.

        An entry that was carried over twice is there for both former ledgers.
        """
        with self._session.reading() as journal:
            header = journal.meta()
        return former_entries(header, self.entries())

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
        """Return a picture of the used part of each budget after every entry; `Picture.save` writes it as SVG.

        Args:
            analyst: Only this analyst.
            data: Only this data set.
            ax: Matplotlib axes to draw on too.
        """
        picture: Picture = door("audit.spending", "plot")(self, analyst=analyst, data=data, ax=ax)
        return picture

    @contextmanager
    def records(self) -> Iterator[Records]:
        """Hold the ledger's lock, and yield all of its records, also damaged ones."""
        with self._session.store() as store:
            yield Records(store)

    # ---- lifetime -----------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the file or the connection; closing twice, or in a forked child, does nothing."""
        self._session.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger({self._session.location!r})"

    @property
    def alive(self) -> bool:
        """True if the ledger can still be used, as far as is known. If its connection was cut, open it again."""
        return self._session.alive
