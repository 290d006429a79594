"""Picture: what an answer looks like, as values: rows of marks on one scale, or lines on two. `svg` and `axes` draw it.

A picture is made of what was released alone. Its words say what it shows to who cannot see it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpselect.errors import OutputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_TICKS = 5


@dataclass(frozen=True)
class Mark:
    """One row: a label, what is said of it, a bar from 0 or dots, and a whisker, which without a `low` has one end."""

    label: str = ""
    said: str = ""
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
    def of(cls, name: str, values: Iterable[float], *, log: bool = False) -> Axis:
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
class Rows:
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


Panel = Rows | Chart


@dataclass(frozen=True, repr=False)
class Picture:
    """Panels with a title, lines of text below, and the whole in words: `alt`.

    A notebook shows it in the colours of its page. A line of the same name has the same colour in every panel.
    """

    title: str
    panels: Sequence[Panel]
    caption: Sequence[str]
    alt: str

    @property
    def names(self) -> list[str]:
        """The lines that have a name, for a legend."""
        charts = [one for one in self.panels if isinstance(one, Chart)]
        return list(dict.fromkeys(line.name for one in charts for line in one.lines if line.name))

    def svg(self, theme: str = "auto") -> str:
        """The picture as SVG, which loads nothing.

        `theme` is light, dark, or auto: as the reader's system, or the page that the file is on, prefers.
        """
        from dpselect.release import svg

        return svg.file(self, theme)

    def save(self, path: str | os.PathLike[str], theme: str = "auto") -> None:
        """The SVG as a file, whose name must end in .svg."""
        from dpselect.release.saving import save

        if Path(path).suffix.lower() != ".svg":
            hint = "hint: for other kinds draw it by Matplotlib: plot(ax=axes)"
            raise OutputError(f"{os.fspath(path)} cannot be written: a picture's name must end in .svg\n{hint}")
        save(path, self.svg(theme))

    def on(self, ax: Axes | Iterable[Axes] | None) -> Picture:
        """Itself, drawn on Matplotlib's axes too where they are given: one, or as many as there are panels."""
        if ax is not None:
            from dpselect.release.axes import draw

            draw(self, ax)
        return self

    def __repr__(self) -> str:
        return self.alt

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        from dpselect.release import svg

        return svg.html(self)


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
