"""Every number of docs/mechanisms/published-statements.md, computed again from the mechanisms and by enumeration."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from dpselect._ground.privacy import BoundedRange
from dpselect.accounting.prices import divergence
from dpselect.mechanisms import CanonicalSet, CountLaplace, LimitedDomain, Peeling, PermuteAndFlip, RenyiShaped
from dpselect.mechanisms.certified_quantiles import rank_noises
from dpselect.mechanisms.gaps import laplace_width
from dpselect.mechanisms.leads import gaussian_lead
from dpselect.mechanisms.noise_laws import gaussian_law
from dpselect.mechanisms.rank_noise import noise_bound
from dpselect.mechanisms.set_union.release_laws import discrete_laplace_tail
from dpselect.mechanisms.set_union.renyi_shaped import COMPOSED, _best_order
from dpselect.papers import JointSet, PolicyGaussian, PolicyLaplace, nonadaptive_delta
from dpselect.papers.noisy_limited_domain import laplace_height, laplace_tail
from dpselect.queries.union.bound import BOUND_SHARE
from dpselect.testing import law
from tests.conftest import ROOT
from tests.exact.laws import cached_laws, delta_between, law_of, log_range, max_log_ratio
from tests.exact.test_leads import false_orders
from tests.exact.test_limited_domain import algorithm_1
from tests.exact.test_set_union import AFTER, BEFORE
from tests.exact.test_shared_budget import NEAR, budget_at, in_budget, worst
from tests.exact.test_shared_noise import gaussian, joint, rounded_law
from tests.exact.test_shared_noise import worst as worst_divergence
from tests.exact.test_union_counts import COUNTS_OF_BUDGET, provable
from tests.exact.union_laws import union_law, weights_of
from tests.twins import renyi, selection, shared_noise, unions

ONE, DELTA = Fraction(1), Fraction(1, 10**6)
BETA = 0.05


def number(ball: Any) -> float:
    """The middle of a ball, which is tiny."""
    return float(ball.mid())


def excess(mechanism: Any, before: tuple[int, ...], after: tuple[int, ...]) -> float:
    """The least delta of these two histograms at epsilon 1, over the promised one."""
    laws = cached_laws(mechanism)
    return number(delta_between(laws(before), laws(after), ONE)) / float(DELTA)


def users_until_best(counts: tuple[int, ...], chosen: tuple[int, ...]) -> int:
    """How many users come or go, each with any items, until no item outside of the chosen ones has more users."""
    reached, steps = {counts}, 0
    while all(min(c[i] for i in chosen) < max(n for i, n in enumerate(c) if i not in chosen) for c in reached):
        moves = [(sign, items) for sign in (1, -1) for items in product((0, 1), repeat=len(counts))]
        after = {tuple(n + sign * x for n, x in zip(c, items, strict=True)) for c in reached for sign, items in moves}
        reached, steps = reached | {c for c in after if min(c) >= 0}, steps + 1
    return steps


def joint_loss(mechanism: Any, chosen: tuple[int, ...], epsilon: int) -> float:
    """The loss of a set, from how much rarer it is than the best."""
    found = law_of(mechanism, (2, 1, 0))
    return -2 * math.log(number(found[chosen] / found[0, 1])) / epsilon


def distances() -> list[float]:
    return [
        joint_loss(JointSet(k=2, epsilon=3), (1, 2), 3),
        users_until_best((2, 1, 0), (1, 2)),
        joint_loss(CanonicalSet(k=2, epsilon=3), (1, 2), 3),
    ]


def max_sum(database: tuple[tuple[int, ...], ...], cutoff: float) -> list[float]:
    """The published max-sum update: item by item in order; the first that costs too much ends it for the others."""
    weights = [0.0] * 3
    for items in database:
        gaps = {i: cutoff - weights[i] for i in items if weights[i] < cutoff}
        left, rest = sorted(gaps), 1.0
        while left and gaps[left[0]] ** 2 * len(left) < rest:
            rest -= gaps[left[0]] ** 2
            weights[left.pop(0)] = cutoff
        for i in left:
            weights[i] += rest / math.sqrt(len(left))
    return weights


ALONE = ((0,), (1,), (2,)) * 15  # as many users as it takes to come near cutoffs that are above a threshold
THREE = (((1,), (0, 1, 2)), 1, (1, 2), 16.25)
SIX = (((0, 1), (1,), (1, 2), (0, 1), (1, 2)), 0, (0, 1, 2), 17.5)


def moved_by_max_sum() -> list[float]:
    found = []
    for base, place, added, cutoff in (THREE, SIX):
        more = (*base[:place], added, *base[place:])
        found.append(math.dist(max_sum((*ALONE, *base), cutoff), max_sum((*ALONE, *more), cutoff)))
    right = PolicyGaussian(epsilon=3, delta="0.3", max_items_per_user=3, alpha=0)
    base, place, added, _ = SIX
    pair = [weights_of(right, one, 3) for one in (base, (*base[:place], added, *base[place:]))]
    assert math.dist(*(map(float, one) for one in pair)) <= 1 + 1e-9
    return found


def noised_zeros() -> list[float]:
    """One user of ten items, whose first gets all the weight, beside nobody."""
    twin = unions.NoisedZeros(epsilon=ONE, delta=DELTA)
    right, user = twin.inner, (tuple(range(10)),)
    excess = [number(delta_between(union_law(one, (), 10), union_law(one, user, 10), ONE)) for one in (twin, right)]
    return [one / float(DELTA) for one in excess]


def fractional_cutoff() -> list[float]:
    terms = {"epsilon": ONE, "delta": DELTA}
    twin = unions.FractionalGreedy(cutoff=Fraction(33, 2), **terms)
    assert float(twin.cutoff) > 1 + math.log(1 / (2 * float(DELTA)))
    alone, found = ((0,), (1,), (2,), (3,)) * 12, []
    for one in (twin, unions.NoisyGreedy(**terms)):
        laws = [union_law(one, (*alone, *database), 6) for database in (BEFORE, AFTER)]
        found.append(number(delta_between(*laws, ONE)) / float(DELTA))
    assert found[1] <= 1
    return found[:1]


def fixed_shuffle() -> list[float]:
    inner = PolicyLaplace(alpha=0, epsilon=3, delta="0.3", max_items_per_user=5)
    base = [[2, 1], [3, 1, 2], [2]]
    found = []
    for one in (unions.FixedShuffle(inner=inner), inner):
        pair = [weights_of(one, database, 4) for database in (base, [*base, [0]])]
        found.append(float(sum(abs(a - b) for a, b in zip(*pair, strict=True))))
    return found


def limited_domain(**settings: Any) -> LimitedDomain:
    """One pick of 1."""
    return LimitedDomain(k=1, epsilon_per_pick=ONE, delta=DELTA, delta_threshold=DELTA, **settings)


def without_plus_one() -> list[float]:
    """Counts, then sums to which a user gives up to 2."""
    found = []
    for s in (1, 2):
        right = limited_domain(k_bar=1, sensitivity=s)
        for one in (selection.BottomTwin(right, plus=s - 1), right):
            found.append(excess(one, (s, s), (s, 2 * s)))
    return found


def unbounded_counts() -> list[float]:
    """A user of k_bar items lifts all of them over as many others; the bottom is for users of one."""
    found = [
        excess(limited_domain(k_bar=k_bar, max_items_per_user=1), (7,) * 2 * k_bar, (7,) * k_bar + (8,) * k_bar)
        for k_bar in (2, 5, 20)
    ]
    return [*found, excess(limited_domain(k_bar=20), (7,) * 40, (7,) * 20 + (8,) * 20)]


def size_from_the_data() -> list[float]:
    """One item of one user: no other item was seen, so nothing could take its place, and bottom has no weight."""
    return [float(algorithm_1((1,), 1, 1, ONE, DELTA, touched=0)[0,])]


def ties_by_the_data() -> list[float]:
    """A user with an item that nobody else has turns the order of all whose counts are equal."""
    found = []
    for k_bar in (5, 20):
        right = limited_domain(k_bar=k_bar, max_items_per_user=1)
        pair = (9,) * 2 * k_bar + (0,), (9,) * 2 * k_bar + (1,)
        found.append(excess(selection.TiesAtTheCut(right), *pair))
        assert excess(right, *pair) <= 1
    return found


def bottom_for_nothing() -> list[float]:
    """What an answer without items tells of an item of 20 users, or 21."""
    laws = cached_laws(limited_domain(k_bar=1))
    loss = number((laws((20,))[()] / laws((21,))[()]).log())
    assert loss <= 1
    return [loss, 10 * loss]


def noisy_bottom() -> list[float]:
    """The threshold of a noiseless bottom, ln(1 / delta) / rate, beside that which holds; at a rate of 1/100."""
    rate = Fraction(1, 100)
    short = math.floor(math.log(1 / DELTA) / rate)
    return [float(laplace_tail(rate, short) / DELTA), short, laplace_height(rate, 1, DELTA)]


def threshold_for_one() -> list[float]:
    found = []
    for most in (1, 3, 10):
        twin = discrete_laplace_tail(ONE / most, DELTA, 1)
        found.append(1 - (1 - float(twin.at(Fraction(1)).ball(192).mid())) ** most)
    right = CountLaplace(epsilon=1, delta=DELTA, max_items_per_user=10).law
    found.append(1 - (1 - float(right.at(Fraction(1)).ball(192).mid())) ** 10)
    return [one / float(DELTA) for one in found]


def permute_and_flip() -> list[float]:
    """Of two candidates, tied, of which a user votes for one: range / epsilon, divergence over (epsilon^2 / 8) a."""
    epsilon = Fraction(1, 10)
    mechanism = PermuteAndFlip(epsilon=epsilon, monotonic=True)
    p, q = (law_of(mechanism, counts) for counts in ((0, 0), (0, 1)))
    kl = sum(number(p[i]) * number((p[i] / q[i]).log()) for i in p)  # the limit of D_a / a at order 1
    assert number(max_log_ratio(p, q)) <= float(epsilon) + 1e-12
    return [number(log_range(p, q)) / float(epsilon), kl / float(epsilon) ** 2 * 8]


def noise_released() -> list[float]:
    twin = selection.SelectionNoiseReleased(Fraction(8))
    found = []
    for d in (2, 3):
        before, after = (law(lambda draws, c=c: twin(c, draws=draws)) for c in ((0,) * d, (1,) * d))
        found.append(number((before[0, -2] / after[0, -2]).log()) / 8)
    return found


def worst_of_adaptive(times: int, epsilon: Fraction, total: Fraction, parts: int = 60) -> float:
    """What an adversary reaches who picks each next law, of losses t and t - epsilon, by the outcomes so far."""
    e, unit = float(epsilon), float(epsilon) / parts
    losses = np.arange(-times * parts, times * parts + 1) * unit
    values, t = np.maximum(0, 1 - np.exp(float(total) - losses)), np.arange(parts + 1)
    chances = np.expm1(t * unit - e) / math.expm1(-e)
    for _ in range(times):
        inner = np.arange(parts, len(values) - parts)
        each = [p * values[inner + up] + (1 - p) * values[inner + up - parts] for up, p in zip(t, chances, strict=True)]
        values = np.max(each, axis=0)
    return float(values[0])


def adaptive_picks() -> list[float]:
    found = []
    for times, epsilon, total in ((3, ONE, Fraction(9, 10)), (10, Fraction(1, 10), Fraction(3, 5))):
        found.append(worst_of_adaptive(times, epsilon, total) / float(nonadaptive_delta(times, epsilon, total)))
    return found


def bound_in_place() -> list[float]:
    base, found = joint(3, gaussian(3.0), gaussian(1.7), 24), []
    for most in (1, 2):
        price = shared_noise.bound_in_place_of_items(3, most, Fraction(3), Fraction("1.7"))
        found.append(worst_divergence(base, 2, most) / float(price))
    return found


def half_even() -> list[float]:
    base = joint(2, gaussian(2.0), gaussian(1.0), 48)
    rho = (2 / 2 + 1 / 1) / 2
    right = rounded_law(base, 48, lambda n: (2 * n + 2) // 4)
    wrong = rounded_law(base, 48, lambda n: shared_noise.half_even(n, 2))
    return [worst_divergence(one, 1, 2) / rho for one in (wrong, right)]


def own_orders() -> list[float]:
    e, found = float(ONE * BOUND_SHARE), []
    orders = [_best_order(ONE, DELTA, most)[0] for most in (2, 5)]
    charged = [divergence(BoundedRange(BOUND_SHARE), order) for order in orders]
    for of_choice in (charged, [max(charged)] * 2):
        own = [in_budget(order, spent) for order, spent in zip(orders, of_choice, strict=True)]
        found.append(max(worst(own, e), worst(own[::-1], e)))
    return [*orders, *found]


def order_of_what_is_left() -> list[float]:
    """Orders, and delta over what rounds may take of it, with counts in the same budget."""
    right = RenyiShaped(epsilon=1, delta=DELTA, max_items_per_user=10, counts_share=COUNTS_OF_BUDGET)
    twin, near = renyi.curves_of_another_order(right), float(COMPOSED * DELTA)
    proved = [provable(one, right.rho_of_counts, 1.0, 5 * right.order)[0] / near for one in (twin, right)]
    return [twin.order, right.order, *proved]


def whole_delta() -> list[float]:
    found = []
    for epsilon in ("0.3", "1", "3"):
        e, budget = float(Fraction(epsilon) * BOUND_SHARE), budget_at(epsilon)
        near = in_budget(budget.order, budget.spent)
        both = (lambda loss, near=near: 1 - NEAR + NEAR * near(loss), lambda loss: 1.0 + 0 * loss)
        found.append(max(worst(both, e), worst(both[::-1], e)))
    return [*found, float(budget_at("1").delta_of_others / DELTA)]


def stay_within(cells: int, width: int) -> float:
    """With which chance all sums of the first cells stay within a width, at a rate of 1/10."""
    law_of_noise = math.tanh(0.05) * np.exp(-0.1 * np.abs(np.arange(-2 * width, 2 * width + 1)))
    p = np.zeros(2 * width + 1)
    p[width] = 1
    for _ in range(cells):
        p = np.convolve(p, law_of_noise)[2 * width : 4 * width + 1]
    return float(p.sum())


def prefixes() -> list[float]:
    """The width of one cell, and how often it holds; then what holds for nine values: of prefixes, of misses."""
    width = laplace_width(Fraction(1, 10), BETA)
    held = [stay_within(2 * values + 1, width) for values in (1, 3, 9)]
    of_prefixes = next(w for w in range(1, 400) if stay_within(19, w) >= 1 - BETA)
    nine = [Fraction(i, 10) for i in range(1, 10)]
    misses = noise_bound(Fraction(1, 10), rank_noises(nine, range(9)), BETA)
    return [width / 10, *held, of_prefixes / 10, misses / 10]


def orders_of_winners() -> list[float]:
    variance = Fraction(400)
    own = gaussian_law(variance)
    assert own is not None
    return [false_orders(own, times, gaussian_lead(variance, BETA, 2)) for times in (5, 10, 20)] + [
        false_orders(own, 20, gaussian_lead(variance, BETA, 20))
    ]


def in_the_top() -> list[float]:
    """One pick of two items, at 0.1: the other one has ten users more and no count."""
    found = law_of(Peeling(k=1, epsilon="0.1"), (10, 0))
    return [number(found[1,])]


PAGE = ROOT / "docs" / "mechanisms" / "published-statements.md"
ENTRIES: dict[str, tuple[Callable[[], list[float]], ...]] = {
    "The distance of a set": (distances,),
    "Max-sum updates under Gaussian noise": (moved_by_max_sum,),
    "Noise on items of weight 0": (noised_zeros,),
    "Greedy updates to any cutoff": (fractional_cutoff,),
    "Users shuffled with a fixed seed": (fixed_shuffle,),
    "The threshold of limited domain": (without_plus_one, size_from_the_data, noisy_bottom),
    "A bound that the counts do not have": (unbounded_counts,),
    "Ties in the order of the data": (ties_by_the_data,),
    "An empty answer for nothing": (bottom_for_nothing,),
    "A threshold for one new item": (threshold_for_one,),
    "Permute-and-flip as a pick": (permute_and_flip,),
    "The noisy count of a noisy maximum": (noise_released,),
    "The optimum for picks that are fixed beforehand": (adaptive_picks,),
    "Shared noise": (bound_in_place, half_even),
    "An order of its own": (order_of_what_is_left, own_orders),
    "The whole of delta for one branch": (whole_delta,),
    "The width of one cell for many": (prefixes,),
    "Orders and places of winners": (orders_of_winners, in_the_top),
}


def written() -> dict[str, list[str]]:
    """The bold numbers of each entry, in their order."""
    parts = re.split(r"^### ", PAGE.read_text("utf-8"), flags=re.MULTILINE)[1:]
    return {part.partition("\n")[0]: re.findall(r"\*\*([\d.,]+)\*\*", part) for part in parts}


def test_every_entry_of_the_page_is_computed() -> None:
    assert list(written()) == list(ENTRIES)
    assert all(written().values())


@pytest.mark.parametrize("entry", ENTRIES)
def test_the_page_states_what_comes_out(entry: str) -> None:
    """Each number to as many digits as it is written with."""
    found, stated = [n for part in ENTRIES[entry] for n in part()], written()[entry]
    assert [f"{n:,.{len(text.partition('.')[2])}f}" for n, text in zip(found, stated, strict=True)] == stated
