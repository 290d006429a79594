"""Forecast: the expected answers of each mechanism at each epsilon, in every form."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import check_keywords, float_rounded_up
from dpselect.release import formatting
from dpselect.release.formatting import Json, price
from dpselect.release.panels import Axis, Chart, Line, Mark
from dpselect.release.picture import Picture
from dpselect.release.table import Bars, Leaflet, Tabular, TextTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpselect.release.picture import Picture


FREE_SENTENCE = "A forecast: no data was read and no budget was spent."


@dataclass(frozen=True, kw_only=True)
class ForecastRow:
    """The expected answer of one mechanism at one epsilon.

    `items` is the mean number of items, `items_spread` the standard deviation from one answer to the next.
    `smallest_count` is how many users an item needs to be released with probability one half, None if no imagined item
    has so many. `error` is the part of the best possible answer that is lost, from 0 to 1, with its `error_spread`.
    `threshold` is what a count (of a top k) or a weight (of a union) must pass, if the mechanism has one. With 95 %
    confidence an item of a top k has at most `within` users fewer than the k-th largest count. By group there are also
    `max_groups_per_user` and the mean number of `groups` with an item, and the threshold is by how much an item of a
    group must exceed the one at rank k_bar + 1. Counts, of unions and by group, are within `width` with 95 %
    confidence.
    """

    method: str
    epsilon: Fraction
    items: float
    items_spread: float
    smallest_count: int | None
    error: float
    error_spread: float
    threshold: float | None = None
    within: int | None = None
    max_groups_per_user: int | None = None
    groups: float | None = None
    width: int | None = None

    @property
    def line(self) -> str:
        """The name of its line in a picture."""
        return self.method if self.max_groups_per_user is None else f"{self.method}, {self.max_groups_per_user}"

    def to_dict(self) -> dict[str, Json]:
        """Return the fields as JSON types."""
        return {name: formatting.plain(value) for name, value in vars(self).items()}


@check_keywords
@dataclass(frozen=True, kw_only=True, repr=False)
class Forecast(Tabular):
    """The expected answers of every mechanism at every epsilon. No data was read, and no budget was spent.

    It iterates over its rows. `assumed` has the parameters, and `sentences` explain how to read it.
    """

    question: str
    rows: tuple[ForecastRow, ...]
    assumed: Mapping[str, object]
    sentences: tuple[str, ...]

    def __iter__(self) -> Iterator[ForecastRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    # ---- other forms --------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Json]:
        """Return JSON types: question, data_read and spent (always nothing), assumed, rows, notes."""
        return {
            "question": self.question,
            "data_read": False,
            "spent": {"epsilon": 0, "delta": 0},
            "assumed": {name: formatting.plain(value) for name, value in self.assumed.items()},
            "rows": [row.to_dict() for row in self.rows],
            "notes": [FREE_SENTENCE, *self.sentences],
        }

    def to_json(self) -> str:
        """Return the same as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def to_columns(self) -> dict[str, list[object]]:
        """Return one column for each field of a row."""
        columns: dict[str, list[object]] = {
            name: [getattr(row, name) for row in self.rows] for name in ForecastRow.__dataclass_fields__
        }
        return {**columns, "epsilon": [float_rounded_up(row.epsilon) for row in self.rows]}

    def plot(self, *, ax: Axes | Iterable[Axes] | None = None) -> Picture:
        """Return three charts with a line for each method against epsilon; `Picture.save` writes them as SVG.

        Args:
            ax: Three Matplotlib axes to draw on too.
        """
        lines: dict[str, list[Point]] = {}
        for row in self.rows:
            lines.setdefault(row.line, []).append(Point(row.epsilon, row.items, row.error, row.smallest_count))
        return draw_picture(lines, FREE_SENTENCE).on(ax)

    # ---- for people ---------------------------------------------------------------------------------------

    def __str__(self) -> str:
        return self._leaflet().text()

    def __repr__(self) -> str:
        return str(self)  # an interactive Python shows the repr of a result

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        from dpselect.release import notebook

        return notebook.html(self._leaflet(), None)

    def _leaflet(self) -> Leaflet:
        ranges = [(max(0.0, r.items - r.items_spread), r.items + r.items_spread) for r in self.rows]
        marks = [Mark(bar=r.items, low=low, high=high) for r, (low, high) in zip(self.rows, ranges, strict=True)]
        bars = Bars("items", marks)
        return Leaflet(
            TextTable(self._table_columns(), ("method",), bars=bars),
            (),
            self.sentences,
            how_title="",
            headline=FREE_SENTENCE,
        )

    def _table_columns(self) -> dict[str, list[object]]:
        """Return the columns of the table, without those that have no value."""
        columns: dict[str, list[object]] = {
            "method": [r.method for r in self.rows],
            "epsilon": [formatting.price(r.epsilon) for r in self.rows],
            "items": [f"{r.items:,.1f} ± {r.items_spread:.1f}" for r in self.rows],
            "smallest count": ["-" if r.smallest_count is None else r.smallest_count for r in self.rows],
            "lost": [f"{100 * r.error:.1f} ± {100 * r.error_spread:.1f} %" for r in self.rows],
        }
        if all(r.groups is not None for r in self.rows):  # groups have no common smallest count
            del columns["smallest count"]
        for name in ("threshold", "within", "max_groups_per_user", "groups", "width"):
            values = [getattr(r, name) for r in self.rows]
            if any(value is not None for value in values):
                columns[name.replace("_", " ")] = ["" if value is None else f"{value:,.4g}" for value in values]
        return columns


ITEMS_AXIS, SMALLEST_AXIS, _LOST_AXIS = "items returned", "smallest likely count (users)", "lost (%)"


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
    axis_range = Axis.from_values("epsilon", epsilons, log=True)
    x_axis = Axis("epsilon", axis_range.low, axis_range.high, list(epsilons.items()), log=True)

    def chart(name: str, value: Callable[[Point], float | None], *fixed_values: float, log: bool = False) -> Chart:
        chart_lines = [
            Line(name_of_line, [(float(point.epsilon), y) for point in points if (y := value(point)) is not None])
            for name_of_line, points in lines.items()
        ]
        return Chart(
            chart_lines,
            x_axis,
            Axis.from_values(name, [*fixed_values, *(y for line in chart_lines for _, y in line.points)], log=log),
        )

    panels = [
        chart(ITEMS_AXIS, lambda point: point.items, 0),
        chart(SMALLEST_AXIS, lambda point: point.smallest or None, log=True),
        chart(_LOST_AXIS, lambda point: 100 * point.error, 0, 100),
    ]
    line_ends = " ".join(f"{line}: {_describe_ends(points)}." for line, points in lines.items())
    title = "What each method may be expected to answer, by epsilon"
    return Picture(title, panels, [caption], f"{title}: {ITEMS_AXIS}, {SMALLEST_AXIS}, {_LOST_AXIS}. {line_ends}")


def _describe_ends(points: Sequence[Point]) -> str:
    """Describe the first point and the last."""
    ends = [points[0], points[-1]] if len(points) > 1 else points
    sentences = (
        f"{point.items:.1f} items with {100 * point.error:.0f} % lost at epsilon {price(point.epsilon)}"
        for point in ends
    )
    return ", ".join(sentences)
