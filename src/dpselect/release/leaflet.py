"""Leaflet: a release for a reader. What came back, how good it is, what it cost; how it was found comes last."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from dpselect.release import formatting

HEAD = 20  # rows of a long table that are shown
LONG = 30  # rows; a table up to here is shown whole
WIDEST, NARROWEST = 100, 40  # columns of a terminal that text is broken at


@dataclass(frozen=True)
class Leaflet:
    """A table and the parts of the text beside it, each a line or a paragraph."""

    table: Mapping[str, Sequence[object]]
    left: Collection[str]  # the columns of names, which are put to the left
    outcome: Sequence[str]
    good: str  # what the lines about how good it is have in common
    accuracy: Sequence[str]
    price: Sequence[str]
    how: Sequence[str]

    def text(self, rows: int | None = None) -> str:
        """For a terminal: so many rows of a longer table, or all."""
        above = [formatting.text_table(self._first(rows), self.left)] if self._rows else []
        return "\n".join([*above, *self._more(rows), *self._outcome(), "", *self._beside()])

    def html(self) -> str:
        """For a notebook."""
        from html import escape

        table = formatting.html_table(self._first(HEAD)) if self._rows else ""
        lines = [*self._more(HEAD), *self.outcome, *([self.good] if self.accuracy else [])]
        good = "".join(f"<li>{escape(line)}</li>" for line in self.accuracy)
        how = "".join(_paragraph(line) for line in self.how)
        return "".join(
            [
                table,
                *map(_paragraph, lines),
                f"<ul>{good}</ul>" if good else "",
                *map(_paragraph, self.price),
                f"<details><summary>How it was found</summary>{how}</details>" if how else "",
            ]
        )

    @property
    def notes(self) -> list[str]:
        """All but the table, as lines."""
        return [*self._outcome(), *self._beside()]

    @property
    def _rows(self) -> int:
        return max(map(len, self.table.values()), default=0)

    def _hidden(self, rows: int | None) -> int:
        return 0 if rows is None or self._rows <= LONG else self._rows - rows

    def _first(self, rows: int | None) -> Mapping[str, Sequence[object]]:
        return {name: cells[:rows] for name, cells in self.table.items()} if self._hidden(rows) else self.table

    def _more(self, rows: int | None) -> list[str]:
        hidden = self._hidden(rows)
        return [f"... and {hidden:,} more: to_pandas(), to_csv(path) have all"] if hidden else []

    def _outcome(self) -> list[str]:
        return [_filled(line, "", "  ") for line in self.outcome]

    def _beside(self) -> list[str]:
        good = [self.good, *(_filled(line, "  - ", "    ") for line in self.accuracy)] if self.accuracy else []
        how = ["how it was found:", *(_filled(line, "  ", "    ") for line in self.how)] if self.how else []
        return [*good, *self.price, *how]


def _filled(line: str, first: str, then: str) -> str:
    columns = max(NARROWEST, min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns))
    return textwrap.fill(line, columns, initial_indent=first, subsequent_indent=then)


def _paragraph(line: str) -> str:
    from html import escape

    return f"<p>{escape(line)}</p>"
