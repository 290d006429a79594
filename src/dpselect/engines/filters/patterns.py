"""Patterns of LIKE, starts_with and similar functions, split at each %.

No engine's LIKE gets a pattern that makes it try every letter at every position of the text. `_` occurs only
in the first or the last piece, whose position is fixed; these are compared with the ends of the text. The part
between them has only plain texts, which are searched for one after the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from dpselect._ground.dataclass import dataclass
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
    def first_piece(self) -> Piece:
        """The piece at the start of the text, if the pattern goes on."""
        return self.pieces[0]

    @property
    def last_piece(self) -> Piece:
        """The piece at the end of the text."""
        return self.pieces[-1]

    @property
    def inner_texts(self) -> list[str]:
        """The plain texts between the two, in order."""
        return ["".join(map(str, piece)) for piece in self.pieces[1:-1] if piece]

    @property
    def is_plain(self) -> bool:
        """Does the pattern have no `_` and no letter with a special meaning in LIKE?"""
        return all(map(is_plain, self.pieces))

    @property
    def test_count(self) -> int:
        """The number of times that a test names the text, at least 1."""
        if len(self.pieces) == 1:
            return 1
        ends = bool(self.first_piece) + bool(self.last_piece)
        return max(1, ends + (ends == 2) + (2 if self.inner_texts and ends else bool(self.inner_texts)))

    @property
    def reading_count(self) -> int:
        """The largest number of readings of a text: letters at any position are compared again and again.

        8 of them are one reading more; if several pieces follow one another, 4.
        """
        letters_per_reading = 8 if len(self.inner_texts) == 1 else 4
        search_readings = sum(1 + -(-len(piece) // letters_per_reading) for piece in self.inner_texts)
        return (
            self.test_count
            + search_readings
            + (sum(None in piece for piece in self.pieces) if len(self.pieces) > 1 else 0)
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
    """The tests of an engine for pieces, in templates of the SQL of a text and of a literal."""

    literal: Callable[[str], str]
    contains: str
    starts_with: str | None = None  # a plain piece at the start; None: LIKE
    ends_with: str | None = None  # at the end; None: a comparison with the last letters
    escape: str = ""  # makes the next letter of LIKE plain
    compares_start_by_left: bool = False  # compare the first letters where a piece at the start has `_`; else LIKE
    contains_in_order: Callable[[str, list[str]], str] | None = None  # plain texts, one after the other; None: LIKE

    def compile_pattern(self, sql: str, pattern: Pattern) -> str:
        """Compile the condition that a text matches the pattern."""
        first, last, between = pattern.first_piece, pattern.last_piece, pattern.inner_texts
        if len(pattern.pieces) == 1:
            return self._equals(sql, first)
        tests = [self._starts_with(sql, first)] * bool(first) + [self._ends_with(sql, last)] * bool(last)
        ends = len(first) + len(last)
        if first and last:
            tests.append(f"length({sql}) >= {ends}")
        if between:
            # PostgreSQL fails for a length below 0.
            inner = f"substring({sql}, {len(first) + 1}, greatest(CAST(length({sql}) AS INTEGER) - {ends}, 0))"
            tests.append(self._contains(inner if ends else sql, between))
        return f"({' AND '.join(tests)})" if tests else self._starts_with(sql, ())

    def _equals(self, sql: str, piece: Piece) -> str:
        if None in piece:
            return f"{sql} LIKE {self.literal(escape_piece(piece, self.escape))}"
        return f"{sql} = {self._plain_literal(piece)}"

    def _starts_with(self, sql: str, piece: Piece) -> str:
        if self.starts_with is not None and None not in piece:
            return self.starts_with.format(sql, self._plain_literal(piece))
        if self.compares_start_by_left:
            return self._equals(f"left({sql}, {len(piece)})", piece)
        return f"{sql} LIKE {self.literal(escape_piece(piece, self.escape) + '%')}"

    def _ends_with(self, sql: str, piece: Piece) -> str:
        if self.ends_with is not None and None not in piece:
            return self.ends_with.format(sql, self._plain_literal(piece))
        return self._equals(f"right({sql}, {len(piece)})", piece)

    def _contains(self, sql: str, texts: list[str]) -> str:
        if len(texts) == 1:
            return self.contains.format(sql, self.literal(texts[0]))
        if self.contains_in_order is not None:
            return self.contains_in_order(sql, texts)
        escaped = "%".join(escape_piece(tuple(text), self.escape) for text in texts)
        return f"{sql} LIKE {self.literal(f'%{escaped}%')}"

    def _plain_literal(self, piece: Piece) -> str:
        """Return a piece whose letters all match themselves as a literal."""
        return self.literal("".join(map(str, piece)))
