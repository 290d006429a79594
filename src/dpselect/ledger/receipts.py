"""What a question is charged, as budgets and their receipts say it."""

from __future__ import annotations

import math
from collections.abc import Collection
from fractions import Fraction
from typing import Any, Protocol

from dpselect._ground.parameters import percent
from dpselect._ground.privacy import Privacy
from dpselect.accounting.limits import Taken
from dpselect.accounting.prices import Price, Spent
from dpselect.accounting.promise import Promise, at_least
from dpselect.errors import ParameterError, came
from dpselect.ledger import Charge
from dpselect.ledger.standing import Standing
from dpselect.release import formatting
from dpselect.release.release import Receipt, Release

PARTS = 10**6
REPEATED = "nothing: this is the stored answer to the same question"


class Priced(Protocol):
    """What a budget must know of a question to charge it."""

    @property
    def price(self) -> Privacy:
        """What any answer promises, and costs at most."""
        ...

    def price_at(self, order: int | None) -> Price:
        """What any answer costs at most an account of this Rényi order, or one that only adds up."""
        ...

    def cost_at(self, release: Release, order: int | None) -> Price:
        """What an answer cost it, read from the answer alone."""
        ...


def price_paid(release: Release, payer: object) -> Price:
    """The price of the question that a release answers, as a budget keeps it in the receipt."""
    receipt = release.charged
    if receipt is None or receipt.price is None or receipt.payer != payer:
        hint = "a stored or copied release, or one that another budget paid, does not say; give the Plan"
        raise ParameterError("plan", "be a Plan, or a release that this budget paid for", "another release", hint)
    return receipt.price


def priced(plan: Any) -> Priced:
    """The question that was given; ParameterError for what is none."""
    if not isinstance(getattr(plan, "price", None), Privacy):
        raise ParameterError("plan", "be a Plan", came(plan), "dps.TopK(10).at(epsilon=1), or Dataset.plan")
    found: Priced = plan
    return found


def rounded_part(part: Fraction) -> float:
    """A part of a budget as a float from 0 to 1, never more than there is."""
    return max(0, math.floor(part * PARTS)) / PARTS


def of_budget(
    asked: Priced, spent: Spent, promise: Promise, taken: Taken, payer: object, *, repeated: bool = False
) -> Receipt:
    """What it cost, and what is left of a budget in memory."""
    price = asked.price_at(promise.order)
    cost, left = promise.part(spent), rounded_part(1 - promise.part(taken.total))
    more = at_least(promise, price, settled=taken.settled, pending=taken.pending)
    has = f"{percent(left)} left; {_like_it(more)}"
    took = REPEATED if repeated else f"{percent(cost, up=True)} of the budget ({_epsilon(asked)})"
    numbers: dict[str, object] = {"share": cost, "left": left, "questions_left": more}
    numbers |= {"epsilon": spent.epsilon, "renyi": spent.renyi, "delta": spent.failure, "repeated": repeated}
    return Receipt(f"{took}; {has}", numbers, price, payer)


def of_account(asked: Priced, spent: Charge, standings: Collection[Standing], *, repeated: bool = False) -> Receipt:
    """What it cost, and what the analyst may still use: of the quota, or of the account if that is less.

    In several periods it is the least of each: where most is used need not be where fewest such questions fit.
    """
    standing = min(standings, key=lambda one: one.left)
    cost, left = standing.part(spent), rounded_part(standing.left)
    price, account = asked.price_at(standing.order), standing.account
    more = min(one.left_for(price) for one in standings)
    own, common = (rounded_part(limits.left(used.total.sums, limits)) for limits, used in standing.limits)
    has = f"{percent(left)} left"
    if left < own:
        has = f"of the quota {percent(own)} is left, of what all share {percent(common)}"
    took = REPEATED if repeated else f"{percent(cost, up=True)} of the budget of {account.analyst} ({_epsilon(asked)})"
    numbers: dict[str, object] = {"analyst": account.analyst, "dataset": account.dataset, "share": cost}
    numbers |= {"left": left, "questions_left": more}
    numbers |= {"epsilon": spent.epsilon, "renyi": spent.renyi, "delta": spent.delta, "repeated": repeated}
    return Receipt(f"{took}; {has}; {_like_it(more)}", numbers, price, (standing.account, standing.order))


def _like_it(more: int) -> str:
    """How many more such questions fit; there may be room for others, since an answer may cost less than it held."""
    return f"at least {more:,} more like it fit{'s' if more == 1 else ''} now" if more else "no more like it fits now"


def _epsilon(asked: Priced) -> str:
    """What an answer promises. It is said behind the share, since it is no price where questions compose."""
    return f"epsilon {formatting.price(asked.price.epsilon)}"
