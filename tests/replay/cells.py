"""Cells: one kind of source with awkward rows. D is read, then D with those rows, and both are judged."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import ClassVar

import tests.replay.database_kinds
import tests.replay.file_kinds
import tests.replay.frame_kinds
import tests.replay.ibis_kinds
import tests.replay.lake_kinds
import tests.replay.prepared_kinds
import tests.replay.server_kinds  # noqa: F401 - each enters its kinds
from tests.covering import covering_of
from tests.replay.file_kinds import written
from tests.replay.judge import Allowed, broken
from tests.replay.kinds import KINDS, Kind, Made
from tests.replay.odd_lines import LINES, OddLine
from tests.replay.odd_values import Odd
from tests.replay.questions import WORDS, Noticed, engines, notice
from tests.replay.sorts import PLACES, ROLES, Sorts, awkward, joined, plain


@dataclass(frozen=True)
class Values:
    """Awkward values in columns of these sorts, by role: of users, of one user's items, and of her other column.

    `turn` says where they stand: users at one place, the others at the next one, and nothing awkward at the third. All
    questions are asked, or `few`.
    """

    kind: Kind
    sorts: Sorts
    odds: tuple[tuple[Odd, ...], ...]
    turn: int = 0
    few: tuple[str, ...] = ()

    @property
    def allowed(self) -> Allowed:
        """What the awkward rows may change."""
        users, items, others = self.odds
        forms = _forms([odd.value for odd in items])
        return Allowed(1 + len(users), 1 + len(items), forms, 1 + len(users) + len(others))

    def made(self, folder: Path, *, alone: bool) -> Made:
        """The source with the awkward rows, or with everybody else's alone."""
        rows = plain(self.sorts)
        for number, odds in enumerate([] if alone else self.odds):
            more = awkward(self.sorts, ROLES[number], [odd.value for odd in odds])
            rows = joined(rows, more, place_of(number, self.turn))
        return self.kind.make(rows, folder)

    def parts(self) -> Iterator[Values]:
        """Each awkward value by itself."""
        for number, odds in enumerate(self.odds):
            yield from (replace(self, odds=((),) * number + ((odd,),) + ((),) * (2 - number)) for odd in odds)

    def __str__(self) -> str:
        named = (f"{len(odds)} of {sort}" if len(odds) > 1 else f"{odds[0].name} of {sort}" if odds else "plain"
                 for sort, odds in zip(self.sorts, self.odds, strict=True))  # fmt: skip
        return f"{self.kind.name}: " + ", ".join(named) + f", {place_of(0, self.turn)}"


@dataclass(frozen=True)
class Lines:
    """Awkward lines in a text file, by place."""

    kind: Kind
    lines: dict[str, OddLine]
    few: ClassVar[tuple[str, ...]] = ("plain",)  # every question reads the same lines

    @property
    def sorts(self) -> Sorts:
        """The columns of everybody else."""
        return (self.kind.sorts[-1],) * 3

    @property
    def allowed(self) -> Allowed:
        """What the awkward rows may change."""
        users = sum(line.users for line in self.lines.values())
        return Allowed(users, users, None)

    def made(self, folder: Path, *, alone: bool) -> Made:
        """The source with the awkward rows, or with everybody else's alone."""
        lines = {} if alone else {place: line.line for place, line in self.lines.items()}
        return written(self.kind.name, plain(self.sorts), lines, folder), None

    def parts(self) -> Iterator[Lines]:
        """Each awkward line by itself."""
        yield from (replace(self, lines={place: line}) for place, line in self.lines.items())

    def __str__(self) -> str:
        return f"{self.kind.name}: " + ", ".join(f"{line.name} {place}" for place, line in self.lines.items())


Cell = Values | Lines
FEW = ("plain", "filtered")  # engines: the second looks at every column


