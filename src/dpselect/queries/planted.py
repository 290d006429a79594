"""From how many people on a text may come back that somebody put into the data: docs/mechanisms/planted-texts.md.

A law is an upper bound, whatever all other people have, on the probability that a text comes back which so many people
share: as an item, as a part of one, or as the name of a group. It is a function of the parameters alone.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from flint import arb, ctx

from dpselect._ground.reals import enclose
from dpselect.mechanisms.set_union.release_laws import geometric
from dpselect.mechanisms.set_union.renyi_shaped import RenyiShaped
from dpselect.mechanisms.top_k.limited_domain import Terms
from dpselect.mechanisms.top_k.sparse_limited_domain import LimitedDomainSparse, passing
from dpselect.queries.plan import Plan
from dpselect.queries.top.discovery import FoundTop
from dpselect.queries.top.groups import TopByGroup
from dpselect.queries.top.plan import TopKPlan
from dpselect.queries.union.accuracy import FURTHEST, least
from dpselect.queries.union.terms import UnionTerms

if TYPE_CHECKING:
    from dpselect.release.release import Release
    from dpselect.release.rows import OfRows

Law = Callable[[int], arb]
CHANCE = Fraction(1, 100)
PRECISION = 128


def fewest(
    plan: Plan,
    rows: OfRows | None = None,
    release: Release | None = None,
    *,
    periods: int = 1,
    parts: bool = False,
    chance: Fraction = CHANCE,
) -> int | None:
    """The number N of people: a text that fewer share comes back with probability at most `chance`.

    None where only items and groups come back that were listed. `rows` are those of an answer, and say how many
    `periods` there are, in each of which a person counts, and whether a text may be a part of an item (`parts`), as
    where items have several columns. A `release` tells of bounds that were chosen.
    """
    if rows is not None:
        periods = 1 if rows.periods is None else len(rows.periods.all)
        parts = parts or len(rows.columns or ()) > 1
    law = _law(plan, release, parts)
    if law is None:
        return None
    general = of_any(plan.price.epsilon, plan.price.delta)
    counted = max(_least(general, chance), _least(law, chance))
    return (counted - 1) // periods + 1


def _law(plan: Plan, release: Release | None, parts: bool) -> Law | None:
    """That of what answers; of any mechanism of this price where a bound is to be chosen first."""
    general = of_any(plan.price.epsilon, plan.price.delta)
    if isinstance(plan, TopKPlan):
        if plan.domain is not None:
            return None
        if plan.chosen is None:
            return _of_selection(plan.selection, release, several=parts, groups=len(plan.by)) or general
        most = _chosen(release, "max_groups_per_user")
        return general if most is None else _law(plan.chosen.given(most), release, parts)
    if isinstance(plan, UnionTerms):
        most = _chosen(release, "max_items_per_user") if plan.chosen else plan.most
        if plan.words is not None or (plan.chosen and most is None):
            return general
        return of_union(plan.mechanisms(most)[0], several=parts or bool(plan.by))
    finder = getattr(getattr(plan, "table", None), "finder", None)  # of groups, where they are not listed
    return None if finder is None else of_union(finder.union, several=len(plan.by) > 1)


def _chosen(release: Release | None, name: str) -> int | None:
    found = None if release is None else release.privacy.parameters.get(name)
    return found if isinstance(found, int) else None


def _of_selection(selection: Any, release: Release | None, *, several: bool, groups: int) -> Law | None:
    """That of a top k without a domain, by group or not; None where a bound is to be chosen first."""
    if isinstance(selection, FoundTop):
        most, made = _chosen(release, "max_items_per_user"), selection.ready
        made = selection.selector.mechanism(most) if made is None and most is not None else made
        return None if made is None else of_union(made.union, several=several or groups > 0)
    mechanism = selection.selector
    if isinstance(selection, TopByGroup):
        most = mechanism.max_groups_per_user
        named = 0 if selection.asked.listed is not None else most if groups > 1 else 1
        return of_limited(mechanism.each.terms, several=several, groups=most, named=named)
    if isinstance(mechanism, LimitedDomainSparse):
        return of_sparse(mechanism, several=several)
    return of_limited(mechanism.terms, several=several)


# ---- laws -------------------------------------------------------------------------------------------------------


def of_any(epsilon: Fraction, delta: Fraction) -> Law:
    """Group privacy at its best: no (epsilon, delta)-DP release shows a text of so many people more often."""
    law = geometric(epsilon, delta) if delta else None
    return lambda people: arb(0) if law is None else law.at(Fraction(people)).ball(PRECISION)


def of_limited(terms: Terms, *, several: bool = False, groups: int | None = None, named: int = 0) -> Law:
    """Limited domain: a text has to beat bottom, once for a call, whatever k.

    `several` items of a user may hold the text. By group it may be an item in each of the `groups` of a user, and
    `named` of them may be called so.
    """
    one = 1 if several else Fraction(1, terms.swaps(terms.k_bar))
    times = one * (1 if groups is None else groups) + named
    pick, threshold = terms.epsilon_per_pick, terms.delta_threshold
    many = several or groups is not None

    def law(people: int) -> arb:
        each = (enclose(pick) * (people - 1)).exp() + ((-enclose(pick)).exp() * (people - 1) if many else 0)
        return enclose(times * threshold) * each

    return law


def of_sparse(mechanism: LimitedDomainSparse, *, several: bool) -> Law:
    """A noisy threshold: of several items that hold the text the first that passes has no more than all people."""
    terms = mechanism.terms
    rate, test = terms.epsilon_of_threshold / terms.sensitivity, terms.epsilon_of_test / terms.sensitivity

    def law(people: int) -> arb:
        gap = terms.height - people * terms.sensitivity
        if gap < 0:
            return arb(1)
        return (-enclose(rate * gap)).exp() if several else enclose(passing(rate, test, gap))

    return law


def of_union(mechanism: Any, *, several: bool) -> Law:
    """A set union: the chance at the largest weight that so many people can give, in each of its rounds."""
    most = mechanism.max_items_per_user or 1  # who has no bound gives all to one item

    def law(people: int) -> arb:
        times = most * people if several else 1
        if isinstance(mechanism, RenyiShaped):
            in_each = (
                max(curve.at(Fraction(people * one.share(1))).ball(PRECISION) for one, curve in of_round)
                for of_round in mechanism.shares
            )
            return times * sum(in_each, arb(0))
        found: arb = mechanism.law.at(people * mechanism.share(1)).ball(PRECISION)
        return found * times

    return law


def _least(law: Law, chance: Fraction) -> int:
    """The least number of people for which the law is not certainly at most `chance`."""

    def enough(people: int) -> bool:
        with ctx.workprec(PRECISION):
            return not bool(law(people) <= enclose(chance))

    return least(enough) or FURTHEST
