"""Pictures of answers as SVG: bars with whiskers, values on a line, a panel for each group.

Names stand above their bars, so that a picture can be read on a telephone. Colours are attributes that a page's style
may replace; as a file of its own a picture has a ground of its own, so it can be read on light and on dark.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from dpselect.errors import ParameterError
from dpselect.gateway import distribution_pictures
from dpselect.gateway.shapes import BAR, INK, LINE, TOP, WIDTH, Drawing, n, shortened, text
from dpselect.release import formatting
from dpselect.release.distribution import Distribution
from dpselect.release.statement import Kind

if TYPE_CHECKING:
    from dpselect.release.release import Release

WIDE, ROW, PAPER = 460, 36, "#ffffff"  # in a file; on a page it is WIDTH
LETTER = 7.2  # units that a letter takes at most, about
MOST_BARS, MOST_PANELS, MOST_IN_PANEL = 50, 24, 10
Number = int | float


@dataclass(frozen=True)
class Bar:
    """A name, its number, and between which numbers the true one lies, where that is known."""

    label: str
    value: Number
    low: Number | None = None
    high: Number | None = None


# ---- what is drawn ----------------------------------------------------------------------------------------


def drawings(release: Release, wide: int = WIDTH) -> list[Drawing]:
    """The pictures of an answer: one, or one for each group; none where it holds no numbers."""
    if not release.items:
        return []
    if release.kind is Kind.VALUES:
        return [of_values(release, wide)]
    if not release.counted:
        return []
    unit = release.unit
    found = [Bar(formatting.text(one.item), one.count or 0, one.low, one.high) for one in release.items]
    if release.groups is None:
        return [bars(found[:MOST_BARS], "", unit, ranked=release.ranked, among=len(found), wide=wide)]
    panels = release.groups.panels(release.items, found)
    return [
        bars(of_group[:MOST_IN_PANEL], name, unit, ranked=release.ranked, among=len(of_group), wide=wide)
        for name, of_group in list(panels.items())[:MOST_PANELS]
    ]


def bars(found: Sequence[Bar], title: str, unit: str, *, ranked: bool, among: int, wide: int = WIDTH) -> Drawing:
    """One bar for each item from the best on; whiskers say between which numbers the one without noise lies."""
    most = max((max(bar.value, bar.high or 0) for bar in found), default=0) or 1
    shapes = "".join(
        _bar(bar, f"{place}  " if ranked else "", TOP + ROW * (place - 1), most, wide)
        for place, bar in enumerate(found, 1)
    )
    first = found[0]
    finding = f"{first.label} has about {first.value:,} {unit}"
    if len(found) > 1:
        finding += f", {found[-1].label} about {found[-1].value:,}"
    if len(found) < among:
        finding += f"; the first {len(found):,} of {among:,} are drawn"
    whiskers = any(bar.low is not None for bar in found)
    finding += f". Each whisker holds its number of {unit} 95 times of 100." if whiskers else "."
    return Drawing(title or f"Noisy numbers of {unit}", finding, shapes, TOP + ROW * len(found), wide)


def _bar(bar: Bar, rank: str, top: float, most: Number, wide: int) -> str:
    """A name and its number, below them the bar."""
    said, scale = f"{bar.value:,}", wide / most
    name = shortened(rank + bar.label, int((wide - LETTER * len(said) - 12) / LETTER))
    long, middle = max(0.0, bar.value * scale), top + 23
    found = text(0, top + 13, name) + text(wide, top + 13, said, "end")
    found += f'<rect class="bar" x="0" y="{top + 18:g}" width="{n(long)}" height="10" rx="2" fill="{BAR}"/>'
    if bar.low is not None and bar.high is not None:
        low, high = (n(min(max(0.0, end * scale), wide - 0.75)) for end in (bar.low, bar.high))
        path = f"M{low} {middle}H{high}M{low} {middle - 5:g}v10M{high} {middle - 5:g}v10"
        found += f'<path class="whisker" d="{path}" fill="none" stroke="{INK}" stroke-width="1.5"/>'
    return found


def of_values(release: Release, wide: int = WIDTH) -> Drawing:
    """Quantiles as dots on one line, or on a line for each group, all on one scale."""
    values = [_number(item.item) for item in release.items]
    drawn_as_one = Distribution.of(values, release.privacy.parameters) if release.groups is None else None
    if drawn_as_one is not None:
        return distribution_pictures.steps(drawn_as_one, wide)
    panels: Mapping[str, Sequence[float]] = (
        {"": values} if release.groups is None else release.groups.panels(release.items, values)
    )
    drawn = dict(list(panels.items())[:MOST_BARS])
    low, high = _ends(release, values)
    scale = (wide - 12) / ((high - low) or 1)
    shapes, top = "", TOP
    for name, of_group in drawn.items():
        shapes += _dots(name, of_group, top, wide, lambda value: 6 + (value - low) * scale)
        top += ROW
    shapes += text(0, top + 14, f"{low:,g}") + text(wide, top + 14, f"{high:,g}", "end")
    said = "; ".join(f"{name}{': ' if name else ''}{_listed(of_group)}" for name, of_group in drawn.items())
    more = f"; the first {len(drawn):,} of {len(panels):,} groups are drawn" if len(drawn) < len(panels) else ""
    asked = release.privacy.parameters.get("q")
    which = f"Quantiles {_listed(map(float, asked))}. " if isinstance(asked, tuple) and len(asked) > 1 else ""
    return Drawing("Values", f"{which}{said}{more}.", shapes, top + 22, wide)


def _dots(name: str, values: Sequence[float], top: int, wide: int, at: Callable[[float], float]) -> str:
    said = _listed(values)
    room = int((wide - LETTER * len(said) - 12) / LETTER)
    found = text(0, top + 13, shortened(name, room)) + text(wide, top + 13, said, "end")
    found += f'<path class="rule" d="M0 {top + 24}H{wide}" stroke="{LINE}" stroke-width="1.5"/>'
    for value in values:
        place = n(at(value))
        found += f'<circle class="bar" cx="{place}" cy="{top + 24}" r="5" fill="{BAR}"/>'
    return found


def _listed(values: Iterable[float]) -> str:
    return ", ".join(f"{value:,g}" for value in values)


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else float(str(value))


def _ends(release: Release, values: Sequence[float]) -> tuple[float, float]:
    """The ends of the scale: the bounds that the question had, whatever came back."""
    bounds = release.privacy.parameters.get("bounds")
    if isinstance(bounds, tuple) and len(bounds) == 2:
        return _number(bounds[0]), _number(bounds[1])
    return min(values), max(values)


def left(points: Sequence[tuple[str, float]]) -> Drawing:
    """The part of a budget that is left after each entry: steps from the first time to the last."""
    high, side = 150, 44
    step = (WIDTH - side - 6) / max(1, len(points) - 1)

    def y(part: float) -> str:
        return n(TOP + high * (1 - min(1.0, max(0.0, part))))

    shapes = "".join(
        f'<path class="rule" d="M{side} {y(part)}H{WIDTH}" stroke="{LINE}"/>'
        + text(side - 6, float(y(part)) + 4, _part(part), "end")
        for part in (0, 0.25, 0.5, 0.75, 1)
    )
    path = f"M{side} {y(points[0][1])}" + "".join(
        f"H{n(side + place * step)}V{y(part)}" for place, (_, part) in enumerate(points)
    )
    shapes += f'<path class="path" d="{path}H{WIDTH}" fill="none" stroke="{BAR}" stroke-width="2.5"/>'
    first, last = (point[0][:16].replace("T", " ") for point in (points[0], points[-1]))
    shapes += text(side, TOP + high + 20, first) + text(WIDTH, TOP + high + 20, last, "end")
    finding = f"From {first} to {last} what is left went from {_part(points[0][1])} to {_part(points[-1][1])}."
    return Drawing("What is left of the budget", finding, shapes, TOP + high + 28)


# ---- how it is framed -------------------------------------------------------------------------------------


def inline(drawing: Drawing, name: str) -> str:
    """For a page, whose style gives the colours; `name` tells its ids from those of other pictures there."""
    size = f'viewBox="0 0 {drawing.width} {drawing.height}"'
    return f'<svg class="picture" {size} role="img" {_said(drawing, name)}{drawing.shapes}</svg>'


def file(release: Release, title: str) -> str:
    """All pictures of an answer as one file. ParameterError where it holds no numbers."""
    found = drawings(release, WIDE)
    if not found:
        hint = "ask for numbers, or take the answer as a table"
        raise ParameterError("format", "be csv, json, parquet or html for an answer without numbers", "svg", hint)
    columns, each = min(3, len(found)), found[0].width + 30
    lines = [found[start : start + columns] for start in range(0, len(found), columns)]
    shapes, top = text(20, 30, shortened(title, int(columns * each / 9)), size=16), 44
    several = len(found) > 1
    for line in lines:
        for place, one in enumerate(line):
            head = text(0, 12, shortened(one.title, int(each / 8)), weight="bold") if several else ""
            moved = f"translate({20 + place * each} {top})"
            lower = f'<g transform="translate(0 {18 if several else 0})">{one.shapes}</g>'
            shapes += f'<g transform="{moved}">{head}{lower}</g>'
        top += max(one.height for one in line) + (44 if several else 12)
    caption = "Noisy numbers" if release.kind is not Kind.VALUES else "Noisy values"
    shapes += text(20, top + 8, shortened(f"{caption}; {release.privacy.promise}", int(columns * each / 6.5)), size=11)
    wide, high = columns * each + 10, top + 24
    finding = " ".join(f"{one.title}: {one.finding}" for one in found) if several else found[0].finding
    whole = Drawing(title, finding, "", high)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" '
        f'role="img" font-family="system-ui, sans-serif" {_said(whole, "picture")}'
        f'<rect width="{wide}" height="{high}" rx="8" fill="{PAPER}"/>{shapes}</svg>\n'
    )


def _said(drawing: Drawing, name: str) -> str:
    """What a screen reader says; it closes the first tag."""
    return (
        f'aria-labelledby="{name}-title {name}-desc"><title id="{name}-title">{escape(drawing.title)}</title>'
        f'<desc id="{name}-desc">{escape(drawing.finding)}</desc>'
    )


def _part(part: float) -> str:
    """A part of a budget, rounded down."""
    return f"{math.floor(100 * part)}\N{NO-BREAK SPACE}%"
