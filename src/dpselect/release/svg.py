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
SOFT_OPACITY, RULE_OPACITY = 0.78, 0.22  # how much of the ink there is in what is beside the point, and in a scale

WIDTH, GAP, EDGE = 400, 28, 18
MAX_STACKED_PANELS = 3  # panels that a file has below one another
SIZE, SMALL_SIZE = 13, 12
LINE_HEIGHT = 18  # from a line of text to the next
ROW_HEIGHT, BAR_HEIGHT, CHART_HEIGHT = 38, 10, 170  # of a mark, of a bar, of a chart
MIN_LABEL_WIDTH = 120  # that a label has at least

STYLE = (
    ".dps-picture{text-align:left;line-height:1.4}.dps-picture p{margin:.3em 0;max-width:46em}"
    ".dps-picture>div{display:flex;flex-wrap:wrap;gap:14px 28px}.dps-picture svg{max-width:100%;height:auto;margin:0}"
    "@media(prefers-color-scheme:dark){"
    f".dps-auto{{color:{THEMES['dark'][0]}}}.dps-auto>.dps-ground{{fill:{THEMES['dark'][1]}}}}}"
)
DIGEST = f"'sha256-{base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()}'"
"""Digest by which a content security policy allows this style."""

Shapes = tuple[str, float]
"""Shapes as SVG, and their height."""


# ---- whole pictures ---------------------------------------------------------------------------------------


def html(title: str, panels: Sequence[Panel], caption: Sequence[str], alt: str) -> str:
    """Return the picture for a page that has the style: panels beside one another if there is room, text as text."""
    svgs = "".join(
        f'<svg width="{WIDTH}" height="{coordinate(height)}" viewBox="0 0 {WIDTH} {coordinate(height)}" {FONT}>'
        f"{shapes}</svg>"
        for shapes, height in _draw_panels(panels)
    )
    caption_html = "".join(f"<p>{escape(line)}</p>" for line in caption)
    return (
        f'<div class="dps-picture"><p><strong>{escape(title)}</strong></p>'
        f'<div role="img" aria-label="{escape(alt)}">{svgs}</div>{caption_html}</div>'
    )


def svg_file(title: str, panels: Sequence[Panel], caption: Sequence[str], alt: str, theme: str) -> str:
    """Return the picture as a file: panels below one another, or many in two columns, on a background."""
    if theme not in (*THEMES, "auto"):
        raise ParameterError("theme", "be light, dark or auto", theme)
    ink, ground = THEMES["dark" if theme == "dark" else "light"]
    drawn = _draw_panels(panels)
    columns = 1 if len(panels) <= MAX_STACKED_PANELS else 2
    content_width = columns * (WIDTH + GAP) - GAP
    shapes, top = paragraphs([title], content_width, size=15, bold=True)
    top += 4
    for start in range(0, len(drawn), columns):
        row = drawn[start : start + columns]
        for column, (panel_shapes, _) in enumerate(row):
            shapes += f'<g transform="translate({column * (WIDTH + GAP)} {coordinate(top)})">{panel_shapes}</g>'
        top += max(panel_height for _, panel_height in row) + LINE_HEIGHT
    caption_shapes, caption_height = paragraphs(caption, content_width, size=SMALL_SIZE, soft=True)
    shapes += f'<g transform="translate(0 {coordinate(top)})">{caption_shapes}</g>'
    width, height = content_width + 2 * EDGE, coordinate(top + caption_height + 2 * EDGE)
    auto = f"<style>{STYLE}</style>" if theme == "auto" else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" class="dps-{theme}" color="{ink}" {FONT}><title>{escape(title)}</title>'
        f'<desc>{escape(alt)}</desc>{auto}<rect class="dps-ground" width="100%" height="100%" rx="6" '
        f'fill="{ground}"/><g transform="translate({EDGE} {EDGE})">{shapes}</g></svg>\n'
    )


FONT = 'font-family="system-ui, sans-serif" fill="currentColor"'


def _draw_panels(panels: Sequence[Panel]) -> list[Shapes]:
    """Draw every panel, and the legend of their lines."""
    styles = {name: _line_style(index) for index, name in enumerate(line_names(panels))}
    drawn = [_draw_panel(panel, styles) for panel in panels]
    return [*drawn, _draw_legend(styles)] if styles else drawn


def _draw_panel(panel: Panel, styles: Mapping[str, str]) -> Shapes:
    title, top = text(0, SIZE, shorten(panel.title, WIDTH), bold=True), LINE_HEIGHT + 4.0
    if not panel.title:
        title, top = "", 0.0
    shapes, height = _draw_rows(panel) if isinstance(panel, RowPanel) else _draw_chart(panel, styles)
    return f'{title}<g transform="translate(0 {coordinate(top)})">{shapes}</g>', top + height


