"""The picture as SVG: text stays text, nothing is loaded, nothing runs, and no text is cut by an edge.

Names stand above their bars, so that a picture can be read on a telephone. Bars and lines have colours that are seen on
light and on dark; all else has the colour of the text around it. A file has a ground of its own.
"""

from __future__ import annotations

import base64
import hashlib
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from itertools import accumulate

from dpselect.errors import ParameterError
from dpselect.release.panels import Axis, Chart, Line, Mark, Panel, RowPanel, line_names

THEMES = {"light": ("#22272e", "#ffffff"), "dark": ("#e4e7eb", "#15191e")}  # of words, of the ground
BAR = "#4a86c0"
LINES = (BAR, "#cb6a36", "#3f9460", "#a871bb", "#a5802e", "#cd6482", "#3d929b", "#818994")
DASHES = ("", "7 3", "2 3")
SOFT, RULE = 0.78, 0.22  # how much of the ink there is in what is beside the point, and in a scale

WIDTH, APART, EDGE = 400, 28, 18
FEW = 3  # panels that a file has below one another
SIZE, SMALL = 13, 12
LEAD = 18  # from a line of text to the next
ROW, THICK, HIGH = 38, 10, 170  # of a mark, of a bar, of a chart
LABEL = 120  # that a label has at least

STYLE = (
    ".dps-picture{text-align:left;line-height:1.4}.dps-picture p{margin:.3em 0;max-width:46em}"
    ".dps-picture>div{display:flex;flex-wrap:wrap;gap:14px 28px}.dps-picture svg{max-width:100%;height:auto;margin:0}"
    "@media(prefers-color-scheme:dark){"
    f".dps-auto{{color:{THEMES['dark'][0]}}}.dps-auto>.dps-ground{{fill:{THEMES['dark'][1]}}}}}"
)
DIGEST = f"'sha256-{base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()}'"
"""What a content security policy allows this style by."""

Drawn = tuple[str, float]
"""Shapes, and how high they are."""


# ---- whole pictures ---------------------------------------------------------------------------------------


def html(title: str, panels: Sequence[Panel], caption: Sequence[str], alt: str) -> str:
    """For a page that has the style, in its colours: panels beside one another where there is room, text as text."""
    svgs = "".join(
        f'<svg width="{WIDTH}" height="{coordinate(high)}" viewBox="0 0 {WIDTH} {coordinate(high)}" {FONT}>{shapes}</svg>'
        for shapes, high in _panels(panels)
    )
    below = "".join(f"<p>{escape(line)}</p>" for line in caption)
    return (
        f'<div class="dps-picture"><p><strong>{escape(title)}</strong></p>'
        f'<div role="img" aria-label="{escape(alt)}">{svgs}</div>{below}</div>'
    )


def svg_file(title: str, panels: Sequence[Panel], caption: Sequence[str], alt: str, theme: str) -> str:
    """For a file: panels below one another, or many in two columns, and a ground."""
    if theme not in (*THEMES, "auto"):
        raise ParameterError("theme", "be light, dark or auto", theme)
    ink, ground = THEMES["dark" if theme == "dark" else "light"]
    drawn = _panels(panels)
    columns = 1 if len(panels) <= FEW else 2
    wide = columns * (WIDTH + APART) - APART
    shapes, top = paragraphs([title], wide, size=15, bold=True)
    top += 4
    for first in range(0, len(drawn), columns):
        line = drawn[first : first + columns]
        for place, (one, _) in enumerate(line):
            shapes += f'<g transform="translate({place * (WIDTH + APART)} {coordinate(top)})">{one}</g>'
        top += max(high for _, high in line) + LEAD
    below, high = paragraphs(caption, wide, size=SMALL, soft=True)
    shapes += f'<g transform="translate(0 {coordinate(top)})">{below}</g>'
    width, height = wide + 2 * EDGE, coordinate(top + high + 2 * EDGE)
    auto = f"<style>{STYLE}</style>" if theme == "auto" else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" class="dps-{theme}" color="{ink}" {FONT}><title>{escape(title)}</title>'
        f'<desc>{escape(alt)}</desc>{auto}<rect class="dps-ground" width="100%" height="100%" rx="6" '
        f'fill="{ground}"/><g transform="translate({EDGE} {EDGE})">{shapes}</g></svg>\n'
    )


FONT = 'font-family="system-ui, sans-serif" fill="currentColor"'


