"""The picture of a forecast: the expected answers of each method, against epsilon."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpselect.release.formatting import price
from dpselect.release.panels import Axis, Chart, Line
from dpselect.release.picture import Picture

ITEMS, SMALLEST, _LOST_SHARE = "items returned", "smallest likely count (users)", "lost (%)"


@dataclass(frozen=True)
class Point:
    """The expected answer of one method at one epsilon."""

    epsilon: Fraction
    items: float
    error: float
    smallest: int | None


def draw_picture(lines: Mapping[str, Sequence[Point]], caption: str) -> Picture:
    """Draw three charts with a line for each method, and put the ends of the lines into words."""
    epsilons = {float(point.epsilon): price(point.epsilon) for points in lines.values() for point in points}
    axis_range = Axis.of("epsilon", epsilons, log=True)
    x_axis = Axis("epsilon", axis_range.low, axis_range.high, list(epsilons.items()), log=True)

    def chart(name: str, value: Callable[[Point], float | None], *fixed_values: float, log: bool = False) -> Chart:
        chart_lines = [
            Line(name_of_line, [(float(point.epsilon), y) for point in points if (y := value(point)) is not None])
            for name_of_line, points in lines.items()
        ]
        return Chart(
            chart_lines,
            x_axis,
            Axis.of(name, [*fixed_values, *(y for line in chart_lines for _, y in line.points)], log=log),
        )

    panels = [
        chart(ITEMS, lambda point: point.items, 0),
        chart(SMALLEST, lambda point: point.smallest or None, log=True),
        chart(_LOST_SHARE, lambda point: 100 * point.error, 0, 100),
    ]
    line_ends = " ".join(f"{line}: {_describe_ends(points)}." for line, points in lines.items())
    title = "What each method may be expected to answer, by epsilon"
    return Picture(title, panels, [caption], f"{title}: {ITEMS}, {SMALLEST}, {_LOST_SHARE}. {line_ends}")


def _describe_ends(points: Sequence[Point]) -> str:
    """Describe the first point and the last."""
    ends = [points[0], points[-1]] if len(points) > 1 else points
    sentences = (
        f"{point.items:.1f} items with {100 * point.error:.0f} % lost at epsilon {price(point.epsilon)}"
        for point in ends
    )
    return ", ".join(sentences)