# ---- rows of marks ----------------------------------------------------------------------------------------


def _draw_rows(panel: RowPanel) -> Shapes:
    if not panel.marks:
        return text(0, SIZE, "Nothing came back.", soft=True), LINE_HEIGHT
    indent = max(text_width(f"{mark.rank} ", SIZE) if mark.rank else 0.0 for mark in panel.marks)
    x_of = partial(_place_value, panel.across, 1.0, WIDTH - 1.0)
    shapes = ""
    for index, mark in enumerate(panel.marks):
        top = index * ROW_HEIGHT
        value_text = shorten(mark.value_text, WIDTH - indent - (MIN_LABEL_WIDTH if mark.label else 0))
        label = shorten(mark.label, WIDTH - indent - text_width(value_text, SIZE) - 12)
        shapes += text(0, top + SIZE, mark.rank, soft=True) + text(indent, top + SIZE, label)
        shapes += text(WIDTH, top + SIZE, value_text, "end")
        middle = top + SIZE + 12.0
        if mark.bar is None:
            shapes += _draw_rule(0, middle, f"H{WIDTH}")
        shapes += bar(mark, x_of, middle)
    height = len(panel.marks) * ROW_HEIGHT
    return shapes + _draw_ticks(panel.across, x_of, 0, height), height + 2 * LINE_HEIGHT


def bar(mark: Mark, x_of: Callable[[float], float], middle: float, height: float = BAR_HEIGHT) -> str:
    """Draw the bar of a mark from 0 on, its dots and its whisker."""
    shapes = ""
    if mark.bar is not None:
        start, end = x_of(0), x_of(max(0.0, mark.bar))
        size = f'width="{coordinate(end - start)}" height="{coordinate(height)}"'
        shapes += f'<rect x="{coordinate(start)}" y="{coordinate(middle - height / 2)}" {size} rx="1.5" fill="{BAR}"/>'
    if mark.high is not None:
        right, tick = coordinate(x_of(mark.high)), f"{coordinate(middle - height / 2)}v{coordinate(height)}"
        left = "0" if mark.low is None else coordinate(x_of(mark.low))
        path = (
            f"M{left} {coordinate(middle)}H{right}"
            + ("" if mark.low is None else f"M{left} {tick}")
            + f"M{right} {tick}"
        )
        shapes += f'<path d="{path}" fill="none" stroke="currentColor" stroke-width="1.5"/>'
    for dot in mark.dots:
        shapes += f'<circle cx="{coordinate(x_of(dot))}" cy="{coordinate(middle)}" r="5" fill="{BAR}"/>'
    return shapes


# ---- charts of lines --------------------------------------------------------------------------------------


def _draw_chart(chart: Chart, styles: Mapping[str, str]) -> Shapes:
    side = max((text_width(tick_text, SMALL_SIZE) for _, tick_text in chart.up.ticks), default=0) + 8
    x_of = partial(_place_value, chart.across, side + 4, WIDTH - 6.0)
    y_of = partial(_place_value, chart.up, CHART_HEIGHT + 0.0, 8.0)
    shapes, free = "", CHART_HEIGHT + LINE_HEIGHT + 0.0
    for value, tick_text in sorted(chart.up.ticks):
        y = y_of(value)
        shapes += _draw_rule(side, y, f"H{WIDTH}")
        if y <= free - SMALL_SIZE:  # no number on another
            shapes += text(side - 6, y + 4, tick_text, "end", size=SMALL_SIZE, soft=True)
            free = y
    for line in chart.lines:
        shapes += _draw_line(line, x_of, y_of, styles.get(line.name, f'stroke="{BAR}"'))
    return shapes + _draw_ticks(chart.across, x_of, side, CHART_HEIGHT), CHART_HEIGHT + 2 * LINE_HEIGHT


def _draw_line(line: Line, x_of: Callable[[float], float], y_of: Callable[[float], float], style: str) -> str:
    """Draw a path, with dots if a point would not be seen."""
    points = [(coordinate(x_of(x)), coordinate(y_of(y))) for x, y in line.points]
    if not points:
        return ""
    path = f"M{points[0][0]} {points[0][1]}"
    path += "".join(f"H{x}V{y}" if line.steps else f"L{x} {y}" for x, y in points[1:])
    if line.filled:
        return f'<path d="{path}V{CHART_HEIGHT}H{points[0][0]}Z" fill="{BAR}"/>'
    shapes = f'<path d="{path}" fill="none" stroke-width="2" stroke-linejoin="round" {style}/>'
    colour = style.partition('"')[2].partition('"')[0]
    dots = "".join(f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in points)
    return shapes if line.steps and len(points) > 1 else shapes + dots


