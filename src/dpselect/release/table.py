"""What a person reads: a table, and the text beside it.

A leaflet says first what came back and how sure it is, then shows it, and says what it cost; how it was found comes
last.
"""

from __future__ import annotations

import re
import shutil
import textwrap
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from dpselect._ground.parameters import check_keywords
from dpselect.release import formatting

if TYPE_CHECKING:
    import polars

    from dpselect.release.panels import Mark
    from dpselect.release.statement import Item

HEAD_ROWS = 20  # rows of a long table that are shown
LONG = 30  # rows; a table up to here is shown whole
WIDEST, NARROWEST = 100, 40  # columns of a terminal that text is broken at
MARKS = re.compile(
    r"[\\`*_\[\]<>|~&#$@]|:(?=\S)|(?<=www)\.", re.IGNORECASE
)  # what Markdown, or GitHub's, may read as more than itself
WIDEST_ITEM = 60  # a longer one is shown whole; it only does not push the counts of the others to the right


@dataclass(frozen=True)
class Bars:
    """Small bars that a notebook draws beside a column."""

    column: str
    marks: Sequence[Mark]


@dataclass(frozen=True)
class TextTable:
    """Named columns of equal length; those in `left` hold names, which are put to the left.

    Where rows are in groups, those at `starts` begin one, and the columns `once` speak of the whole group.
    """

    columns: Mapping[str, Sequence[object]]
    left: Collection[str] = ("item",)
    once: Collection[str] = ()
    starts: Sequence[bool] = ()
    bars: Bars | None = None

    def __len__(self) -> int:
        return max(map(len, self.columns.values()), default=0)

    def first(self, rows: int) -> TextTable:
        """Its first rows."""
        bars = self.bars and replace(self.bars, marks=self.bars.marks[:rows])
        columns = {name: cells[:rows] for name, cells in self.columns.items()}
        return replace(self, columns=columns, starts=self.starts[:rows], bars=bars)

    def text(self) -> str:
        """Aligned for a terminal: numbers and their heads to the right."""
        cells = {name: [format_cell(value) for value in self._shown(name)] for name in self.columns}
        heads = {name: formatting.text(name) for name in cells}
        wide = {name: min(max(map(display_width, [heads[name], *cells[name]])), WIDEST_ITEM) for name in cells}
        rows = [list(heads.values()), *(list(row) for row in zip(*cells.values(), strict=True))]
        return "\n".join(
            "  ".join(self._pad(cell, name, wide[name]) for name, cell in zip(cells, row, strict=True)).rstrip()
            for row in rows
        )

    def markdown(self) -> str:
        """A table of GitHub's Markdown: whatever a name holds is shown and does nothing."""
        heads = " | ".join(escape_markdown(formatting.text(name)) for name in self.columns)
        ruled = " | ".join(":---" if name in self.left else "---:" for name in self.columns)
        shown = ([escape_markdown(format_cell(value)) for value in self._shown(name)] for name in self.columns)
        rows = (" | ".join(row) for row in zip(*shown, strict=True))
        return "\n".join(f"| {row} |" for row in (heads, ruled, *rows))

    def _pad(self, cell: str, name: str, wide: int) -> str:
        room = " " * (wide - display_width(cell))
        return cell + room if name in self.left else room + cell

    def _shown(self, name: str) -> Sequence[object]:
        """A column of which groups show a value once."""
        values = self.columns[name]
        if name not in self.once:
            return values
        return [value if start else "" for value, start in zip(values, self.starts, strict=False)]


def format_cell(value: object) -> str:
    """What a cell shows."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else formatting.text(value)


def escape_markdown(line: str) -> str:
    """A line that Markdown shows as it is."""
    return MARKS.sub(r"\\\g<0>", line)


def display_width(line: str) -> int:
    """Columns of a terminal that a line takes: East Asian wide characters two, combining marks none."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


