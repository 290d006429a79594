"""The picture that a release has: bars of its counts, dots or steps of quantiles, ranks with their uncertainty."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from dpselect._ground.dataclass import dataclass
from dpselect.release import formatting
from dpselect.release.accuracy import TOO_MANY, format_at_most
from dpselect.release.panels import Axis, Chart, Line, Mark, RowPanel, from_zero, number
from dpselect.release.picture import Picture
from dpselect.release.scale import score_name, unit_of_counts
from dpselect.release.shown import ShownRelease
from dpselect.release.statement import NOT_SECURE, Kind

MIN_QUANTILES = 9  # quantiles that are drawn as a distribution; fewer are dots
MAX_BINS = 20
NAMED_QUANTILES = 5  # quantiles that the words of a picture name
MAX_DRAWN_ROWS, MAX_PANELS, MAX_ROWS_OF_PANEL = 50, 12, 10
NAMED_ROWS = 5  # rows that the words of a picture name
SURE = "with 95 % confidence"


def draw_release(release: ShownRelease) -> Picture | None:
    """Draw a release; None if it has neither numbers nor a bound that all its items share."""
    shares = release.privacy.parameters.get("q")
    if release.kind is Kind.VALUES and isinstance(shares, tuple):
        return _draw_quantiles(release, [float(q) for q in shares])
    if release.counted:
        return _draw_counts(release)
    return _draw_ranks(release) if "gap" in release.accuracy.numbers and release.items else None


def _make_picture(
    release: ShownRelease, title: str, panels: Sequence[RowPanel | Chart], lines_below: Sequence[str], alt: str
) -> Picture:
    """Return the picture with the lines that are below every picture."""
    warnings = [] if release.secure else [NOT_SECURE]
    if len(panels) > 1 and isinstance(panels[0], RowPanel):
        warnings.append("Each panel has a scale of its own.")
    return Picture(
        title, panels, [*warnings, *filter(None, lines_below), f"{release.privacy.promise}."], f"{title}. {alt}"
    )


# ---- items ------------------------------------------------------------------------------------------------


def _draw_counts(release: ShownRelease) -> Picture:
    """Draw bars from 0, with whiskers if there are intervals."""
    marks = [
        _make_mark(
            release,
            index,
            value_text="" if item.count is None else f"{item.count:,}",
            bar=item.count,
            low=item.low,
            high=item.high,
        )
        for index, item in enumerate(release.items)
    ]
    whiskers_text = "The whiskers contain all numbers" if release.of_domain else "Each whisker contains its number"
    line_below = f"{whiskers_text} without noise{' at once' if release.of_domain else ''}, {SURE}."
    whiskers = any(mark.high is not None for mark in marks)
    title = f"Noisy {score_name(release.privacy.parameters)}s: {unit_of_counts(release.privacy.parameters)}"
    return _draw_items(release, title, marks, None, line_below if whiskers else "")


def _draw_ranks(release: ShownRelease) -> Picture:
    """Draw a dot for each item, and how far above it any item it is compared with may be: all share that bound."""
    gap = float(Fraction(str(release.accuracy.numbers["gap"])))
    marks = [_make_mark(release, index, dots=(0.0,), high=gap) for index in range(len(release.items))]
    across = Axis("more than the item of the row", -gap / 2 or -1, gap or 1, [(0, "0"), (gap, number(gap))])
    title = f"{'Ranks' if release.ranked else 'Items'} and their uncertainty"
    drawn = _draw_items(release, title, marks, across, release.accuracy.opening_and_remainder[0])
    return replace(drawn, alt=f"{drawn.alt} {release.accuracy.opening_and_remainder[0]}")


def _make_mark(release: ShownRelease, index: int, **fields: object) -> Mark:
    """Return the mark of an item."""
    item = release.items[index]
    rank = f"{item.rank:,}" if release.ranked and item.rank is not None else ""
    return Mark(formatting.text(item.item), rank=rank, **fields)  # type: ignore[arg-type]


def _draw_items(
    release: ShownRelease, title: str, marks: Sequence[Mark], across: Axis | None, line_below: str
) -> Picture:
    """Draw a row for each item, in a panel for each group."""
    order = "In the domain's order" if release.of_domain else "Best first" if release.ranked else "In no order of rank"
    if release.groups is None:
        groups, max_rows = {"": list(marks)}, MAX_DRAWN_ROWS
    else:
        groups, max_rows = release.groups.panels(release.items, marks), MAX_ROWS_OF_PANEL
    drawn = {name: of_group[:max_rows] for name, of_group in list(groups.items())[:MAX_PANELS]}
    panels = [
        RowPanel(name, shown_marks, across or from_zero(unit_of_counts(release.privacy.parameters), shown_marks))
        for name, shown_marks in drawn.items()
    ]
    alt = " ".join(
        _describe_rows(_short(name) or order, shown_marks, len(groups[name])) for name, shown_marks in drawn.items()
    )
    if len(drawn) < len(groups):
        not_drawn = f"The first {len(drawn):,} of {len(groups):,} groups are drawn."
    else:
        largest_cut_group = max(
            (len(groups[name]) for name, shown_marks in drawn.items() if len(shown_marks) < len(groups[name])),
            default=0,
        )
        not_drawn = f"The first {max_rows:,} of {largest_cut_group:,} items are drawn." if largest_cut_group else ""
    empty = [RowPanel("", [], from_zero("", []))]
    return _make_picture(
        release, title, panels or empty, [line_below, not_drawn], f"{alt or 'Nothing came back.'} {not_drawn}".rstrip()
    )


def _describe_rows(order: str, marks: Sequence[Mark], total: int) -> str:
    """Describe some rows in words."""
    if not marks:
        return "Nothing came back."
    row_texts = [_describe_row(mark) for mark in marks[:NAMED_ROWS]]
    ending = f", and {total - len(row_texts):,} more" if total > len(row_texts) else ""
    if ending and len(marks) == total and marks[-1].rank:
        ending += f", the last {_describe_row(marks[-1], whisker=False)}"
    return f"{order}: {', '.join(row_texts)}{ending}."


def _describe_row(mark: Mark, *, whisker: bool = True) -> str:
    whisker_text = (
        f" ({number(mark.low)} to {number(mark.high)})" if mark.low is not None and mark.high is not None else ""
    )
    return f"{_short(mark.label)} {mark.value_text}".rstrip() + (whisker_text if whisker else "")


def _short(label: str) -> str:
    return formatting.brief(label)


# ---- quantiles --------------------------------------------------------------------------------------------


def _draw_quantiles(release: ShownRelease, shares: Sequence[float]) -> Picture:
    """Draw a row of dots for each group; for many quantiles, their distribution."""
    values = [float(Fraction(str(item.item))) for item in release.items]
    drawn = Distribution.from_quantiles((item.item for item in release.items), release.privacy.parameters)
    if release.groups is None and drawn is not None:
        return _draw_distribution(release, drawn)
    groups = {"": values} if release.groups is None else release.groups.panels(release.items, values)
    shown_groups = list(groups.items())[:MAX_DRAWN_ROWS] if values else []
    marks = [Mark(name, ", ".join(map(number, of_group)), dots=of_group) for name, of_group in shown_groups]
    quantile_names = f"quantile{'' if len(shares) == 1 else 's'} {', '.join(map(number, shares))}"
    bounds = release.privacy.parameters.get("bounds")
    ends = [float(Fraction(str(end))) for end in bounds] if isinstance(bounds, tuple) else values
    marks_text = " ".join(f"{_short(mark.label)}{': ' if mark.label else ''}{mark.value_text}." for mark in marks)
    not_drawn = (
        f"The first {len(shown_groups):,} of {len(groups):,} groups are drawn."
        if len(shown_groups) < len(groups) and shown_groups
        else ""
    )
    alt = f"Dots at the noisy {quantile_names}. {marks_text or 'Nothing came back.'} {not_drawn}".rstrip()
    return _make_picture(
        release,
        f"Noisy {quantile_names}",
        [RowPanel("", marks, Axis.from_values("value", ends))],
        [_describe_ranks(release), not_drawn],
        alt,
    )


def _describe_ranks(release: ShownRelease) -> str:
    """Describe how far values are from their ranks, in a line; of groups each has its own numbers."""
    numbers = release.accuracy.numbers
    too_many_below, too_many_above, users = (numbers.get(name) for name in (*TOO_MANY, "users"))
    if release.groups is not None or not (
        isinstance(too_many_below, int) and isinstance(too_many_above, int) and isinstance(users, int)
    ):
        return ""
    unit = unit_of_counts(release.privacy.parameters)
    subject = "a value" if len(release.items) > 1 else "it"
    return (
        f"Of about {max(0, users):,} {unit}, {SURE}, {format_at_most(too_many_below)} too many lie below {subject} and "
        f"{format_at_most(too_many_above)} above."
    )


def _draw_distribution(release: ShownRelease, drawn: Distribution) -> Picture:
    """Draw steps of the share of users up to each value, and the shares between round numbers."""
    bins = drawn.bins()
    steps = [(float(value), float(100 * share)) for value, share in zip(drawn.values, drawn.shares, strict=True)]
    bars = [(float(bin_.low), float(100 * bin_.share)) for bin_ in bins]
    bars.append((float(bins[-1].high), bars[-1][1]))
    across = Axis.from_values("value", [x for x, _ in bars])
    panels = [
        Chart([Line("", steps, steps=True)], across, Axis.from_values("% of users at or below", [0, 100])),
        Chart(
            [Line("", bars, steps=True, filled=True)],
            across,
            Axis.from_values("% of users within", [0, *(y for _, y in bars)]),
        ),
    ]
    left, right = percent(drawn.shares[0]), percent(1 - drawn.shares[-1])
    beyond = f"{left} of users lie below the first quantile and {right} above the last; neighbours are joined evenly."
    title = f"{len(drawn.values):,} noisy quantiles as a distribution"
    alt = f"Steps of the share of users up to each, and bars of shares. {drawn.words}"
    return _make_picture(release, title, panels, [_describe_ranks(release), beyond], alt)


@dataclass(frozen=True)
class Bin:
    """The share of users with a value from `low` to before `high`, about."""

    low: Fraction
    high: Fraction
    share: Fraction


@dataclass(frozen=True)
class Distribution:
    """Quantiles, ascending, and the shares of the users that are about at or below each of them."""

    values: Sequence[Fraction]
    shares: Sequence[Fraction]
    step: Fraction = Fraction(0)  # of the grid of values

    @classmethod
    def from_quantiles(cls, values: Iterable[object], parameters: Mapping[str, object]) -> Distribution | None:
        """Return the distribution of a release's items and its statement's parameters; None for few quantiles."""
        quantiles, shares = [Fraction(str(value)) for value in values], parameters.get("q")
        if not isinstance(shares, tuple) or not MIN_QUANTILES <= len(quantiles) == len(shares):
            return None
        return cls(quantiles, [Fraction(str(q)) for q in shares], Fraction(str(parameters.get("step", 0))))

    def bins(self, max_bins: int = MAX_BINS) -> list[Bin]:
        """Return equal bins between round numbers, from the first quantile to the last.

        What lies between two neighbouring quantiles is spread evenly over the points after the first up to the second;
        where both are the same value, it is there.
        """
        width = self._width(max_bins)
        first, last = (self.values[0] / width).__floor__(), (self.values[-1] / width).__floor__()
        bar_shares = [Fraction(0)] * (last - first + 1)
        for index in range(1, len(self.values)):
            low, high = (self.values[end] + self.step for end in (index - 1, index))
            mass = self.shares[index] - self.shares[index - 1]
            if low == high:
                bar_shares[(self.values[index] / width).__floor__() - first] += mass
                continue
            for bin_index in range((low / width).__floor__() - first, (high / width).__ceil__() - first):
                inside = min(high, width * (first + bin_index + 1)) - max(low, width * (first + bin_index))
                bar_shares[min(bin_index, len(bar_shares) - 1)] += mass * inside / (high - low)
        return [
            Bin(width * (first + bin_index), width * (first + bin_index + 1), share)
            for bin_index, share in enumerate(bar_shares)
        ]

    @property
    def words(self) -> str:
        """Some quantiles and the highest bar, in words."""
        last = len(self.values) - 1
        indexes = sorted({round(step * last / (NAMED_QUANTILES - 1)) for step in range(NAMED_QUANTILES)})
        quantile_texts = ", ".join(
            f"{percent(self.shares[index])} at {float(self.values[index]):,g}" for index in indexes
        )
        largest_bin = max(self.bins(), key=lambda bin_: bin_.share)
        low, high = float(largest_bin.low), float(largest_bin.high)
        return f"{quantile_texts}. Most, {percent(largest_bin.share)}, lie from {low:,g} to before {high:,g}."

    def _width(self, max_bins: int) -> Fraction:
        """Return a width of 1, 2 or 5 times a power of ten, a step at least, for no more than `max_bins` bins."""
        value_range = max(self.values[-1] - self.values[0], self.step) or Fraction(1)
        power = math.floor(math.log10(value_range)) - 3
        widths = (times * Fraction(f"1e{power + i}") for i in range(6) for times in (1, 2, 5))
        ends = self.values[0], self.values[-1]
        return next(
            width
            for width in widths
            if width >= self.step and (ends[1] / width).__floor__() - (ends[0] / width).__floor__() < max_bins
        )


def percent(share: Fraction) -> str:
    """Format a share for a person."""
    return f"{float(100 * share):.3g} %"
