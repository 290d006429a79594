"""Cells of the table: one kind of source and one awkward row. D is read, then D with that row, and both are judged."""

from __future__ import annotations

import tempfile
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import tests.replay.database_kinds
import tests.replay.file_kinds
import tests.replay.frame_kinds
import tests.replay.prepared_kinds
import tests.replay.server_kinds  # noqa: F401 - each enters its kinds
from tests.replay.file_kinds import written
from tests.replay.judge import Allowed, broken
from tests.replay.kinds import KINDS, Kind
from tests.replay.odd_lines import HUGE_LINES, LINES, OddLine
from tests.replay.odd_values import Odd
from tests.replay.questions import Noticed, notice
from tests.replay.sorts import PLACES, ROLES, SORTS, awkward, joined, plain

LINES_GROUP = "lines"
BROAD = ("text", "any of numbers")  # sorts whose every value is also tried as a user and before a filter


@dataclass(frozen=True)
class Cell:
    """One kind of source with one awkward row, or with `odds` that one user has all at once."""

    kind: Kind
    sort: str
    role: str
    place: str
    odds: tuple[Odd, ...] = ()
    line: OddLine | None = None

    @property
    def group(self) -> str:
        """The column of the table."""
        return LINES_GROUP if self.line is not None else self.odds[0].group

    @property
    def few(self) -> bool:
        """Is it asked for counts and sets of users alone? Every question reads the same lines, wherever one is odd.

        So all are asked where it stands in the midst of a file that is not compressed.
        """
        return self.line is not None and (self.place != "middle" or "gz" in self.kind.name)

    @property
    def row(self) -> str:
        """What is awkward, in words."""
        if self.line is not None:
            return f"{self.line.name}, {self.place}"
        name = self.odds[0].name if len(self.odds) == 1 else "all of them"
        return f"{name} as {self.role} among {self.sort}, {self.place}"

    def __str__(self) -> str:
        return f"{self.kind.name}: {self.row}"


def single_cells(kind: Kind) -> Iterator[Cell]:
    """Every awkward row of a kind by itself. Values take the three places in turn, lines all of them."""
    for sort in kind.sorts:
        for role in ROLES if sort in BROAD else ("item",):
            for number, odd in enumerate(kind.odd(sort, role)):
                yield Cell(kind, sort, role, PLACES[number % 3], (odd,))
    yield from line_cells(kind, LINES)


def joint_cells(kind: Kind) -> Iterator[Cell]:
    """All awkward values of a sort at once, in each role: fewer questions, and rows that meet. Lines by themselves."""
    for sort in kind.sorts:
        for number, role in enumerate(ROLES):
            odds = tuple(kind.odd(sort, role))
            if odds:
                yield Cell(kind, sort, role, PLACES[number], odds)


def line_cells(kind: Kind, lines: dict[str, tuple[OddLine, ...]]) -> Iterator[Cell]:
    """The awkward lines of a text file, each at each place."""
    if kind.lines is not None:
        for line in lines[kind.lines]:
            for place in PLACES:
                yield Cell(kind, kind.sorts[-1], "item", place, line=line)


def huge_cells(kind: Kind) -> Iterator[Cell]:
    """Lines of fifty million letters."""
    return line_cells(kind, HUGE_LINES)


class Bench:
    """Runs cells. What everybody else's rows answer is asked once for each kind, sort and role."""

    def __init__(self) -> None:
        self._before: dict[tuple[str, str, str, bool, bool], Noticed] = {}

    def run(self, cell: Cell) -> str | None:
        """What is wrong in a cell; None where the row speaks for nobody else."""
        return broken(self.before(cell), self.after(cell), allowed(cell), declared=not cell.sort.startswith("any"))

    def before(self, cell: Cell) -> Noticed:
        """What everybody else's rows answer."""
        known = (cell.kind.name, cell.sort, cell.role, cell.line is not None, cell.few)
        if known not in self._before:
            self._before[known] = _ask(cell, alone=True)
        return self._before[known]

    def after(self, cell: Cell) -> Noticed:
        """What they answer with the awkward row among them."""
        return _ask(cell, alone=False)


def _ask(cell: Cell, *, alone: bool) -> Noticed:
    rows = plain(cell.sort, cell.role)
    with tempfile.TemporaryDirectory(prefix="replay-") as name:
        folder = Path(name)
        if cell.line is not None:
            line = None if alone else cell.line.line
            made = written(cell.kind.name, str(cell.kind.lines), rows, line, cell.place, folder), None
            return notice(made, cell.role, cell.sort, all_questions=False, few=cell.few)
        if not alone:
            more = awkward(cell.sort, cell.role, [odd.value for odd in cell.odds], alone=len(cell.odds) == 1)
            rows = joined(rows, more, cell.place)
        return notice(cell.kind.make(rows, folder), cell.role, cell.sort)


def allowed(cell: Cell) -> Allowed:
    """What the awkward row may change."""
    if cell.line is not None:
        return Allowed(users=cell.line.users, rows=cell.line.users)
    number = len(cell.odds)
    if cell.role != "item":
        return Allowed(number if cell.role == "user" else 1, 1, frozenset({SORTS["text"].plain[1]}))
    return Allowed(1, number, _forms([odd.value for odd in cell.odds]))


def _forms(values: Sequence[object]) -> frozenset[Hashable]:
    """The items of others that these values may be: themselves, and their texts."""
    found: set[Hashable] = set()
    for value in values:
        if isinstance(value, (str, int, float)):
            found |= {value, value.rstrip(" ") if isinstance(value, str) else _written(value)}
    return frozenset(found)


def _written(value: float) -> str:
    """A number as text; Python writes no integer of thousands of digits."""
    return str(value) if isinstance(value, float) or abs(value) < 10**40 else "many digits"


def every_kind(*, servers: bool) -> list[Kind]:
    """The kinds, with those of servers or without."""
    return [kind for kind in KINDS.values() if servers or kind.needs is None]
