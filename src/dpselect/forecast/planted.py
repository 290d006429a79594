"""How many people it takes until texts that they planted may come back: docs/mechanisms/planted-texts.md.

A law is an upper bound, whatever all other people have, on the probability that any text comes back of those that so
many people planted together, in however many items each: as an item, as a part of one, or as the name of a group. It
is a function of the parameters alone.
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
from dpselect.mechanisms.top_k.sparse_limited_domain import LimitedDomainSparse
from dpselect.queries.plan import Plan
from dpselect.queries.top.discovery import FoundTop
from dpselect.queries.top.group_bound import ChosenGroups
from dpselect.queries.top.groups import TopByGroup
from dpselect.queries.top.plan import TopKPlan
from dpselect.queries.union.terms import UnionTerms
from dpselect.utility.union_accuracy import FURTHEST, least_number

if TYPE_CHECKING:
    from dpselect.release.release import Release
    from dpselect.release.rows import OfRows

Law = Callable[[int], arb]
PLANTED_CHANCE = Fraction(1, 100)
PRECISION = 128


def fewest_people(
    plan: Plan,
    rows: OfRows | None = None,
    release: Release | None = None,
    *,
    periods: int = 1,
    chance: Fraction = PLANTED_CHANCE,
) -> int | None:
    """Return the number N of people: any text that only fewer planted comes back with probability at most `chance`.

    None where only items and groups come back that were listed. `rows` are those of an answer, and say how many
    `periods` there are, in each of which a person counts. A `release` has the bounds that were chosen.
    """
    if rows is not None:
        periods = 1 if rows.periods is None else len(rows.periods.all)
    law = _law_of_plan(plan, release)
    if law is None:
        return None
    general = law_of_any_mechanism(plan.price.epsilon, plan.price.delta)
    people = max(_least_people(general, chance), _least_people(law, chance))
    return (people - 1) // periods + 1


def _law_of_plan(plan: Plan, release: Release | None) -> Law | None:
    """Return the law of what answers; of any mechanism of this price where a bound is to be chosen first."""
    general = law_of_any_mechanism(plan.price.epsilon, plan.price.delta)
    if isinstance(plan, TopKPlan):
        if plan.domain is not None:
            return None
        if not isinstance(plan.selection, ChosenGroups):
            return _law_of_selection(plan.selection, release) or general
        max_groups = _chosen_bound(release, "max_groups_per_user")
        if max_groups is None:
            return general
        selection = plan.selection.selection_with(max_groups)
        privacy = selection.privacy
        return _law_of_selection(selection, release) or law_of_any_mechanism(privacy.epsilon, privacy.delta)
    if isinstance(plan, UnionTerms):
        max_items = _chosen_bound(release, "max_items_per_user") if plan.chooses_bound else plan.max_items_per_user
        if plan.words is not None or (plan.chooses_bound and max_items is None):
            return general
        return law_of_union(plan.mechanisms(max_items)[0])
    finder = getattr(getattr(plan, "priced_groups", None), "finder", None)  # of groups, where they are not listed
    return None if finder is None else law_of_union(finder.union)


def _chosen_bound(release: Release | None, name: str) -> int | None:
    bound = None if release is None else release.privacy.parameters.get(name)
    return bound if isinstance(bound, int) else None


def _law_of_selection(selection: Any, release: Release | None) -> Law | None:
    """Return the law of a top k without a domain, by group or not; None where a bound is to be chosen first."""
    if isinstance(selection, FoundTop):
        max_items, mechanism = _chosen_bound(release, "max_items_per_user"), selection.known_mechanism
        if mechanism is None and max_items is not None:
            mechanism = selection.selector.mechanism(max_items)
        return None if mechanism is None else law_of_union(mechanism.union)
    mechanism = selection.selector
    if isinstance(selection, TopByGroup):
        return law_of_limited_domain(mechanism.each.terms, groups=mechanism.max_groups_per_user)
    if isinstance(mechanism, LimitedDomainSparse):
        return law_of_noisy_threshold(mechanism)
    return law_of_limited_domain(mechanism.terms)


# ---- laws -------------------------------------------------------------------------------------------------------


def law_of_any_mechanism(epsilon: Fraction, delta: Fraction) -> Law:
    """Return the law of group privacy at its best: no (epsilon, delta)-DP release shows such a text more often."""
    law = geometric(epsilon, delta) if delta else None
    return lambda people: arb(0) if law is None else law.at(Fraction(people)).ball(PRECISION)


def law_of_limited_domain(terms: Terms, *, groups: int = 1) -> Law:
    """Return the law of limited domain: an item has to beat bottom once a call, in each of the `groups` of a user."""
    pick, threshold = terms.epsilon_per_pick, terms.delta_threshold

    def law(people: int) -> arb:
        weights = (enclose(pick) * (people - 1)).exp() + (-enclose(pick)).exp() * (people - 1)
        return enclose(groups * threshold) * weights

    return law


def law_of_noisy_threshold(mechanism: LimitedDomainSparse) -> Law:
    """Return the law of a noisy threshold: the first item that passes has no more users than all people.

    Its own noise only lowers it.
    """
    terms = mechanism.terms
    rate = terms.epsilon_of_threshold / terms.sensitivity

    def law(people: int) -> arb:
        gap = terms.height - people * terms.sensitivity
        return arb(1) if gap < 0 else (-enclose(rate * gap)).exp()

    return law


def law_of_union(mechanism: Any) -> Law:
    """Return the law of a set union: its chance at the largest weight that so many people can give.

    It is added up over the rounds and the items.
    """
    max_items = mechanism.max_items_per_user or 1  # who has no bound gives all to one item

    def law(people: int) -> arb:
        if isinstance(mechanism, RenyiShaped):
            in_each = (
                max(curve.at(Fraction(people * conditions.share(1))).ball(PRECISION) for conditions, curve in of_round)
                for of_round in mechanism.shares
            )
            return max_items * people * sum(in_each, arb(0))
        of_item: arb = mechanism.law.at(people * mechanism.share(1)).ball(PRECISION)
        return max_items * people * of_item

    return law


def _least_people(law: Law, chance: Fraction) -> int:
    """Return the least number of people for which the law is not certainly at most `chance`."""

    def enough(people: int) -> bool:
        with ctx.workprec(PRECISION):
            return not bool(law(people) <= enclose(chance))

    return least_number(enough) or FURTHEST
