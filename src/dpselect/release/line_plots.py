"""The plots of lines: a forecast against epsilon, and the spending of budgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpselect.release.formatting import optional
from dpselect.release.picture import Place, Theme, clean, finished, heading, new_figure, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Point = tuple[float, float, float, int | None]  # epsilon, items, error, smallest count
MARKS, DASHES = "osD^v<>PX*", ("-", "--", ":")
TITLES = ("items returned", "smallest likely count (users)", "lost (%)")


def _look(place: int, theme: Theme) -> dict[str, Any]:
    """The colour and the dash of the line at this place."""
    colours = theme.lines
    return {
        "color": colours[place % len(colours)],
        "linestyle": DASHES[place // len(colours) % len(DASHES)],
        "linewidth": 1.4,
    }


# ---- a forecast -------------------------------------------------------------------------------------------


def forecast(lines: Mapping[str, Sequence[Point]], caption: str, path: Place | None, theme: Theme) -> Figure:
    """Three panels that share epsilon, one line for each method; saved where a path is given."""
    figure = new_figure((11, 4.5), theme)
    panels = figure.subplots(1, 3)
    for place, (name, points) in enumerate(lines.items()):
        epsilons, items, error, smallest = zip(*points, strict=True)
        look = {**_look(place, theme), "marker": MARKS[place % len(MARKS)], "markersize": 4}
        panels[0].plot(epsilons, items, label=name, **look)
        panels[1].plot(epsilons, [float("nan") if s is None else s for s in smallest], **look)
        panels[2].plot(epsilons, [100 * e for e in error], **look)
    for axes, title in zip(panels, TITLES, strict=True):
        panel(axes, title, sorted({point[0] for points in lines.values() for point in points}), theme)
    if any(point[3] for points in lines.values() for point in points):
        panels[1].set_yscale("log", subs=[])
        panels[1].yaxis.set_major_locator(optional("matplotlib.ticker", "plots").LogLocator(subs=(1, 2, 5)))
        panels[1].yaxis.set_major_formatter("{x:,.0f}")
    panels[0].set_ylim(bottom=0)
    panels[2].set_ylim(0, 100)
    if lines:
        figure.legend(loc="outside lower center", ncols=5, fontsize=8, frameon=False, labelcolor=theme.ink)
    heading(figure, caption, theme)
    return finished(figure, "Lines of what each method may be expected to answer, by epsilon", _alt(lines), path)


def _alt(lines: Mapping[str, Sequence[Point]]) -> str:
    """The first and the last point of each line in words."""
    told = []
    for name, points in lines.items():
        ends = [points[0], points[-1]] if len(points) > 1 else [points[0]]
        said = ", ".join(f"{p[1]:.1f} items with {100 * p[2]:.0f} % lost at epsilon {p[0]:.3g}" for p in ends)
        told.append(f"{name}: {said}.")
    return f"{caption_of(lines)} {' '.join(told)}"


def caption_of(lines: Mapping[str, Sequence[Point]]) -> str:
    """How many lines, in which panels."""
    return f"{len(lines)} line{'' if len(lines) == 1 else 's'} in each of three panels: {', '.join(TITLES)}."


def panel(axes: Axes, title: str, epsilons: Sequence[float], theme: Theme) -> None:
    """Nothing but the lines and two scales."""
    axes.set_xscale("log")
    axes.set_xticks(epsilons, [f"{epsilon:.3g}" for epsilon in epsilons])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("epsilon", fontsize=9, color=theme.ink)
    axes.set_title(title, fontsize=9, loc="left", color=theme.ink)
    clean(axes, theme, along="y")


# ---- budgets ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spent:
    """After an entry of a ledger: its number, its day, the part of a budget that is used."""

    entry: int
    day: str
    part: float


def spending(lines: Mapping[str, Sequence[Spent]], path: Place | None, theme: Theme) -> Figure:
    """The part of each budget that is used after each entry of a ledger."""
    figure = new_figure((7, 4), theme)
    axes = figure.add_subplot()
    for place, (name, points) in enumerate(lines.items()):
        used = [100 * point.part for point in points]
        marker = "o" if len(points) == 1 else ""
        at = [point.entry for point in points]
        axes.step(at, used, where="post", label=shortened(name), marker=marker, **_look(place, theme))
    days = sorted({point.day for points in lines.values() for point in points})
    when = f", from {days[0]} to {days[-1]}" if len(days) > 1 else f", of {days[0]}" if days else ""
    axes.set_xlabel(f"entry of the ledger{when}", fontsize=9, color=theme.ink)
    axes.set_ylabel("percent of the budget used", fontsize=9, color=theme.ink)
    axes.set_ylim(0, 105)
    axes.locator_params(axis="x", integer=True)
    clean(axes, theme, along="y")
    if lines:
        # Analysts and data have names, not formulas: a dollar sign in one must not start mathematics.
        for text in axes.legend(fontsize=8, frameon=False, labelcolor=theme.ink).get_texts():
            text.set_parse_math(False)
    told = " ".join(f"{name}: {100 * points[-1].part:.0f} % used." for name, points in lines.items() if points)
    return finished(figure, f"Steps of how much of each budget is used{when}", told or "Nothing was spent.", path)
