"""The picture of a forecast: what each method may be expected to answer, against epsilon."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dpselect.release.formatting import price
from dpselect.release.picture import Axis, Chart, Line, Picture

if TYPE_CHECKING:
    from dpselect.forecast.forecast import ForecastRow

ITEMS, SMALLEST, LOST = "items returned", "smallest likely count (users)", "lost (%)"


def picture(rows: Sequence[ForecastRow], caption: str) -> Picture:
    """Three charts with a line for each method, and the ends of the lines in words."""
    lines = {line: [row for row in rows if row.line == line] for line in dict.fromkeys(row.line for row in rows)}
    epsilons = {float(row.epsilon): price(row.epsilon) for row in rows}
    ends = Axis.of("epsilon", epsilons, log=True)
    across = Axis("epsilon", ends.low, ends.high, list(epsilons.items()), log=True)

    def chart(name: str, value: Callable[[ForecastRow], float | None], *ends: float, log: bool = False) -> Chart:
        drawn = [
            Line(line, [(float(row.epsilon), found) for row in of_line if (found := value(row)) is not None])
            for line, of_line in lines.items()
        ]
        return Chart(drawn, across, Axis.of(name, [*ends, *(y for one in drawn for _, y in one.points)], log=log))

    panels = [
        chart(ITEMS, lambda row: row.items, 0),
        chart(SMALLEST, lambda row: row.smallest_count or None, log=True),
        chart(LOST, lambda row: 100 * row.error, 0, 100),
    ]
    told = " ".join(f"{line}: {_told(of_line)}." for line, of_line in lines.items())
    title = "What each method may be expected to answer, by epsilon"
    return Picture(title, panels, [caption], f"{title}: {ITEMS}, {SMALLEST}, {LOST}. {told}")


def _told(rows: Sequence[ForecastRow]) -> str:
    """The first row and the last."""
    ends = [rows[0], rows[-1]] if len(rows) > 1 else rows
    said = (f"{one.items:.1f} items with {100 * one.error:.0f} % lost at epsilon {price(one.epsilon)}" for one in ends)
    return ", ".join(said)
