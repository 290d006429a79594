"""The plots: noisy counts by rank, as horizontal bars; a forecast against epsilon; the spending of budgets."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dpselect.errors import OutputError
from dpselect.release.formatting import optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


BAR = "#4477aa"
GREY = "#555555"
WHISKER = "#1b1b1b"
LONGEST = 40  # characters of an item beside its bar
MOST_PANELS, MOST_IN_PANEL = 12, 10
MOST_BARS = 50  # a picture of more cannot be read, and thousands are too large to draw


@dataclass(frozen=True)
class Bar:
    """A name, its noisy count, and between which numbers the true one lies, where that is known."""

    label: str
    count: int | float
    low: int | float | None = None
    high: int | float | None = None


def bars(items: Sequence[Bar], caption: str, path: str | os.PathLike[str] | None, weight: str | None = None) -> Figure:
    """One bar per item, best on top, its interval as a whisker; saved where a path is given (its extension says how).

    Of very many items only the first are drawn, and the caption says so.
    """
    drawn = items[:MOST_BARS]
    if len(drawn) < len(items):
        caption = f"the first {len(drawn)} of {len(items):,} items; {caption}"
    figure = new_figure((7, 1.3 + 0.32 * max(len(drawn), 1)))
    axes = figure.add_subplot()
    if draw(axes, drawn):
        what = "users: noisy counts" if weight is None else f"{shortened(weight)}: noisy sums"
        said = f"{what}; the true ones lie within the whiskers 95 times of 100"
        axes.set_xlabel(said, fontsize=9, parse_math=False)
    axes.set_title(caption, fontsize=8, color=GREY, loc="left", parse_math=False)
    if path is not None:
        save(figure, Path(path))
    return figure


def draw(axes: Axes, drawn: Sequence[Bar]) -> bool:
    """The bars of one panel. Have they whiskers?"""
    places = range(len(drawn))
    axes.barh(places, [bar.count for bar in drawn], color=BAR, height=0.7)
    ends = [(i, bar.low, bar.high) for i, bar in enumerate(drawn) if bar.low is not None and bar.high is not None]
    for place, low, high in ends:
        axes.plot([low, high], [place, place], color=WHISKER, linewidth=1.2, marker="|", markersize=5)
    for place, bar in enumerate(drawn):
        right = max(bar.count, bar.high or 0, 0)
        axes.annotate(
            f"{bar.count:,}", (right, place), (4, 0), textcoords="offset points", va="center", fontsize=8, color=GREY
        )
    # Items are names, not formulas: a dollar sign in one must not start mathematics.
    names = [f"{rank}  {shortened(bar.label)}" for rank, bar in enumerate(drawn, 1)]
    axes.set_yticks(places, names, parse_math=False)
    clean(axes)
    return bool(ends)


def small_multiples(groups: Mapping[str, Sequence[Bar]], caption: str, path: str | os.PathLike[str] | None) -> Figure:
    """A small panel of bars for each group, on scales of their own; of very many groups or items only the first."""
    drawn = {name: list(items)[:MOST_IN_PANEL] for name, items in list(groups.items())[:MOST_PANELS]}
    if len(drawn) < len(groups):
        caption = f"the first {len(drawn)} of {len(groups):,} groups; {caption}"
    columns = min(3, max(1, len(drawn)))
    lines = max(1, -(-len(drawn) // columns))
    tallest = max(map(len, drawn.values()), default=1)
    figure = new_figure((4.2 * columns, 0.7 + lines * (0.7 + 0.26 * max(tallest, 1))))
    panels = figure.subplots(lines, columns, squeeze=False).flatten()
    for axes, (name, items) in zip(panels, drawn.items(), strict=False):
        draw(axes, items)
        axes.set_xlabel("")
        axes.set_title(shortened(name), fontsize=9, loc="left", parse_math=False)
    for axes in panels[len(drawn) :]:
        axes.set_visible(False)
    figure.suptitle(caption, fontsize=8, color=GREY, x=0.01, ha="left", parse_math=False)
    if path is not None:
        save(figure, Path(path))
    return figure


def spending(lines: Mapping[str, Sequence[tuple[int, float]]], path: Path) -> Figure:
    """The part of each budget that is used after each entry of a ledger."""
    figure = new_figure((7, 4))
    axes = figure.add_subplot()
    for name, points in lines.items():
        entries, used = zip(*points, strict=True)
        axes.step(entries, [100 * part for part in used], where="post", label=shortened(name))
    axes.set_xlabel("entry of the ledger", fontsize=9)
    axes.set_ylabel("percent of the budget used", fontsize=9)
    axes.set_ylim(0, 105)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    if lines:
        axes.legend(fontsize=8, frameon=False)
    save(figure, path)
    return figure


def new_figure(size: tuple[float, float]) -> Figure:
    """A figure that a notebook shows as the last line of a cell; pyplot does not know it, so it is shown once."""
    figure: Figure = optional("matplotlib.figure", "plots").Figure(figsize=size, layout="constrained")
    vars(figure)["_repr_png_"] = partial(png, figure)
    return figure


def png(figure: Figure) -> bytes:
    """What a notebook shows of a figure."""
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=100)
    return content.getvalue()


def clean(axes: Axes) -> None:
    """Nothing but the bars and one scale."""
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set_xlabel("users (noisy count)", fontsize=9)
    axes.tick_params(labelsize=9)
    axes.tick_params(axis="y", length=0)
    axes.locator_params(axis="x", nbins=6, integer=True)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def shortened(label: str) -> str:
    """A label that leaves room for its bar."""
    return label if len(label) <= LONGEST else label[: LONGEST - 1] + "…"


def save(figure: Figure, path: Path) -> None:
    """Write the picture, or say that it could not be written."""
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        known = ", ".join(sorted(figure.canvas.get_supported_filetypes()))
        why = error.strerror if isinstance(error, OSError) else f"its extension must be one of {known}"
        raise OutputError(f"the plot cannot be written to {path}: {why}") from None


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
        panel(axes, title, sorted({point[0] for points in lines.values() for point in points}))
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


def panel(axes: Axes, title: str, epsilons: Sequence[float]) -> None:
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
