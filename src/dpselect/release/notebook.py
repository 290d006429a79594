"""The HTML of a notebook: the headline first, then a table with small bars, then its accuracy; the theory is folded.

The HTML stands by itself: one scoped style, no script, no id, nothing that is loaded, and colours that follow the page.
Without the style (where a page refuses it) it is still a table, and the bars are drawn.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from dpselect.release import formatting
from dpselect.release.panels import Axis, from_zero
from dpselect.release.svg import bar
from dpselect.release.table import format_cell

if TYPE_CHECKING:
    from dpselect.release.panels import Mark
    from dpselect.release.table import Leaflet, TextTable

MAX_TEXT_LENGTH = 200  # characters of a label or a line that a notebook shows; `print` shows more
BAR_WIDTH, BAR_HEIGHT = 120, 14  # of a bar

# Notebooks and documentation pages have styles for all tables, which two classes more than theirs outweigh.
STYLE = re.sub(
    r"\s*\n\s*",
    "",
    """
.dps-release{line-height:1.45;color:inherit;text-align:left}
.dps-release p{margin:.4em 0}
.dps-release .dps-scroll{overflow-x:auto;position:relative}
.dps-release .dps-table.dps-table{border-collapse:collapse;table-layout:auto;width:auto;margin:.7em 0;
border:0;box-shadow:none;color:inherit;font-size:.95em;font-variant-numeric:tabular-nums}
.dps-release .dps-table.dps-table :is(thead,tbody,tr,th,td){background:none;border:0;color:inherit;
text-align:right;vertical-align:top;font-weight:inherit;line-height:1.45}
.dps-release .dps-table.dps-table :is(th,td){padding:.2em .8em .2em 0;white-space:nowrap;max-width:none}
.dps-release .dps-table.dps-table thead th{font-weight:600;vertical-align:bottom;
border-bottom:1px solid currentColor}
.dps-release .dps-table.dps-table tbody tr{border-top:1px solid color-mix(in srgb,currentColor 14%,transparent)}
.dps-release .dps-table.dps-table tbody+tbody tr:first-child{
border-top:1px solid color-mix(in srgb,currentColor 55%,transparent)}
.dps-release .dps-table.dps-table .dps-name{text-align:left}
.dps-release .dps-table.dps-table tbody .dps-name{white-space:normal;overflow-wrap:anywhere;max-width:26em}
.dps-release .dps-table svg{display:inline-block;vertical-align:-.15em;max-width:none;margin:0}
.dps-release .dps-hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);
white-space:nowrap}
.dps-release ul{margin:.2em 0 .6em;padding-left:1.3em}
.dps-release summary{cursor:pointer}
.dps-release details{margin:.4em 0}
.dps-release .dps-mind{font-weight:600}
""".strip(),
)


STYLE_DIGEST = f"'sha256-{base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()}'"
"""Digest by which a content security policy allows this style."""


def html(leaflet: Leaflet, rows: int | None) -> str:
    """Return the leaflet as HTML, with `rows` rows of a longer table, or with all."""
    parts = [
        f"<style>{STYLE}</style>",
        _headline(leaflet),
        *(_paragraph(_capital(line), "dps-mind") for line in leaflet.outcome),
    ]
    if len(leaflet.table):
        parts.append(f'<div class="dps-scroll" tabindex="0">{table(leaflet.first(rows), leaflet.headline)}</div>')
    parts += map(_paragraph, [*leaflet.hidden_rows_note(rows), *([leaflet.remark] if leaflet.remark else [])])
    if leaflet.accuracy:
        accuracy_items = "".join(f"<li>{escape(sentence)}</li>" for sentence in leaflet.accuracy)
        parts += [_paragraph(_capital(leaflet.accuracy_title)), f"<ul>{accuracy_items}</ul>"]
    if leaflet.cost:
        parts.append(_paragraph(_capital(leaflet.cost)))
    details = "".join(_paragraph(_capital(line)) for line in [*leaflet.price, *leaflet.how] if line != leaflet.cost)
    if leaflet.how_title:
        title = f"The promise, and {leaflet.how_title.lower()}"
        details = f"<details><summary>{escape(title)}</summary>{details}</details>"
    return f'<div class="dps-release">{"".join([*parts, details])}</div>'


def _headline(leaflet: Leaflet) -> str:
    """Return the first paragraph, in which the headline is stronger than its certainty."""
    if not leaflet.headline:
        return ""
    certainty = f" {escape(leaflet.certainty)}" if leaflet.certainty else ""
    return f"<p><strong>{escape(leaflet.headline)}</strong>{certainty}</p>"


def _capital(line: str) -> str:
    """Return a line with its first letter as a sentence has it."""
    return f"{line[:1].upper()}{line[1:]}"


def _paragraph(line: str, kind: str = "") -> str:
    css_class = f' class="{kind}"' if kind else ""
    return f"<p{css_class}>{escape(line)}</p>"


# ---- the table --------------------------------------------------------------------------------------------


def table(text_table: TextTable, caption: str) -> str:
    """Return the table as HTML, the rows of each group in a body of their own."""
    row_head = next(
        (name for name in text_table.columns if name in text_table.left and name not in text_table.once), None
    )
    row_head = next(iter(text_table.columns)) if row_head is None else row_head
    heads = "".join(_head(name, text_table) for name in text_table.columns)
    bodies = "".join(
        f"<tbody>{''.join(_rows(text_table, first, last, row_head))}</tbody>" for first, last in _groups(text_table)
    )
    hidden = f'<caption class="dps-hidden">{escape(caption)}</caption>' if caption else ""
    return f'<table class="dps-table">{hidden}<thead><tr>{heads}</tr></thead>{bodies}</table>'


def _groups(text_table: TextTable) -> Iterator[tuple[int, int]]:
    """Yield the first row of each group and the one after its last; all rows if there are no groups."""
    starts = [index for index, start in enumerate(text_table.starts) if start] or [0]
    yield from zip(starts, [*starts[1:], len(text_table)], strict=True)


def _head(name: str, text_table: TextTable) -> str:
    css_class = ' class="dps-name"' if name in text_table.left else ""
    bars_head = '<th scope="col"><span class="dps-hidden">drawn</span></th>' if _has_bars(text_table, name) else ""
    text = _short(formatting.text(name)).replace("_", "_<wbr>")  # where a narrow page may break it
    return f'<th scope="col"{css_class}>{text}</th>{bars_head}'


def _rows(text_table: TextTable, first: int, last: int, row_head: str) -> Iterator[str]:
    """Yield the rows of one group."""
    axis = from_zero("", text_table.bars.marks if text_table.bars else ())
    for index in range(first, last):
        cells = ""
        for name, values in text_table.columns.items():
            if name not in text_table.once:
                cells += _cell(values[index], "row" if name == row_head else "", left=name in text_table.left)
            elif index == first:
                left = name in text_table.left
                cells += _cell(values[index], "rowgroup" if left else "", left=left, rows=last - first)
            if text_table.bars is not None and name == text_table.bars.column:
                cells += f"<td>{_bar(text_table.bars.marks[index], axis)}</td>"
        yield f"<tr>{cells}</tr>"


def _cell(value: object, scope: str, *, left: bool, rows: int = 1) -> str:
    """Return a cell; one that names its row or its group is a head."""
    tag = "th" if scope else "td"
    attributes = (f' scope="{scope}"' if scope else "") + (' class="dps-name"' if left else "")
    attributes += f' rowspan="{rows}"' if rows > 1 else ""
    return f"<{tag}{attributes}>{_short(format_cell(value))}</{tag}>"


def _short(label: str) -> str:
    """Escape a label, and cut it if it is very long."""
    return escape(formatting.cut(label, MAX_TEXT_LENGTH))


# ---- its bars ---------------------------------------------------------------------------------------------


def _has_bars(text_table: TextTable, name: str) -> bool:
    return text_table.bars is not None and text_table.bars.column == name


def _bar(mark: Mark, axis: Axis) -> str:
    """Draw a bar and a whisker. The numbers are in the next cells, so who hears the table misses nothing."""
    if mark.bar is None:
        return ""
    shapes = bar(mark, lambda value: 1 + axis.part(value) * (BAR_WIDTH - 2), BAR_HEIGHT / 2, BAR_HEIGHT - 6)
    size = f'width="{BAR_WIDTH}" height="{BAR_HEIGHT}" viewBox="0 0 {BAR_WIDTH} {BAR_HEIGHT}"'
    return f'<svg {size} aria-hidden="true">{shapes}</svg>'