def _panels(panels: Sequence[Panel]) -> list[Drawn]:
    """Every panel, and the legend of their lines."""
    looks = {name: _look(place) for place, name in enumerate(line_names(panels))}
    found = [_panel(one, looks) for one in panels]
    return [*found, _legend(looks)] if looks else found


def _panel(one: Panel, looks: Mapping[str, str]) -> Drawn:
    title, top = text(0, SIZE, shorten(one.title, WIDTH), bold=True), LEAD + 4.0
    if not one.title:
        title, top = "", 0.0
    shapes, high = _rows(one) if isinstance(one, RowPanel) else _chart(one, looks)
    return f'{title}<g transform="translate(0 {coordinate(top)})">{shapes}</g>', top + high


# ---- rows of marks ----------------------------------------------------------------------------------------


def _rows(one: RowPanel) -> Drawn:
    if not one.marks:
        return text(0, SIZE, "Nothing came back.", soft=True), LEAD
    indent = max(text_width(f"{mark.rank} ", SIZE) if mark.rank else 0.0 for mark in one.marks)
    across = partial(_place, one.across, 1.0, WIDTH - 1.0)
    shapes = ""
    for place, mark in enumerate(one.marks):
        top = place * ROW
        said = shorten(mark.value_text, WIDTH - indent - (LABEL if mark.label else 0))
        label = shorten(mark.label, WIDTH - indent - text_width(said, SIZE) - 12)
        shapes += text(0, top + SIZE, mark.rank, soft=True) + text(indent, top + SIZE, label)
        shapes += text(WIDTH, top + SIZE, said, "end")
        middle = top + SIZE + 12.0
        if mark.bar is None:
            shapes += _rule(0, middle, f"H{WIDTH}")
        shapes += bar(mark, across, middle)
    high = len(one.marks) * ROW
    return shapes + _ticks(one.across, across, 0, high), high + 2 * LEAD


def bar(mark: Mark, across: Callable[[float], float], middle: float, thick: float = THICK) -> str:
    """The bar of a mark from 0 on, its dots, its whisker."""
    shapes = ""
    if mark.bar is not None:
        start, end = across(0), across(max(0.0, mark.bar))
        size = f'width="{coordinate(end - start)}" height="{coordinate(thick)}"'
        shapes += f'<rect x="{coordinate(start)}" y="{coordinate(middle - thick / 2)}" {size} rx="1.5" fill="{BAR}"/>'
    if mark.high is not None:
        right, tick = coordinate(across(mark.high)), f"{coordinate(middle - thick / 2)}v{coordinate(thick)}"
        left = "0" if mark.low is None else coordinate(across(mark.low))
        path = (
            f"M{left} {coordinate(middle)}H{right}"
            + ("" if mark.low is None else f"M{left} {tick}")
            + f"M{right} {tick}"
        )
        shapes += f'<path d="{path}" fill="none" stroke="currentColor" stroke-width="1.5"/>'
    for dot in mark.dots:
        shapes += f'<circle cx="{coordinate(across(dot))}" cy="{coordinate(middle)}" r="5" fill="{BAR}"/>'
    return shapes


# ---- charts of lines --------------------------------------------------------------------------------------


def _chart(one: Chart, looks: Mapping[str, str]) -> Drawn:
    side = max((text_width(said, SMALL) for _, said in one.up.ticks), default=0) + 8
    across = partial(_place, one.across, side + 4, WIDTH - 6.0)
    up = partial(_place, one.up, HIGH + 0.0, 8.0)
    shapes, free = "", HIGH + LEAD + 0.0
    for value, said in sorted(one.up.ticks):
        y = up(value)
        shapes += _rule(side, y, f"H{WIDTH}")
        if y <= free - SMALL:  # no number on another
            shapes += text(side - 6, y + 4, said, "end", size=SMALL, soft=True)
            free = y
    for line in one.lines:
        shapes += _line(line, across, up, looks.get(line.name, f'stroke="{BAR}"'))
    return shapes + _ticks(one.across, across, side, HIGH), HIGH + 2 * LEAD


def _line(line: Line, across: Callable[[float], float], up: Callable[[float], float], look: str) -> str:
    """A path; a dot where a point would not be seen."""
    points = [(coordinate(across(x)), coordinate(up(y))) for x, y in line.points]
    if not points:
        return ""
    path = f"M{points[0][0]} {points[0][1]}"
    path += "".join(f"H{x}V{y}" if line.steps else f"L{x} {y}" for x, y in points[1:])
    if line.filled:
        return f'<path d="{path}V{HIGH}H{points[0][0]}Z" fill="{BAR}"/>'
    found = f'<path d="{path}" fill="none" stroke-width="2" stroke-linejoin="round" {look}/>'
    colour = look.partition('"')[2].partition('"')[0]
    dots = "".join(f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in points)
    return found if line.steps and len(points) > 1 else found + dots


