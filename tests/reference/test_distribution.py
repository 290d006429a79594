"""The distribution of many quantiles: bars hold what lies between the first and the last, wherever values tie."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from dpselect.release.charts import Distribution

SHARES = [Fraction(place, 10) for place in range(1, 10)]


def of(values: list[object], step: object = 1) -> Distribution:
    found = Distribution.from_quantiles(values, {"q": tuple(SHARES), "step": step})
    assert found is not None
    return found


VALUES: dict[str, tuple[list[object], object]] = {
    "ages": ([12, 19, 25, 31, 38, 44, 51, 60, 71], 1),
    "ties": ([0, 0, 0, 1, 1, 4, 4, 4, 4], 1),
    "one value": ([7] * 9, 1),
    "one fine value": ([0.1] * 9, "1e-12"),
    "below 0": ([-9e5, -3e5, -1e5, -1, 0, 2, 1e5, 3e5, 2e6], "1e-12"),
    "at edges": ([10, 20, 30, 40, 50, 60, 70, 80, 90], 10),
    "far out": ([-1e20, 0, 0, 0, 1, 1, 1, 1, 1e20], 1),
    "tiny": ([n * 1e-272 for n in range(9)], "1e-280"),
    "huge": ([(n - 5) * 1e298 for n in range(9)], "1e290"),
    "near": ([1.7e9 + n for n in range(9)], 1),
}


@pytest.mark.parametrize(("values", "step"), VALUES.values(), ids=list(VALUES))
def test_bars_follow_one_another_and_hold_all_that_lies_between(values: list[object], step: object) -> None:
    drawn = of(values, step)
    bins = drawn.bins()
    assert 1 <= len(bins) <= 20
    assert sum(one.share for one in bins) == SHARES[-1] - SHARES[0]
    assert all(one.high == other.low for one, other in pairwise(bins))
    assert bins[0].low <= drawn.values[0] < bins[0].high
    assert bins[-1].low <= drawn.values[-1] < bins[-1].high
    assert all(one.share >= 0 for one in bins)


def test_whole_numbers_are_in_the_bar_that_begins_with_them() -> None:
    """Uniform whole numbers: every bar of as many of them has the same share."""
    drawn = of([10, 20, 30, 40, 50, 60, 70, 80, 90])
    inner = [one.share for one in drawn.bins()[1:-1]]
    assert set(inner) == {Fraction(1, 10) * (drawn.bins()[0].high - drawn.bins()[0].low) / 10}
    tied = of([0, 0, 0, 1, 1, 4, 4, 4, 4]).bins()
    assert {int(one.low): one.share for one in tied if one.low.denominator == 1 and one.share} == {
        0: Fraction(2, 10),
        1: Fraction(2, 10),
        2: Fraction(1, 30),
        3: Fraction(1, 30),
        4: Fraction(1, 30) + Fraction(3, 10),
    }


def test_bars_are_near_the_true_shares() -> None:
    values = np.random.default_rng(1).normal(0, 1, 10**5)
    shares = tuple(Fraction(place, 100) for place in range(1, 100))
    drawn = Distribution.from_quantiles(np.quantile(values, [float(q) for q in shares]).tolist(), {"q": shares})
    assert drawn is not None
    for one in drawn.bins()[1:-1]:
        assert abs(np.mean((values >= float(one.low)) & (values < float(one.high))) - float(one.share)) < 0.012


def test_few_quantiles_and_other_answers_are_no_distribution() -> None:
    assert Distribution.from_quantiles([1, 2, 3], {"q": tuple(SHARES[:3])}) is None
    assert Distribution.from_quantiles([1] * 9, {}) is None
    assert Distribution.from_quantiles([1] * 9, {"q": tuple(SHARES[:8])}) is None
