"""Which method `auto` takes for a top k: told from public facts alone. The limits are measured."""

from __future__ import annotations

from fractions import Fraction

DISCOVER, LIMITED, PEELING = "discover", "limited-domain", "peeling"
FEWEST_OF_A_SET = 3  # below, peeling's monotonic counts are worth more
LEAST_EPSILON_OF_A_SET = Fraction(3, 10)
MOST_PER_EPSILON = 30  # k / epsilon up to which a whole set is drawn although delta lets peeling compose
FEWEST_TO_DISCOVER = 20
FEWEST_TO_DISCOVER_BY_GROUP, MOST_BY_GROUP = 10, 20  # picks in the groups of a user, and picks / epsilon
MOST_OF_LIMITED_DOMAIN = 30  # k / epsilon up to which bottom is low enough


def best_set_method(k: int, epsilon: Fraction, delta: Fraction) -> str:
    """Where no order is wanted: one draw of a whole set, or peeling, by k, epsilon and delta alone.

    The loss of a set is spread over k ln(d / k) / epsilon users, that of peeling's picks, where delta lets them
    compose, over about sqrt(k ln(1 / delta)) ln(d) / epsilon: so a set is the worse where k is large and epsilon
    small. The limits are measured (benchmarks/README.md, known_domain).
    """
    small = k < FEWEST_OF_A_SET or epsilon < LEAST_EPSILON_OF_A_SET
    large = delta > 0 and k > MOST_PER_EPSILON * epsilon
    return PEELING if small or large else "canonical-set"


def best_unknown_method(k: int, epsilon: Fraction, delta: Fraction, most: int | None) -> str:
    """Without a domain: limited domain, or discover, then peel, by k, epsilon, delta and max_items_per_user alone.

    Bottom stands ln(k_bar / delta) / epsilon_per_pick users above the first item that is not looked at, and the epsilon
    of one pick falls with k. What a union needs of an item does not depend on k, but is more where k is small. The
    limits are measured (benchmarks/README.md, discover).
    """
    if k < FEWEST_TO_DISCOVER or k <= MOST_OF_LIMITED_DOMAIN * epsilon:
        return LIMITED
    return _discovered_if_possible(epsilon, delta, most)


def best_by_group(picks: int, epsilon: Fraction, delta: Fraction, most: int | None) -> str:
    """In every group: limited domain, or discover, by the picks in the groups of a user and the price alone.

    Groups are smaller than all data, so bottom is too high sooner. The limits are measured (benchmarks/README.md,
    by_group).
    """
    if picks < FEWEST_TO_DISCOVER_BY_GROUP or picks <= MOST_BY_GROUP * epsilon:
        return LIMITED
    return _discovered_if_possible(epsilon, delta, most)


def _discovered_if_possible(epsilon: Fraction, delta: Fraction, most: int | None) -> str:
    from dpselect.queries.top_k_discovery import fits
    from dpselect.queries.union_terms import BOUND_SHARE

    left = epsilon if most is not None else epsilon * (1 - BOUND_SHARE)
    return DISCOVER if fits(left, delta, most) else LIMITED
