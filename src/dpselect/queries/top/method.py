"""By which method a top k is answered: the one that was named, or the best by data-independent facts."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dpselect._ground import parameters
from dpselect._ground.domain import Domain, max_domain_size, refuse_k_above_size
from dpselect._ground.methods import AUTO
from dpselect.errors import ParameterError, came
from dpselect.queries.top.picks import LIMITED, PEELING, SPARSE, LimitedTop, PeeledTop, SparseTop
from dpselect.queries.top.selection import Selection, TopRequest
from dpselect.release.answers.ranking_sentences import (
    BOUND_HELPS,
    IN_ORDER,
    LARGE_BY_GROUP,
    LARGE_K,
    NO_ORDER,
    describe_larger_bound,
    describe_reason,
)

if TYPE_CHECKING:
    from dpselect.questions.parts import ResolvedGroups

DISCOVER = "discover"
FEWEST_OF_A_SET = 3  # below, peeling's monotonic counts are worth more
LEAST_EPSILON_OF_A_SET = Fraction(3, 10)
MOST_PER_EPSILON = 30  # k / epsilon up to which a whole set is drawn although delta lets peeling compose
FEWEST_TO_DISCOVER = 20
FEWEST_OF_SPARSE = 3
FEWEST_TO_DISCOVER_BY_GROUP, MOST_BY_GROUP = 10, 20  # picks in the groups of a user, and picks / epsilon
MOST_OF_LIMITED_DOMAIN = 25  # k / epsilon up to which bottom is low enough
LEAST_TO_DISCOVER = 100  # items of a user in the union: fewer often cut what makes items common
MOST_OF_SPARSE = 4000  # k^2 / epsilon up to which few of the picks are too low


def select_method(request: TopRequest, method: str, epsilon: Fraction, delta: Fraction) -> Selection:
    """Return the mechanism, by the method that was named or is best, the price of all of it, and what it counts."""
    if request.groups is not None:
        selection = _in_groups(request, request.groups, method, epsilon, delta)
    elif request.domain is None:
        selection = _of_unknown(request, method, epsilon, delta)
    else:
        selection = _of_known(request, request.domain, method, epsilon, delta)
    scale = request.scale
    return replace(selection, scale=scale, reason=describe_reason(selection.reason, scale))


def _of_known(request: TopRequest, domain: Domain, method: str, epsilon: Fraction, delta: Fraction) -> Selection:
    """Select among the items of a domain."""
    if request.k_bar is not None:
        raise ParameterError("k_bar", "be left out if a domain is given", request.k_bar)
    k, domain_size, reason = parameters.listed_size("k", request.k), max_domain_size(domain), ""
    if domain_size is not None:
        refuse_k_above_size(k, domain_size)
    if method == AUTO:
        best = best_set_method(k, epsilon, delta)
        method, reason = (PEELING, IN_ORDER) if request.is_ranked else (best, NO_ORDER[best])
    if method == PEELING:
        return PeeledTop.from_request(request, epsilon, delta, reason)
    from dpselect.queries.top.set import SetTop

    return SetTop.from_request(method, request, epsilon, delta, reason)


def _of_unknown(request: TopRequest, method: str, epsilon: Fraction, delta: Fraction) -> Selection:
    """Select among items that nobody lists."""
    bound, by_weight, reason = request.max_items_per_user, request.totals is not None, ""
    if method == AUTO and request.k_bar is None:
        method = best_unknown_method(parameters.listed_size("k", request.k), epsilon, delta, bound)
        method = SPARSE if by_weight and method == DISCOVER else method
        reason = "" if method == LIMITED else LARGE_K
        if method == DISCOVER and not request.scores_are_gains and _has_larger_union(epsilon, delta, bound):
            request = replace(request, max_items_per_user=LEAST_TO_DISCOVER)
            reason += describe_larger_bound(LEAST_TO_DISCOVER)
        if method == SPARSE and not by_weight and bound is None and is_for_a_union(request.k, epsilon):
            reason += BOUND_HELPS
        if request.scores_are_gains and _discovered_if_possible(epsilon, delta, bound) == DISCOVER:
            method, reason = DISCOVER, ""  # gains are small beside numbers of users, and a union needs only these
    if method in (AUTO, LIMITED):
        return LimitedTop.from_request(request, epsilon, delta)
    if method == SPARSE:
        return SparseTop.from_request(request, epsilon, delta, reason)
    from dpselect.queries.top.discovery import FoundTop

    return FoundTop.from_request(request, epsilon, delta, reason)


def _in_groups(
    request: TopRequest, groups: ResolvedGroups, method: str, epsilon: Fraction, delta: Fraction
) -> Selection:
    """Select in every group, at the price of the groups that one user counts in."""
    if request.domain is not None:
        hint = "groups= lists groups; where='item IN (...)' keeps some items"
        raise ParameterError("domain", "be left out if by is given", came(request.domain), hint)
    if method not in (AUTO, LIMITED, DISCOVER):
        hint = "auto takes the one that is better at this price"
        raise ParameterError("method", f"be auto, {LIMITED} or {DISCOVER} if by is given", came(method), hint)
    reason = ""
    if method == AUTO and request.k_bar is None and not groups.sizes and request.totals is None:
        picks = request.k * (groups.max_groups_per_user or 1)
        method = best_by_group(picks, epsilon, delta, request.max_items_per_user)
        reason = LARGE_BY_GROUP
    if method == DISCOVER:
        from dpselect.queries.top.group_discovery import FoundTopByGroup

        return FoundTopByGroup.for_groups(request, groups, epsilon, delta, reason)
    from dpselect.queries.top.groups import TopByGroup

    return TopByGroup.for_groups(request, groups, epsilon, delta)


def best_set_method(k: int, epsilon: Fraction, delta: Fraction) -> str:
    """Return one draw of a whole set, or peeling, where no order is wanted: by k, epsilon and delta alone.

    The loss of a set is spread over k ln(d / k) / epsilon users, that of peeling's picks, where delta lets them
    compose, over about sqrt(k ln(1 / delta)) ln(d) / epsilon: so a set is the worse where k is large and epsilon
    small. The limits are measured (docs/results.md, known_domain).
    """
    small = k < FEWEST_OF_A_SET or epsilon < LEAST_EPSILON_OF_A_SET
    large = delta > 0 and k > MOST_PER_EPSILON * epsilon
    return PEELING if small or large else "canonical-set"


def best_unknown_method(k: int, epsilon: Fraction, delta: Fraction, max_items: int | None) -> str:
    """Return limited domain, its sparse form, or discover, without a domain: by k, epsilon, delta and the bound alone.

    Bottom stands ln(k_bar / delta) / epsilon_per_pick users above the first item that is not looked at, and the epsilon
    of one pick falls with k. One threshold for all picks stands lower once k is large for epsilon, and what it costs
    leaves less to the picks. What a union needs of an item does not depend on k, but is more where k is small. The
    limits are measured (docs/results.md, unknown_domain and discover).
    """
    if k < FEWEST_OF_SPARSE or k <= MOST_OF_LIMITED_DOMAIN * epsilon:
        return LIMITED
    return _discovered_if_possible(epsilon, delta, max_items, SPARSE) if is_for_a_union(k, epsilon) else SPARSE


def _has_larger_union(epsilon: Fraction, delta: Fraction, max_items: int | None) -> bool:
    """Return whether a discovery takes more items of a user than so many, as what ranks them does.

    A bound of 1 is taken at its word: of users who have one item each a union of one item finds more.
    """
    is_few = max_items is not None and 1 < max_items < LEAST_TO_DISCOVER
    return is_few and _discovered_if_possible(epsilon, delta, LEAST_TO_DISCOVER) == DISCOVER


def is_for_a_union(k: int, epsilon: Fraction) -> bool:
    """Return whether k is so large for epsilon that most picks of all items would be too low."""
    return k >= FEWEST_TO_DISCOVER and k**2 > MOST_OF_SPARSE * epsilon


def best_by_group(picks: int, epsilon: Fraction, delta: Fraction, max_items: int | None) -> str:
    """Return limited domain or discover, in every group: by the picks in the groups of a user and the price alone.

    Groups are smaller than all data, so bottom is too high sooner. The limits are measured (docs/results.md,
    by_group).
    """
    if picks < FEWEST_TO_DISCOVER_BY_GROUP or picks <= MOST_BY_GROUP * epsilon:
        return LIMITED
    return _discovered_if_possible(epsilon, delta, max_items)


def _discovered_if_possible(epsilon: Fraction, delta: Fraction, max_items: int | None, otherwise: str = LIMITED) -> str:
    from dpselect.queries.top.discovery import fits
    from dpselect.queries.union.bound import BOUND_SHARE

    remaining = epsilon if max_items is not None else epsilon * (1 - BOUND_SHARE)
    return DISCOVER if fits(remaining, delta, max_items) else otherwise
