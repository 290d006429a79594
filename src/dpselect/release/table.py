"""What a person reads: a table, and the text beside it.

A leaflet says what came back, how good it is and what it cost; how it was found comes last.
"""

from __future__ import annotations

import shutil
import textwrap
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

from dpselect.release import formatting

if TYPE_CHECKING:
    import polars

HEAD = 20  # rows of a long table that are shown
LONG = 30  # rows; a table up to here is shown whole
WIDEST, NARROWEST = 100, 40  # columns of a terminal that text is broken at
WIDEST_ITEM = 60  # a longer one is shown whole; it only does not push the counts of the others to the right


@dataclass(frozen=True)
class Table:
    """Named columns of equal length; those in `left` hold names, which are put to the left."""

    columns: Mapping[str, Sequence[object]]
    left: Collection[str] = ("item",)

    def __len__(self) -> int:
        return max(map(len, self.columns.values()), default=0)

    def first(self, rows: int) -> Table:
        """Its first rows."""
        return replace(self, columns={name: cells[:rows] for name, cells in self.columns.items()})

    def text(self) -> str:
        """Aligned for a terminal: numbers and their heads to the right."""
        cells = {name: [_cell(value) for value in values] for name, values in self.columns.items()}
        heads = {name: formatting.text(name) for name in cells}
        wide = {name: min(max(map(width, [heads[name], *cells[name]])), WIDEST_ITEM) for name in cells}
        rows = [list(heads.values()), *(list(row) for row in zip(*cells.values(), strict=True))]
        return "\n".join(
            "  ".join(self._pad(cell, name, wide[name]) for name, cell in zip(cells, row, strict=True)).rstrip()
            for row in rows
        )

    def _pad(self, cell: str, name: str, wide: int) -> str:
        room = " " * (wide - width(cell))
        return cell + room if name in self.left else room + cell

    def html(self) -> str:
        """For a notebook, escaped."""
        head = "".join(f"<th>{escape(formatting.text(name))}</th>" for name in self.columns)
        rows = zip(*self.columns.values(), strict=True)
        body = "".join("<tr>" + "".join(f"<td>{escape(_cell(v))}</td>" for v in row) + "</tr>" for row in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else formatting.text(value)


def width(line: str) -> int:
    """Columns of a terminal that a line takes: East Asian wide characters two, combining marks none."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


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

    table: Table
    price: Sequence[str]
    how: Sequence[str]
    how_title: str = "How it was found"  # in a notebook it opens what is hidden below it; "": all is shown
    outcome: Sequence[str] = ()
    good: str = ""  # what the lines about how good it is have in common
    accuracy: Sequence[str] = ()

    def text(self, rows: int | None = None) -> str:
        """For a terminal: so many rows of a longer table, or all."""
        above = [self._first(rows).text()] if len(self.table) else []
        return "\n".join([*above, *self._more(rows), *self._outcome(), "", *self._beside()])

    def html(self, rows: int | None = None) -> str:
        """For a notebook."""
        table = self._first(rows).html() if len(self.table) else ""
        lines = [*self._more(rows), *self.outcome, *([self.good] if self.accuracy else [])]
        good = "".join(f"<li>{escape(line)}</li>" for line in self.accuracy)
        good = f"<ul>{good}</ul>" if good else ""
        how = "".join(map(_paragraph, self.how))
        if how and self.how_title:
            how = f"<details><summary>{self.how_title}</summary>{how}</details>"
        return "".join([table, *map(_paragraph, lines), good, *map(_paragraph, self.price), how])

    @property
    def notes(self) -> list[str]:
        """All but the table, as lines."""
        return [*self._outcome(), *self._beside()]

    def _hidden(self, rows: int | None) -> int:
        return 0 if rows is None or len(self.table) <= LONG else len(self.table) - rows

    def _first(self, rows: int | None) -> Table:
        return self.table.first(rows) if rows is not None and self._hidden(rows) else self.table

    def _more(self, rows: int | None) -> list[str]:
        hidden = self._hidden(rows)
        return [f"... and {hidden:,} more: to_pandas(), to_csv(path) have all"] if hidden else []

    def _outcome(self) -> list[str]:
        return [_filled(line, "", "  ") for line in self.outcome]

    def _beside(self) -> list[str]:
        good = [self.good, *(_filled(line, "  - ", "    ") for line in self.accuracy)] if self.accuracy else []
        title = [f"{self.how_title[0].lower()}{self.how_title[1:]}:"] if self.how and self.how_title else []
        return [*good, *self.price, *title, *(_filled(line, "  ", "    ") for line in self.how)]


def _filled(line: str, first: str, then: str) -> str:
    columns = max(NARROWEST, min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns))
    return textwrap.fill(line, columns, initial_indent=first, subsequent_indent=then)


def _paragraph(line: str) -> str:
    return f"<p>{escape(line)}</p>"
