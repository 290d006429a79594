"""The plot of many quantiles: steps of the share of users up to each value, and below them bars of shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpselect.release.distribution import Distribution, percent
from dpselect.release.picture import Place, Theme, clean, finished, heading, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def steps(drawn: Distribution, gap: int | None, promise: str, path: Place | None, theme: Theme) -> Figure:
    """Saved where a path is given. `gap` is by how many users a step may be off, where that is known."""
    figure = new_figure((7, 4.6), theme)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    _steps(above, drawn, theme)
    _bars(below, drawn, theme)
    off = "" if gap is None else f"; 95 times of 100, by counted values, no step is over {gap:,} users from its rank"
    heading(figure, promise + off, theme)
    title = f"Steps of the share of users up to each of {len(drawn.values):,} noisy quantiles, and bars of shares"
    return finished(figure, title, drawn.words, path)


def _steps(axes: Axes, drawn: Distribution, theme: Theme) -> None:
    shares = [float(100 * share) for share in drawn.shares]
    axes.step([float(value) for value in drawn.values], shares, where="post", color=theme.bar, linewidth=1.6)
    axes.set_ylim(0, 100)
    axes.set_ylabel("% of users at or below", fontsize=8, color=theme.grey)
    clean(axes, theme, along="y")


def _bars(axes: Axes, drawn: Distribution, theme: Theme) -> None:
    bins = drawn.bins()
    places, width = [float(one.low) for one in bins], float(bins[0].high - bins[0].low)
    axes.bar(places, [float(100 * one.share) for one in bins], 0.94 * width, align="edge", color=theme.bar)
    axes.set_ylabel("% of users within", fontsize=8, color=theme.grey)
    axes.locator_params(axis="x", nbins=6)
    axes.xaxis.set_major_formatter("{x:,g}")
    clean(axes, theme, along="y")
    axes.set_xlabel(beyond(drawn), fontsize=8, color=theme.grey)


def beyond(drawn: Distribution) -> str:
    """What no bar holds."""
    left, right = percent(drawn.shares[0]), percent(1 - drawn.shares[-1])
    return f"{left} of users lie below the first quantile and {right} above the last; neighbours are joined evenly"
