"""How good an answer is: what a release says holds with 95 % confidence by the exact law, over all small histograms.

Each bound is also put to the test: one of half the size must be refused, by a histogram that is as bad as can be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest

from dpselect.mechanisms import (
    CanonicalSet,
    ExponentialMechanism,
    LimitedDomain,
    NoisyCounts,
    Peeling,
    PermuteAndFlip,
    Quantile,
)
from dpselect.mechanisms.gaps import gaussian_width, laplace_width
from dpselect.papers import (
    ChosenKBar,
    GammaMechanism,
    JointSequence,
    JointSet,
    LimitedDomainLaplace,
    Noise,
    OneShotLaplace,
    ReportNoisyMax,
    noisy_limited_domain,
)
from dpselect.papers.gamma import cube_width
from dpselect.release.accuracy import BETA, largest_whole_below, score_interval
from dpselect.testing import Law
from dpselect.testing import law as law_of_run
from tests.exact.joint_laws import canonical_loss, joint_loss, sequence_loss, sorted_grid
from tests.exact.laws import law_of
from tests.papers.noisy_domain import NoisyDomain, laplace
from tests.slow.exact.test_quantile import missed

Counts = tuple[int, ...]
Answer = tuple[int, ...]
ITEMS, K = 4, 2


def behind(counts: Counts, answer: Answer) -> int:
    """By how much an item that comes later, or never, is above one that is here; 0 where none is."""
    left, worst = set(range(len(counts))), 0
    for i in answer:
        left.discard(i)
        worst = max([worst, *(counts[j] - counts[i] for j in left)])
    return worst


def missing(k: int, k_bar: int) -> Callable[[Counts, Answer], int]:
    """Where the list ended early: by how much a missing item is above the one at rank k_bar + 1."""

    def excess(counts: Counts, answer: Answer) -> int:
        after = ([*sorted(counts, reverse=True), *[0] * len(counts), 0, 0])[k_bar]
        left = [c for i, c in enumerate(counts) if i not in answer]
        return max(left) - after if len(answer) < k and left else 0

    return excess


@dataclass(frozen=True)
class Case:
    """A mechanism, what it says, and by how much an answer may miss; the histograms hold the worst ones."""

    mechanism: Any
    gap: Fraction
    excess: Callable[[Counts, Answer], int]
    histograms: Callable[[], Iterable[Counts]] = lambda: sorted_grid(ITEMS, 6)


def case(mechanism: Any, excess: Callable[[Counts, Answer], int] = behind, **more: Any) -> Case:
    return Case(mechanism, mechanism.gap(BETA, ITEMS), excess, **more)


PICK = {"epsilon": Fraction(3, 2), "monotonic": True}
LIMITED: dict[str, Any] = {
    "k": K, "k_bar": 3, "epsilon_per_pick": Fraction(3, 2), "delta": Fraction(1, 5), "delta_threshold": Fraction(1, 5),
}  # fmt: skip
FIRST, CHOSEN = LimitedDomain(**LIMITED), ChosenKBar(**LIMITED)


def steps() -> Iterable[Counts]:
    """All of few users, and some that are many users above the others: laws of noisy counts take long."""
    high = ((c,) * n + (0,) * (ITEMS - n) for c in range(4, 12) for n in range(1, ITEMS))
    return (*sorted_grid(ITEMS, 2), *high)


def high() -> Iterable[Counts]:
    """Five items, some far enough above the rest for a list not to end early."""
    pairs = ((20, 20), (20, 11), (13, 11), (9, 9), (7, 7))
    return (*sorted_grid(5, 3), *((a, b, c, d, 0) for a, b in pairs for c, d in ((6, 2), (2, 2), (0, 0))))


def far_up() -> Iterable[Counts]:
    """Where limited domain is at its worst: all far above bottom, one item above the others."""
    return (tuple(30 + c for c in counts) for counts in sorted_grid(3, 4))


CASES = {
    "exponential": case(ExponentialMechanism(**PICK)),
    "exponential, replace-one": case(ExponentialMechanism(epsilon=3, neighbors="replace-one")),
    "permute-and-flip": case(PermuteAndFlip(**PICK)),
    "noisy max, Laplace": case(ReportNoisyMax(**PICK)),
    "noisy max, exponential": case(ReportNoisyMax(**PICK, noise=Noise.EXPONENTIAL)),
    "peeling": case(Peeling(k=K, epsilon_per_pick=Fraction(3, 2))),
    "peeling, all": case(Peeling(k=ITEMS, epsilon_per_pick=Fraction(3, 2))),
    "one-shot": case(OneShotLaplace(k=K, epsilon=Fraction(2), monotonic=True), histograms=steps),
    "joint set": case(JointSet(k=K, epsilon=3), joint_loss),
    "canonical set": case(CanonicalSet(k=K, epsilon=3), canonical_loss),
    "sequence": case(JointSequence(k=K, epsilon=3), sequence_loss),
    "limited domain": Case(FIRST, FIRST.terms.gap(BETA), behind, far_up),
    "limited domain, its end": Case(FIRST, FIRST.terms.reach(BETA), missing(K, 3), high),
    "chosen k_bar": Case(CHOSEN, CHOSEN.terms.gap(BETA), behind, far_up),
}


@cache
def law(name: str, counts: Counts) -> Law:
    return law_of(CASES[name].mechanism, counts)


def worst(name: str, bound: int) -> float:
    """The largest probability, over all histograms, of a miss beyond the bound."""
    excess = CASES[name].excess

    def beyond(counts: Counts) -> float:
        return sum(float(p.mid()) for a, p in law(name, counts).items() if excess(counts, a) > bound)  # type: ignore[arg-type]

    return max(beyond(counts) for counts in CASES[name].histograms())


@pytest.mark.parametrize("name", CASES)
def test_what_is_said_holds_and_half_of_it_does_not(name: str) -> None:
    gap = CASES[name].gap
    assert largest_whole_below(gap) < 20
    assert worst(name, largest_whole_below(gap)) <= BETA
    assert worst(name, largest_whole_below(gap) // 2) > BETA


def test_one_candidate_cannot_miss() -> None:
    assert ExponentialMechanism(epsilon=1).gap(BETA, 1) == 0
    assert ReportNoisyMax(epsilon=1).gap(BETA, 1) == 0
    assert CanonicalSet(k=3, epsilon=1).gap(BETA, 3) == 0
    assert largest_whole_below(Fraction(0)) == 0


def test_domains_and_prices_beyond_floats() -> None:
    """A gap is said after the budget is spent: it must come for every parameter."""
    for epsilon, items in product((Fraction(1, 10**100), Fraction(1), Fraction(10**6)), (2, 10**30, 10**500)):
        assert Peeling(k=2, epsilon_per_pick=epsilon).gap(BETA, items) > 0
        assert OneShotLaplace(k=2, epsilon=epsilon).gap(BETA, items) > 0
        assert NoisyCounts(k=2, epsilon_per_count=epsilon).width(BETA) >= 0
    assert CanonicalSet(k=5, epsilon=1).gap(BETA, 10**500) > 1000
    assert LimitedDomain(k=2, epsilon_per_pick=1, delta="1e-260").terms.reach(BETA) > 540


# ---- quantiles --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("q", [(Fraction(1, 2),), (Fraction(9, 10),), (Fraction(1, 4), Fraction(1, 2))], ids=str)
def test_quantiles(q: tuple[Fraction, ...]) -> None:
    mechanism = Quantile(q=q, bounds=(0, 5), step=1, epsilon=5)

    def beyond(values: Sequence[int], bound: float) -> float:
        found = law_of_run(lambda draws: tuple(mechanism(list(values), draws=draws)))
        far = [p for a, p in found.items() if max(missed(values, s, x) for s, x in zip(q, a, strict=True)) > bound]  # type: ignore[arg-type]
        return float(sum(map(float, (p.mid() for p in far))))

    data = [*combinations_with_replacement(range(6), 4), *([place] * n for place in (0, 2) for n in range(1, 16))]
    gap = mechanism.gap(BETA)
    assert max(beyond(values, float(gap)) for values in data) <= BETA
    assert max(beyond(values, float(gap) / 2) for values in data) > BETA


# ---- counts -----------------------------------------------------------------------------------------------


WIDTHS = [(laplace_width, rate) for rate in (Fraction(1, 20), Fraction(1, 2), Fraction(3))]
WIDTHS += [(gaussian_width, variance) for variance in (Fraction(1, 10), Fraction(3), Fraction(1600))]


@pytest.mark.parametrize("times", [1, 7, 1001])
@pytest.mark.parametrize(("width_of", "spread"), WIDTHS, ids=lambda one: getattr(one, "__name__", str(one)))
def test_widths_are_the_least(width_of: Callable[..., int], spread: Fraction, times: int) -> None:
    far = 4000
    z = np.abs(np.arange(-far, far + 1))
    density = np.exp(-float(spread) * z if width_of is laplace_width else -(z**2) / (2 * float(spread)))
    density /= density.sum()

    def within(width: int) -> float:
        return float(density[far - width : far + width + 1].sum()) ** times

    width = width_of(spread, BETA, times)
    assert within(width) >= 1 - BETA
    assert width == 0 or within(width - 1) < 1 - BETA


def test_a_wide_gaussian_law_is_bounded_closely() -> None:
    added, bounded = gaussian_width(Fraction(10**8), BETA), gaussian_width(Fraction(10**8 + 1), BETA)
    assert added <= bounded <= added + 2


@pytest.mark.parametrize(("candidates", "rate"), [(1, 1.0), (2, 0.5), (5, 2.0), (300, 1.0)])
def test_the_width_of_a_cube_of_noise(candidates: int, rate: float) -> None:
    radii = np.arange(40_000)
    logs = candidates * np.log(2 * radii + 1) - rate * radii
    law = np.exp(logs - logs.max())
    beyond = law[::-1].cumsum()[::-1] / law.sum()
    width = cube_width(candidates, Fraction(rate), BETA)
    assert beyond[width + 1] <= BETA
    assert beyond[math.ceil(width / 2)] > BETA
    assert width == GammaMechanism(k=1, epsilon=Fraction(rate)).width(BETA, candidates)


NOISY = LimitedDomainLaplace(k=3, k_bar=3, epsilon=2, delta=Fraction(1, 10), max_items_per_user=1)
DOMAIN = NoisyDomain(3, NOISY.height, laplace(float(NOISY.rate)))


def test_counts_that_chose_the_items_lie_within_their_intervals_at_once() -> None:
    """Also where an item is here only because luck has raised it; intervals that are right for one count are not."""

    def outside(counts: Counts, wide: int) -> float:
        """The probability that some count that is shown lies outside of its interval."""
        grid, miss = np.arange(-65, 100), 0.0
        for told, p in DOMAIN.released(counts).items():
            inside = p
            for axis, i in enumerate(told):
                near = (np.abs(grid - counts[i]) <= wide).reshape([-1 if a == axis else 1 for a in range(len(told))])
                inside = inside * near
            miss += float(p.sum() - inside.sum())
        return miss

    histograms = [(c, c, c, after) for after in (0, 2) for c in range(after, 30 + after, 3)]
    assert laplace_width(NOISY.rate, BETA, 4) == NOISY.width(BETA)
    assert max(outside(counts, NOISY.width(BETA)) for counts in histograms) <= BETA
    assert max(outside(counts, laplace_width(NOISY.rate, BETA)) for counts in histograms) > BETA


def test_what_noisy_limited_domain_leaves_out() -> None:
    """Should a list end early, no missing item is far above the one at rank k_bar + 1."""

    def chance(counts: Counts, wrong: Callable[[Answer], bool]) -> float:
        return sum(float(p.sum()) for told, p in DOMAIN.released(counts).items() if wrong(told))

    def ended(counts: Counts, bound: float) -> float:
        return chance(counts, lambda told: missing(3, 3)(counts, told) > bound)

    reach = noisy_limited_domain.reach(NOISY, BETA)
    two = [(c, c, low, 0) for low in (0, NOISY.height) for c in range(low, low + reach + 4, 2)]
    assert max(ended(counts, reach) for counts in two) <= BETA
    assert max(ended(counts, reach // 2) for counts in two) > BETA


def test_one_of_many_noisy_counts_is_hardly_above_a_larger_count() -> None:
    """Where it is worst: one item is wanted, all others have as many users as one another, bottom is far below."""
    mechanism = LimitedDomainLaplace(k=1, k_bar=4, epsilon=1, delta=Fraction(1, 10), max_items_per_user=1)
    z = np.arange(-60, 61)
    density = laplace(float(mechanism.rate))(z)

    def lost(bound: int) -> float:
        """The item that has `bound` + 1 users more than the three others is not the first; all ties are lost."""
        below = np.array([density[z < one + bound + 1].sum() for one in z])
        return float((density * (1 - below**3)).sum())

    gap = noisy_limited_domain.gap(mechanism, BETA)
    assert lost(gap) <= BETA
    assert lost(gap // 2) > BETA


def test_intervals_end_at_zero_and_say_nothing_of_what_was_not_counted() -> None:
    assert score_interval(30, 7) == (23, 37)
    assert score_interval(-3, 7) == (0, 4)
    assert score_interval(-30, 7) == (0, 0)
    assert score_interval(None, 7) == score_interval(7, None) == (None, None)
