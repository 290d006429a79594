"""Wrong leads of one noisy count over another. Tests must refuse each."""

from __future__ import annotations

from dpselect.mechanisms.leads import gaussian_lead
from dpselect.mechanisms.shared_noise import SharedGaussianNoise


def of_one_pair(noise: SharedGaussianNoise, beta: float, _times: int) -> int:
    """The lead that is certain of one pair, chosen beforehand, said of all pairs."""
    return noise.lead(beta, 2)


def of_unrounded_counts(noise: SharedGaussianNoise, beta: float, times: int) -> int:
    """What differences of unrounded counts show, said of rounded ones: each is off by up to a half."""
    unrounded = gaussian_lead(noise.own, beta, times)
    return -(-unrounded // noise.multiple)


def of_one_count(noise: SharedGaussianNoise, beta: float, _times: int) -> int:
    """The interval of one count: that the other has noise, too, is forgotten."""
    return 1 + noise.width(beta)
