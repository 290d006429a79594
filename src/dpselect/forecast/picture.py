"""The picture of a forecast: what each method may be expected to answer, against epsilon."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpselect.release.formatting import price
from dpselect.release.panels import Axis, Chart, Line
from dpselect.release.picture import Picture

ITEMS, SMALLEST, LOST = "items returned", "smallest likely count (users)", "lost (%)"


@dataclass(frozen=True)
class Point:
    """What is expected of one method at one epsilon."""

    epsilon: Fraction
    items: float
    error: float
    smallest: int | None


def picture(lines: Mapping[str, Sequence[Point]], caption: str) -> Picture:
    """Three charts with a line for each method, and the ends of the lines in words."""
    epsilons = {float(one.epsilon): price(one.epsilon) for of_line in lines.values() for one in of_line}
    ends = Axis.from_values("epsilon", epsilons, log=True)
    across = Axis("epsilon", ends.low, ends.high, list(epsilons.items()), log=True)

    def chart(name: str, value: Callable[[Point], float | None], *ends: float, log: bool = False) -> Chart:
        drawn = [
            Line(line, [(float(one.epsilon), found) for one in of_line if (found := value(one)) is not None])
            for line, of_line in lines.items()
        ]
        return Chart(
            drawn, across, Axis.from_values(name, [*ends, *(y for one in drawn for _, y in one.points)], log=log)
        )

    panels = [
        chart(ITEMS, lambda one: one.items, 0),
        chart(SMALLEST, lambda one: one.smallest or None, log=True),
        chart(LOST, lambda one: 100 * one.error, 0, 100),
    ]
    told = " ".join(f"{line}: {_told(of_line)}." for line, of_line in lines.items())
    title = "What each method may be expected to answer, by epsilon"
    return Picture(title, panels, [caption], f"{title}: {ITEMS}, {SMALLEST}, {LOST}. {told}")


def _told(points: Sequence[Point]) -> str:
    """The first point and the last."""
    ends = [points[0], points[-1]] if len(points) > 1 else points
    said = (f"{one.items:.1f} items with {100 * one.error:.0f} % lost at epsilon {price(one.epsilon)}" for one in ends)
    return ", ".join(said)
