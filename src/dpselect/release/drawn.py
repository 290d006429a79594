"""Which plot a release has: bars of its counts, upright for a whole domain, a panel a group, dots of quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dpselect.release import formatting, plots, value_plots
from dpselect.release.groups import Groups
from dpselect.release.picture import Place, themed
from dpselect.release.statement import Item

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def of_counts(
    items: Sequence[Item], groups: Groups | None, words: plots.Words, path: Place | None, theme: str, *, upright: bool
) -> Figure:
    """The noisy counts of items, or of those of each group."""
    look = themed(theme)
    bars = [plots.Bar(formatting.text(one.item), one.count or 0, one.low, one.high) for one in items]
    if groups is not None:
        return plots.small_multiples(groups.panels(items, bars), words, path, look)
    return (plots.upright if upright else plots.bars)(bars, words, path, look)


def of_quantiles(
    items: Sequence[Item],
    groups: Groups | None,
    asked: Sequence[float],
    promise: str,
    path: Place | None,
    theme: str,
) -> Figure:
    """The values of all quantiles, or of those of each group."""
    values = [float(Fraction(str(one.item))) for one in items]
    panels = {"": values} if groups is None else groups.panels(items, values)
    return value_plots.rows(list(panels.items()), asked, promise, path, themed(theme))
