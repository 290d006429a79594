"""Limited domain in many groups at once: which have any pick is decided together, and then each that has is picked.

Most groups of a long tail come out empty. Whether the first pick of a group is an item needs one Bernoulli draw of the
probability W / (W + B): W weighs its items, B bottom and the items of count 0. All groups are drawn at once from an
upper bound of it that takes one number of each group; the few that succeed are thinned to the exact probability.
Groups for which the bound is no small one are peeled as they are. Both have the same law, so which way a group goes
decides how long it takes and nothing else (docs/mechanisms/by-group.md).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from flint import arb, ctx

from dpselect._ground.dataclass import dataclass
from dpselect._ground.reals import Real, enclose
from dpselect.aggregates.groups import GroupedCounts, Int64
from dpselect.draws import Draws, Weights
from dpselect.mechanisms.top_k.limited_domain import Terms, until_bottom
from dpselect.mechanisms.top_k.top_rows import TopRows

if TYPE_CHECKING:
    import numpy.typing as npt

RARE = Fraction(1, 4)  # up to here the bound is worth a draw
FARTHEST = 2**50  # a bound of more units than this takes the other way
SURE = 1 + 1e-9  # more than the rounding of a logarithm


@dataclass(frozen=True, repr=False)
class Picked:
    """A group and its picked rows, best first, as indices into `GroupedCounts`."""

    group: int
    rows: Int64

    @property
    def groups(self) -> Int64:
        """The group as the one index to be named."""
        return np.array([self.group], dtype=np.int64)


def picked(counts: GroupedCounts, terms: Terms, draws: Draws) -> list[Picked]:
    """Pick in all groups; return those with any pick, in their order. Each group is independent of the others."""
    starts = np.cumsum(counts.sizes) - counts.sizes
    nonempty = np.flatnonzero(counts.sizes)
    units = _units(counts, starts, nonempty, terms)
    rare = units > 0
    answers = {int(g): _peeled(counts, int(starts[g]), int(g), terms, draws) for g in nonempty[~rare]}
    succeeded = draws.bernoullis(units[rare], 1, FirstPick.for_terms(terms))
    for g, u in zip(nonempty[rare][succeeded].tolist(), units[rare][succeeded].tolist(), strict=True):
        group = GroupPicks.for_group(counts, int(starts[g]), g, terms)
        if draws.bernoulli(Thinned(group, u)):
            answers[g] = group.begun(draws)
    return [Picked(g, starts[g] + np.array(answers[g], dtype=np.int64)) for g in sorted(answers) if answers[g]]


def _peeled(counts: GroupedCounts, start: int, group: int, terms: Terms, draws: Draws) -> list[int]:
    rows = TopRows(counts.counts[start : start + int(counts.sizes[group])], lambda picks: [row for row, _ in picks])
    return [row for row, _ in until_bottom(rows, draws, terms, terms.k_bar)]


def _units(counts: GroupedCounts, starts: Int64, nonempty: npt.NDArray[np.intp], terms: Terms) -> Int64:
    """Return for each group the whole u of its bound; 0 where that is no small probability.

    W <= n exp(rate h) for n items of a score of at most h, and B >= bottom exp(rate (after + s)) for the sensitivity s,
    so that W / B is at most exp(rate (u - s)) / bottom for u = h - after + ceil(ln n / rate).
    """
    rate, bottom = float(terms.rate), terms.bottom(terms.k_bar)
    inside = np.minimum(counts.sizes[nonempty], terms.k_bar)
    longer = counts.sizes[nonempty] > terms.k_bar
    next_counts = np.zeros(len(nonempty), dtype=np.int64)
    next_counts[longer] = counts.counts[starts[nonempty][longer] + terms.k_bar]
    log_items = np.ceil(np.log(inside) * SURE / rate) if rate > 0 else np.full(len(nonempty), np.inf)
    lead = (counts.counts[starts[nonempty]] - next_counts).astype(np.float64) + log_items
    log_bottom = math.log(bottom.numerator) - math.log(bottom.denominator)
    largest_lead = terms.sensitivity + (log_bottom + math.log(RARE / (1 - RARE))) / rate if rate > 0 else 0.0
    rare = lead <= min(largest_lead, FARTHEST)
    units = np.zeros(len(nonempty), dtype=np.int64)
    units[rare] = np.maximum(1, lead[rare]).astype(np.int64)
    return units


@dataclass(frozen=True)
class FirstPick:
    """1 / (1 + bottom exp(-rate (u - s))): at least the probability that the first pick of a group is an item."""

    rate: Fraction
    bottom: Fraction
    sensitivity: int

    @classmethod
    def for_terms(cls, terms: Terms) -> FirstPick:
        """Return the bound for the picks of one group."""
        return cls(terms.rate, terms.bottom(terms.k_bar), terms.sensitivity)

    def at(self, weight: Fraction) -> Real:
        """Return the probability at u."""
        return _Odds(self.rate * (self.sensitivity - weight), self.bottom)


@dataclass(frozen=True)
class _Odds:
    """1 / (1 + factor exp(exponent))."""

    exponent: Fraction
    factor: Fraction

    def ball(self, bits: int) -> arb:
        with ctx.workprec(bits):
            return 1 / (1 + enclose(self.factor) * enclose(self.exponent).exp())


@dataclass(frozen=True, repr=False)
class GroupPicks:
    """The items of one group, what may end it, and the price of a pick."""

    counts: Int64  # of at most k_bar items, most first
    after: int
    terms: Terms

    @classmethod
    def for_group(cls, counts: GroupedCounts, start: int, group: int, terms: Terms) -> GroupPicks:
        """Return the picks of one group of all that was counted."""
        rows = TopRows(counts.counts[start : start + int(counts.sizes[group])], lambda picks: [row for row, _ in picks])
        return cls(rows.inside(terms.k_bar), rows.after(terms.k_bar), terms)

    def weights(self, bits: int) -> tuple[arb, arb]:
        """Return W and B, both divided by exp(rate (after + sensitivity))."""
        rate, unit = self.terms.rate, self.after + self.terms.sensitivity
        levels, sizes = np.unique(self.counts, return_counts=True)
        with ctx.workprec(bits):
            items = sum(
                (
                    size * enclose(rate * (level - unit)).exp()
                    for level, size in zip(levels.tolist(), sizes.tolist(), strict=True)
                ),
                arb(0),
            )
            missing = self.terms.k_bar - len(self.counts)
            ends = enclose(self.terms.bottom(self.terms.k_bar)) + missing * enclose(-rate * unit).exp()
        return items, ends

    def begun(self, draws: Draws) -> list[int]:
        """Draw the picks, where the first is known to be an item: that one, and then until bottom."""
        rate, k_bar = self.terms.rate, self.terms.k_bar
        first, _ = draws.categorical(Weights(self.counts, rate))
        left = np.delete(self.counts, first)
        missing = k_bar - len(self.counts)
        fillers = [missing] if missing else []
        max_picks = min(self.terms.k - 1, len(left) + 1)
        if not max_picks:
            return [first]
        weights = Weights(
            scores=np.array([*left, self.after + self.terms.sensitivity, *(0 for _ in fillers)], dtype=np.int64),
            rate=rate,
            sizes=np.array([1] * (len(left) + 1) + fillers, dtype=np.int64),
            factors=[Fraction(1)] * len(left) + [self.terms.bottom(k_bar)] + [Fraction(1)] * len(fillers),
        )
        picks = draws.peel(weights, max_picks, until=len(left))
        return [first, *(row + (row >= first) for row, _ in picks if row < len(left))]


@dataclass(frozen=True)
class Thinned:
    """W / (W + B), the probability that the first pick is an item, over the bound that was drawn from."""

    group: GroupPicks
    units: int

    def ball(self, bits: int) -> arb:
        """Return the ball of the quotient."""
        items, ends = self.group.weights(bits)
        bound = FirstPick.for_terms(self.group.terms).at(Fraction(self.units)).ball(bits)
        with ctx.workprec(bits):
            return (items / (items + ends) / bound).min(arb(1))
