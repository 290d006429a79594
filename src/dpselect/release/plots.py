"""The plots of counts: horizontal bars by rank, a panel for each group, upright bars in the order of a domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpselect.release.picture import (
    Place,
    Theme,
    clean,
    counted,
    finished,
    heading,
    new_figure,
    shortened,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MOST_PANELS, MOST_IN_PANEL = 12, 10
MOST_BARS = 50  # a picture of more cannot be read, and thousands are too large to draw
NAMED = 5  # bars that the words of a picture name
UPRIGHT = 100  # characters of all labels together that upright bars have room for
SURE = "95 times of 100"  # whiskers hold what they are for
BEYOND = 5  # points between a bar and its number


@dataclass(frozen=True)
class Bar:
    """A name, its noisy count, and between which numbers the true one lies, where that is known."""

    label: str
    count: int | float
    low: int | float | None = None
    high: int | float | None = None

    @property
    def ends(self) -> tuple[int | float, int | float] | None:
        """Of its whisker, where it has one."""
        return None if self.low is None or self.high is None else (self.low, self.high)


@dataclass(frozen=True)
class Words:
    """What is said around bars: what they count, whether their order is a ranking, and what is promised.

    Whiskers hold one by one, or all `together`.
    """

    unit: str
    score: str
    ranked: bool
    promise: str
    together: bool = False

    @property
    def counts(self) -> str:
        """What a bar is."""
        return f"{shortened(self.unit)}: noisy {self.score}s"

    def axis(self, drawn: Sequence[Bar]) -> str:
        """Beside the scale."""
        which = "all whiskers at once" if self.together else "each whisker"
        return f"{self.counts}; {which} {SURE}" if any(bar.ends for bar in drawn) else self.counts

    def alt(self, drawn: Sequence[Bar], among: int, order: str) -> str:
        """The same picture in words."""
        if not among:
            return "Nothing came back."
        told = [f"{shortened(bar.label)} {bar.count:,}{_between(bar)}" for bar in drawn[:NAMED]]
        last = f", and {among - len(told):,} more" if among > len(told) else ""
        if last and len(drawn) == among and self.ranked:
            last += f", the last {shortened(drawn[-1].label)} {drawn[-1].count:,}"
        return f"{order}: {', '.join(told)}{last}."


def _between(bar: Bar) -> str:
    return "" if bar.ends is None else f" ({bar.ends[0]:,} to {bar.ends[1]:,})"


# ---- one picture ------------------------------------------------------------------------------------------


def bars(items: Sequence[Bar], words: Words, path: Place | None, theme: Theme) -> Figure:
    """One bar per item, best on top, its interval as a whisker; saved where a path is given (its extension says how).

    Of very many items only the first are drawn, and the caption says so.
    """
    drawn = items[:MOST_BARS]
    figure = new_figure((7, 1.3 + 0.32 * max(len(drawn), 1)), theme)
    axes = figure.add_subplot()
    draw(axes, drawn, theme, ranked=words.ranked, lines=len(drawn))
    _captions(axes, drawn, len(items), words, theme)
    order = "Best first" if words.ranked else "In no order of rank"
    return finished(figure, _title(words, drawn), words.alt(drawn, len(items), order), path)


def upright(items: Sequence[Bar], words: Words, path: Place | None, theme: Theme) -> Figure:
    """One bar per item of a domain, from the left to the right in its own order; lying ones where names are long."""
    if len(items) > MOST_BARS or sum(len(bar.label) for bar in items) > UPRIGHT:
        return bars(items, words, path, theme)
    figure = new_figure((max(4.5, min(11, 1.4 + 0.55 * len(items))), 3.6), theme)
    axes = figure.add_subplot()
    places = range(len(items))
    axes.bar(places, [bar.count for bar in items], color=theme.bar, width=0.7)
    for place, bar in enumerate(items):
        if bar.ends is not None:
            axes.plot([place, place], bar.ends, color=theme.ink, linewidth=1.2, marker="_", markersize=5)
    axes.set_xticks(places, [bar.label for bar in items], parse_math=False)
    axes.tick_params(axis="x", length=0)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.locator_params(axis="y", nbins=6, integer=True)
    clean(axes, theme, along="y")
    _captions(axes, items, len(items), words, theme)
    return finished(figure, _title(words, items), words.alt(items, len(items), "In the domain's order"), path)


def small_multiples(groups: Mapping[str, Sequence[Bar]], words: Words, path: Place | None, theme: Theme) -> Figure:
    """A small panel of bars for each group, on scales of their own; of very many groups or items only the first."""
    drawn = {name: list(items)[:MOST_IN_PANEL] for name, items in list(groups.items())[:MOST_PANELS]}
    columns = min(3, max(1, len(drawn)))
    lines = max(1, -(-len(drawn) // columns))
    tallest = max(map(len, drawn.values()), default=1)
    figure = new_figure((4.2 * columns, 0.9 + lines * (0.7 + 0.26 * max(tallest, 1))), theme)
    panels = figure.subplots(lines, columns, squeeze=False).flatten()
    for axes, (name, items) in zip(panels, drawn.items(), strict=False):
        draw(axes, items, theme, ranked=words.ranked, lines=tallest)
        axes.set_title(shortened(name), fontsize=9, loc="left", color=theme.ink, weight="bold", parse_math=False)
    for axes in panels[len(drawn) :]:
        axes.set_visible(False)
    heading(figure, counted(len(drawn), len(groups), "groups") + words.promise, theme)
    every = [bar for items in drawn.values() for bar in items]
    said = f"{words.axis(every)}; each panel has a scale of its own"
    figure.supxlabel(said, fontsize=8, color=theme.grey, parse_math=False)
    told = " ".join(words.alt(items, len(groups[name]), shortened(name)) for name, items in drawn.items())
    more = f" {len(groups) - len(drawn):,} more groups are not drawn." if len(drawn) < len(groups) else ""
    return finished(figure, f"{_title(words, every)} in {len(drawn):,} panels, one a group", told + more, path)


def _title(words: Words, drawn: Sequence[Bar]) -> str:
    what = words.counts.replace(": noisy", " as noisy")
    return f"Bars of {what}" + (" with whiskers" if any(bar.ends for bar in drawn) else "")


def _captions(axes: Axes, drawn: Sequence[Bar], among: int, words: Words, theme: Theme) -> None:
    """What the bars are, below them; what is promised, above."""
    axes.set_xlabel(words.axis(drawn), fontsize=8, color=theme.grey, parse_math=False)
    above = counted(len(drawn), among, "items") + words.promise
    axes.set_title(above, fontsize=8, color=theme.grey, loc="left", parse_math=False)


# ---- its bars ---------------------------------------------------------------------------------------------


def draw(axes: Axes, drawn: Sequence[Bar], theme: Theme, *, ranked: bool, lines: int) -> None:
    """The bars of one panel that has room for so many, each with its name, whisker and number."""
    places = range(len(drawn))
    axes.barh(places, [bar.count for bar in drawn], color=theme.bar, height=0.7)
    for place, bar in enumerate(drawn):
        if bar.ends is not None:
            axes.plot(bar.ends, [place, place], color=theme.ink, linewidth=1.2, marker="|", markersize=5)
        right, away = (max(bar.count, bar.high or 0, 0), place), (BEYOND, 0)
        said: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": 8, "color": theme.grey}
        axes.annotate(f"{bar.count:,}", right, away, **said)
    # Items are names, not formulas: a dollar sign in one must not start mathematics.
    names = [
        f"{place}  {shortened(bar.label)}" if ranked else shortened(bar.label) for place, bar in enumerate(drawn, 1)
    ]
    axes.set_yticks(places, names, parse_math=False)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(max(lines, 1) - 0.5, -0.5)
    axes.margins(x=0.12)
    axes.locator_params(axis="x", nbins=6, integer=True)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    clean(axes, theme)
