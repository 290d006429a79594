"""Wrong prices of counts beside a top k, and noise that was not fixed beforehand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dpselect._ground.privacy import PureDP, Steps
from dpselect.accounting.prices import Price, divergence
from dpselect.mechanisms.shared_noise import SharedGaussianNoise

if TYPE_CHECKING:
    from dpselect.queries.top.picks import Picks


def _picks(asked: Picks, items: int) -> int:
    return min(asked.selector.k, items + 1)


def as_plain_noise(asked: Picks, items: int, order: int) -> Price:
    """Gaussian noise is added up as the pure steps that the picks leave room for."""
    pick = Fraction(asked.selector.epsilon_per_pick)
    added = _picks(asked, items) * pick + items * pick / 2
    return replace(_right(asked, items, order), added=added, epsilon=min(added, asked.privacy.epsilon))


def picks_alone(asked: Picks, items: int, order: int) -> Price:
    """Counts of winners are taken for free, since the winners are public."""
    step = asked.privacy.steps[0].value
    return replace(_right(asked, items, order), renyi=divergence(step, order) * _picks(asked, items))


def _right(asked: Picks, items: int, order: int) -> Price:
    from tests.exact.test_sharp_counts import charged

    return charged(asked, items, order)


def sums_by_one_factor(noise: SharedGaussianNoise, by: int) -> Fraction:
    """A user who adds `by` to each sum is charged `by` times, where a divergence grows with the square."""
    return noise.rho_of(noise.items) * by


def variances_by_count(counts: npt.NDArray[np.int64]) -> tuple[float, ...]:
    """The deviation of each count's noise is the count itself."""
    return tuple(float(count) ** 2 for count in counts)


def variance_of_total(noise: SharedGaussianNoise, counts: int) -> Fraction:
    """A total of counts, as if the noise of each were independent of the others."""
    return counts * (noise.own + noise.shared) / noise.multiple**2


def without_doubling(items: int, epsilon: Fraction) -> tuple[Steps, ...]:
    """The narrowest pure noise for all counts together, which diverges more than noise of each count by itself."""
    half = items // 2 + 1  # the best of 10 items
    own = epsilon / half
    return Steps(PureDP((2 * half + 1 - items) * own), 1), Steps(PureDP(own), items - half - 1)
