"""Text for a person: a table, and the sentences around it.

A leaflet has its headline and its certainty first, then the table, and then the cost; the method comes last.
"""

from __future__ import annotations

import re
import shutil
import textwrap
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import check_keywords
from dpselect.release import formatting

if TYPE_CHECKING:
    import polars

    from dpselect.release.panels import Mark
    from dpselect.release.statement import Item

HAVE_ALL = "to_pandas(), to_csv(path) have all"
HEAD_ROWS = 20  # rows of a long table that are shown
MAX_WHOLE_ROWS = 30  # rows; a table up to here is shown whole
MAX_COLUMNS, MIN_COLUMNS = 100, 40  # columns of a terminal that text is broken at
MARKDOWN_MARKS = re.compile(
    r"[\\`*_\[\]<>|~&#$@]|:(?=\S)|(?<=www)\.", re.IGNORECASE
)  # what Markdown, or GitHub's, may read as more than itself
MAX_ITEM_WIDTH = 60  # columns of the terminal; a longer one does not push the counts of the others to the right


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
        """Return the first rows of the table."""
        bars = self.bars and replace(self.bars, marks=self.bars.marks[:rows])
        columns = {name: cells[:rows] for name, cells in self.columns.items()}
        return replace(self, columns=columns, starts=self.starts[:rows], bars=bars)

    def text(self, longest: int | None = None) -> str:
        """Format the table for a terminal: numbers and their heads to the right, cells cut to a longest or whole."""
        cells = {name: [format_cell(value) for value in self._column_cells(name)] for name in self.columns}
        if longest is not None:
            cells = {name: [formatting.cut(cell, longest) for cell in column] for name, column in cells.items()}
        return "\n".join(format_lines(list(cells), list(zip(*cells.values(), strict=True)), self.left))

    def cut_note(self, longest: int) -> list[str]:
        """Return a note on cells that `text` cuts, if there are any."""
        columns = map(self._column_cells, self.columns)
        is_cut = any(len(format_cell(value)) > longest for cells in columns for value in cells)
        return [f"(values are cut after {longest:,} characters: {HAVE_ALL})"] if is_cut else []

    def markdown(self) -> str:
        """Format the table in GitHub's Markdown, in which whatever a name holds is shown and does nothing."""
        heads = " | ".join(escape_markdown(formatting.text(name)) for name in self.columns)
        alignments = " | ".join(":---" if name in self.left else "---:" for name in self.columns)
        cells = ([escape_markdown(format_cell(value)) for value in self._column_cells(name)] for name in self.columns)
        rows = (" | ".join(row) for row in zip(*cells, strict=True))
        return "\n".join(f"| {row} |" for row in (heads, alignments, *rows))

    def _column_cells(self, name: str) -> Sequence[object]:
        """Return a column, with its value once for each group if it is about groups."""
        values = self.columns[name]
        if name not in self.once:
            return values
        return [value if start else "" for value, start in zip(values, self.starts, strict=False)]


def format_lines(names: Sequence[str], rows: Iterable[Sequence[str]], left: Collection[str]) -> Iterator[str]:
    """Yield the lines of a table of formatted cells, its head first; rows are read twice, first for their widths."""
    heads = [formatting.text(name) for name in names]
    widths = list(map(display_width, heads))
    for row in rows:
        widths = list(map(max, widths, map(display_width, row)))
    columns = [(name in left, min(width, MAX_ITEM_WIDTH)) for name, width in zip(names, widths, strict=True)]
    for row in chain([heads], rows):
        cells = (_pad(cell, width, is_left=is_left) for cell, (is_left, width) in zip(row, columns, strict=True))
        yield "  ".join(cells).rstrip()


def _pad(cell: str, width: int, *, is_left: bool) -> str:
    padding = " " * (width - display_width(cell))
    return cell + padding if is_left else padding + cell