def _line_style(index: int) -> str:
    """Return the colour and the dashes of a line, which differ from those of its neighbours."""
    dashes = DASHES[index % len(DASHES)]
    return f'stroke="{LINES[index % len(LINES)]}"' + (f' stroke-dasharray="{dashes}"' if dashes else "")


def _draw_legend(styles: Mapping[str, str]) -> Shapes:
    shapes = ""
    for index, (name, style) in enumerate(styles.items()):
        y = index * LINE_HEIGHT + SIZE
        shapes += f'<path d="M0 {y - 4}h30" fill="none" stroke-width="2" {style}/>' + text(
            38, y, shorten(name, WIDTH - 38)
        )
    return shapes, len(styles) * LINE_HEIGHT + 4.0


# ---- scales -----------------------------------------------------------------------------------------------


def _place_value(axis: Axis, start: float, end: float, value: float) -> float:
    return start + axis.part(value) * (end - start)


def _draw_rule(x: float, y: float, to: str) -> str:
    path = f"M{coordinate(x)} {coordinate(y)}{to}"
    return f'<path d="{path}" fill="none" stroke="currentColor" stroke-opacity="{RULE_OPACITY}"/>'


def _draw_ticks(axis: Axis, x_of: Callable[[float], float], left: float, top: float) -> str:
    """Draw a scale below, with as many of its numbers as have room, and its name."""
    shapes, free = _draw_rule(left, top, f"H{WIDTH}"), -1.0
    for value, tick_text in sorted(axis.ticks):
        tick_width = text_width(tick_text, SMALL_SIZE)
        start = min(max(0.0, x_of(value) - tick_width / 2), WIDTH - tick_width)
        if start >= free:
            shapes += _draw_rule(x_of(value), top, "v4") + text(
                start + tick_width / 2, top + 16, tick_text, "middle", SMALL_SIZE, soft=True
            )
            free = start + tick_width + 6
    name = text(WIDTH, top + 16 + LINE_HEIGHT - 2, shorten(axis.name, WIDTH, SMALL_SIZE), "end", SMALL_SIZE, soft=True)
    return shapes + name


# ---- text -------------------------------------------------------------------------------------------------


def text(
    x: float, y: float, line: str, anchor: str = "start", size: int = SIZE, *, soft: bool = False, bold: bool = False
) -> str:
    """Draw a line of text."""
    if not line:
        return ""
    attributes = "" if anchor == "start" else f' text-anchor="{anchor}"'
    attributes += f' fill-opacity="{SOFT_OPACITY}"' if soft else ""
    attributes += ' font-weight="bold"' if bold else ""
    return f'<text x="{coordinate(x)}" y="{coordinate(y)}" font-size="{size}"{attributes}>{escape(line)}</text>'


def paragraphs(lines: Sequence[str], width: float, *, size: int, soft: bool = False, bold: bool = False) -> Shapes:
    """Draw lines of text, broken if they are too long."""
    broken_lines = [part for line in lines for part in _break_line(line, width, size * (1.08 if bold else 1))]
    shapes = [
        text(0, index * LINE_HEIGHT + size, broken_line, size=size, soft=soft, bold=bold)
        for index, broken_line in enumerate(broken_lines)
    ]
    return "".join(shapes), len(broken_lines) * LINE_HEIGHT + 4.0


def _break_line(line: str, width: float, size: float) -> Iterator[str]:
    remainder = line
    while text_width(remainder, size) > width:
        fits = max(1, len(shorten(remainder, width, size)) - 1)
        end = remainder.rfind(" ", 1, fits + 1)
        end = fits if end < 0 else end
        yield remainder[:end]
        remainder = remainder[end:].lstrip()
    yield remainder


def shorten(text_line: str, width: float, size: float = SIZE) -> str:
    """Return a text, or its start with an ellipsis, no wider than `width`."""
    if not text_line or text_width(text_line, size) <= width:
        return text_line
    ends = accumulate(text_width(letter, size) for letter in text_line)
    fits = next(index for index, end in enumerate(ends) if end > width - size)  # an ellipsis takes a letter's room
    return f"{text_line[:fits]}\N{HORIZONTAL ELLIPSIS}"


def text_width(line: str, size: float) -> float:
    """Return the width of a text at most, by the widest of the fonts that systems have."""
    return size * sum(map(_letter_width, line))


def _letter_width(letter: str) -> float:
    if letter.isascii():
        return (
            1.0 if letter in "mwMW@%" else 0.42 if letter in " !'(),.:;[]fijlrt|" else 0.8 if letter.isupper() else 0.66
        )
    if unicodedata.combining(letter):
        return 0.0
    return 1.3 if unicodedata.east_asian_width(letter) in "WF" else 0.9


def coordinate(value: float) -> str:
    """Format a coordinate with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")
