"""Which picture a release has: bars of its counts, dots or steps of quantiles, ranks with how sure they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dpselect.release import formatting
from dpselect.release.accuracy import TOO_MANY, format_at_most
from dpselect.release.brief import Answer
from dpselect.release.distribution import Distribution, percent
from dpselect.release.panels import Axis, Chart, Line, Mark, RowPanel, from_zero, number
from dpselect.release.picture import Picture
from dpselect.release.scale import score_name, unit_of_counts
from dpselect.release.statement import NOT_SECURE, Kind

if TYPE_CHECKING:
    pass

MOST_ROWS, MOST_PANELS, MOST_IN_PANEL = 50, 12, 10
NAMED = 5  # rows that the words of a picture name
SURE = "with 95 % confidence"


def draw_release(release: Answer) -> Picture | None:
    """Of a release; None where it has neither numbers nor a bound that all its items share."""
    asked = release.privacy.parameters.get("q")
    if release.kind is Kind.VALUES and isinstance(asked, tuple):
        return _quantiles(release, [float(q) for q in asked])
    if release.counted:
        return _counts(release)
    return _ranks(release) if "gap" in release.accuracy.numbers and release.items else None


def _ranked(release: Answer) -> bool:
    """Do the items come in an order that says something?"""
    return release.kind is not Kind.SET


def _of_domain(release: Answer) -> bool:
    """Are these the counts of a whole domain?"""
    return release.privacy.mechanism.startswith("Histogram")


def _whole(release: Answer, title: str, panels: Sequence[RowPanel | Chart], below: Sequence[str], alt: str) -> Picture:
    """The picture with what stands below all pictures."""
    first = [] if release.secure else [NOT_SECURE]
    if len(panels) > 1 and isinstance(panels[0], RowPanel):
        first.append("Each panel has a scale of its own.")
    return Picture(title, panels, [*first, *filter(None, below), f"{release.privacy.promise}."], f"{title}. {alt}")


# ---- items ------------------------------------------------------------------------------------------------


def _counts(release: Answer) -> Picture:
    """Bars from 0, with whiskers where there are intervals."""
    marks = [
        _mark(
            release,
            place,
            value_text="" if one.count is None else f"{one.count:,}",
            bar=one.count,
            low=one.low,
            high=one.high,
        )
        for place, one in enumerate(release.items)
    ]
    which = "The whiskers contain all numbers" if _of_domain(release) else "Each whisker contains its number"
    below = f"{which} without noise{' at once' if _of_domain(release) else ''}, {SURE}."
    whiskers = any(mark.high is not None for mark in marks)
    title = f"Noisy {score_name(release.privacy.parameters)}s: {unit_of_counts(release.privacy.parameters)}"
    return _items(release, title, marks, None, below if whiskers else "")


def _ranks(release: Answer) -> Picture:
    """A dot for each item, and how far above it whatever it is compared with may be at most: all share that bound."""
    gap = float(Fraction(str(release.accuracy.numbers["gap"])))
    marks = [_mark(release, place, dots=(0.0,), high=gap) for place in range(len(release.items))]
    across = Axis("more than the item of the row", -gap / 2 or -1, gap or 1, [(0, "0"), (gap, number(gap))])
    title = f"{'Ranks' if _ranked(release) else 'Items'} and their uncertainty"
    found = _items(release, title, marks, across, release.accuracy.opening_and_remainder[0])
    return replace(found, alt=f"{found.alt} {release.accuracy.opening_and_remainder[0]}")


def _mark(release: Answer, place: int, **shown: object) -> Mark:
    """The row of an item."""
    item = release.items[place]
    rank = f"{item.rank:,}" if _ranked(release) and item.rank is not None else ""
    return Mark(formatting.text(item.item), rank=rank, **shown)  # type: ignore[arg-type]


def _items(release: Answer, title: str, marks: Sequence[Mark], across: Axis | None, below: str) -> Picture:
    """A row for each item, in a panel for each group."""
    order = (
        "In the domain's order" if _of_domain(release) else "Best first" if _ranked(release) else "In no order of rank"
    )
    if release.groups is None:
        groups, most = {"": list(marks)}, MOST_ROWS
    else:
        groups, most = release.groups.panels(release.items, marks), MOST_IN_PANEL
    drawn = {name: of_group[:most] for name, of_group in list(groups.items())[:MOST_PANELS]}
    panels = [
        RowPanel(name, some, across or from_zero(unit_of_counts(release.privacy.parameters), some))
        for name, some in drawn.items()
    ]
    alt = " ".join(_said(_short(name) or order, some, len(groups[name])) for name, some in drawn.items())
    if len(drawn) < len(groups):
        more = f"The first {len(drawn):,} of {len(groups):,} groups are drawn."
    else:
        cut = max((len(groups[name]) for name, some in drawn.items() if len(some) < len(groups[name])), default=0)
        more = f"The first {most:,} of {cut:,} items are drawn." if cut else ""
    empty = [RowPanel("", [], from_zero("", []))]
    return _whole(release, title, panels or empty, [below, more], f"{alt or 'Nothing came back.'} {more}".rstrip())


def _said(order: str, marks: Sequence[Mark], among: int) -> str:
    """Some rows in words."""
    if not marks:
        return "Nothing came back."
    told = [_row(mark) for mark in marks[:NAMED]]
    last = f", and {among - len(told):,} more" if among > len(told) else ""
    if last and len(marks) == among and marks[-1].rank:
        last += f", the last {_row(marks[-1], whisker=False)}"
    return f"{order}: {', '.join(told)}{last}."


def _row(mark: Mark, *, whisker: bool = True) -> str:
    between = f" ({number(mark.low)} to {number(mark.high)})" if mark.low is not None and mark.high is not None else ""
    return f"{_short(mark.label)} {mark.value_text}".rstrip() + (between if whisker else "")


def _short(label: str) -> str:
    return formatting.brief(label)


# ---- quantiles --------------------------------------------------------------------------------------------


def _quantiles(release: Answer, asked: Sequence[float]) -> Picture:
    """A row of dots, one for each group; of many the distribution."""
    values = [float(Fraction(str(one.item))) for one in release.items]
    drawn = Distribution.from_quantiles((one.item for one in release.items), release.privacy.parameters)
    if release.groups is None and drawn is not None:
        return _distribution(release, drawn)
    groups = {"": values} if release.groups is None else release.groups.panels(release.items, values)
    some = list(groups.items())[:MOST_ROWS] if values else []
    marks = [Mark(name, ", ".join(map(number, of_group)), dots=of_group) for name, of_group in some]
    which = f"quantile{'' if len(asked) == 1 else 's'} {', '.join(map(number, asked))}"
    bounds = release.privacy.parameters.get("bounds")
    ends = [float(Fraction(str(end))) for end in bounds] if isinstance(bounds, tuple) else values
    told = " ".join(f"{_short(mark.label)}{': ' if mark.label else ''}{mark.value_text}." for mark in marks)
    more = f"The first {len(some):,} of {len(groups):,} groups are drawn." if len(some) < len(groups) and some else ""
    alt = f"Dots at the noisy {which}. {told or 'Nothing came back.'} {more}".rstrip()
    return _whole(
        release, f"Noisy {which}", [RowPanel("", marks, Axis.from_values("value", ends))], [_sure(release), more], alt
    )


def _sure(release: Answer) -> str:
    """How far values are from their ranks, in a line; of groups each has its own numbers."""
    numbers = release.accuracy.numbers
    below, above, users = (numbers.get(name) for name in (*TOO_MANY, "users"))
    if release.groups is not None or not (isinstance(below, int) and isinstance(above, int) and isinstance(users, int)):
        return ""
    unit = unit_of_counts(release.privacy.parameters)
    whom = "a value" if len(release.items) > 1 else "it"
    return f"Of about {max(0, users):,} {unit}, {SURE}, {format_at_most(below)} too many lie below {whom} and {format_at_most(above)} above."


def _distribution(release: Answer, drawn: Distribution) -> Picture:
    """Steps of the share of users up to each value, and the shares between round numbers."""
    bins = drawn.bins()
    steps = [(float(value), float(100 * share)) for value, share in zip(drawn.values, drawn.shares, strict=True)]
    held = [(float(one.low), float(100 * one.share)) for one in bins]
    held.append((float(bins[-1].high), held[-1][1]))
    across = Axis.from_values("value", [x for x, _ in held])
    panels = [
        Chart([Line("", steps, steps=True)], across, Axis.from_values("% of users at or below", [0, 100])),
        Chart(
            [Line("", held, steps=True, filled=True)],
            across,
            Axis.from_values("% of users within", [0, *(y for _, y in held)]),
        ),
    ]
    left, right = percent(drawn.shares[0]), percent(1 - drawn.shares[-1])
    beyond = f"{left} of users lie below the first quantile and {right} above the last; neighbours are joined evenly."
    title = f"{len(drawn.values):,} noisy quantiles as a distribution"
    alt = f"Steps of the share of users up to each, and bars of shares. {drawn.words}"
    return _whole(release, title, panels, [_sure(release), beyond], alt)