def format_cell(value: object) -> str:
    """Format the value of a cell."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else formatting.text(value)


def escape_markdown(line: str) -> str:
    """Escape a line so that Markdown shows it as it is."""
    return MARKDOWN_MARKS.sub(r"\\\g<0>", line)


def display_width(line: str) -> int:
    """Return the terminal columns of a line: two for East Asian wide characters, none for combining marks."""
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in line
    )


@check_keywords
class Tabular(ABC):
    """Port of what can be a data frame: a release, a forecast."""

    @abstractmethod
    def to_columns(self) -> dict[str, list[object]]:
        """Return the columns by name."""

    def to_polars(self) -> polars.DataFrame:
        """Return a polars data frame."""
        frame: polars.DataFrame = formatting.optional("polars", "polars").DataFrame(self.to_columns())
        return frame

    def to_pandas(self) -> Any:
        """Return a pandas data frame."""
        return formatting.optional("pandas", "pandas").DataFrame(self.to_columns())

    def to_arrow(self) -> Any:
        """Return a pyarrow table."""
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
        """Format the leaflet for a terminal: with so many rows of a longer table, or all."""
        parts = ["\n".join(self._opening_lines()), *self._table_text(rows), "\n".join(self._closing_lines())]
        return "\n\n".join(part for part in parts if part)

    @property
    def notes(self) -> list[str]:
        """Lines of everything but the table."""
        return [*self._opening_lines(), *self._closing_lines()]

    def first(self, rows: int | None) -> TextTable:
        """Return the first rows of a long table, or all."""
        return self.table.first(rows) if rows is not None and self._hidden(rows) else self.table

    def hidden_rows_note(self, rows: int | None) -> list[str]:
        """Return a note on how many rows are hidden, if any are."""
        hidden = self._hidden(rows)
        return [f"... and {hidden:,} more: {HAVE_ALL}"] if hidden else []

    def _hidden(self, rows: int | None) -> int:
        return 0 if rows is None or len(self.table) <= MAX_WHOLE_ROWS else len(self.table) - rows

    def _table_text(self, rows: int | None) -> list[str]:
        """Return the table, if it has any rows, and what is directly below it."""
        if not len(self.table):
            return []
        remark_lines = [wrap_text(self.remark)] if self.remark else []
        table, longest = self.first(rows), None if rows is None else formatting.MAX_PRINTED_LENGTH
        cut_note = table.cut_note(longest) if longest is not None else []
        return ["\n".join([table.text(longest), *self.hidden_rows_note(rows), *cut_note, *remark_lines])]

    def _opening_lines(self) -> list[str]:
        headline_lines = [wrap_text(f"{self.headline} {self.certainty}".rstrip())] if self.headline else []
        return [*headline_lines, *(wrap_text(line, "", "  ") for line in self.outcome)]

    def _closing_lines(self) -> list[str]:
        accuracy_lines = (
            [self.accuracy_title, *(wrap_text(line, "  - ", "    ") for line in self.accuracy)] if self.accuracy else []
        )
        title_lines = [f"{self.how_title[0].lower()}{self.how_title[1:]}:"] if self.how and self.how_title else []
        return [*accuracy_lines, *self.price, *title_lines, *(wrap_text(line, "  ", "    ") for line in self.how)]


def wrap_text(line: str, first_prefix: str = "", following: str = "") -> str:
    """Wrap a paragraph for a terminal, with a prefix before its first line and one before the others."""
    columns = max(MIN_COLUMNS, min(MAX_COLUMNS, shutil.get_terminal_size((MAX_COLUMNS, 24)).columns))
    return textwrap.fill(line, columns, initial_indent=first_prefix, subsequent_indent=following)


def describe_disagreement(items: Sequence[Item], count: str) -> str:
    """Describe the first item with a larger count than the one above it; "" if there is none.

    Ranks and counts have noise of their own, so a table may look strange there.
    """
    from dpselect.release.groups import typed_group

    for upper, lower in pairwise(items):
        if typed_group(upper.group) != typed_group(lower.group) or upper.count is None or lower.count is None:
            continue
        if upper.count < lower.count:
            group = f"In {', '.join(map(formatting.brief, upper.group))}: rank" if upper.group else "Rank"
            return (
                f"{group} {lower.rank} ({formatting.brief(lower.item)}) shows a larger {count} than rank {upper.rank} "
                f"({formatting.brief(upper.item)}). This is expected: ranks and {count}s were drawn separately, "
                "each with its own noise."
            )
    return ""
