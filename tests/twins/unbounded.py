"""Negative controls: quantiles without bounds whose points follow the data. The tests must refuse every one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpselect.draws import Draws
from dpselect.mechanisms import Quantile


@dataclass(frozen=True)
class LastPointOfTheData:
    """A median whose points end at the largest size of a value: one user decides what can come out."""

    epsilon: Fraction

    def __call__(self, values: Sequence[int], *, draws: Draws) -> list[int | float]:
        most = max(map(abs, values), default=0) or 1
        return Quantile(bounds=(-most, most), step=1, epsilon=self.epsilon)(values, draws=draws)


@dataclass(frozen=True)
class SidesOfTheData:
    """A median that has no points below 0 where no value is: one user more brings them."""

    epsilon: Fraction

    def __call__(self, values: Sequence[int], *, draws: Draws) -> list[int | float]:
        if min(values, default=0) < 0:
            return Quantile(step=1, epsilon=self.epsilon)(values, draws=draws)
        return Quantile(bounds=(0, 100), step=10, epsilon=self.epsilon)(values, draws=draws)
