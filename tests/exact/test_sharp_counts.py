"""Counts beside a top k: the narrowest noise that fits, and what answers with it cost, against exact laws.

Lists are those of the real code, and so is the law of a noise; both together are judged by the two prices of an answer
(docs/composing.md, "What a price claims"), over all sets of items of one user more or less.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from itertools import product
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import dpselect as dps
from dpselect.accounting.composition import basic
from dpselect.accounting.prices import Price, divergences
from dpselect.aggregates.count_groups import CountGroups
from dpselect.mechanisms.histogram import HistogramLaplace, HistogramSharedLaplace
from dpselect.mechanisms.shared_noise import SharedGaussianNoise, SharedLaplaceNoise, zcdp
from dpselect.mechanisms.top_k.noisy_counts import CountNoise, NoisyCounts
from dpselect.mechanisms.top_k.sharp_counts import GaussianNoise, SharpCounts, sharpest_of_rho
from dpselect.queries.top.picks import Picks
from dpselect.queries.users import UsersPlan
from dpselect.testing import law
from tests.by_names import plan_of
from tests.exact.test_shared_noise import Floats, divergence, gaussian, joint, laplace
from tests.twins import sharp_counts as twins

NAMES = ("a", "b", "c")
ROUNDING = 1e-9
Counts = tuple[int, ...]


def reach_of(counter: CountNoise) -> int:
    """How far laws of noise are looked at."""
    if isinstance(counter, NoisyCounts):
        return 40
    assert isinstance(counter, SharpCounts)
    if isinstance(counter.noise, SharedLaplaceNoise):
        return 36
    return 3 + 9 * math.isqrt(math.ceil(2 * counter.noise.variance * counter.noise.multiple**2) + 1)


@cache
def noise_of(counter: CountNoise, counts: int) -> Floats:
    """The law of the noise of so many counts, as multiples of a count, on a grid around 0."""
    reach = reach_of(counter)
    nothing = lambda z: np.asarray(z == 0, dtype=np.float64)  # noqa: E731
    if isinstance(counter, NoisyCounts):
        return joint(counts, laplace(float(counter.rate)), nothing, reach)
    assert isinstance(counter, SharpCounts)
    noise = counter.noise
    if isinstance(noise, GaussianNoise):
        return joint(counts, gaussian(float(noise.own)), nothing, reach)
    form = laplace if isinstance(noise, SharedLaplaceNoise) else gaussian
    return joint(counts, form(float(noise.own)), form(float(noise.shared)), reach)


@cache
def laws_of(counter: CountNoise, moved: Counts) -> tuple[Floats, Floats]:
    """The law of the counts of a list, and that with them moved so, where floats hold both."""
    multiple = 1 if isinstance(counter, NoisyCounts) else cast("SharpCounts", counter).noise.multiple
    here = there = noise_of(counter, len(moved))
    for axis, by in enumerate(moved):
        there = np.roll(there, multiple * by, axis=axis)
    inside = (slice(multiple + 1, -multiple - 1),) * len(moved)
    p, q = here[inside].ravel(), there[inside].ravel()
    held = (p > 1e-290) & (q > 1e-290)
    return p[held], q[held]


@cache
def lists(asked: Picks, counts: Counts) -> Mapping[tuple[str, ...], float]:
    """The exact law of the items alone."""
    there = [place for place, count in enumerate(counts) if count]
    groups = CountGroups.from_items([NAMES[place] for place in there], [counts[place] for place in there])

    def items(draws: Any) -> tuple[str, ...]:
        picks, _, names, _ = asked.draw_picks(groups, draws)
        return tuple(names(picks)) if picks else ()

    return {cast("tuple[str, ...]", answer): float(p) for answer, p in law(items).items()}


Charged = Callable[[Picks, int, int], Price]


def charged(asked: Picks, items: int, order: int) -> Price:
    """What an answer of so many items costs."""
    return asked.cost_at(SimpleNamespace(found=(items,)), order)  # type: ignore[arg-type]


def excesses(asked: Picks, order: int, near: list[tuple[Counts, Counts]], price: Charged = charged) -> list[float]:
    """Over both directions, parts of what is paid for: mass beyond e^epsilon, mass beyond e^added, and the moment."""
    counter = cast("CountNoise", asked.counter)
    most = [0.0, 0.0, 0.0]
    for left, right in (pair for both in near for pair in (both, both[::-1])):
        p, q = lists(asked, left), lists(asked, right)
        named = {item for outcome in q for item in outcome}
        lost = sum(mass for outcome, mass in p.items() if not set(outcome) <= named)
        beyond, added, moment = lost, lost, 0.0
        for outcome in (o for o in p if set(o) <= named and p[o] > 0):
            cost, ratio = price(asked, len(outcome), order), p[outcome] / q[outcome]
            moved = tuple(left[NAMES.index(item)] - right[NAMES.index(item)] for item in outcome)
            here, there = laws_of(counter, moved) if outcome else (np.ones(1), np.ones(1))
            assert cost.added is not None
            for place, epsilon in enumerate((cost.epsilon, cost.added)):
                over = p[outcome] * float(np.maximum(0, here - math.exp(float(epsilon)) * there / ratio).sum())
                beyond, added = (beyond + over, added) if place == 0 else (beyond, added + over)
            told = math.exp((order - 1) * (divergence(here, there, order) - float(cost.renyi)))
            moment += p[outcome] * ratio ** (order - 1) * told
        cost = price(asked, 0, order)
        found = [beyond / float(cost.failure + cost.composition) if beyond else 0.0]
        found += [added / float(cost.failure) if cost.failure else added, moment]
        most = [max(one, another) for one, another in zip(most, found, strict=True)]
    return most


def near_of(*bases: Counts, most: int = 3) -> list[tuple[Counts, Counts]]:
    """Histograms, each with one user more of every set of at most so many items."""
    sets = [items for items in product((0, 1), repeat=3) if 0 < sum(items) <= most]
    return [(base, tuple(n + x for n, x in zip(base, items, strict=True))) for base in bases for items in sets]


def asked_of(**asked: Any) -> Picks:
    return cast("Picks", plan_of("top_k", counts=True, **asked).selection)


def kind(asked: Picks) -> type:
    return type(asked.counter.noise if isinstance(asked.counter, SharpCounts) else asked.counter)


KNOWN = {"domain": NAMES, "method": "peeling"}
SPARSE = {"k_bar": 2, "method": "limited-domain-sparse"}
FULL = near_of((3, 1, 1), (2, 2, 2))
OPEN = near_of((9, 9, 0), (1, 1, 1), (2, 1, 0))
ONE = near_of((2, 2, 2), most=1)
SHARED = {"k": 2, "k_bar": 2, "epsilon": 1, "delta": "0.3"}
CASES = [
    ({"k": 1, "epsilon": 1, "delta": 0} | KNOWN, NoisyCounts, FULL),
    ({"k": 3, "epsilon": 4, "delta": 0} | KNOWN, SharedLaplaceNoise, FULL),
    ({"k": 1, "epsilon": 1, "delta": "0.3"} | KNOWN, GaussianNoise, FULL),
    ({"k": 2, "epsilon": 1, "delta": "0.1"} | KNOWN, SharedGaussianNoise, FULL),
    ({"k": 3, "epsilon": 2, "delta": "0.1"} | KNOWN, SharedGaussianNoise, [FULL[1], FULL[6]]),
    ({"k": 2, "epsilon": 2, "delta": "0.02", "max_items_per_user": 1} | KNOWN, NoisyCounts, ONE),
    ({"k": 2, "epsilon": 2, "delta": "0.1", "max_items_per_user": 1} | KNOWN, GaussianNoise, ONE),
    ({"k": 1, "k_bar": 2, "epsilon": 1, "delta": "0.3"}, GaussianNoise, OPEN),
    (SHARED, SharedGaussianNoise, OPEN),
    ({"k": 3, "k_bar": 3, "epsilon": 4, "delta": "1e-6"}, SharedLaplaceNoise, near_of((9, 9, 1), (1, 1, 1))),
    ({"k": 2, "epsilon": 2, "delta": "0.1"} | SPARSE, SharedGaussianNoise, OPEN),
    ({"k": 3, "epsilon": 4, "delta": "1e-6", "k_bar": 3, "method": SPARSE["method"]}, SharedLaplaceNoise, OPEN[:7]),
]  # fmt: skip


@pytest.mark.parametrize(("case", "noise", "near"), CASES, ids=lambda one: str(one)[:60])
@pytest.mark.parametrize("order", [2, 9])
def test_an_answer_with_counts_is_worth_its_prices(
    case: dict[str, Any], noise: type, near: list[tuple[Counts, Counts]], order: int
) -> None:
    asked = asked_of(**case)
    assert kind(asked) is noise
    beyond, added, moment = excesses(asked, order, near)
    assert beyond <= 1 + ROUNDING
    assert added <= 1 + ROUNDING
    assert 0 < moment <= 1 + ROUNDING
    if case["k"] == 1 and order == 2:
        assert moment > 0.9


@pytest.mark.parametrize("order", [2, 9])
def test_wrong_prices_are_refused(order: int) -> None:
    """Gaussian noise that adds up like the Laplace noise before it, or costs nothing; and picks alone."""
    asked = asked_of(**SHARED)
    assert max(excesses(asked, order, OPEN)) <= 1
    known = asked_of(**{"k": 2, "epsilon": 1, "delta": "0.1"} | KNOWN)
    assert excesses(known, order, FULL, twins.as_plain_noise)[1] > 1.5
    assert excesses(asked, order, OPEN, twins.picks_alone)[2] > 1.05


def test_the_law_of_the_real_call() -> None:
    """Of one count and of two, against the law that the prices are judged by."""
    doubled = SharedLaplaceNoise(items=2, max_items_per_user=2, epsilon=Fraction(30))
    alone = GaussianNoise(max_items_per_user=1, rho=Fraction(2))
    for counter, counts in ((SharpCounts(k=2, noise=doubled), (5, 3)), (SharpCounts(k=1, noise=alone), (5,))):
        m, reach, expected = counter.noise.multiple, reach_of(counter), noise_of(counter, counter.k)
        rounded = np.zeros_like(expected)
        places = (2 * np.arange(-reach, reach + 1) + m) // (2 * m) + reach
        np.add.at(rounded, np.ix_(*[places] * counter.k), expected)
        found = law(lambda draws, call=counter, counts=counts: tuple(call(counts, draws=draws)))
        assert sum(map(float, found.values())) == pytest.approx(1, abs=1e-9)
        for noisy, p in found.items():
            at = tuple(a - b + reach for a, b in zip(cast("Counts", noisy), counts, strict=True))
            if all(0 <= place < len(expected) for place in at):
                assert float(p) == pytest.approx(rounded[at], rel=1e-6, abs=1e-12)


# ---- fewer winners than were asked for, and sums ----------------------------------------------------------------


@pytest.mark.parametrize("counts", [1, 2, 3])
def test_fewer_counts_cost_what_they_can_lose(counts: int) -> None:
    """Of noise for four: the largest loss, and divergences, over all that one user can move."""
    pure = SharedLaplaceNoise(items=4, max_items_per_user=4, epsilon=Fraction(4))
    steps, reach = pure.steps_of(counts), 24 if counts == 3 else 40
    assert sum((step.times for step in steps), 0) == [1, 3, 4][counts - 1]
    base = joint(counts, laplace(float(pure.own)), laplace(float(pure.shared)), reach)
    assert loss_of(base, 2) <= float(basic(steps)) + 1e-6
    assert loss_of(base, 2) > 0.95 * float(basic(steps)) or counts > 1
    for order in (2, 5):
        assert worst_at(base, 2, order) <= float(divergences(steps, order)) + ROUNDING


def worst_at(base: Floats, multiple: int, order: int, by: int = 1) -> float:
    """The largest divergence where one user adds up to `by` to each count."""
    edge, most = multiple * by + 1, 0.0
    inside = (slice(edge, -edge),) * base.ndim
    for moved in product(range(by + 1), repeat=base.ndim):
        other = base
        for axis, more in enumerate(moved):
            other = np.roll(other, multiple * more, axis=axis)
        pair = base[inside], other[inside]
        most = max(most, divergence(*pair, order), divergence(*pair[::-1], order))
    return most


def loss_of(base: Floats, multiple: int) -> float:
    """The largest logarithm of a ratio, away from the edges, where shared noise was cut off."""
    edge, most = base.shape[0] // 4, 0.0
    inside = (slice(edge, -edge),) * base.ndim
    for moved in product((0, multiple), repeat=base.ndim):
        other = np.roll(base, moved, axis=tuple(range(base.ndim)))
        most = max(most, float(np.abs(np.log(base[inside] / other[inside])).max()))
    return most


@pytest.mark.parametrize("items", [2, 3, 5, 10, 20, 50, 200])
@pytest.mark.parametrize("most", [1, 3, 200])
def test_doubled_noise_is_pure_and_costs_no_account_more(items: int, most: int) -> None:
    """Than as many pure steps as a user has counts; its twin, with the best rates of pure noise, does."""
    moved, epsilon = min(items, most), Fraction(2)
    noise = SharedLaplaceNoise(items=items, max_items_per_user=most, epsilon=epsilon)
    plain = NoisyCounts(k=items, epsilon_per_count=epsilon / moved, max_items_per_user=most).steps_of(items)
    assert noise.shared + items * noise.own <= epsilon
    for order in (2, 9, 23):
        assert divergences(noise.steps_of(items), order) <= divergences(plain, order)
    if moved == items == 10:
        plain = NoisyCounts(k=items, epsilon_per_count=Fraction(1, 100)).steps_of(items)
        assert divergences(twins.without_doubling(items, Fraction(1, 10)), 9) > 3 * divergences(plain, 9)


def test_doubled_noise_loses_at_most_epsilon() -> None:
    """Its twin has whole counts in place of doubled ones at the same rates, so that noise moves by two."""
    epsilon = Fraction("1.2")
    for items, reach in ((2, 60), (3, 30)):
        noise = SharedLaplaceNoise(items=items, max_items_per_user=items, epsilon=epsilon)
        base = joint(items, laplace(float(noise.own)), laplace(float(noise.shared)), reach)
        assert 0.7 * 1.2 < loss_of(base, 2) <= 1.2
        assert loss_of(base, 4) > 1.4 * 1.2


@pytest.mark.parametrize("by", [2, 3])
def test_sums_cost_as_much_as_so_many_users(by: int) -> None:
    """One user adds 0 to `by` to each of two sums: noise for a change of 1, at the price of `by` changes."""
    rho, epsilon, order = Fraction(1, 2), Fraction(3), 3
    noise = SharedGaussianNoise(items=2, max_items_per_user=2, rho=rho / by**2)
    counter = SharpCounts(k=2, sensitivity=by, noise=noise, apart=Fraction(1, 100))
    base = joint(2, gaussian(float(noise.own)), gaussian(float(noise.shared)), 90)
    assert counter.steps_of(2)[0].value.rho == rho
    assert 0.95 < worst_at(base, noise.multiple, order, by) / float(rho * order) <= 1 + ROUNDING
    assert worst_at(base, noise.multiple, order, by) > 1.4 * float(twins.sums_by_one_factor(noise, by) * order)
    assert both_signs(base, noise.multiple, order, by) > 1.5 * float(rho * order)
    pure = SharedLaplaceNoise(items=2, max_items_per_user=2, epsilon=epsilon / by)
    counter = SharpCounts(k=2, sensitivity=by, noise=pure)
    base = joint(2, laplace(float(pure.own)), laplace(float(pure.shared)), 60)
    steps = counter.steps_of(2)
    assert basic(steps) == pytest.approx(float(epsilon), rel=1e-4)
    found = worst_at(base, 2, order, by)
    assert 0.55 < found / float(divergences(steps, order)) <= 1 + ROUNDING
    assert both_signs(base, 2, order, by) > found
    assert loss_of_both_signs(base, 2, by) > 1.05 * float(epsilon)


def both_signs(base: Floats, multiple: int, order: float, by: int) -> float:
    """The divergence of a user who moves one sum up and the other one down: the twin that sums of any sign share."""
    inside = (slice(multiple * by, -multiple * by),) * 2
    moved = np.roll(base, (multiple * by, -multiple * by), axis=(0, 1))
    return divergence(base[inside], moved[inside], order)


def loss_of_both_signs(base: Floats, multiple: int, by: int) -> float:
    """The largest loss of such a user, away from the edges."""
    quarter = base.shape[0] // 4
    inside = (slice(quarter, -quarter),) * 2
    moved = np.roll(base, (multiple * by, -multiple * by), axis=(0, 1))
    return float(np.abs(np.log(base[inside] / moved[inside])).max())


# ---- groups --------------------------------------------------------------------------------------------------------


def test_noise_is_shared_within_a_group_only() -> None:
    """Two groups of two counts: a user of one of them, and of both; one noise for all would be charged too little."""
    own, shared, reach = Fraction("1.4"), Fraction(1), 11
    noise, claim = (
        (gaussian(float(own)), gaussian(float(shared))),
        float(zcdp(2, 2, 2, own_variance=own, shared_variance=shared)),
    )
    one = joint(2, *noise, reach)
    assert 0.9 < worst_at(one, 2, 3) / (3 * claim) <= 1 + ROUNDING
    apart, together = np.multiply.outer(one, one), joint(4, *noise, reach)
    inside = (slice(3, -3),) * 4

    def diverges(law_of_four: Floats, moved: Counts) -> float:
        other = np.roll(law_of_four, [2 * by for by in moved], axis=(0, 1, 2, 3))
        return divergence(law_of_four[inside], other[inside], 3) / 3

    assert diverges(apart, (1, 1, 0, 0)) <= claim
    assert claim < diverges(apart, (1, 1, 1, 1)) <= 2 * claim
    assert diverges(together, (1, 1, 0, 0)) > 1.1 * claim


def test_each_group_draws_shared_noise_of_its_own() -> None:
    noise = SharedLaplaceNoise(items=2, max_items_per_user=2, epsilon=Fraction(24))
    counter = SharpCounts(k=2, noise=noise)

    def found(*sizes: int) -> dict[Counts, float]:
        noises = law(lambda draws: tuple(counter.noises(draws, *sizes)))
        return {cast("Counts", noisy): float(p) for noisy, p in noises.items()}

    alone, apart, together = found(1), found(1, 1), found(2)
    for pair, p in apart.items():
        assert p == pytest.approx(alone[pair[:1]] * alone[pair[1:]], rel=1e-6, abs=1e-12)
    assert together[1, 1] > 1.5 * apart[1, 1]


@pytest.mark.parametrize(("groups", "width"), [(1, 23), (3, 40)])
def test_counts_of_groups_are_paid_for_the_costliest(groups: int, width: int) -> None:
    plan = plan_of("top_k", k=5, epsilon=1, delta="1e-6", counts=True, by="g", max_groups_per_user=groups).selection
    assert plan.count_width == width
    counter = plan.counter
    costs = [
        divergences(plan.steps(SimpleNamespace(found=found)), 9)
        for found in ((2, 1, 1, 1), (5, 2, 1), (5, 5, 5, 5), (5, 5, 5))
    ]
    assert costs == sorted(costs)
    assert costs[2] == costs[3] == plan.price_at(9).renyi
    rho = sum((counter.noise.rho_of(5) for _ in range(groups)), Fraction(0))
    assert counter.steps_of(*[5] * groups)[0].value.rho == rho
    told = " ".join(plan.state(plan.terms()).sentences)
    assert "one part is the same for all of them of a group, so that differences of counts of a group are more" in told


def test_numbers_of_users_of_groups_take_the_narrower_noise() -> None:
    """No narrower noise costs an account that composes more."""
    twelve = [f"g{place}" for place in range(12)]
    for groups, most, kind_of, width in [
        (twelve, None, HistogramSharedLaplace, 40),
        (twelve, 3, HistogramLaplace, 16),
        (twelve[:2], None, HistogramLaplace, 7),
        (twelve[:5], None, HistogramSharedLaplace, 16),
    ]:
        plan = dps.Users(by=dps.By("g", groups=groups, max_groups_per_user=most)).at(epsilon=1)
        assert isinstance(plan, UsersPlan)
        plain = HistogramLaplace(epsilon=1, max_items_per_user=most or len(groups))
        assert type(plan.mechanism) is kind_of
        assert plan.mechanism.width(0.05, len(groups)) == width <= plain.width(0.05, len(groups))
        for order in (2, 9, 23):
            assert plan.price_at(order).renyi <= divergences(plain.privacy.steps, order)


def test_the_law_of_a_histogram_with_doubled_counts() -> None:
    mechanism = HistogramSharedLaplace(epsilon=30, items=2, max_items_per_user=2)
    counter = SharpCounts(k=2, noise=SharedLaplaceNoise(items=2, max_items_per_user=2, epsilon=Fraction(30)))
    found, same = (law(lambda draws, m=m: tuple(m((4, 0), draws=draws))) for m in (mechanism, counter))
    assert {noisy: float(p) for noisy, p in found.items()} == {noisy: float(p) for noisy, p in same.items()}
    assert basic(mechanism.privacy.steps) <= mechanism.privacy.epsilon == 30


# ---- noise that is fixed beforehand ------------------------------------------------------------------------------


def test_noise_by_the_counts_themselves_is_refused() -> None:
    """A share of each count as its deviation: another user changes the noise, and not only the count."""
    counts, order, grid = np.array([2, 3]), 4, np.arange(-60, 61)

    def both(variances: tuple[float, ...]) -> list[Floats]:
        return [np.roll(gaussian(one)(grid), n) for n, one in zip(counts.tolist(), variances, strict=True)]

    fixed, wrong = both((4.0, 4.0)), both(twins.variances_by_count(counts))
    rho = 1 / 8
    assert divergence(*fixed, order) <= order * rho * (1 + ROUNDING)
    assert divergence(*wrong[::-1], order) > 3 * order * rho


def test_a_total_has_the_shared_noise_once_for_each_count() -> None:
    """An interval of a total from independent noises is too narrow: it holds far less often than it says."""
    counter = asked_of(**{"k": 3, "epsilon": 4, "delta": "0.3"} | KNOWN).counter
    assert isinstance(counter, SharpCounts)
    noise = counter.noise
    assert isinstance(noise, SharedGaussianNoise)
    reach, m = reach_of(counter), noise.multiple
    base, places = noise_of(counter, 3), np.arange(-reach, reach + 1)
    total = (places[:, None, None] + places[None, :, None] + places[None, None, :]) / m
    variance = float((base * total**2).sum())
    assert variance == pytest.approx((3 * noise.own + 9 * noise.shared) / m**2, rel=0.02)
    narrow = 1.96 * math.sqrt(float(twins.variance_of_total(noise, 3)))
    assert float(base[np.abs(total) <= narrow].sum()) < 0.88
    one = float((base * (places[:, None, None] - places[None, :, None]) ** 2).sum()) / m**2
    assert one == pytest.approx(2 * noise.own / m**2, rel=0.02)  # and a difference has none


# ---- which noise is taken ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "width"),
    [({"k": 5}, 23), ({"k": 10}, 29), ({"k": 20}, 39), ({"k": 50}, 57), ({"k": 100}, 78), ({"k": 3}, 21),
     ({"k": 10, "epsilon": "0.1"}, 261), ({"k": 10, "epsilon": 3}, 11), ({"k": 10, "max_items_per_user": 5}, 28),
     ({"k": 10, "delta": 0, "domain": range(1000)}, 59), ({"k": 1}, 9)],
)  # fmt: skip
def test_widths_are_those_of_the_page(asked: dict[str, Any], width: int) -> None:
    method = "peeling" if "domain" in asked else "limited-domain"
    plan = asked_of(**{"epsilon": 1, "delta": "1e-6", "method": method} | asked)
    assert plan.count_width == width


@pytest.mark.parametrize("items", [1, 2, 10, 100])
def test_discovered_items_take_gaussian_noise_of_the_same_zcdp(items: int) -> None:
    """Picks and counts share a divergence of one order there, to which a count of e/2 gives its zCDP."""
    plain = NoisyCounts(k=items, epsilon_per_count=Fraction("0.05"))
    counter = sharpest_of_rho(plain)
    assert isinstance(counter, SharpCounts)
    assert isinstance(counter.noise, GaussianNoise if items == 1 else SharedGaussianNoise)
    assert counter.noise.rho_of(items) == items * Fraction("0.05") ** 2 / 2
    assert counter.width(0.05) < 0.7 * plain.width(0.05)


@pytest.mark.parametrize(("k", "most"), [(10, 3), (10, 8), (50, 30), (50, 49), (200, 150)])
def test_pure_noise_of_a_bound_costs_no_account_more(k: int, most: int) -> None:
    """Than Laplace noise of half the epsilon of a pick on all k counts."""
    plan = asked_of(k=k, epsilon=1, delta=0, max_items_per_user=most, **KNOWN | {"domain": 1000})
    plain = NoisyCounts(k=k, epsilon_per_count=cast("Fraction", plan.terms()[0]["epsilon_per_pick"]) / 2)
    assert plan.counter.width(0.05) <= plain.width(0.05)
    for order in (2, 9, 23):
        assert divergences(plan.counter.steps_of(k), order) <= divergences(plain.steps_of(k), order)


@pytest.mark.parametrize("method", ["limited-domain", "limited-domain-sparse", "peeling"])
@pytest.mark.parametrize("delta", ["1e-6", "1e-9"])
def test_picks_are_as_before_and_no_answer_costs_more(method: str, delta: str) -> None:
    """Beside Laplace noise of half the epsilon of a pick on all k counts, which the share of the picks is made for."""
    for k, epsilon, most in [(2, 1, None), (10, 1, None), (10, "0.1", None), (10, 1, 3), (30, 1, None), (60, 3, 5)]:
        asked: dict[str, Any] = {"k": k, "epsilon": epsilon, "delta": delta, "method": method}
        asked |= {"max_items_per_user": most} if most else {}
        plan = asked_of(**asked | ({"domain": 1000} if method == "peeling" else {}))
        pick = plan.terms()[0]["epsilon_per_pick"]
        plain = NoisyCounts(k=k, epsilon_per_count=cast("Fraction", pick) / 2)
        counter = cast("CountNoise", plan.counter)
        assert counter.width(0.05) <= plain.width(0.05)
        unbounded = asked_of(**asked | {"max_items_per_user": None} | ({"domain": 1000} if method == "peeling" else {}))
        assert unbounded.terms()[0]["epsilon_per_pick"] == pick  # a bound is for counts
        assert counter.width(0.05) < unbounded.counter.width(0.05) or not most
        for order in (4, 9, 23):
            assert divergences(counter.steps_of(k), order) <= divergences(plain.steps_of(k), order) * Fraction(
                1001, 1000
            )
