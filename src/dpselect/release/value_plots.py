"""The plot of quantiles: a row of dots for each group, from its first quantile to its last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpselect.release.picture import Place, Theme, clean, counted, finished, new_figure, shortened
from dpselect.release.plots import MOST_BARS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = tuple[str, Sequence[float]]
"""The name of a group, and its quantiles, ascending."""


def rows(drawn: Sequence[Row], asked: Sequence[float], promise: str, path: Place | None, theme: Theme) -> Figure:
    """Saved where a path is given. Of very many groups only the first are drawn, and the caption says so."""
    first = list(drawn)[:MOST_BARS]
    figure = new_figure((7, 1.3 + 0.32 * max(len(first), 1)), theme)
    axes = figure.add_subplot()
    for place, (_, values) in enumerate(first):
        if values:
            axes.plot([min(values), max(values)], [place, place], color=theme.grey, linewidth=1.2)
        axes.plot(list(values), [place] * len(values), "o", color=theme.bar, markersize=6)
        for value in values if len(first) == 1 else ():
            axes.annotate(f"{value:,g}", (value, place), (0, 8), textcoords="offset points", ha="center", fontsize=8,
                          color=theme.grey)  # fmt: skip
    # Groups are names, not formulas: a dollar sign in one must not start mathematics.
    axes.set_yticks(range(len(first)), [shortened(name) for name, _ in first], parse_math=False)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(max(len(first), 1) - 0.5, -0.5)
    axes.margins(x=0.12)
    axes.locator_params(axis="x", nbins=6)
    axes.xaxis.set_major_formatter("{x:,g}")
    clean(axes, theme)
    which = f"quantiles {_listed(asked)}" if len(asked) > 1 else f"quantile {_listed(asked)}"
    axes.set_xlabel(which, fontsize=8, color=theme.grey)
    above = counted(len(first), len(drawn), "groups") + promise
    axes.set_title(above, fontsize=8, color=theme.grey, loc="left", parse_math=False)
    return finished(figure, f"Dots at the noisy {which}", _alt(first, len(drawn)), path)


def _alt(drawn: Sequence[Row], among: int) -> str:
    """The same picture in words."""
    told = [
        f"{shortened(name)}: {_listed(values)}." if name else f"{_listed(values)}." for name, values in drawn if values
    ]
    more = [f"{among - len(drawn):,} more groups are not drawn."] if len(drawn) < among else []
    return " ".join([*told, *more]) or "Nothing came back."


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:,g}" for value in values)
