"""Panels: the look of an answer as values: rows of marks on one scale, or lines on two."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from dpselect._ground.dataclass import dataclass

MAX_TICKS = 5


@dataclass(frozen=True)
class Mark:
    """A row: a label, its value in words, a bar from 0 or dots, and a whisker, which without a `low` has one end."""

    label: str = ""
    value_text: str = ""
    rank: str = ""
    bar: float | None = None
    dots: Sequence[float] = ()
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Axis:
    """A scale from `low` to `high`, the name of its quantity, and ticks with their texts."""

    name: str
    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    log: bool = False

    @classmethod
    def from_values(cls, name: str, values: Iterable[float], *, log: bool = False) -> Axis:
        """Return the scale from the least value to the largest, with a few round numbers between."""
        numbers = [*values] or [1.0]
        low, high = min(numbers), max(numbers)
        if low == high:
            low, high = (low / 2, high * 2) if log else (low, high + 1)
        ticks = _decade_ticks(low, high) if log else _round_ticks(low, high)
        return cls(name, low, high, [(tick, number(tick)) for tick in ticks], log)

    def part(self, value: float) -> float:
        """Return the place of a value, from 0 at the low end to 1; a value outside is at the end."""
        low, high, scaled_value = (
            math.log(max(number, self.low)) if self.log else number for number in (self.low, self.high, value)
        )
        return min(1.0, max(0.0, (scaled_value - low) / (high - low)))


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
        """Name of what the lines show."""
        return self.up.name


Panel = RowPanel | Chart


def line_names(panels: Sequence[Panel]) -> list[str]:
    """Return the names of lines that have one, for a legend."""
    charts = [panel for panel in panels if isinstance(panel, Chart)]
    return list(dict.fromkeys(line.name for chart in charts for line in chart.lines if line.name))


def from_zero(name: str, marks: Iterable[Mark]) -> Axis:
    """Return the scale of bars: from 0, below which nothing true is, to the end of all bars and whiskers."""
    ends = (max(0.0, end) for mark in marks for end in (mark.bar, mark.high) if end is not None)
    return Axis.from_values(name, [0.0, *ends])


def number(value: float) -> str:
    """Format a number in few characters."""
    return f"{value:,.0f}" if value == round(value) and abs(value) < 1e15 else f"{value:,g}"


def _round_ticks(low: float, high: float) -> list[float]:
    """Return multiples of 1, 2 or 5 times a power of ten."""
    rough_step = (high - low) / MAX_TICKS
    power = 10.0 ** math.floor(math.log10(rough_step))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough_step * (1 - 1e-9))
    return [multiple * step for multiple in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _decade_ticks(low: float, high: float) -> list[float]:
    """Return 1, 2 and 5 times powers of ten."""
    powers = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
    return [factor * 10.0**power for power in powers for factor in (1, 2, 5) if low <= factor * 10.0**power <= high]
