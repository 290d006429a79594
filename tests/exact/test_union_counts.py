"""Items by Renyi-shaped curves and their counts in one budget: private for all neighbours; twins are refused."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache, partial, reduce

import numpy as np
import pytest

from dpselect.mechanisms import RenyiShaped
from dpselect.mechanisms.set_union.renyi_shaped import COMPOSED
from dpselect.queries.union.bounded_union import BoundedUnion
from dpselect.queries.union.method import COUNTS_OF_BUDGET
from dpselect.testing import exact, law
from dpselect.texts.text import NgramRange
from dpselect.texts.tokenizer import Tokenizer
from tests.by_names import plan_of
from tests.exact.renyi_laws import call_law, delta_of, heavy, spent
from tests.exact.union_laws import sets_of, subsets
from tests.twins import renyi as broken

SETTINGS = [("1", "0.1", 1), ("2", "0.005", 2)]


def plan(epsilon, delta, most):
    return plan_of("union", epsilon=epsilon, delta=delta, max_items_per_user=most, counts=True, method="renyi-shaped")


@cache
def gaussian(variance):
    reach = 7 * math.isqrt(math.ceil(variance)) + 12
    p = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * float(variance)))
    return p / p.sum()


def released(mechanism, database):
    """The law of the released items, by their places: the real call, every sample, draw and round."""
    return {items: float(p.mid()) for items, p in call_law(mechanism, database, 2).items()}


def excess(before, after, counts, epsilon, variance):
    """The hockey-stick divergence of items with counts; given the items, these are noised one by one."""
    found, noise = 0.0, gaussian(variance)
    for items, p in before.items():
        q = after.get(items, 0.0)
        left, right = np.array(p), np.array(math.exp(epsilon) * q)
        for item in items:
            left = np.multiply.outer(left, noise)
            right = np.multiply.outer(right, np.roll(noise, counts[1][item] - counts[0][item]))
        found += float(np.maximum(left - right, 0).sum())
    return found


def numbers(database):
    return [sum(item in items for items in database) for item in range(2)]


def worst(mechanism, epsilon, variance, most):
    """Over data of up to two items that users have alone or together, with a user more and with one less."""
    levels = [0, *(mechanism.users_for(chance) for chance in (0.05, 0.6))]
    law_of, found = cache(partial(released, mechanism)), 0.0
    for base in heavy(levels, 2):
        for together in ((), ((0, 1),)):
            small = (*base, *together)
            for added in subsets(2, most):
                large = (*small, added)
                for one, other in ((small, large), (large, small)):
                    counts = numbers(one), numbers(other)
                    found = max(found, excess(law_of(one), law_of(other), counts, epsilon, variance))
    return found


@pytest.mark.parametrize(("epsilon", "delta", "most"), SETTINGS)
def test_items_with_counts_are_private_and_less_noise_is_refused(epsilon, delta, most):
    """Users have at most as many items as they keep, so that the counts are those of all users."""
    query = plan(epsilon, delta, most)
    (mechanism,), variance = query.mechanisms(most), query.noise(0, most)
    found = worst(mechanism, float(epsilon), variance, most) / float(delta)
    assert 0.1 < found <= 1
    less = worst(mechanism, float(epsilon), variance / 4, most) / float(delta)
    assert less > 1


def test_the_real_call_draws_counts_of_items_that_users_keep(monkeypatch):
    """One item, and a user who has two and keeps one of those that were released."""
    monkeypatch.setattr(exact, "SMALLEST", Fraction(1, 2**12))  # counts that are too far out are not enumerated
    query = plan("6", "0.1", 1)
    (mechanism,), sets = query.mechanisms(1), sets_of(((0,), (0,), (0, 1)), 2)

    def run(draws):
        items = BoundedUnion.with_bound(query, 1).draw_level(sets, 0, draws, None)
        return tuple((code, item.score) for code, item in items.items())

    found = {outcome: float(p.mid()) for outcome, p in law(run).items()}
    noise = gaussian(query.noise(0, 1))
    chances = released(mechanism, ((0,), (0,), (0, 1)))
    middle = len(noise) // 2
    for count in range(2, 5):
        alone = chances[(0,)] * noise[middle + count - 3]
        assert found[((0, count),)] == pytest.approx(alone, rel=1e-2)
        kept = [noise[middle + count - 3] * noise[middle], noise[middle + count - 2] * noise[middle - 1]]
        assert found[((0, count), (1, 0))] == pytest.approx(chances[(0, 1)] * sum(kept) / 2, rel=1e-2)
    assert sum(found.values()) == pytest.approx(1, abs=1e-12)


# ---- counts that are a step of their own ---------------------------------------------------------------------


def delta_of_counts(variances, epsilon):
    """Of whole noises of these variances, each on a shift of 1: the larger of both directions, over whole laws."""
    laws = [gaussian(variance) for variance in variances]
    here, there = (reduce(np.multiply.outer, [np.roll(noise, shift) for noise in laws]) for shift in (0, 1))
    ways = ((here, there), (there, here))
    return max(float(np.maximum(one - math.exp(epsilon) * other, 0).sum()) for one, other in ways)


@pytest.mark.parametrize(("most", "shares"), [(1, ["1"]), (2, ["1"]), (1, ["1/4", "3/4"])])
@pytest.mark.parametrize(("epsilon", "delta"), [("4", "0.004"), ("2", "4e-5")])
def test_counts_apart_have_the_least_noise_of_their_price(most, shares, epsilon, delta):
    """Of all levels together, at a quarter of epsilon and delta; a tenth less of it is too little."""
    words = NgramRange(Tokenizer(), 1, len(shares)) if len(shares) > 1 else None
    query = plan_of(
        "union",
        epsilon=epsilon,
        delta=delta,
        max_items_per_user=most,
        method="weighted-gaussian",
        counts=True,
        **({"words": words, "shares": shares} if words else {}),
    )
    epsilon_of_counts, delta_apart = (float(part) for part in query.price_of_counts(most))
    variances = [query.noise(level, most) for level in range(len(shares)) for _ in range(most)]
    assert 0.7 * delta_apart < delta_of_counts(variances, epsilon_of_counts) <= delta_apart
    assert delta_of_counts([variance * 9 / 10 for variance in variances], epsilon_of_counts) > delta_apart
    assert sum(1 / (2 * variance) for variance in variances) <= query.rho_of_counts(most)


# ---- one order ----------------------------------------------------------------------------------------------


def provable(mechanism, rho, epsilon, highest):
    """The least delta that curves and counts prove together at any one order, without that of hidden items."""
    found = {}
    for order in range(2, highest):
        rounds = sum(
            spent(curve.chances, one.steps, order)
            for one, curve in zip(mechanism.conditions, mechanism.curves, strict=True)
        )
        found[order] = delta_of(order, rounds + order * float(rho), epsilon)
    return min(found.values()), min(found, key=found.__getitem__)


@pytest.mark.parametrize(("epsilon", "most", "times"), [("1", 2, 1.8), ("3", 10, 1.7)])
def test_one_order_for_curves_and_counts_is_enough_and_two_are_not(epsilon, most, times):
    """The twin makes curves for what is left of epsilon, which have an order of their own."""
    right = RenyiShaped(epsilon=epsilon, delta="1e-6", max_items_per_user=most, counts_share=COUNTS_OF_BUDGET)
    near, highest = 1e-6 * float(COMPOSED), 5 * right.order
    delta, order = provable(right, right.rho_of_counts, float(epsilon), highest)
    assert order == right.order
    assert 0.99 * near < delta <= near
    twin = broken.curves_of_another_order(right)
    assert twin.order > right.order
    assert provable(twin, right.rho_of_counts, float(epsilon), highest)[0] > times * near


@pytest.mark.parametrize(("most", "width"), [(5, 31), (10, 43), (30, 73), (100, 132)])
def test_widths_at_epsilon_1(most, width):
    """Once 78, 110, 191 and 349, with counts for a quarter of the price by themselves."""
    union = BoundedUnion.with_bound(plan("1", "1e-6", most), most)
    assert union.accuracy().numbers["width_of_counts"] == pytest.approx(width, abs=1)


def test_counts_cannot_take_all():
    for share in ("0.95", 2, -1, "some"):
        with pytest.raises(ValueError, match="counts_share"):
            RenyiShaped(epsilon=1, delta="1e-6", max_items_per_user=3, counts_share=share)
    assert RenyiShaped(epsilon=1, delta="1e-6", max_items_per_user=3).rho_of_counts == 0
    whole = RenyiShaped(epsilon=1, delta="1e-6", max_items_per_user=3, counts_share=Fraction(1, 3))
    budget = sum(one.budget for one in whole.conditions)
    assert whole.rho_of_counts * whole.order == budget / 2
