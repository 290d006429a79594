"""The two draws that only these papers make, over the bits of any draws."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from dpselect.draws import CertifiedDraws, Draws, Weights
from dpselect.errors import ParameterError, came
from dpselect.papers.noisy_max import Noise, noisy_max
from dpselect.papers.noisy_top_k import noisy_top


@runtime_checkable
class NoisyDraws(Protocol):
    """Draws from exactly stated distributions, independent of one another."""

    def noisy_max(self, weights: Weights, noise: Noise) -> tuple[int, int]:
        """Find the candidate with the largest rate * score + noise (no factors); noises are independent."""
        ...

    def noisy_top(self, weights: Weights, k: int) -> list[tuple[int, int]]:
        """Find the k candidates with the largest score + Laplace noise of scale 1 / rate, best first.

        Scores are integers (no factors); the noise is continuous, independent for each candidate.
        """
        ...


class CertifiedNoisyDraws(CertifiedDraws):
    """The certified draws, with one line for each of the two samplers."""

    def noisy_max(self, weights: Weights, noise: Noise) -> tuple[int, int]:
        """Find the candidate with the largest noisy score."""
        return noisy_max(self, weights, noise)

    def noisy_top(self, weights: Weights, k: int) -> list[tuple[int, int]]:
        """Find the k candidates with the largest noisy scores."""
        return noisy_top(self, weights, k)


def noisy(draws: Draws) -> NoisyDraws:
    """Return draws that make both, over the same bits; exact laws are followed by draws that make both themselves."""
    if isinstance(draws, NoisyDraws):
        return draws
    if not isinstance(draws, CertifiedDraws):
        raise ParameterError("draws", "be certified draws, or make noisy_max and noisy_top themselves", came(draws))
    return CertifiedNoisyDraws(draws.source, secure=draws.secure, slack_bits=draws.slack_bits)
