"""Which plot a release has: bars of its counts, upright for a whole domain, a panel a group, quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dpselect.release import distribution_plots, formatting, plots, value_plots
from dpselect.release.accuracy import Accuracy
from dpselect.release.distribution import Distribution
from dpselect.release.groups import Groups
from dpselect.release.picture import Place, themed
from dpselect.release.statement import Item, Statement

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
    privacy: Statement,
    good: Accuracy,
    path: Place | None,
    theme: str,
) -> Figure:
    """The values of all quantiles, or of those of each group; of many the distribution."""
    drawn = Distribution.of((one.item for one in items), privacy.parameters) if groups is None else None
    if drawn is not None:
        gap = good.numbers.get("gap")
        off = gap if isinstance(gap, int) else None
        return distribution_plots.steps(drawn, off, privacy.promise, path, themed(theme))
    values = [float(Fraction(str(one.item))) for one in items]
    panels = {"": values} if groups is None else groups.panels(items, values)
    return value_plots.rows(list(panels.items()), asked, privacy.promise, path, themed(theme))
