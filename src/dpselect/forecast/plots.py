"""The plot of forecast: items, smallest likely count and what is lost, each against epsilon."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpselect.release.plots import GREY, new_figure, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Point = tuple[float, float, float, int | None]  # epsilon, items, error, smallest count
MARKS = "osD^v<>PX*"


def forecast(lines: Mapping[str, Sequence[Point]], caption: str, path: str | os.PathLike[str] | None) -> Figure:
    """Three panels that share epsilon, one line for each method; saved where a path is given."""
    figure = new_figure((11, 4.5))
    panels = figure.subplots(1, 3)
    for place, (name, points) in enumerate(lines.items()):
        epsilons, items, error, smallest = zip(*points, strict=True)
        look = {"color": f"C{place % 10}", "marker": MARKS[place % len(MARKS)], "markersize": 4, "linewidth": 1}
        look["linestyle"] = "-" if place < 10 else "--"
        panels[0].plot(epsilons, items, label=name, **look)
        panels[1].plot(epsilons, [float("nan") if s is None else s for s in smallest], **look)
        panels[2].plot(epsilons, [100 * e for e in error], **look)
    for axes, title in zip(panels, ("items returned", "smallest likely count (users)", "lost (%)"), strict=True):
        clean(axes, title, sorted({point[0] for points in lines.values() for point in points}))
    if any(point[3] for points in lines.values() for point in points):
        panels[1].set_yscale("log")
        panels[1].yaxis.set_major_formatter("{x:,.0f}")
    panels[0].set_ylim(bottom=0)
    panels[2].set_ylim(0, 100)
    if lines:
        figure.legend(loc="outside lower center", ncols=5, fontsize=8, frameon=False)
    figure.suptitle(caption, fontsize=8, color=GREY, x=0.01, ha="left", parse_math=False)
    if path is not None:
        save(figure, Path(path))
    return figure


def clean(axes: Axes, title: str, epsilons: Sequence[float]) -> None:
    """Nothing but the lines and two scales."""
    axes.set_xscale("log")
    axes.set_xticks(epsilons, [f"{epsilon:.3g}" for epsilon in epsilons])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("epsilon", fontsize=9)
    axes.set_title(title, fontsize=9, loc="left")
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
