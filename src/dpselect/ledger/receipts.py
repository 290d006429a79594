"""Receipts: what a question was charged, in the words of budgets and of ledgers."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from fractions import Fraction
from typing import Any, Protocol

from dpselect._ground.budget_parts import cost_between, describe_cost, format_cost, rounded_part
from dpselect._ground.dataclass import dataclass
from dpselect._ground.privacy import Privacy
from dpselect.accounting.limits import Taken
from dpselect.accounting.prices import Price, Spent
from dpselect.accounting.promise import Promise, at_least
from dpselect.errors import ParameterError, came
from dpselect.ledger.charge import Charge
from dpselect.ledger.standing import Standing
from dpselect.release import formatting
from dpselect.release.release import Receipt, Release

_REPEATED = "nothing: this is the stored answer to the same question"


class Priced(Protocol):
    """The facts of a question that a budget needs to charge it."""

    @property
    def price(self) -> Privacy:
        """The privacy that every answer has, and its highest cost."""
        ...

    def price_at(self, order: int | None) -> Price:
        """Return the highest cost to an account of this Rényi order; None: to one that only adds up."""
        ...

    def cost_at(self, release: Release, order: int | None) -> Price:
        """Return what an answer cost such an account, from the answer alone."""
        ...


def price_paid(release: Release, payer: object) -> Price:
    """Return the price of the question that a release answers, which the budget kept in the receipt."""
    receipt = release.charged
    if receipt is None or receipt.price is None or receipt.payer != payer:
        hint = "a stored or copied release, or one that another budget paid, does not say; give the Plan"
        raise ParameterError("plan", "be a Plan, or a release that this budget paid for", "another release", hint)
    return receipt.price


def parse_plan(plan: Any) -> Priced:
    """Return a plan, or raise ParameterError for another value."""
    if not isinstance(getattr(plan, "price", None), Privacy):
        raise ParameterError("plan", "be a Plan", came(plan), "dps.TopK(10).at(epsilon=1), or Dataset.plan")
    priced: Priced = plan
    return priced


def budget_receipt(
    plan: Priced, spent: Spent, promise: Promise, totals: Taken, payer: object, *, is_repeat: bool = False
) -> Receipt:
    """Return the receipt of a budget in memory: what a question cost, and what is left."""
    price = plan.price_at(promise.order)
    share_before, share_after = 1 - promise.part(totals.total - spent), 1 - promise.part(totals.total)
    cost, left = cost_between(share_before, share_after), rounded_part(share_after)
    cost_text, _, left_text = format_cost(cost, left_after=left)
    questions_left = at_least(promise, price, settled=totals.settled, pending=totals.pending)
    remaining = f"{left_text} left; {_format_questions_left(questions_left)}"
    charge = _REPEATED if is_repeat else f"{cost_text} of the budget ({_format_epsilon(plan)})"
    numbers: dict[str, object] = {"share": cost, "left": left, "questions_left": questions_left}
    numbers |= {"epsilon": spent.epsilon, "renyi": spent.renyi, "delta": spent.failure, "repeated": is_repeat}
    return Receipt(f"{charge}; {remaining}", numbers, price, payer)


def account_receipt(
    plan: Priced, spent: Charge, standings: Collection[Standing], *, is_repeat: bool = False
) -> Receipt:
    """Return the receipt of an account: what a question cost, and what the analyst may still use.

    That is the rest of the quota, or of the account if that is less. Of several periods it is the smallest rest, which
    need not be the period where the fewest such questions fit.
    """
    standing = min(standings, key=lambda standing: standing.left)
    cost, left = cost_and_rest((payer, spent) for payer in standings)
    cost_text, _, left_text = format_cost(cost, left_after=left)
    price, account = plan.price_at(standing.order), standing.account
    questions_left = min(payer.left_for(price) for payer in standings)
    own_share, common_share = (
        rounded_part(limits.left(usage.total.as_spent, limits)) for limits, usage in standing.limits
    )
    remaining = f"{left_text} left"
    if left < own_share:
        own_text, common_text = (format_cost(cost, left_after=part)[2] for part in (own_share, common_share))
        remaining = f"of the quota {own_text} is left, of what all share {common_text}"
    charge = _REPEATED if is_repeat else f"{cost_text} of the budget of {account.analyst} ({_format_epsilon(plan)})"
    numbers: dict[str, object] = {"analyst": account.analyst, "dataset": account.dataset, "share": cost}
    numbers |= {"left": left, "questions_left": questions_left}
    numbers |= {"epsilon": spent.epsilon, "renyi": spent.renyi, "delta": spent.delta, "repeated": is_repeat}
    return Receipt(
        f"{charge}; {remaining}; {_format_questions_left(questions_left)}",
        numbers,
        price,
        (standing.account, standing.order),
    )


@dataclass(frozen=True)
class Quote:
    """The most that a question costs of what an analyst has left now; `left_after` is below 0 if it does not fit.

    `part` is the share of a whole budget that it costs by itself, as `share=` means it.
    """

    left: Fraction
    left_after: Fraction
    part: Fraction
    fits: bool

    @property
    def share(self) -> float:
        """The share that it takes, as receipts show it."""
        return cost_between(self.left, self.left_after)

    @property
    def sentence(self) -> str:
        """The cost as a predicate."""
        return describe_cost(self.left, self.left_after, fits=self.fits)


def quote_price(plan: Priced, standings: Collection[Standing]) -> Quote:
    """Return the cost of a plan in all of these standings: of several periods what the smallest rest says."""
    ceilings = [(standing, standing.ceiling_at(plan.price_at)) for standing in standings]
    return Quote(
        left=min(standing.left for standing in standings),
        left_after=min(standing.left_with(ceiling) for standing, ceiling in ceilings),
        part=max(standing.part(ceiling) for standing, ceiling in ceilings),
        fits=all(standing.admits(ceiling) for standing, ceiling in ceilings),
    )


def cost_and_rest(charged: Iterable[tuple[Standing, Charge]]) -> tuple[float, float]:
    """Return the share that a question took of the accounts that paid for it, and the smallest share left.

    The share before it is what would be left without the charge, so that questions of others change nothing.
    """
    standings_and_charges = [*charged]
    after = min(standing.left for standing, _ in standings_and_charges)
    return cost_between(
        min(standing.left_without(charge) for standing, charge in standings_and_charges), after
    ), rounded_part(after)


def _format_questions_left(questions_left: int) -> str:
    """Format how many more such questions fit; others may fit too, since an answer may cost less than it held."""
    return (
        f"at least {questions_left:,} more like it fit{'s' if questions_left == 1 else ''} now"
        if questions_left
        else "no more like it fits now"
    )


def _format_epsilon(plan: Priced) -> str:
    """Format the epsilon of an answer. It follows the share, since it is no price if questions compose."""
    return f"epsilon {formatting.price(plan.price.epsilon)}"
