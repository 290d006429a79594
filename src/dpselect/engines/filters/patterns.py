"""Patterns: what LIKE, starts_with and their kin ask of a text, cut at each %.

No engine's LIKE is asked for a pattern that makes it try every letter of it at every place of the text. `_` stands only
in the first or the last piece, whose place is fixed; these are compared with the ends of the text, and what stands
between them holds only plain texts, which are looked for one behind the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from dpselect.engines.filters.tree import refuse

Piece = tuple[str | None, ...]


@dataclass(frozen=True)
class Pattern:
    """Pieces between which any letters may stand; in the first and the last None is one letter, whichever."""

    pieces: tuple[Piece, ...]

    @classmethod
    def like(cls, text: str) -> Pattern:
        """What a text after LIKE means."""
        if "\\" in text:
            refuse("LIKE with a backslash, which engines read in different ways", "contains(x, 'a') accepts any text")
        cut = re.sub("%+", "%", text).split("%")
        if any("_" in piece for piece in cut[1:-1]):
            refuse("a _ between two %", "use _ only before the first % or after the last; length(x) counts letters")
        return cls(tuple(tuple(None if letter == "_" else letter for letter in piece) for piece in cut))

    @property
    def first(self) -> Piece:
        """What the text begins with, where it may go on."""
        return self.pieces[0]

    @property
    def last(self) -> Piece:
        """What the text ends with."""
        return self.pieces[-1]

    @property
    def between(self) -> list[str]:
        """Plain texts that come one behind the other between the two."""
        return ["".join(map(str, piece)) for piece in self.pieces[1:-1] if piece]

    @property
    def is_plain(self) -> bool:
        """Is it written for LIKE without `_` and without letters that mean something there?"""
        return all(map(is_plain, self.pieces))

    @property
    def tests(self) -> int:
        """How many times a test of it names the text, at least 1."""
        if len(self.pieces) == 1:
            return 1
        ends = bool(self.first) + bool(self.last)
        return max(1, ends + (ends == 2) + (2 if self.between and ends else bool(self.between)))

    @property
    def readings(self) -> int:
        """How many times a text is read at most: letters that may stand anywhere are compared again and again.

        8 of them are one reading more; where several pieces come one behind the other, 4.
        """
        letters = 8 if len(self.between) == 1 else 4
        anywhere = sum(1 + -(-len(piece) // letters) for piece in self.between)
        return self.tests + anywhere + (sum(None in piece for piece in self.pieces) if len(self.pieces) > 1 else 0)

    def text(self, escape: str = "") -> str:
        """As it is written after LIKE, for an engine in which `escape` makes a letter of what follows."""
        return "%".join(like(piece, escape) for piece in self.pieces)


def is_plain(piece: Piece) -> bool:
    """Does every letter stand for itself in every engine's LIKE?"""
    return all(letter is not None and letter not in "%_\\" for letter in piece)


def like(piece: Piece, escape: str = "") -> str:
    """A piece as it is written after LIKE."""

    def written(letter: str | None) -> str:
        return "_" if letter is None else escape + letter if letter in ("%", "_", escape) else letter

    return "".join(map(written, piece))


@dataclass(frozen=True)
class Matcher:
    """How an engine looks for pieces; each takes the SQL of a text."""

    is_: Callable[[str, Piece], str]
    begins: Callable[[str, Piece], str]
    ends: Callable[[str, Piece], str]
    holds: Callable[[str, list[str]], str]  # plain texts, one behind the other

    def fits(self, sql: str, pattern: Pattern) -> str:
        """Does a text fit the pattern?"""
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
