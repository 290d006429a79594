"""A top k whose price follows from how near it must be: the plan of least epsilon that is near enough."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dpselect._ground.domain import Domain, max_domain_size
from dpselect.errors import ParameterError
from dpselect.queries.top.selection import Selection
from dpselect.release.answers.target_accuracy import TargetAccuracy, describe_target_ranking
from dpselect.utility.price import price_for

Planned = Callable[[Fraction], Selection]
"""The plan at an epsilon."""


def cheapest_plan(within: int, domain: Domain | None, plan_at: Planned) -> tuple[TargetAccuracy, Selection]:
    """Return the cheapest plan that is near: no item has over `within` users fewer than the k-th best.

    What it says of items and what it says of all counts at once hold with 95 % confidence each.
    """
    candidates = None if domain is None else max_domain_size(domain)
    if domain is not None and candidates is None:
        hint = "the price depends on it and is said before anything is read: list the items, or say how many"
        raise ParameterError("domain", "be of a known size if within is given", "a Column", hint)

    def miss(epsilon: Fraction) -> int:
        plan = plan_at(epsilon)
        _refuse_what_is_certain(plan, candidates)
        short = plan.shortfall(candidates)
        if short is None:
            requirement = "know how near items will be if within is given"
            raise ParameterError("method", requirement, plan.method, "auto takes one that does; or give epsilon")
        return max(short, plan.width())

    epsilon = price_for("within", within, miss, "; so is a smaller k")
    plan = plan_at(epsilon)
    return describe_target(within, epsilon, plan), plan


def _refuse_what_is_certain(plan: Selection, candidates: int | None) -> None:
    """Refuse a question in which no other item can come back, since any price would do."""
    k = plan.selector.k
    if candidates is not None and candidates <= k:
        raise ParameterError("k", f"be below {candidates:,}, the number of items, if within is given", k)
    if plan.k_bar is not None and plan.k_bar <= k:
        raise ParameterError("k_bar", f"be above k = {k:,} if within is given", plan.k_bar)


def describe_target(within: int, epsilon: Fraction, plan: Selection) -> TargetAccuracy:
    """Describe the accuracy that was asked for, before and with the answer."""
    return describe_target_ranking(
        within,
        epsilon,
        k=plan.selector.k,
        k_bar=plan.k_bar,
        reach=plan.reach(),
        with_counts=plan.width() > 0,
        scale=plan.scale,
    )