def _look(place: int) -> str:
    """The colour and the dashes of a line, which differ from those of its neighbours."""
    dashes = DASHES[place % len(DASHES)]
    return f'stroke="{LINES[place % len(LINES)]}"' + (f' stroke-dasharray="{dashes}"' if dashes else "")


def _legend(looks: Mapping[str, str]) -> Drawn:
    shapes = ""
    for place, (name, look) in enumerate(looks.items()):
        y = place * LEAD + SIZE
        shapes += f'<path d="M0 {y - 4}h30" fill="none" stroke-width="2" {look}/>' + text(
            38, y, shorten(name, WIDTH - 38)
        )
    return shapes, len(looks) * LEAD + 4.0


# ---- scales -----------------------------------------------------------------------------------------------


def _place(axis: Axis, start: float, end: float, value: float) -> float:
    return start + axis.part(value) * (end - start)


def _rule(x: float, y: float, to: str) -> str:
    return f'<path d="M{coordinate(x)} {coordinate(y)}{to}" fill="none" stroke="currentColor" stroke-opacity="{RULE}"/>'


def _ticks(axis: Axis, across: Callable[[float], float], left: float, top: float) -> str:
    """A scale below, with as many of its numbers as have room, and what it measures."""
    shapes, free = _rule(left, top, f"H{WIDTH}"), -1.0
    for value, said in sorted(axis.ticks):
        long = text_width(said, SMALL)
        start = min(max(0.0, across(value) - long / 2), WIDTH - long)
        if start >= free:
            shapes += _rule(across(value), top, "v4") + text(
                start + long / 2, top + 16, said, "middle", SMALL, soft=True
            )
            free = start + long + 6
    name = text(WIDTH, top + 16 + LEAD - 2, shorten(axis.name, WIDTH, SMALL), "end", SMALL, soft=True)
    return shapes + name


# ---- text -------------------------------------------------------------------------------------------------


def text(
    x: float, y: float, said: str, anchor: str = "start", size: int = SIZE, *, soft: bool = False, bold: bool = False
) -> str:
    """A line of text."""
    if not said:
        return ""
    more = "" if anchor == "start" else f' text-anchor="{anchor}"'
    more += f' fill-opacity="{SOFT}"' if soft else ""
    more += ' font-weight="bold"' if bold else ""
    return f'<text x="{coordinate(x)}" y="{coordinate(y)}" font-size="{size}"{more}>{escape(said)}</text>'


def paragraphs(lines: Sequence[str], room: float, *, size: int, soft: bool = False, bold: bool = False) -> Drawn:
    """Lines of text, broken where they are too long."""
    broken = [part for line in lines for part in _broken(line, room, size * (1.08 if bold else 1))]
    drawn = [text(0, place * LEAD + size, one, size=size, soft=soft, bold=bold) for place, one in enumerate(broken)]
    return "".join(drawn), len(broken) * LEAD + 4.0


def _broken(line: str, room: float, size: float) -> Iterator[str]:
    rest = line
    while text_width(rest, size) > room:
        fits = max(1, len(shorten(rest, room, size)) - 1)
        end = rest.rfind(" ", 1, fits + 1)
        end = fits if end < 0 else end
        yield rest[:end]
        rest = rest[end:].lstrip()
    yield rest


def shorten(said: str, room: float, size: float = SIZE) -> str:
    """A text that is no wider than that."""
    if not said or text_width(said, size) <= room:
        return said
    ends = accumulate(text_width(letter, size) for letter in said)
    fits = next(place for place, end in enumerate(ends) if end > room - size)  # an ellipsis takes a letter's room
    return f"{said[:fits]}\N{HORIZONTAL ELLIPSIS}"


def text_width(said: str, size: float) -> float:
    """Units that a text takes at most, by the widest of the fonts that systems have."""
    return size * sum(map(_wide, said))


def _wide(letter: str) -> float:
    if letter.isascii():
        return (
            1.0 if letter in "mwMW@%" else 0.42 if letter in " !'(),.:;[]fijlrt|" else 0.8 if letter.isupper() else 0.66
        )
    if unicodedata.combining(letter):
        return 0.0
    return 1.3 if unicodedata.east_asian_width(letter) in "WF" else 0.9


def coordinate(value: float) -> str:
    """A coordinate of at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")
