"""What a notebook shows: words first, then a table with small bars, then how good it is; the theory is folded.

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

LONGEST = 200  # characters of a label or a line that a notebook shows; `print` shows all
WIDE, HIGH = 120, 14  # of a bar

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
"""What a content security policy allows this style by."""


def html(leaflet: Leaflet, rows: int | None) -> str:
    """The leaflet with so many rows of a longer table, or with all."""
    parts = [
        f"<style>{STYLE}</style>",
        _said(leaflet),
        *(_paragraph(_capital(line), "dps-mind") for line in leaflet.outcome),
    ]
    if len(leaflet.table):
        parts.append(f'<div class="dps-scroll" tabindex="0">{table(leaflet.first(rows), leaflet.headline)}</div>')
    parts += map(_paragraph, [*leaflet.hidden_rows_note(rows), *([leaflet.remark] if leaflet.remark else [])])
    if leaflet.accuracy:
        good = "".join(f"<li>{escape(one)}</li>" for one in leaflet.accuracy)
        parts += [_paragraph(_capital(leaflet.accuracy_title)), f"<ul>{good}</ul>"]
    if leaflet.cost:
        parts.append(_paragraph(_capital(leaflet.cost)))
    beside = "".join(_paragraph(_capital(line)) for line in [*leaflet.price, *leaflet.how] if line != leaflet.cost)
    if leaflet.how_title:
        title = f"The promise, and {leaflet.how_title.lower()}"
        beside = f"<details><summary>{escape(title)}</summary>{beside}</details>"
    return f'<div class="dps-release">{"".join([*parts, beside])}</div>'


def _said(leaflet: Leaflet) -> str:
    """The first words; what came back is stronger than how sure it is."""
    if not leaflet.headline:
        return ""
    sure = f" {escape(leaflet.certainty)}" if leaflet.certainty else ""
    return f"<p><strong>{escape(leaflet.headline)}</strong>{sure}</p>"


def _capital(line: str) -> str:
    """A line as a sentence begins."""
    return f"{line[:1].upper()}{line[1:]}"


def _paragraph(line: str, kind: str = "") -> str:
    marked = f' class="{kind}"' if kind else ""
    return f"<p{marked}>{escape(line)}</p>"


# ---- the table --------------------------------------------------------------------------------------------


def table(shown: TextTable, caption: str) -> str:
    """Rows, those of a group in a body of their own."""
    row_head = next((name for name in shown.columns if name in shown.left and name not in shown.once), None)
    row_head = next(iter(shown.columns)) if row_head is None else row_head
    heads = "".join(_head(name, shown) for name in shown.columns)
    bodies = "".join(f"<tbody>{''.join(_rows(shown, first, last, row_head))}</tbody>" for first, last in _groups(shown))
    hidden = f'<caption class="dps-hidden">{escape(caption)}</caption>' if caption else ""
    return f'<table class="dps-table">{hidden}<thead><tr>{heads}</tr></thead>{bodies}</table>'


def _groups(shown: TextTable) -> Iterator[tuple[int, int]]:
    """Where each group begins and ends; all rows where there are none."""
    starts = [place for place, start in enumerate(shown.starts) if start] or [0]
    yield from zip(starts, [*starts[1:], len(shown)], strict=True)


def _head(name: str, shown: TextTable) -> str:
    kind = ' class="dps-name"' if name in shown.left else ""
    drawn = '<th scope="col"><span class="dps-hidden">drawn</span></th>' if _beside(shown, name) else ""
    named = _short(formatting.text(name)).replace("_", "_<wbr>")  # where a narrow page may break it
    return f'<th scope="col"{kind}>{named}</th>{drawn}'


def _rows(shown: TextTable, first: int, last: int, row_head: str) -> Iterator[str]:
    """The rows of one group."""
    axis = from_zero("", shown.bars.marks if shown.bars else ())
    for place in range(first, last):
        cells = ""
        for name, values in shown.columns.items():
            if name not in shown.once:
                cells += _cell(values[place], "row" if name == row_head else "", left=name in shown.left)
            elif place == first:
                left = name in shown.left
                cells += _cell(values[place], "rowgroup" if left else "", left=left, rows=last - first)
            if shown.bars is not None and name == shown.bars.column:
                cells += f"<td>{_bar(shown.bars.marks[place], axis)}</td>"
        yield f"<tr>{cells}</tr>"


def _cell(value: object, head: str, *, left: bool, rows: int = 1) -> str:
    """A cell; one that names its row or its group is a head."""
    tag = "th" if head else "td"
    kind = (f' scope="{head}"' if head else "") + (' class="dps-name"' if left else "")
    kind += f' rowspan="{rows}"' if rows > 1 else ""
    return f"<{tag}{kind}>{_short(format_cell(value))}</{tag}>"


def _short(label: str) -> str:
    """Escaped, and cut where it is very long."""
    return escape(label if len(label) <= LONGEST else f"{label[: LONGEST - 1]}…")


# ---- its bars ---------------------------------------------------------------------------------------------


def _beside(shown: TextTable, name: str) -> bool:
    return shown.bars is not None and shown.bars.column == name


def _bar(mark: Mark, axis: Axis) -> str:
    """A bar and a whisker. The numbers are in the cells beside it, so who hears the table misses nothing."""
    if mark.bar is None:
        return ""
    shapes = bar(mark, lambda value: 1 + axis.part(value) * (WIDE - 2), HIGH / 2, HIGH - 6)
    return f'<svg width="{WIDE}" height="{HIGH}" viewBox="0 0 {WIDE} {HIGH}" aria-hidden="true">{shapes}</svg>'