@check_keywords
class Tabular(ABC):
    """The port of what can be a data frame: a release, a forecast."""

    @abstractmethod
    def to_columns(self) -> dict[str, list[object]]:
        """Its columns, by name."""

    def to_polars(self) -> polars.DataFrame:
        """A polars data frame."""
        frame: polars.DataFrame = formatting.optional("polars", "polars").DataFrame(self.to_columns())
        return frame

    def to_pandas(self) -> Any:
        """A pandas data frame."""
        return formatting.optional("pandas", "pandas").DataFrame(self.to_columns())

    def to_arrow(self) -> Any:
        """A pyarrow table."""
        return formatting.optional("pyarrow", "pyarrow").table(self.to_columns())


@dataclass(frozen=True)
class Leaflet:
    """A table and the parts of the text beside it, each a line or a paragraph."""

    table: TextTable
    price: Sequence[str]
    how: Sequence[str]
    how_title: str = "How it was found"  # in a notebook it opens what is hidden below it; "": all is shown
    headline: str = ""  # what came back
    certainty: str = ""  # the most telling of how good it is
    outcome: Sequence[str] = ()
    remark: str = ""  # what is strange at the table, and why
    accuracy_title: str = ""  # what the lines about how good it is have in common
    accuracy: Sequence[str] = ()
    cost: str = ""  # in short

    def text(self, rows: int | None = None) -> str:
        """For a terminal: so many rows of a longer table, or all."""
        parts = ["\n".join(self._outcome()), *self._shown(rows), "\n".join(self._beside())]
        return "\n\n".join(part for part in parts if part)

    @property
    def notes(self) -> list[str]:
        """All but the table, as lines."""
        return [*self._outcome(), *self._beside()]

    def first(self, rows: int | None) -> TextTable:
        """So many rows of a long table, or all."""
        return self.table.first(rows) if rows is not None and self._hidden(rows) else self.table

    def hidden_rows_note(self, rows: int | None) -> list[str]:
        """How many rows are not shown."""
        hidden = self._hidden(rows)
        return [f"... and {hidden:,} more: to_pandas(), to_csv(path) have all"] if hidden else []

    def _hidden(self, rows: int | None) -> int:
        return 0 if rows is None or len(self.table) <= LONG else len(self.table) - rows

    def _shown(self, rows: int | None) -> list[str]:
        """The table, if it has any rows, and what is said just below it."""
        if not len(self.table):
            return []
        below = [wrap_text(self.remark)] if self.remark else []
        return ["\n".join([self.first(rows).text(), *self.hidden_rows_note(rows), *below])]

    def _outcome(self) -> list[str]:
        said = [wrap_text(f"{self.headline} {self.certainty}".rstrip())] if self.headline else []
        return [*said, *(wrap_text(line, "", "  ") for line in self.outcome)]

    def _beside(self) -> list[str]:
        good = (
            [self.accuracy_title, *(wrap_text(line, "  - ", "    ") for line in self.accuracy)] if self.accuracy else []
        )
        title = [f"{self.how_title[0].lower()}{self.how_title[1:]}:"] if self.how and self.how_title else []
        return [*good, *self.price, *title, *(wrap_text(line, "  ", "    ") for line in self.how)]


def wrap_text(line: str, first: str = "", then: str = "") -> str:
    """A paragraph as a terminal shows it, with words before its first line and the others."""
    columns = max(NARROWEST, min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns))
    return textwrap.fill(line, columns, initial_indent=first, subsequent_indent=then)


def describe_disagreement(items: Sequence[Item], count: str) -> str:
    """A sentence about the first item with a larger count than the one above it; empty where there is none.

    Ranks and counts have noise of their own, so a table may look strange there.
    """
    from dpselect.release.groups import typed_group

    for above, below in pairwise(items):
        if typed_group(above.group) != typed_group(below.group) or above.count is None or below.count is None:
            continue
        if above.count < below.count:
            group = f"In {', '.join(map(formatting.brief, above.group))}: rank" if above.group else "Rank"
            return (
                f"{group} {below.rank} ({formatting.brief(below.item)}) shows a larger {count} than rank {above.rank} "
                f"({formatting.brief(above.item)}). This is expected: ranks and {count}s were drawn separately, "
                "each with its own noise."
            )
    return ""
