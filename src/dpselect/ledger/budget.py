"""Budgets: reserve the ceiling of a question, ask it, settle what its answer cost, and only then return it."""

from __future__ import annotations

import getpass
import os
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from typing import NoReturn, SupportsIndex

from dpselect._ground import parameters
from dpselect._ground.budget_parts import describe_cost, format_left, rounded_part
from dpselect._ground.parameters import Number, check_keywords, rounded_down, rounded_up
from dpselect._ground.periods import Periods, parse_periods
from dpselect._ground.privacy import ApproxDP, Neighbors
from dpselect._ground.privacy import parse_neighbors as relation
from dpselect._ground.processes import process_identity, refuse_copy
from dpselect.accounting.limits import Sharing, Taken
from dpselect.accounting.prices import Price, Spent
from dpselect.accounting.promise import SET_ASIDE, Promise, at_least
from dpselect.errors import BudgetError, LedgerError, ParameterError, came
from dpselect.ledger import ZERO, Account, Ledger
from dpselect.ledger.account import OneUnit
from dpselect.ledger.charge import Ceiling
from dpselect.ledger.entry import Reservation
from dpselect.ledger.question import Fingerprint
from dpselect.ledger.receipts import Priced, of_account, of_budget, price_paid, priced
from dpselect.ledger.standing import HOLDS_LESS, DataAccount, Standing, check_one_period, to_hold
from dpselect.ledger.stated import Spending, Stated
from dpselect.release.archive import archive_release, restore_release
from dpselect.release.release import Receipt, Release

DELTA_SHARE = Fraction(1, 1000)  # of a budget's delta, for a question that needs one and names none
LONGEST_PLACE = 1000  # characters of a path or an address, which messages repeat
Where = str | os.PathLike[str] | Ledger
NO_PERIODS = "be left out, because the data have no periods"
During = str | Sequence[str] | None
NOTHING = ApproxDP(Fraction(0), Fraction(0))


