"""Panels: what an answer looks like, as values: rows of marks on one scale, or lines on two."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MOST_TICKS = 5


@dataclass(frozen=True)
class Mark:
    """One row: a label, what is said of it, a bar from 0 or dots, and a whisker, which without a `low` has one end."""

    label: str = ""
    value_text: str = ""
    rank: str = ""
    bar: float | None = None
    dots: Sequence[float] = ()
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Axis:
    """A scale from `low` to `high`, what it measures, and places on it with their names."""

    name: str
    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    log: bool = False

    @classmethod
    def from_values(cls, name: str, values: Iterable[float], *, log: bool = False) -> Axis:
        """From the least value to the largest, with a few round numbers between."""
        found = [*values] or [1.0]
        low, high = min(found), max(found)
        if low == high:
            low, high = (low / 2, high * 2) if log else (low, high + 1)
        between = _decades(low, high) if log else _round(low, high)
        return cls(name, low, high, [(one, number(one)) for one in between], log)

    def part(self, value: float) -> float:
        """Where a value is, from 0 at the low end to 1; what is outside is at the end."""
        low, high, at = (math.log(max(one, self.low)) if self.log else one for one in (self.low, self.high, value))
        return min(1.0, max(0.0, (at - low) / (high - low)))


@dataclass(frozen=True)
class RowPanel:
    """Marks below one another, on one scale."""

    title: str
    marks: Sequence[Mark]
    across: Axis


@dataclass(frozen=True)
class Line:
    """Points from the left to the right, joined straight or by steps; the ground below may be filled."""

    name: str
    points: Sequence[tuple[float, float]]
    steps: bool = False
    filled: bool = False


@dataclass(frozen=True)
class Chart:
    """Lines on two scales; `up.name` is its title."""

    lines: Sequence[Line]
    across: Axis
    up: Axis

    @property
    def title(self) -> str:
        """What the lines are of."""
        return self.up.name


Panel = RowPanel | Chart


def line_names(panels: Sequence[Panel]) -> list[str]:
    """Of the lines that have one, for a legend."""
    charts = [one for one in panels if isinstance(one, Chart)]
    return list(dict.fromkeys(line.name for one in charts for line in one.lines if line.name))


def from_zero(name: str, marks: Iterable[Mark]) -> Axis:
    """The scale of bars: from 0, below which nothing true lies, to the end of all bars and whiskers."""
    ends = (max(0.0, end) for mark in marks for end in (mark.bar, mark.high) if end is not None)
    return Axis.from_values(name, [0.0, *ends])


def number(value: float) -> str:
    """A number in few characters."""
    return f"{value:,.0f}" if value == round(value) and abs(value) < 1e15 else f"{value:,g}"


def _round(low: float, high: float) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten."""
    size = (high - low) / MOST_TICKS
    power = 10.0 ** math.floor(math.log10(size))
    step = next(times * power for times in (1, 2, 5, 10) if times * power >= size * (1 - 1e-9))
    return [place * step for place in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _decades(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten."""
    powers = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
    return [times * 10.0**power for power in powers for times in (1, 2, 5) if low <= times * 10.0**power <= high]
