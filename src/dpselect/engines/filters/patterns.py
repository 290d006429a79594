"""Patterns of LIKE, starts_with and similar functions, split at each %.

No engine's LIKE gets a pattern that makes it try every letter at every position of the text. `_` occurs only
in the first or the last piece, whose position is fixed; these are compared with the ends of the text. The part
between them has only plain texts, which are searched for one after the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from dpselect.engines.filters.tree import refuse

Piece = tuple[str | None, ...]


@dataclass(frozen=True)
class Pattern:
    """Pieces with any letters between them; in the first and the last piece None is any one letter."""

    pieces: tuple[Piece, ...]

    @classmethod
    def parse(cls, text: str) -> Pattern:
        """Parse a text after LIKE."""
        if "\\" in text:
            refuse("LIKE with a backslash, which engines read in different ways", "contains(x, 'a') accepts any text")
        pieces = re.sub("%+", "%", text).split("%")
        if any("_" in piece for piece in pieces[1:-1]):
            refuse("a _ between two %", "use _ only before the first % or after the last; length(x) counts letters")
        return cls(tuple(tuple(None if letter == "_" else letter for letter in piece) for piece in pieces))

    @property
    def first(self) -> Piece:
        """The piece at the start of the text, if the pattern goes on."""
        return self.pieces[0]

    @property
    def last(self) -> Piece:
        """The piece at the end of the text."""
        return self.pieces[-1]

    @property
    def between(self) -> list[str]:
        """The plain texts between the two, in order."""
        return ["".join(map(str, piece)) for piece in self.pieces[1:-1] if piece]

    @property
    def is_plain(self) -> bool:
        """Does the pattern have no `_` and no letter with a special meaning in LIKE?"""
        return all(map(is_plain, self.pieces))

    @property
    def tests(self) -> int:
        """The number of times that a test names the text, at least 1."""
        if len(self.pieces) == 1:
            return 1
        ends = bool(self.first) + bool(self.last)
        return max(1, ends + (ends == 2) + (2 if self.between and ends else bool(self.between)))

    @property
    def readings(self) -> int:
        """The largest number of readings of a text: letters at any position are compared again and again.

        8 of them are one reading more; if several pieces follow one another, 4.
        """
        letters_per_reading = 8 if len(self.between) == 1 else 4
        search_readings = sum(1 + -(-len(piece) // letters_per_reading) for piece in self.between)
        return (
            self.tests + search_readings + (sum(None in piece for piece in self.pieces) if len(self.pieces) > 1 else 0)
        )

    def text(self, escape: str = "") -> str:
        """Return the pattern as text after LIKE, for an engine in which `escape` makes the next letter plain."""
        return "%".join(escape_piece(piece, escape) for piece in self.pieces)


def is_plain(piece: Piece) -> bool:
    """Return whether every letter matches itself in every engine's LIKE."""
    return all(letter is not None and letter not in "%_\\" for letter in piece)


def escape_piece(piece: Piece, escape: str = "") -> str:
    """Return a piece as text after LIKE."""

    def escape_letter(letter: str | None) -> str:
        return "_" if letter is None else escape + letter if letter in ("%", "_", escape) else letter

    return "".join(map(escape_letter, piece))


@dataclass(frozen=True)
class Matcher:
    """The tests of an engine for pieces; each takes the SQL of a text."""

    is_: Callable[[str, Piece], str]
    begins: Callable[[str, Piece], str]
    ends: Callable[[str, Piece], str]
    holds: Callable[[str, list[str]], str]  # plain texts, one after the other

    def compile_pattern(self, sql: str, pattern: Pattern) -> str:
        """Compile the condition that a text matches the pattern."""
        first, last, between = pattern.first, pattern.last, pattern.between
        if len(pattern.pieces) == 1:
            return self.is_(sql, first)
        tests = [self.begins(sql, first)] * bool(first) + [self.ends(sql, last)] * bool(last)
        ends = len(first) + len(last)
        if first and last:
            tests.append(f"length({sql}) >= {ends}")
        if between:
            # PostgreSQL fails for a length below 0.
            inner = f"substring({sql}, {len(first) + 1}, greatest(CAST(length({sql}) AS INTEGER) - {ends}, 0))"
            tests.append(self.holds(inner if ends else sql, between))
        return f"({' AND '.join(tests)})" if tests else self.begins(sql, ())


def write_plain(piece: Piece, write: Callable[[str], str]) -> str:
    """Return a piece whose letters all match themselves as a literal."""
    return write("".join(map(str, piece)))
