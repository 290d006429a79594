"""The plot of quantiles: a row of dots for each group, from its first quantile to its last."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpselect.release.plots import BAR, GREY, MOST_BARS, clean, new_figure, save, shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = tuple[str, Sequence[float]]
"""The name of a group, and its quantiles, ascending."""


def rows(drawn: Sequence[Row], asked: Sequence[float], caption: str, path: str | os.PathLike[str] | None) -> Figure:
    """Saved where a path is given. Of very many groups only the first are drawn, and the caption says so."""
    first = list(drawn)[:MOST_BARS]
    if len(first) < len(drawn):
        caption = f"the first {len(first)} of {len(drawn):,} groups; {caption}"
    figure = new_figure((7, 1.3 + 0.32 * max(len(first), 1)))
    axes = figure.add_subplot()
    for place, (_, values) in enumerate(first):
        if values:
            axes.plot([min(values), max(values)], [place, place], color=GREY, linewidth=1.2)
        axes.plot(list(values), [place] * len(values), "o", color=BAR, markersize=5)
    # Groups are names, not formulas: a dollar sign in one must not start mathematics.
    axes.set_yticks(range(len(first)), [shortened(name) for name, _ in first], parse_math=False)
    clean(axes)
    axes.set_ylim(max(len(first), 1) - 0.5, -0.5)
    axes.locator_params(axis="x", nbins=6, integer=False)
    axes.xaxis.set_major_formatter("{x:,g}")
    axes.set_xlabel(f"quantiles {', '.join(f'{q:g}' for q in asked)}", fontsize=9)
    axes.set_title(caption, fontsize=8, color=GREY, loc="left", parse_math=False)
    if path is not None:
        save(figure, Path(path))
    return figure
