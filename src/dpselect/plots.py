"""The plots: noisy counts by rank, as horizontal bars; the spending of budgets, entry by entry."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpselect.errors import OutputError
from dpselect.forms import optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BAR = "#4477aa"
GREY = "#555555"
LONGEST = 40  # characters of an item beside its bar


def bars(labels: Sequence[str], counts: Sequence[int], caption: str, path: str | os.PathLike[str] | None) -> Figure:
    """One bar per item, best on top; saved where a path is given (its extension names the format)."""
    figure: Figure = optional("matplotlib.figure", "plots").Figure(
        figsize=(7, 1.3 + 0.32 * max(len(labels), 1)), layout="constrained"
    )
    axes = figure.add_subplot()
    places = range(len(labels))
    drawn = axes.barh(places, counts, color=BAR, height=0.7)
    axes.bar_label(drawn, labels=[f"{count:,}" for count in counts], padding=3, fontsize=8, color=GREY)
    # Items are names, not formulas: a dollar sign in one must not start mathematics.
    names = [f"{rank}  {shortened(label)}" for rank, label in enumerate(labels, 1)]
    axes.set_yticks(places, names, parse_math=False)
    clean(axes)
    axes.set_title(caption, fontsize=8, color=GREY, loc="left", parse_math=False)
    if path is not None:
        save(figure, Path(path))
    return figure


def spending(lines: Mapping[str, Sequence[tuple[int, float, float]]], path: Path) -> Figure:
    """Epsilon used (full) and granted (dashed) after each entry of a ledger; one colour for each account."""
    figure: Figure = optional("matplotlib.figure", "plots").Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    for place, (name, points) in enumerate(lines.items()):
        entries, used, granted = zip(*points, strict=True)
        colour = f"C{place % 10}"
        axes.step(entries, used, where="post", color=colour, label=shortened(name))
        axes.step(entries, granted, where="post", color=colour, linestyle="--", linewidth=0.8)
    axes.set_xlabel("entry of the ledger", fontsize=9)
    axes.set_ylabel("epsilon used; granted (dashed)", fontsize=9)
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    if lines:
        axes.legend(fontsize=8, frameon=False)
    save(figure, path)
    return figure


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