class Bench:
    """Runs cells. What everybody else's rows answer is asked once for each kind and its sorts."""

    def __init__(self) -> None:
        self._before: dict[tuple[str, Sorts, tuple[str, ...]], Noticed] = {}

    def run(self, cell: Cell) -> str | None:
        """What is wrong in a cell, and of which part of it; None where the rows speak for nobody else."""
        found = self._judged(cell)
        if found is None:
            return None
        return "\n".join([found, *(f"{part}: {wrong}" for part in cell.parts() if (wrong := self._judged(part)))])

    def _judged(self, cell: Cell) -> str | None:
        declared = not cell.sorts[1].startswith("any")
        return broken(self.before(cell), _ask(cell, alone=False), cell.allowed, declared=declared)

    def before(self, cell: Cell) -> Noticed:
        """What everybody else's rows answer."""
        known = (cell.kind.name, cell.sorts, cell.few)
        if known not in self._before:
            self._before[known] = _ask(cell, alone=True)
        return self._before[known]


def _ask(cell: Cell, *, alone: bool) -> Noticed:
    with tempfile.TemporaryDirectory(prefix="replay-") as folder:
        return notice(cell.made(Path(folder), alone=alone), cell.sorts, cell.few)


def _forms(values: Sequence[object]) -> frozenset[Hashable]:
    """The items of others that these values may be: themselves, and their texts."""
    found: set[Hashable] = set()
    for value in values:
        if issubclass(type(value), (str, int, float)):  # some have no class to be asked for
            found |= {value, value.rstrip(" ") if isinstance(value, str) else _written(value)}
    return frozenset(found)


def _written(value: float) -> str:
    """A number as text; Python writes no integer of thousands of digits."""
    return str(value) if isinstance(value, float) or abs(value) < 10**40 else "many digits"


# ---- which cells --------------------------------------------------------------------------------------------

HARMED = {  # a kind, a role and a sort of which a row once did harm: these three meet, too
    ("dict of lists", "item", "any of numbers"): "one text made texts of all numbers",
    ("Parquet", "item", "text"): "text that is not UTF-8 made a question fail",
}


@cache
def value_cells() -> list[Values]:
    """Every awkward value that a kind can hold, and every pair of `pairs_of`, in few readings."""
    every = ((kind, sorts, turn) for kind in KINDS.values() for sorts in latin(kind.sorts) for turn in range(3))
    return [values_of(*chosen) for chosen in covering_of(every, lambda one: pairs_of(*one))]


def latin(sorts: Sequence[str]) -> Iterator[Sorts]:
    """Three columns of these sorts, as in a Latin square: any two of the columns take every pair of sorts."""
    for user, item in itertools.product(range(len(sorts)), repeat=2):
        yield sorts[user], sorts[item], sorts[(user + item) % len(sorts)]


def values_of(kind: Kind, sorts: Sorts, turn: int = 0) -> Values:
    """All awkward values at once that these columns can hold."""
    return Values(kind, sorts, tuple(tuple(kind.odd(sort)) for sort in sorts), turn, asked_of(kind))


def asked_of(kind: Kind) -> tuple[str, ...]:
    """A kind that is read as another one is, once it is open, is asked few questions."""
    return FEW if kind.like else ()


def place_of(role: int, turn: int) -> str:
    """Where the awkward rows of a role stand."""
    return PLACES[(turn + min(role, 1)) % 3]


def pairs_of(kind: Kind, sorts: Sorts, turn: int) -> frozenset[Hashable]:
    """What a reading meets: each sort in this kind, in its role, at its place; turns and questions in this kind."""
    asked = asked_of(kind) or {*engines(sorts), "tokens" if sorts[1] in WORDS else "values"}
    placed = {(sort, role) for sort, role in zip(sorts, ROLES, strict=True)}
    placed |= {(sort, place_of(number, turn)) for number, sort in enumerate(sorts)} | {(kind.name, turn)}
    known = {(kind.name, role, sort) for role, sort in zip(ROLES, sorts, strict=True)} & HARMED.keys()
    return frozenset(
        placed | known | {(kind.name, one) for one in (*sorts, *asked)} | {*itertools.product(asked, sorts)}
    )


def line_cells(kind: Kind) -> list[Lines]:
    """Every awkward line of a text file at each place; of a file that is unpacked before, at one of them."""
    lines = LINES[kind.lines] if kind.lines is not None else ()
    third = -(-len(lines) // 3)
    return [
        Lines(kind, {place: lines[(start + number * third) % len(lines)] for number, place in enumerate(PLACES)})
        for start in range(third if "gz" in kind.name else len(lines))
    ]
