"""Budgets: reserve the ceiling of a question, ask it, settle what its answer cost, and only then return it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from typing import NoReturn, SupportsIndex

from dpselect._ground import parameters
from dpselect._ground.budget_parts import describe_cost, format_left, rounded_part
from dpselect._ground.parameters import Number, check_keywords, rounded_up
from dpselect._ground.privacy import Neighbors
from dpselect._ground.privacy import parse_neighbors as relation
from dpselect._ground.processes import refuse_copy
from dpselect.accounting.limits import Sharing
from dpselect.accounting.prices import Spent
from dpselect.accounting.promise import SET_ASIDE
from dpselect.errors import LedgerError, ParameterError, came
from dpselect.ledger.account import Account
from dpselect.ledger.charge import ZERO, Ceiling
from dpselect.ledger.entry import Reservation
from dpselect.ledger.ledger import Ledger
from dpselect.ledger.memory import MemoryAccount, usual_delta
from dpselect.ledger.question import Fingerprint
from dpselect.ledger.receipts import Priced, account_receipt, budget_receipt, parse_plan, price_paid, quote_price
from dpselect.ledger.standing import NO_PERIODS, During, Standing, check_one_period
from dpselect.ledger.stated import Spending, Stated
from dpselect.release.archive import archive_release, restore_release
from dpselect.release.release import Receipt, Release

_MAX_ADDRESS_LENGTH = 1000  # characters of a path or an address, which messages repeat
LedgerSource = str | os.PathLike[str] | Ledger


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

    def __init__(self, *, epsilon: Number, delta: Number = parameters.DEFAULT_DELTA) -> None:
        epsilon = parameters.epsilon("epsilon", epsilon)
        self._account = MemoryAccount(epsilon, parameters.probability("delta", delta, zero=True))
        self._payer = object()  # identifies the releases that it paid for

    @staticmethod
    def open(
        where: LedgerSource, *, data: str = "default", analyst: str | None = None, snapshot: str | None = None
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
        return rounded_part(1 - self._account.promise.part(self._account.taken.total))

    def left_for(self, plan: Priced | Release) -> int:
        """Return how many more questions like this one fit at least, whatever their answers cost.

        Args:
            plan: The plan of a question, or a release that this budget paid for.
        """
        if isinstance(plan, Release):
            return self._account.left_for(self._account.promise, price_paid(plan, self._payer))
        promise = self._account.promise_for(self._parse_plan(plan))
        return self._account.left_for(promise, plan.price_at(promise.order))

    def share_of(self, plan: Priced) -> float:
        """Return the share of a whole budget that a plan costs at most by itself, as `share=` means it.

        What an answer takes of what is left by then may be more, because either of two sums may have more room: the
        receipt has what was left before less what is left after (docs/budgets.md).
        """
        promise = self._account.promise_for(self._parse_plan(plan))
        return float(promise.part(promise.charge(self._account.taken.settled, plan.price_at(promise.order))))

    def describe_cost(self, plan: Priced) -> str:
        """Return in words what a plan costs at most of what is left now, as a receipt does once it is answered."""
        promise, totals = self._account.promise_for(self._parse_plan(plan)), self._account.taken
        ceiling = promise.charge(totals.settled, plan.price_at(promise.order))
        share_before, share_after = (1 - promise.part(total) for total in (totals.total, totals.total + ceiling))
        return describe_cost(share_before, share_after, fits=promise.admits(totals.settled, totals.pending, ceiling))

    def _parse_plan(self, plan: object) -> Priced:
        """Return a plan that this budget may pay, or raise ParameterError."""
        parsed_plan = parse_plan(plan)
        self.check(parsed_plan.price.neighbors)
        return parsed_plan

    def _receipt(self, plan: Priced, spent: Spent, *, is_repeat: bool = False) -> Receipt:
        return budget_receipt(plan, spent, self._account.promise, self._account.taken, self._payer, is_repeat=is_repeat)

    def __repr__(self) -> str:
        epsilon, delta = rounded_up(self._account.promise.epsilon), rounded_up(self._account.promise.delta)
        return f"Budget(epsilon={epsilon}, delta={delta}, {format_left(self.left)} left)"

    def check(self, neighbors: Neighbors) -> None:
        """Refuse a question about other neighbours: a promise about replacing a user does not cover adding one."""
        if neighbors is not Neighbors.ADD_REMOVE:
            raise ParameterError("neighbors", "be add-remove if a budget pays", came(neighbors))

    @property
    def sharing(self) -> Sharing:
        """The limits that a share of this budget refers to."""
        return Sharing(self._account.promise.order, (self._account.promise.limits,))

    @property
    def usual_delta(self) -> Fraction:
        """The delta of a question that needs one and names none."""
        return usual_delta(self._account.promise.delta)

    def pay(self, plan: Priced, question: Fingerprint, ask: Callable[[], Release], *, fresh: bool) -> Release:
        """Return the paid answer. If asking is interrupted once it has begun, the whole ceiling stays charged."""
        account = self._account
        account.check_process()
        check_one_period(question.periods)
        account.unit.check(question.user)
        stored = account.stored(question, fresh=fresh)
        if stored is not None:
            return replace(stored, charged=self._receipt(plan, Spent(), is_repeat=True))
        ceiling = account.reserve(plan)
        release = ask()
        spent = account.promise.settled_charge(ceiling, plan.cost_at(release, account.promise.order))
        account.settle(ceiling, spent)
        account.store(question, release)
        return replace(release, charged=self._receipt(plan, spent))

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
        return Spending(self._reserve(Stated.parse(epsilon, delta, unit, note), during))

    def _reserve(self, stated: Stated, during: During) -> Callable[[], None]:
        """Reserve a stated price, and return the function that settles it."""
        self._account.check_process()
        if during is not None:
            raise ParameterError("during", NO_PERIODS, came(during))
        self._account.unit.check_stated(stated.unit)
        ceiling = self._account.reserve(stated)
        return lambda: self._account.settle(ceiling, ceiling)


def _compared_periods(plan: object) -> Sequence[str]:
    """Return the periods with which a question, or that of a release, compares its own."""
    if isinstance(plan, Release):
        return [name for name in str(plan.privacy.parameters.get("compared_with", "")).split(", ") if name]
    periods: Sequence[str] = getattr(plan, "compared_periods", ())
    return periods


class LedgerBudget(Budget):
    """An analyst's quota in a ledger, which pays for questions. `Budget.open` makes it."""

    def __init__(
        self, where: LedgerSource, *, data: str = "default", analyst: str | None = None, snapshot: str | None = None
    ) -> None:
        if not isinstance(where, (str, os.PathLike, Ledger)):
            raise ParameterError("budget", "be a Budget, a file, a postgresql:// address or a Ledger", came(where))
        if not isinstance(where, Ledger) and len(os.fspath(where)) > _MAX_ADDRESS_LENGTH:
            raise ParameterError(
                "budget", f"be a path or address of at most {_MAX_ADDRESS_LENGTH} characters", came(str(where))
            )
        snapshot_value: object = snapshot
        if snapshot_value is not None and not (isinstance(snapshot_value, str) and snapshot_value.strip()):
            raise ParameterError("snapshot", "be a name for the state of the data", came(snapshot))
        self.where = where
        self.account: Account = Account.parse(data, analyst)
        self.snapshot = snapshot

    @property
    def left(self) -> float:
        """The share that is left of the quota, or of what is promised if that is less; the ledger is asked."""
        return rounded_part(min(standing.left for standing in self._standings()))

    def share_of(self, plan: Priced, *, during: During = None) -> float:
        """Return the share of a whole quota that a plan costs at most by itself, or of what all may use if more."""
        return float(quote_price(plan, self._standings(during, self._parse_plan(plan))).part)

    def describe_cost(self, plan: Priced, *, during: During = None) -> str:
        """Return in words what a plan costs at most of what is left now; the ledger is asked."""
        return quote_price(plan, self._standings(during, self._parse_plan(plan))).sentence

    def left_for(self, plan: Priced | Release, *, during: During = None) -> int:
        """Return how many more questions like this one fit at least, if nobody else asks; the ledger is asked.

        If the data have periods: in those `during`, or in each in which anything was asked. A release that this account
        paid for stands for its question.
        """
        standings = self._standings(during, plan)
        if isinstance(plan, Release):
            return min(
                standing.left_for(price_paid(plan, (standing.account, standing.order))) for standing in standings
            )
        parsed_plan = self._parse_plan(plan)
        return min(standing.left_for(parsed_plan.price_at(standing.order)) for standing in standings)

    @property
    def usual_delta(self) -> Fraction:
        """A thousandth of the delta that the account was made with; it stays the same when more is granted."""
        with self.ledger() as ledger:
            apart = ledger.data_account(self.account.dataset).promise.apart
        return usual_delta(apart / SET_ASIDE) if apart else parameters.DEFAULT_DELTA

    @property
    def sharing(self) -> Sharing:
        """The limits that a share refers to: of the quota, or of the promise if that is less; the ledger is asked."""
        standing = self._standings()[0]
        return Sharing(standing.order, [limits for limits, _ in standing.limits])

    def _standings(self, during: During = None, plan: object = None) -> list[Standing]:
        """Return the standings in the periods of a question, and in those with which it compares them."""
        with self.ledger() as ledger:
            periods = ledger.data_account(self.account.dataset).parse_during(during)
            compared = _compared_periods(plan)
            periods = periods.compared_with(compared) if periods is not None and compared else periods
            return ledger.standings(self.account, periods)

    def __repr__(self) -> str:
        return f"Budget.open(..., data={self.account.dataset!r}, analyst={self.account.analyst!r})"

    @contextmanager
    def ledger(self) -> Iterator[Ledger]:
        """Yield the ledger, opened for one question if it was given as a path or an address."""
        if isinstance(self.where, Ledger):
            yield self.where
        else:
            with Ledger(self.where) as opened:
                yield opened

    def pay(
        self,
        plan: Priced,
        question: Fingerprint,
        ask: Callable[[], Release],
        *,
        fresh: bool,
        on_hold: Callable[[Reservation], None] | None = None,
        approved_by: str | None = None,
    ) -> Release:
        """Return the paid answer. A stored answer to the same question is free, unless a `fresh` one is wanted.

        The ceiling is reserved, and the read is recorded, before `ask` touches data; the answer is returned only after
        the ledger has stored it. A failure before `ask` gives the whole ceiling back. A later one leaves it reserved:
        too much is charged then, never too little. `on_hold` is called with the reservation, before the read is
        recorded.
        """
        with self.ledger() as ledger:
            standings = ledger.standings(self.account, question.periods)
            if question.repeatable and not fresh:
                stored = ledger.repeat(self.account, question.text)
                if stored is not None:
                    return replace(
                        restore_release(stored), charged=account_receipt(plan, ZERO, standings, is_repeat=True)
                    )
            order, during = standings[0].order, question.periods
            reservation = None
            ceiling = plan.price_at(order)
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
                if on_hold is not None:
                    on_hold(reservation)
                ledger.start(reservation)
            except BaseException:
                if reservation is not None:
                    ledger.abandon(reservation)
                raise
            release = ask()
            cost = plan.cost_at(release, order)
            standings_after = [ledger.settle(reservation, cost, archive_release(release))]
            if len(reservation.parts) > 1:
                with suppress(LedgerError):  # the answer is paid and stored: it gets a less exact receipt
                    standings_after = ledger.standings(self.account, during)
        spent = Ceiling.from_price(cost).charge_for_hold(reservation.ceiling)
        return replace(release, charged=account_receipt(plan, spent, standings_after))

    def _reserve(self, stated: Stated, during: During) -> Callable[[], None]:
        with self.ledger() as ledger:
            data = ledger.data_account(self.account.dataset)
            order, text = data.promise.order, stated.text(self.account.analyst)
            price, periods = stated.price_at(order), data.parse_during(during)
            reservation = ledger.reserve(
                self.account, price, text, order=order, user=data.user, during=periods, unit=stated.unit
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


class PromiseBudget(LedgerBudget):
    """The whole promise for the data, as the quota of an owner who wants to know what a question costs."""

    @property
    def sharing(self) -> Sharing:
        """What a share of it is: of what all analysts together may use."""
        with self.ledger() as ledger:
            data = ledger.data_account(self.account.dataset)
        return Sharing(data.promise.order, [data.open_to_analysts])


def parse_budget(budget: object) -> Budget | None:
    """Return a caller's budget: as it is, or for a path the quota of this computer's user in that ledger."""
    if budget is None or isinstance(budget, Budget):
        return budget
    return LedgerBudget(budget)  # type: ignore[arg-type] # __init__ checks it
