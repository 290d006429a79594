"""Patterns: what LIKE, starts_with and their kin ask of a text, cut into letters, `_` and `%`; matched in linear time.

A matcher that tries every place for every % takes a power of the text's length: each % is one more factor. So an engine
whose LIKE does so gets a regular expression instead, in which no % is tried again.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from dpselect.engines.filters.tree import refuse

ANY, ONE = "any", "one"
_LONGEST = 1000  # letters of a pattern that an engine matches by a regular expression


@dataclass(frozen=True)
class Pattern:
    """Pieces between which any letters may stand; in a piece None is one letter, whichever."""

    pieces: tuple[tuple[str | None, ...], ...]

    def __post_init__(self) -> None:
        letters = sum(len(piece) + 1 for piece in self.pieces)
        if letters > _LONGEST and not (self.is_plain and self.is_simple):
            refuse(f"a pattern of {letters} letters", f"up to {_LONGEST} may stand there")

    @classmethod
    def like(cls, text: str) -> Pattern:
        """What a text after LIKE means."""
        if "\\" in text:
            refuse("LIKE with a backslash, which engines read in different ways", "contains(x, 'a') takes any text")
        cut = re.sub("%+", "%", text).split("%")
        return cls(tuple(tuple(None if letter == "_" else letter for letter in piece) for piece in cut))

    @property
    def is_plain(self) -> bool:
        """Is it written for LIKE without `_` and without letters that mean something there?"""
        return all(letter is not None and letter not in "%_\\" for piece in self.pieces for letter in piece)

    @property
    def is_simple(self) -> bool:
        """Is there at most one % inside, and no other, or none but at the ends? Any matcher is quick then."""
        return len(self.pieces) <= 2 or (len(self.pieces) == 3 and not self.pieces[0] and not self.pieces[2])

    def text(self, escape: str = "") -> str:
        """As it is written after LIKE, for an engine in which `escape` makes a letter of what follows."""

        def written(letter: str | None) -> str:
            return "_" if letter is None else escape + letter if letter in ("%", "_", escape) else letter

        return "%".join("".join(map(written, piece)) for piece in self.pieces)

    def regex(self, between: Callable[[str], str]) -> str:
        """As a regular expression for a whole text; `between` writes a piece before which any letters stand."""
        pieces = ["".join("." if letter is None else _letter(letter) for letter in piece) for piece in self.pieces]
        if len(pieces) == 1:
            return pieces[0]
        return pieces[0] + "".join(map(between, pieces[1:-1])) + ".*" + pieces[-1]


def _letter(letter: str) -> str:
    return letter if letter.isascii() and letter.isalnum() else f"\\x{{{ord(letter):X}}}"
