"""What a question is charged, as budgets and their receipts say it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Protocol

from dpselect._ground.budget_parts import cost_between, format_cost, rounded_part
from dpselect._ground.privacy import Privacy
from dpselect.accounting.limits import Taken
from dpselect.accounting.prices import Price, Spent
from dpselect.accounting.promise import Promise, at_least
from dpselect.errors import ParameterError, came
from dpselect.ledger import Charge
from dpselect.ledger.standing import Standing
from dpselect.release import formatting
from dpselect.release.release import Receipt, Release

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


def of_budget(
    asked: Priced, spent: Spent, promise: Promise, taken: Taken, payer: object, *, repeated: bool = False
) -> Receipt:
    """What it cost, and what is left of a budget in memory."""
    price = asked.price_at(promise.order)
    before, after = 1 - promise.part(taken.total - spent), 1 - promise.part(taken.total)
    cost, left = cost_between(before, after), rounded_part(after)
    cost_text, _, left_text = format_cost(cost, left_after=left)
    more = at_least(promise, price, settled=taken.settled, pending=taken.pending)
    has = f"{left_text} left; {_like_it(more)}"
    took = REPEATED if repeated else f"{cost_text} of the budget ({_epsilon(asked)})"
    numbers: dict[str, object] = {"share": cost, "left": left, "questions_left": more}
    numbers |= {"epsilon": spent.epsilon, "renyi": spent.renyi, "delta": spent.failure, "repeated": repeated}
    return Receipt(f"{took}; {has}", numbers, price, payer)


def of_account(asked: Priced, spent: Charge, standings: Collection[Standing], *, repeated: bool = False) -> Receipt:
    """What it cost, and what the analyst may still use: of the quota, or of the account if that is less.

    In several periods it is the least of each: where most is used need not be where fewest such questions fit.
    """
    standing = min(standings, key=lambda one: one.left)
    cost, left = cost_after((one, spent) for one in standings)
    cost_text, _, left_text = format_cost(cost, left_after=left)
    price, account = asked.price_at(standing.order), standing.account
    more = min(one.left_for(price) for one in standings)
    own, common = (rounded_part(limits.left(used.total.sums, limits)) for limits, used in standing.limits)
    has = f"{left_text} left"
    if left < own:
        own_text, common_text = (format_cost(cost, left_after=part)[2] for part in (own, common))
        has = f"of the quota {own_text} is left, of what all share {common_text}"
    took = REPEATED if repeated else f"{cost_text} of the budget of {account.analyst} ({_epsilon(asked)})"
    numbers: dict[str, object] = {"analyst": account.analyst, "dataset": account.dataset, "share": cost}
    numbers |= {"left": left, "questions_left": more}
    numbers |= {"epsilon": spent.epsilon, "renyi": spent.renyi, "delta": spent.delta, "repeated": repeated}
    return Receipt(f"{took}; {has}; {_like_it(more)}", numbers, price, (standing.account, standing.order))


def cost_after(charged: Iterable[tuple[Standing, Charge]]) -> tuple[float, float]:
    """Return what a question took, of accounts that paid a charge for it, and what is left of them: the least of each.

    What was left before it is what would be left without the charge, so that questions of others change nothing.
    """
    paid = [*charged]
    after = min(standing.left for standing, _ in paid)
    return cost_between(min(standing.left_without(charge) for standing, charge in paid), after), rounded_part(after)


def _like_it(more: int) -> str:
    """How many more such questions fit; there may be room for others, since an answer may cost less than it held."""
    return f"at least {more:,} more like it fit{'s' if more == 1 else ''} now" if more else "no more like it fits now"


def _epsilon(asked: Priced) -> str:
    """What an answer promises. It is said behind the share, since it is no price where questions compose."""
    return f"epsilon {formatting.price(asked.price.epsilon)}"
