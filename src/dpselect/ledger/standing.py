"""Standings: the account of data that keeps the promise, what was used of it, and what still fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

from dpselect._ground.budget_parts import cost_between, format_cost, rounded_part
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import rounded_down, rounded_up
from dpselect._ground.periods import Periods, parse_periods
from dpselect.accounting.limits import Limits
from dpselect.accounting.prices import Price, Spent
from dpselect.accounting.promise import Promise, at_least
from dpselect.errors import BudgetError, ParameterError, came
from dpselect.ledger.account import ALWAYS, ONE_USER, Account, format_user, user_columns
from dpselect.ledger.charge import ZERO, Ceiling, Charge

HOLD_HINT = "an answer may cost less than is reserved; ask with a smaller epsilon"
NO_PERIODS = "be left out, because the data have no periods"
During = str | Sequence[str] | None
FIXED_FIELDS = ("unit", "user", "period", "time", "timezone")


@dataclass(frozen=True)
class DataAccount:
    """The promise about the data of one name: for all answers to all analysts together, in each period.

    `unit` is what the promise protects, and `user` the column that identifies users, if that is fixed. `keep` is the
    share that analysts cannot use for now. With a `period` the unit is one user in one such period of `timezone`, by
    the column `time`, and each period has the whole promise for itself.
    """

    dataset: str
    promise: Promise
    unit: str = ONE_USER
    keep: Fraction = Fraction(0)
    user: str | None = None
    period: str | None = None
    time: str | None = None
    timezone: str | None = None

    @property
    def fixed_terms(self) -> dict[str, str | None]:
        """The terms that cannot change after the first question."""
        return {name: getattr(self, name) for name in FIXED_FIELDS}

    @property
    def total(self) -> Charge:
        """The epsilon and delta that are promised."""
        return Charge(self.promise.epsilon, self.promise.delta)

    @cached_property
    def open_to_analysts(self) -> Limits:
        """The limits of all analysts together."""
        return self.promise.limits.scaled(1 - self.keep)

    def parse_during(self, during: During) -> Periods | None:
        """Return the periods that are named, in the time zone and kind of the account."""
        if during is not None and self.period is None:
            raise ParameterError("during", NO_PERIODS, came(during))
        return None if during is None else parse_periods(self.time, self.period, during, self.timezone)

    def quota(self, granted: Charge) -> Limits:
        """Return the limits of an analyst who was granted this amount."""
        return self.promise.cap(granted.epsilon, granted.delta)


@dataclass(frozen=True)
class Usage:
    """The cost of answers, and the highest cost of open questions."""

    spent: Charge = ZERO
    reserved: Charge = ZERO

    @property
    def total(self) -> Charge:
        """The sum of what is spent and reserved."""
        return self.spent + self.reserved

    def with_hold(self, ceiling: Charge) -> Usage:
        """Return this with one more open question."""
        return replace(self, reserved=self.reserved + ceiling)

    def with_settlement(self, ceiling: Charge, spent: Charge) -> Usage:
        """Return this with an answer in place of an open question."""
        return Usage(self.spent + spent, self.reserved - ceiling)


@dataclass(frozen=True)
class Standing:
    """The standing of an analyst in one period of data, and of all analysts together."""

    account: Account
    data: DataAccount
    granted: Charge
    own: Usage
    all: Usage
    period: str = ALWAYS

    def with_hold(self, ceiling: Charge) -> Standing:
        """Return the standing with one more open question of the analyst."""
        return replace(self, own=self.own.with_hold(ceiling), all=self.all.with_hold(ceiling))

    def with_settlement(self, ceiling: Charge, spent: Charge) -> Standing:
        """Return the standing with what an open question cost in place of what it held."""
        own, everybody = (usage.with_settlement(ceiling, spent) for usage in (self.own, self.all))
        return replace(self, own=own, all=everybody)

    @property
    def order(self) -> int | None:
        """The Rényi order of the account, at which questions are priced."""
        return self.data.promise.order

    @property
    def limits(self) -> list[tuple[Limits, Usage]]:
        """The two limits of a question, each with what was used of it."""
        return [(self.data.quota(self.granted), self.own), (self.data.open_to_analysts, self.all)]

    def ceiling(self, price: Ceiling) -> Charge:
        """Return the price to hold: the one for adding up, while the settled epsilons of the data fit the promise."""
        can_add_up = self.all.spent.epsilon <= self.data.promise.epsilon
        return price.whole if can_add_up else price.without_composition

    def ceiling_at(self, price_at: Callable[[int | None], Price]) -> Charge:
        """Return what is held of a question that costs an account of each order so much."""
        return self.ceiling(Ceiling.from_price(price_at(self.order)))

    def admits(self, ceiling: Charge) -> bool:
        """Return whether a question fits into the quota, and into the promise."""
        return all(limits.hold((usage.total + ceiling).as_spent) for limits, usage in self.limits)

    @property
    def share_limits(self) -> Limits:
        """The limits that shares refer to: the quota, or what all analysts may use if that is less."""
        return self.data.quota(self.granted).within(self.data.open_to_analysts)

    def part(self, charge: Charge) -> Fraction:
        """Return the share of the quota, or of what all may use if that is less, that a charge is."""
        return self.share_limits.part(charge.as_spent)

    def refusal(self, ceiling: Charge) -> BudgetError:
        """Return the error that says why a question does not fit."""
        owners = [f"the quota of {self.account}", f"what is promised of {self.data.dataset!r}"]
        for owner, (limits, usage) in zip(owners, self.limits, strict=True):
            if not limits.hold((usage.total + ceiling).as_spent):
                when = f" in {self.period}" if self.period != ALWAYS else ""
                return _refusal(owner + when, limits, usage.total, ceiling)
        raise ValueError("it fits")

    @property
    def left(self) -> Fraction:
        """The share that this analyst has left, at least 0: of the quota, and at most what all have left."""
        return max(Fraction(0), self.left_with(ZERO))

    def left_with(self, charge: Charge) -> Fraction:
        """Return the share left after another charge; below 0 if it does not fit."""
        whole = self.share_limits
        return min(limits.left((usage.total + charge).as_spent, whole) for limits, usage in self.limits)

    def left_without(self, charge: Charge) -> Fraction:
        """Return the share that was left before a charge."""
        return max(
            Fraction(0),
            min(
                limits.left(usage.total.as_spent - charge.as_spent, self.share_limits) for limits, usage in self.limits
            ),
        )

    @property
    def promise_shares(self) -> tuple[Fraction, Fraction, Fraction, Fraction]:
        """Shares of the promise: the quota, what was used of it, what is left of it, and what all have left.

        Epsilon and divergence only: `delta_left` has the deltas.
        """
        all_limits = [self.data.promise.limits, *(limits for limits, _ in self.limits)]
        promised, quota, everybody = (replace(limits, failure=Fraction(0)) for limits in all_limits)
        own_usage, all_usage = (replace(usage.total.as_spent, failure=Fraction(0)) for _, usage in self.limits)
        own_left, common_left = (
            max(Fraction(0), limits.left(usage, promised))
            for limits, usage in ((quota, own_usage), (everybody, all_usage))
        )
        return (
            promised.part(Spent(quota.epsilon, quota.renyi or Fraction(0))),
            promised.part(own_usage),
            own_left,
            common_left,
        )

    @property
    def delta_left(self) -> Fraction:
        """The delta that questions may still use."""
        return max(Fraction(0), min(limits.failure - usage.total.delta for limits, usage in self.limits))

    def left_for(self, price: Price | Charge) -> int:
        """Return how many more questions of this price fit at least, whatever their answers cost."""
        return at_least(
            self.data.promise,
            Ceiling.from_price(price).price,
            settled=self.all.spent.as_spent,
            pending=self.all.reserved.as_spent,
            caps=[(limits, usage.total.as_spent) for limits, usage in self.limits],
        )


def _refusal(owner: str, limits: Limits, usage: Charge, ceiling: Charge) -> BudgetError:
    room = max(Fraction(0), limits.failure - usage.delta)
    if ceiling.delta > room or usage.delta > limits.failure:
        return BudgetError(
            f"the question needs a delta of {rounded_up(ceiling.delta)}, and {owner} has {rounded_down(room)} "
            "left for that",
            "ask with a smaller delta, or ask the owner of the ledger for a larger one",
        )
    hold, left = format_hold(limits, usage.as_spent, ceiling.as_spent)
    return BudgetError(
        f"the question must reserve up to {hold} of {owner} while it runs, but only {left} is left",
        f"{HOLD_HINT}, or ask the owner of the ledger for a larger budget",
    )


def format_hold(limits: Limits, used: Spent, ceiling: Spent) -> tuple[str, str]:
    """Format what a question that does not fit must hold, and what is left, as shares; the first is larger.

    A hold is the ceiling's own share. If that is no larger than the rest, because the other sum is full, it is the
    share that the ceiling adds to what was used.
    """
    left = max(Fraction(0), 1 - limits.part(used))
    own_share, added_share = limits.part(ceiling), limits.part(used + ceiling) - limits.part(used)
    hold = own_share if own_share > left else added_share
    formatted_hold, formatted_left, _ = format_cost(cost_between(left, left - hold), left_before=rounded_part(left))
    return formatted_hold, formatted_left


def charged_periods(data: DataAccount, during: Periods | None) -> tuple[str, ...]:
    """Return the periods of an account that pay for a question; ParameterError if they cannot."""
    if data.period is None:
        check_one_period(during)
        return (ALWAYS,)
    for name in ("period", "time", "timezone"):
        account_value = getattr(data, name)
        question_value = None if during is None else during.question_fields[name]
        if question_value != account_value:
            hint = f"give time=Time({data.time!r}, period={data.period!r}, timezone={data.timezone!r}), and during"
            must = f"be {account_value} as in the account of {data.dataset!r}"
            raise ParameterError(name, must, "nothing" if question_value is None else came(question_value), hint)
    return during.names if during is not None else ()


def check_user(data: DataAccount, user: str | None) -> None:
    """Refuse another column of users than the one that the account names.

    Several columns together are another unit, for which only an account that names them pays.
    """
    if data.user is not None and user != data.user:
        must = f"be {format_user(data.user)}, which the account of {data.dataset!r} is about"
        raise ParameterError("user", must, format_user(user))
    if data.user is None and user_columns(user) is not None:
        hint = "`dpselect ledger data --user A --user B` makes an account that protects their combinations"
        raise ParameterError(
            "user", f"be one column, as the account of {data.dataset!r} names none", format_user(user), hint
        )


def check_one_period(during: Periods | None) -> None:
    """Refuse several periods under a promise to whole users; one period is like any filter.

    The user of a question about several periods is a user in one of them, and one whole user may be in several.
    """
    if during is not None and len(during.all) > 1:
        hint = "or let an account by period pay: `dpselect ledger data --period`"
        if during.compared:
            must = "be left out if the promise is to whole users, who may be in several periods"
            raise ParameterError("compared_with", must, came(during.baseline.text), hint)
        raise ParameterError("during", "name one period if the promise is to whole users", came(during.text), hint)