@check_keywords
class Budget:
    """A privacy budget: an (epsilon, delta) for this process, or an analyst's quota in a ledger.

    Pass it to every Dataset whose questions it should pay for. `Budget(epsilon=3)` lives as long as the object.
    `Budget.open("budget.sqlite", data="plays", analyst="ann")` is durable: `dpselect ledger` makes the file, promises
    something about the data, and grants quotas. A question that does not fit raises BudgetError before a row is read,
    and costs nothing. One that fails after rows may have been read costs its ceiling.

    A question that needs a delta and names none uses a thousandth of the budget's, at most 1e-6. With `delta=0` the
    budget only adds up epsilons. Repeating a question about the same files is free. Threads may share a budget; it
    belongs to the process that made it.

    Guarantee: all answers that a budget paid for are together (epsilon, delta)-DP, for adding or removing one user with
        all of their rows in all data sets asked, however the questions depend on earlier answers.
    Neighbors: add-remove.
    Source: it keeps two totals, the sum of epsilons and the sum of Rényi divergences of one order, and allows a
        question while either total is within the budget (docs/composing.md has the theorem and its proof). Half of its
        delta is reserved for that, or less if the first question names more than the other half. In a ledger the
        promise is the account's, for all analysts of the data together (docs/budgets.md).

    Args:
        epsilon: The epsilon of all answers together.
        delta: The delta of all answers together.

    Example:
        >>> budget = Budget(epsilon=1)
        >>> budget
        Budget(epsilon=1, delta=1e-06, 100 % left)
    """

    snapshot: str | None = None

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        refuse_copy(self, protocol)

    def __init__(self, *, epsilon: Number, delta: Number = parameters.DELTA) -> None:
        epsilon = parameters.epsilon("epsilon", epsilon)
        self._promise = Promise.of(epsilon, parameters.probability("delta", delta, zero=True))
        self._settled = False  # until a first question is taken, which may change what is set apart
        self._taken = Taken()
        self._unit = OneUnit()
        self._answers: dict[str, str] = {}  # archived, since whoever has a release may alter it
        self._lock = threading.Lock()
        self._home = process_identity()
        self._payer = object()  # by which it knows the releases that it paid

    @staticmethod
    def open(
        where: Where, *, data: str = "default", analyst: str | None = None, snapshot: str | None = None
    ) -> LedgerBudget:
        """Return an analyst's quota in a ledger.

        Nothing is opened before a question is asked, which raises LedgerError if the ledger cannot be used.

        Args:
            where: A file, a postgresql:// address, or a `Ledger`.
            data: The name of the data in the ledger.
            analyst: The analyst whose quota is charged; your name on this computer if left out.
            snapshot: A name for the version of data that are not files, so that the stored answer to a repeated
                question is found, for all analysts of the data: agree on the names.
        """
        return LedgerBudget(where, data=data, analyst=analyst, snapshot=snapshot)

    @property
    def left(self) -> float:
        """The unused part of the budget, from 0 to 1."""
        return rounded_part(1 - self._promise.part(self._taken.total))

    def left_for(self, plan: Priced | Release) -> int:
        """Return how many more questions like this one fit at least, whatever their answers cost.

        Args:
            plan: The plan of a question, or a release that this budget paid for.
        """
        if isinstance(plan, Release):
            return self._left_at(price_paid(plan, self._payer))
        asked = priced(plan)
        self.check(asked.price.neighbors)
        promise, taken = self._promise_for(asked), self._taken
        return at_least(promise, asked.price_at(promise.order), settled=taken.settled, pending=taken.pending)

    def share_of(self, plan: Priced) -> float:
        """Return the share of a whole budget that a plan costs at most by itself, as `share=` means it.

        What an answer takes of what is left by then may be more, because either of two sums may have more room: the
        receipt has what was left before less what is left after (docs/budgets.md).
        """
        plan = priced(plan)
        self.check(plan.price.neighbors)
        promise = self._promise_for(plan)
        return float(promise.part(promise.charge(self._taken.settled, plan.price_at(promise.order))))

    def describe_cost(self, plan: Priced) -> str:
        """Return in words what a plan costs at most of what is left now, as a receipt does once it is answered."""
        plan = priced(plan)
        self.check(plan.price.neighbors)
        promise, taken = self._promise_for(plan), self._taken
        ceiling = promise.charge(taken.settled, plan.price_at(promise.order))
        before, after = (1 - promise.part(total) for total in (taken.total, taken.total + ceiling))
        return describe_cost(before, after, fits=promise.admits(taken.settled, taken.pending, ceiling))

    def _promise_for(self, asked: Priced | Stated) -> Promise:
        """What is promised; before the first question, what will be if it is this one."""
        made = self._promise
        if self._settled or not made.apart:
            return made
        return Promise.of(made.epsilon, made.delta, first=asked.price_at(made.order).whole.failure)

    def _left_at(self, price: Price) -> int:
        taken = self._taken
        return at_least(self._promise, price, settled=taken.settled, pending=taken.pending)

    def _receipt(self, asked: Priced, spent: Spent, *, repeated: bool = False) -> Receipt:
        return of_budget(asked, spent, self._promise, self._taken, self._payer, repeated=repeated)

    def __repr__(self) -> str:
        said = ApproxDP(self._promise.epsilon, self._promise.delta)
        return (
            f"Budget(epsilon={rounded_up(said.epsilon)}, delta={rounded_up(said.delta)}, {format_left(self.left)} left)"
        )

    def check(self, neighbors: Neighbors) -> None:
        """A budget is about adding or removing one user; a promise about replacing one does not cover that."""
        if neighbors is not Neighbors.ADD_REMOVE:
            raise ParameterError("neighbors", "be add-remove if a budget pays", came(neighbors))

    @property
    def sharing(self) -> Sharing:
        """What a share of it is."""
        return Sharing(self._promise.order, (self._promise.limits,))

    @property
    def usual_delta(self) -> Fraction:
        """The delta of a question that needs one and names none."""
        return min(parameters.DELTA, self._promise.delta * DELTA_SHARE)

    def pay(self, asked: Priced, question: Fingerprint, ask: Callable[[], Release], *, fresh: bool) -> Release:
        """The answer, paid. If it is interrupted once it has begun, the whole ceiling stays charged."""
        self._check_process()
        check_one_period(question.periods)
        self._unit.check(question.user)
        stored = self._stored(question, fresh=fresh)
        if stored is not None:
            return replace(stored, charged=self._receipt(asked, Spent(), repeated=True))
        ceiling = self._take(asked)
        release = ask()
        spent = self._promise.settle(ceiling, asked.cost_at(release, self._promise.order))
        self._settle(ceiling, spent)
        self._store(question, release)
        return replace(release, charged=self._receipt(asked, spent))

    def spend(
        self, *, epsilon: Number, delta: Number, unit: str, neighbors: str, note: str, during: During = None
    ) -> Spending:
        """Pay a stated price for the use of another library in the block of a `with`.

        Guarantee: that of the budget, if what the block releases is (epsilon, delta)-DP for the unit and neighbors that
            are stated. The budget cannot check this.
        Neighbors: add-remove; `unit` is that of the budget, "one user" unless its data say more.
        Source: docs/composing.md, "A price that is stated". All of delta counts as a failure. A price in rho must be
            converted first.

        The price is reserved when this is called, whether or not a block follows, and all of it is charged however the
        block ends.

        Args:
            epsilon: The epsilon of everything that the block releases, by the other library's own odometer: what it
                charges may be more than the parameter that it was given.
            delta: The delta of everything that the block releases, by the same.
            unit: What the price protects, such as "one user".
            neighbors: Must be "add-remove".
            note: What it is for; a ledger records the note and the analyst who stated the price.
            during: All periods whose rows are read, if the account has periods.

        Raises: BudgetError if the price does not fit; the message gives the largest delta that is left.

        Example:
            >>> budget = Budget(epsilon=1)
            >>> with budget.spend(epsilon="0.1", delta=0, unit="one user", neighbors="add-remove", note="a mean"):
            ...     pass  # run the other library here
            >>> budget
            Budget(epsilon=1, delta=1e-06, 90 % left)
        """
        self.check(relation(neighbors))
        return Spending(self._reserve(Stated.of(epsilon, delta, unit, note), during))

    def _reserve(self, stated: Stated, during: During) -> Callable[[], None]:
        """Reserve a stated price; what settles it."""
        self._check_process()
        if during is not None:
            raise ParameterError("during", NO_PERIODS, came(during))
        self._unit.check_stated(stated.unit)
        ceiling = self._take(stated)
        return lambda: self._settle(ceiling, ceiling)

    def _settle(self, ceiling: Spent, spent: Spent) -> None:
        self._check_process()  # a child that was forked meanwhile has drawn an answer that nothing was taken for
        with self._lock:
            self._taken = self._taken.settling(ceiling, spent)

    def _check_process(self) -> None:
        """Before the lock, which a fork may have copied locked."""
        if self._home != process_identity():
            raise BudgetError("the budget belongs to another process", "make one in this process")

    def _stored(self, question: Fingerprint, *, fresh: bool) -> Release | None:
        """The answer to the same question, if it was kept and is wanted."""
        if fresh or not question.repeatable:
            return None
        with self._lock:
            stored = self._answers.get(question.text)
        return None if stored is None else restore_release(stored)

    def _store(self, question: Fingerprint, release: Release) -> None:
        """Keep the answer as text, which nobody who has the release can alter."""
        if question.repeatable:
            kept = archive_release(release)
            with self._lock:
                self._answers[question.text] = kept

    def _take(self, asked: Priced | Stated) -> Spent:
        """The ceiling of a question, which is open from here on; BudgetError where it does not fit.

        The first one that fits settles the order and what is set apart, for good and before a row is read.
        """
        with self._lock:
            promise, taken = self._promise_for(asked), self._taken
            ceiling = promise.charge(taken.settled, asked.price_at(promise.order))
            if not promise.admits(taken.settled, taken.pending, ceiling):
                raise self._refusal(promise, taken.total, ceiling)
            self._promise = promise
            self._settled = True
            self._taken = taken.opening(ceiling)
        return ceiling

    def _refusal(self, promise: Promise, taken: Spent, ceiling: Spent) -> BudgetError:
        """What it costs beside what was taken: a sum that had room may be full where the other one is."""
        room = max(Fraction(0), promise.delta - promise.apart - taken.failure)
        if ceiling.failure > room:
            aside = ", besides what is reserved for composition" if promise.apart else ""
            has = f"the budget has {rounded_down(room)} left for that{aside}"
            usual = self.usual_delta
            less = f"{rounded_down(usual)} for example" if 0 < usual <= room else "or make one with a larger delta"
            return BudgetError(
                f"the question needs a delta of {rounded_up(ceiling.failure)}, and {has}",
                f"ask with a smaller delta, {less}",
            )
        held, left = to_hold(promise.limits, taken, ceiling)
        return BudgetError(
            f"the question must reserve up to {held} of the budget while it runs, but only {left} is left",
            f"{HOLDS_LESS}, or make a larger budget",
        )


