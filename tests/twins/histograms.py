"""Wrong ways to tell all counts of a known domain. Tests must refuse each."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpselect.draws import Draws
from dpselect.mechanisms import HistogramGaussian, HistogramLaplace

Noisy = HistogramLaplace | HistogramGaussian


def noise_for_one_item(mechanism: Noisy, counts: Sequence[int], draws: Draws) -> tuple[int, ...]:
    """As if a user had one item, where they have several."""
    if isinstance(mechanism, HistogramLaplace):
        return tuple(count + draws.laplace(Fraction(mechanism.epsilon)) for count in counts)
    return tuple(count + draws.gaussian(mechanism.variance / mechanism.max_items_per_user) for count in counts)


def noise_used_twice(mechanism: Noisy, counts: Sequence[int], draws: Draws) -> tuple[int, ...]:
    """One draw for all counts: their differences come out as they are."""
    (noise,) = mechanism.noises(draws, 1)
    return tuple(count + noise for count in counts)


def no_noise_where_nobody_is(mechanism: Noisy, counts: Sequence[int], draws: Draws) -> tuple[int, ...]:
    """Items without users are told as 0."""
    return tuple(count + mechanism.noises(draws, 1)[0] if count else 0 for count in counts)
