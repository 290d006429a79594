"""How data and those who ask of them stand: the account that keeps the promise, what was used, and what still fits.

An account is written into its entry as text: unit, order, what is set apart and kept back, period.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from fractions import Fraction

from dpselect._ground.budget_parts import cost_between, format_cost, rounded_part
from dpselect._ground.parameters import rounded_down, rounded_up
from dpselect._ground.periods import Periods
from dpselect.accounting.limits import Limits
from dpselect.accounting.prices import Price, Spent
from dpselect.accounting.promise import Promise, at_least
from dpselect.errors import BudgetError, ParameterError, came
from dpselect.ledger.account import ALWAYS, USER, Account, several, shown
from dpselect.ledger.charge import ZERO, Ceiling, Charge

HOLDS_LESS = "an answer may cost less than is reserved; ask with a smaller epsilon"
FIXED = ("unit", "user", "period", "time", "timezone")
_FRACTION = re.compile(r"[0-9]{1,2000}(/[0-9]{1,2000})?", re.ASCII)


@dataclass(frozen=True)
class DataAccount:
    """What is promised about the data of one name, to every unit: all answers to all analysts, in each period.

    `unit` is whom the promise is about, and `user` the column that says whose a row is, if that is fixed. `keep` is
    the share that analysts cannot use for now. With a `period` the unit is one user in one such period of `timezone`
    by the column `time`, and each has the whole promise for itself.
    """

    dataset: str
    promise: Promise
    unit: str = USER
    keep: Fraction = Fraction(0)
    user: str | None = None
    period: str | None = None
    time: str | None = None
    timezone: str | None = None

    @property
    def fixed(self) -> dict[str, str | None]:
        """What cannot change once a question was asked."""
        return {name: getattr(self, name) for name in FIXED}

    @property
    def open_to_analysts(self) -> Limits:
        """What all analysts together may use."""
        return self.promise.limits.scaled(1 - self.keep)

    def quota(self, granted: Charge) -> Limits:
        """What one of them may use who was granted so much."""
        return self.promise.cap(granted.epsilon, granted.delta)


@dataclass(frozen=True)
class Used:
    """What answers cost, and what open questions may still cost."""

    spent: Charge = ZERO
    reserved: Charge = ZERO

    @property
    def total(self) -> Charge:
        """All of it."""
        return self.spent + self.reserved

    def holding(self, ceiling: Charge) -> Used:
        """With one more open question."""
        return replace(self, reserved=self.reserved + ceiling)

    def settling(self, ceiling: Charge, spent: Charge) -> Used:
        """With an answer in place of an open question."""
        return Used(self.spent + spent, self.reserved - ceiling)

    def returning(self, ceiling: Charge) -> Used:
        """Without an open question."""
        return replace(self, reserved=self.reserved - ceiling)


@dataclass(frozen=True)
class Standing:
    """How an analyst stands in one period of data, and how the data stand there."""

    account: Account
    data: DataAccount
    granted: Charge
    own: Used
    all: Used

    @property
    def order(self) -> int | None:
        """That of the account: questions are priced at it."""
        return self.data.promise.order

    @property
    def limits(self) -> list[tuple[Limits, Used]]:
        """What binds a question, beside what was used of it."""
        return [(self.data.quota(self.granted), self.own), (self.data.open_to_analysts, self.all)]

    def ceiling(self, price: Ceiling) -> Charge:
        """Which of two prices is held: what adding buys is of use while the settled epsilons of the data fit."""
        adds = self.all.spent.epsilon <= self.data.promise.epsilon
        return price.whole if adds else price.without_composition

    def admits(self, ceiling: Charge) -> bool:
        """Does a question fit into the quota, and into what the data promise?"""
        return all(limits.hold((used.total + ceiling).sums) for limits, used in self.limits)

    @property
    def unit(self) -> Limits:
        """What parts are of: the quota, or what all may use if that is less."""
        return self.data.quota(self.granted).within(self.data.open_to_analysts)

    def part(self, charge: Charge) -> Fraction:
        """Which part of the quota a charge is, or of what all may use if that is less."""
        return self.unit.part(charge.sums)

    def refusal(self, ceiling: Charge, period: str) -> BudgetError:
        """Why it does not fit, in words."""
        whose = [f"the quota of {self.account}", f"what is promised of {self.data.dataset!r}"]
        for who, (limits, used) in zip(whose, self.limits, strict=True):
            if not limits.hold((used.total + ceiling).sums):
                when = f" in {period}" if period != ALWAYS else ""
                return _refusal(who + when, limits, used.total, ceiling)
        raise ValueError("it fits")

    @property
    def left(self) -> Fraction:
        """The part that is left to this analyst, at least 0: of the quota, and no more than all have left of it."""
        return max(Fraction(0), self.left_with(ZERO))

    def left_with(self, charge: Charge) -> Fraction:
        """The same once this was charged too; below 0 where it does not fit."""
        return min(limits.left((used.total + charge).sums, self.unit) for limits, used in self.limits)

    def left_without(self, charge: Charge) -> Fraction:
        """The part that was left before this was charged."""
        return max(
            Fraction(0), min(limits.left(used.total.sums - charge.sums, self.unit) for limits, used in self.limits)
        )

    @property
    def of_promise(self) -> tuple[Fraction, Fraction, Fraction, Fraction]:
        """In parts of what is promised: the quota, what was used of it, what is left of it, and what all have left.

        Deltas have a part of their own, `delta_left`.
        """
        limits = [self.data.promise.limits, *(one for one, _ in self.limits)]
        promised, quota, everybody = (replace(one, failure=Fraction(0)) for one in limits)
        own, common = (replace(used.total.sums, failure=Fraction(0)) for _, used in self.limits)
        mine, rest = (max(Fraction(0), of.left(used, promised)) for of, used in ((quota, own), (everybody, common)))
        return promised.part(Spent(quota.epsilon, quota.renyi or Fraction(0))), promised.part(own), mine, rest

    @property
    def delta_left(self) -> Fraction:
        """What questions may still fail with."""
        return max(Fraction(0), min(limits.failure - used.total.delta for limits, used in self.limits))

    def left_for(self, price: Price | Charge) -> int:
        """How many more questions of this price fit at least, whatever their answers cost."""
        return at_least(
            self.data.promise,
            Ceiling.of(price).price,
            settled=self.all.spent.sums,
            pending=self.all.reserved.sums,
            caps=[(limits, used.total.sums) for limits, used in self.limits],
        )


def _refusal(who: str, limits: Limits, used: Charge, ceiling: Charge) -> BudgetError:
    room = max(Fraction(0), limits.failure - used.delta)
    if ceiling.delta > room or used.delta > limits.failure:
        return BudgetError(
            f"the question needs a delta of {rounded_up(ceiling.delta)}, and {who} has {rounded_down(room)} "
            "left for that",
            "ask with a smaller delta, or ask the owner of the ledger for a larger one",
        )
    held, left = to_hold(limits, used.sums, ceiling.sums)
    return BudgetError(
        f"the question must reserve up to {held} of {who} while it runs, but only {left} is left",
        f"{HOLDS_LESS}, or ask the owner of the ledger for a larger budget",
    )


def to_hold(limits: Limits, used: Spent, ceiling: Spent) -> tuple[str, str]:
    """What a question that does not fit must hold, and what is left, in parts of limits; the first is shown larger.

    It is the part that the ceiling is by itself, or where that is no larger, because another sum is full, beside those.
    """
    left = max(Fraction(0), 1 - limits.part(used))
    alone, beside = limits.part(ceiling), limits.part(used + ceiling) - limits.part(used)
    held = alone if alone > left else beside
    shown, of_left, _ = format_cost(cost_between(left, left - held), left_before=rounded_part(left))
    return shown, of_left


def charged_periods(data: DataAccount, during: Periods | None) -> tuple[str, ...]:
    """Which periods of an account pay for a question; ParameterError where it cannot pay for that."""
    if data.period is None:
        check_one_period(during)
        return (ALWAYS,)
    for name in ("period", "time", "timezone"):
        wanted = getattr(data, name)
        given = None if during is None else during.question_fields[name]
        if given != wanted:
            hint = f"give time=Time({data.time!r}, period={data.period!r}, timezone={data.timezone!r}), and during"
            must = f"be {wanted} as in the account of {data.dataset!r}"
            raise ParameterError(name, must, "nothing" if given is None else came(given), hint)
    return during.names if during is not None else ()


def check_user(data: DataAccount, user: str | None) -> None:
    """Where an account says which column holds its users, no other may be taken for them.

    Several columns together are a unit of their own, for which only an account pays that names them.
    """
    if data.user is not None and user != data.user:
        must = f"be {shown(data.user)}, which the account of {data.dataset!r} is about"
        raise ParameterError("user", must, shown(user))
    if data.user is None and several(user) is not None:
        hint = "`dpselect ledger data --user A --user B` makes an account that protects their combinations"
        raise ParameterError("user", f"be one column, as the account of {data.dataset!r} names none", shown(user), hint)


def check_one_period(during: Periods | None) -> None:
    """A promise to whole users pays for one period as for any filter, and not for several.

    Where a question is about several, its user is one in one of them, and a whole user may be several.
    """
    if during is not None and len(during.all) > 1:
        hint = "or let an account by period pay: `dpselect ledger data --period`"
        if during.compared:
            must = "be left out if the promise is to whole users, who may be in several periods"
            raise ParameterError("compared_with", must, came(during.baseline.text), hint)
        raise ParameterError("during", "name one period if the promise is to whole users", came(during.text), hint)


def total_of(data: DataAccount) -> Charge:
    """The epsilon and delta that are promised, as an amount."""
    return Charge(data.promise.epsilon, data.promise.delta)


def data_text(data: DataAccount) -> str:
    """All but the total, which is the charge of its entry."""
    promise = data.promise
    says = {
        "unit": data.unit,
        "order": promise.order,
        "apart": str(promise.apart),
        "keep": str(data.keep),
        "user": data.user,
        "period": data.period,
        "time": data.time,
        "timezone": data.timezone,
    }
    return json.dumps(says, ensure_ascii=True, separators=(",", ":"))


def _fraction(text: str) -> Fraction:
    """What `str` makes of a fraction, and nothing that would take long to read."""
    if not _FRACTION.fullmatch(text):
        raise ValueError("no fraction")
    return Fraction(text)


def data_from(dataset: str, total: Charge, text: str) -> DataAccount:
    """What was written; ValueError for what cannot have been."""
    try:
        says = json.loads(text)
        order, fixed = says["order"], {name: says[name] for name in FIXED}
        apart, keep = (_fraction(says[name]) for name in ("apart", "keep"))
    except (TypeError, KeyError, ArithmeticError):
        raise ValueError("no terms") from None
    sound = isinstance(fixed["unit"], str) and all(one is None or isinstance(one, str) for one in fixed.values())
    if not sound or not (order is None or (type(order) is int and order >= 2)):
        raise ValueError("no terms")
    if not 0 <= keep <= 1 or not 0 <= apart <= total.delta or (order is None and apart):
        raise ValueError("no terms")
    return DataAccount(dataset, Promise(total.epsilon, total.delta, order, apart), keep=keep, **fixed)