def _others(plan: object) -> Sequence[str]:
    """The periods with which a question, or that of a release, compares those that it is about."""
    if isinstance(plan, Release):
        return [name for name in str(plan.privacy.parameters.get("compared_with", "")).split(", ") if name]
    others: Sequence[str] = getattr(plan, "others", ())
    return others


class LedgerBudget(Budget):
    """An analyst's quota in a ledger, from which questions are paid. `Budget.open` makes it."""

    def __init__(
        self, where: Where, *, data: str = "default", analyst: str | None = None, snapshot: str | None = None
    ) -> None:
        if not isinstance(where, (str, os.PathLike, Ledger)):
            raise ParameterError("budget", "be a Budget, a file, a postgresql:// address or a Ledger", came(where))
        if not isinstance(where, Ledger) and len(os.fspath(where)) > LONGEST_PLACE:
            raise ParameterError(
                "budget", f"be a path or address of at most {LONGEST_PLACE} characters", came(str(where))
            )
        given: object = snapshot
        if given is not None and not (isinstance(given, str) and given.strip()):
            raise ParameterError("snapshot", "be a name for the state of the data", came(snapshot))
        self.where = where
        self.account: Account = _account(data, user() if analyst is None else analyst)
        self.snapshot = snapshot

    @property
    def left(self) -> float:
        """The part of the quota that is left, or of what the data promise if that is less; the ledger is asked."""
        return rounded_part(min(one.left for one in self._standings()))

    def share_of(self, plan: Priced, *, during: During = None) -> float:
        """Return the share of a whole quota that a plan costs at most by itself, or of what all may use if more."""
        plan = priced(plan)
        self.check(plan.price.neighbors)
        standings = self._standings(during, plan)
        return float(max(one.part(one.ceiling(Ceiling.of(plan.price_at(one.order)))) for one in standings))

    def describe_cost(self, plan: Priced, *, during: During = None) -> str:
        """Return in words what a plan costs at most of what is left now; the ledger is asked."""
        plan = priced(plan)
        self.check(plan.price.neighbors)
        held = [(one, one.ceiling(Ceiling.of(plan.price_at(one.order)))) for one in self._standings(during, plan)]
        before, after = min(one.left for one, _ in held), min(one.left_with(ceiling) for one, ceiling in held)
        return describe_cost(before, after, fits=all(one.admits(ceiling) for one, ceiling in held))

    def left_for(self, plan: Priced | Release, *, during: During = None) -> int:
        """How many more questions like this one can be asked at least, if nobody else asks; the ledger is asked.

        Of data that have periods: `during` those, or in each in which anything was asked. A release that this account
        paid stands for the question that it answers.
        """
        standings = self._standings(during, plan)
        if isinstance(plan, Release):
            return min(one.left_for(price_paid(plan, (one.account, one.order))) for one in standings)
        asked = priced(plan)
        self.check(asked.price.neighbors)
        return min(one.left_for(asked.price_at(one.order)) for one in standings)

    @property
    def usual_delta(self) -> Fraction:
        """A thousandth of the delta that the account was made with; it stays the same when more is granted."""
        with self.ledger() as ledger:
            apart = ledger.data_account(self.account.dataset).promise.apart
        return min(parameters.DELTA, apart / SET_ASIDE * DELTA_SHARE) if apart else parameters.DELTA

    @property
    def sharing(self) -> Sharing:
        """Of the quota, or of what is promised of the data if that is less, in any period; the ledger is asked."""
        one = next(iter(self._standings()))
        return Sharing(one.order, [limits for limits, _ in one.limits])

    def _standings(self, during: During = None, plan: object = None) -> Collection[Standing]:
        """In the periods that are named, and in those with which a question compares them."""
        with self.ledger() as ledger:
            meant = _during(ledger.data_account(self.account.dataset), during)
            others = _others(plan)
            meant = meant.compared_with(others) if meant is not None and others else meant
            return ledger.standings(self.account, meant).values()

    def __repr__(self) -> str:
        return f"Budget.open(..., data={self.account.dataset!r}, analyst={self.account.analyst!r})"

    @contextmanager
    def ledger(self) -> Iterator[Ledger]:
        """The ledger, opened for one question where it was given as a path or an address."""
        if isinstance(self.where, Ledger):
            yield self.where
        else:
            with Ledger(self.where) as opened:
                yield opened

    def pay(
        self,
        asked: Priced,
        question: Fingerprint,
        ask: Callable[[], Release],
        *,
        fresh: bool,
        held: Callable[[Reservation], None] | None = None,
        approved_by: str | None = None,
    ) -> Release:
        """The answer, paid. A stored answer to the same question is free, unless a `fresh` one is wanted.

        The ceiling is reserved, and the ledger knows that rows are read, before `ask` touches data; the answer leaves
        only after the ledger holds it. Whatever ends this before `ask` gives the whole ceiling back, and whatever ends
        it later leaves the ceiling reserved: too much is charged then, never too little. `held` is told of the
        reservation before the ledger knows that rows are read.
        """
        with self.ledger() as ledger:
            standings = ledger.standings(self.account, question.periods).values()
            if question.repeatable and not fresh:
                stored = ledger.repeat(self.account, question.text)
                if stored is not None:
                    return replace(restore_release(stored), charged=of_account(asked, ZERO, standings, repeated=True))
            order, during = next(iter(standings)).order, question.periods
            reservation = None
            ceiling = asked.price_at(order)
            try:
                reservation = ledger.reserve(
                    self.account,
                    ceiling,
                    question.text,
                    order=order,
                    user=question.user,
                    during=during,
                    approved_by=approved_by,
                )
                if held is not None:
                    held(reservation)
                ledger.start(reservation)
            except BaseException:
                if reservation is not None:
                    ledger.abandon(reservation)
                raise
            release = ask()
            cost = asked.cost_at(release, order)
            after: Collection[Standing] = [ledger.settle(reservation, cost, archive_release(release))]
            if len(reservation.parts) > 1:
                with suppress(LedgerError):  # the answer is paid and kept: it comes out with a lesser receipt
                    after = ledger.standings(self.account, during).values()
        spent = Ceiling.of(cost).held_as(reservation.ceiling)
        return replace(release, charged=of_account(asked, spent, after))

    def _reserve(self, stated: Stated, during: During) -> Callable[[], None]:
        with self.ledger() as ledger:
            data = ledger.data_account(self.account.dataset)
            order, text = data.promise.order, stated.text(self.account.analyst)
            price, meant = stated.price_at(order), _during(data, during)
            reservation = ledger.reserve(
                self.account, price, text, order=order, user=data.user, during=meant, unit=stated.unit
            )
            try:
                ledger.start(reservation)
            except BaseException:
                ledger.abandon(reservation)
                raise

        def settle() -> None:
            with self.ledger() as opened:
                opened.settle(reservation, price, None)

        return settle


def _during(data: DataAccount, during: During) -> Periods | None:
    """The periods that are named, in the words of the account."""
    if during is not None and data.period is None:
        raise ParameterError("during", NO_PERIODS, came(during))
    return None if during is None else parse_periods(data.time, data.period, during, data.timezone)


def budget_of(given: object) -> Budget | None:
    """The budget that a caller means: one as it is, a path as that file with this computer's name for the user."""
    if given is None or isinstance(given, Budget):
        return given
    return LedgerBudget(given)  # type: ignore[arg-type] # which looks at what it is


def user() -> str:
    """This computer's name for the user."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        raise ParameterError("analyst", "be given if this computer has no name for the user", "nothing") from None


def _account(data: str, analyst: str) -> Account:
    try:
        return Account(dataset=data, analyst=analyst)
    except ParameterError as error:
        if error.parameter != "dataset":
            raise
        raise ParameterError("data", error.must, error.came, error.hint) from None
