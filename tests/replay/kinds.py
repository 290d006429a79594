"""Kinds of sources: how each holds rows, and what it cannot hold. What it cannot hold is known here and never tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.replay.odd_values import BY_SORT, Odd
from tests.replay.sorts import Rows

Made = tuple[object, str | None]
Make = Callable[[Rows, Path], Made]


@dataclass(frozen=True)
class Kind:
    """A kind of source: the sorts of columns it has, the traits that no row of it can have, and its maker.

    `needs` names what must be there: the fixture of a server. `lines` says by which awkward lines it is written to.
    `like` is the kind whose code reads this one too, once it is open.
    """

    name: str
    sorts: tuple[str, ...]
    make: Make
    cannot: frozenset[str] = frozenset()
    needs: str | None = None
    lines: str | None = None
    like: str | None = None

    def odd(self, sort: str) -> list[Odd]:
        """The awkward values that a column of this sort can hold here."""
        return [odd for odd in BY_SORT[sort] if odd.trait not in self.cannot]


KINDS: dict[str, Kind] = {}
# Those whose code differs most: the cells of these are in tests/replay, of the others in tests/slow.
QUICK = {"dict of lists", "polars", "CSV", "JSON lines", "Parquet"}
ANY = ("any of numbers", "any of texts")
TYPED = ("text", "whole", "real", "decimal", "truth", "bytes", "day", "time", "moment us")
MOMENTS = ("moment s", "moment ms", "moment us", "moment ns", "moment in a zone")


def kind(
    name: str, sorts: tuple[str, ...], *, cannot: str = "", **more: str | None
) -> Callable[[Callable[[Rows, Path], object]], Callable[[Rows, Path], object]]:
    """Enter a maker of one kind of source; one that gives a pair gives the table as well."""

    def enter(make: Callable[[Rows, Path], object]) -> Callable[[Rows, Path], object]:
        def made(rows: Rows, folder: Path) -> Made:
            source = make(rows, folder)
            return source if isinstance(source, tuple) else (source, None)

        traits = frozenset(filter(None, cannot.split(", ")))
        KINDS[name] = Kind(name, sorts, made, traits, **more)
        return make

    return enter
