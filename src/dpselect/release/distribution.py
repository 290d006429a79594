"""Distribution: what many quantiles say of all values, as steps and as bars. A function of what was released alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

ENOUGH = 9  # quantiles that are drawn as a distribution; fewer are dots
MOST_BINS = 20
NAMED = 5  # quantiles that the words of a picture name


@dataclass(frozen=True)
class Bin:
    """From low to before high lies about this share of the users."""

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
        """Of the items of a release and the parameters of its statement; None of few quantiles."""
        found, asked = [Fraction(str(value)) for value in values], parameters.get("q")
        if not isinstance(asked, tuple) or not ENOUGH <= len(found) == len(asked):
            return None
        return cls(found, [Fraction(str(q)) for q in asked], Fraction(str(parameters.get("step", 0))))

    def bins(self, most: int = MOST_BINS) -> list[Bin]:
        """Equal bins between round numbers, from the first quantile to the last.

        What lies between two neighbouring quantiles is spread evenly over the points after the first up to the second;
        where both are the same value, it is there.
        """
        width = self._width(most)
        first, last = (self.values[0] / width).__floor__(), (self.values[-1] / width).__floor__()
        held = [Fraction(0)] * (last - first + 1)
        for place in range(1, len(self.values)):
            low, high = (self.values[at] + self.step for at in (place - 1, place))
            mass = self.shares[place] - self.shares[place - 1]
            if low == high:
                held[(self.values[place] / width).__floor__() - first] += mass
                continue
            for at in range((low / width).__floor__() - first, (high / width).__ceil__() - first):
                inside = min(high, width * (first + at + 1)) - max(low, width * (first + at))
                held[min(at, len(held) - 1)] += mass * inside / (high - low)
        return [Bin(width * (first + at), width * (first + at + 1), share) for at, share in enumerate(held)]

    @property
    def words(self) -> str:
        """The same in words: some quantiles, and the highest bar."""
        last = len(self.values) - 1
        some = sorted({round(place * last / (NAMED - 1)) for place in range(NAMED)})
        told = ", ".join(f"{percent(self.shares[at])} at {float(self.values[at]):,g}" for at in some)
        most = max(self.bins(), key=lambda one: one.share)
        return f"{told}. Most, {percent(most.share)}, lie from {float(most.low):,g} to before {float(most.high):,g}."

    def _width(self, most: int) -> Fraction:
        """1, 2 or 5 times a power of ten, a step at least, so that there are no more bins than that."""
        size = max(self.values[-1] - self.values[0], self.step) or Fraction(1)
        power = math.floor(math.log10(size)) - 3
        widths = (times * Fraction(f"1e{power + i}") for i in range(6) for times in (1, 2, 5))
        ends = self.values[0], self.values[-1]
        return next(
            one
            for one in widths
            if one >= self.step and (ends[1] / one).__floor__() - (ends[0] / one).__floor__() < most
        )


def percent(share: Fraction) -> str:
    """A share for a person."""
    return f"{float(100 * share):.3g} %"
