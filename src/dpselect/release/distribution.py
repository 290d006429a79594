"""Distribution: the distribution of values that many quantiles imply, as steps and as bars, from the release alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

MIN_QUANTILES = 9  # quantiles that are drawn as a distribution; fewer are dots
MAX_BINS = 20
NAMED_QUANTILES = 5  # quantiles that the words of a picture name


@dataclass(frozen=True)
class Bin:
    """The share of users with a value from `low` to before `high`, about."""

    low: Fraction
    high: Fraction
    share: Fraction


@dataclass(frozen=True)
class Distribution:
    """Quantiles, ascending, and the shares of the users that are about at or below each of them."""

    values: Sequence[Fraction]
    shares: Sequence[Fraction]
    step: Fraction = Fraction(0)  # of the grid of values

    @classmethod
    def from_quantiles(cls, values: Iterable[object], parameters: Mapping[str, object]) -> Distribution | None:
        """Return the distribution of a release's items and its statement's parameters; None for few quantiles."""
        quantiles, shares = [Fraction(str(value)) for value in values], parameters.get("q")
        if not isinstance(shares, tuple) or not MIN_QUANTILES <= len(quantiles) == len(shares):
            return None
        return cls(quantiles, [Fraction(str(q)) for q in shares], Fraction(str(parameters.get("step", 0))))

    def bins(self, max_bins: int = MAX_BINS) -> list[Bin]:
        """Return equal bins between round numbers, from the first quantile to the last.

        What lies between two neighbouring quantiles is spread evenly over the points after the first up to the second;
        where both are the same value, it is there.
        """
        width = self._width(max_bins)
        first, last = (self.values[0] / width).__floor__(), (self.values[-1] / width).__floor__()
        bar_shares = [Fraction(0)] * (last - first + 1)
        for index in range(1, len(self.values)):
            low, high = (self.values[end] + self.step for end in (index - 1, index))
            mass = self.shares[index] - self.shares[index - 1]
            if low == high:
                bar_shares[(self.values[index] / width).__floor__() - first] += mass
                continue
            for bin_index in range((low / width).__floor__() - first, (high / width).__ceil__() - first):
                inside = min(high, width * (first + bin_index + 1)) - max(low, width * (first + bin_index))
                bar_shares[min(bin_index, len(bar_shares) - 1)] += mass * inside / (high - low)
        return [
            Bin(width * (first + bin_index), width * (first + bin_index + 1), share)
            for bin_index, share in enumerate(bar_shares)
        ]

    @property
    def words(self) -> str:
        """Some quantiles and the highest bar, in words."""
        last = len(self.values) - 1
        indexes = sorted({round(step * last / (NAMED_QUANTILES - 1)) for step in range(NAMED_QUANTILES)})
        quantile_texts = ", ".join(
            f"{percent(self.shares[index])} at {float(self.values[index]):,g}" for index in indexes
        )
        largest_bin = max(self.bins(), key=lambda bin_: bin_.share)
        low, high = float(largest_bin.low), float(largest_bin.high)
        return f"{quantile_texts}. Most, {percent(largest_bin.share)}, lie from {low:,g} to before {high:,g}."

    def _width(self, max_bins: int) -> Fraction:
        """Return a width of 1, 2 or 5 times a power of ten, a step at least, for no more than `max_bins` bins."""
        value_range = max(self.values[-1] - self.values[0], self.step) or Fraction(1)
        power = math.floor(math.log10(value_range)) - 3
        widths = (times * Fraction(f"1e{power + i}") for i in range(6) for times in (1, 2, 5))
        ends = self.values[0], self.values[-1]
        return next(
            width
            for width in widths
            if width >= self.step and (ends[1] / width).__floor__() - (ends[0] / width).__floor__() < max_bins
        )


def percent(share: Fraction) -> str:
    """Format a share for a person."""
    return f"{float(100 * share):.3g} %"
