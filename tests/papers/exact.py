"""Exact laws of the draws that only papers make: every answer followed, by integrals in closed form."""

from __future__ import annotations

from dpselect.draws import Weights
from dpselect.papers import Noise
from dpselect.testing import ExactDraws
from tests.papers.noisy_max_law import noisy_max_law
from tests.papers.noisy_top_law import noisy_top_law


class ExactNoisyDraws(ExactDraws):
    """`ExactDraws` that make the two draws of `papers.noisy_draws` too."""

    def noisy_max(self, weights: Weights, noise: Noise) -> tuple[int, int]:
        """Follow every group, by the integral of its noise's density times the chance that the others stay below."""
        group = self._follow(lambda: noisy_max_law(weights, noise))
        return group, self.below(weights.size(group))

    def noisy_top(self, weights: Weights, k: int) -> list[tuple[int, int]]:
        """Follow every order of groups, by nested integrals, and each group's members without replacement."""
        orders = noisy_top_law(weights, k)
        order = list(orders)[self._follow(lambda: list(orders.values()))]
        left = [list(range(weights.size(g))) for g in range(len(weights))]
        return [(group, left[group].pop(self.below(len(left[group])))) for group in order]
