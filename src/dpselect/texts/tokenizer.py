"""Tokenizer: the rule by which a text is cut into tokens. An engine does the cutting, so no row comes to Python."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import flag, whole_number
from dpselect.errors import ParameterError, came

WORDS, SPACES, SENTENCES = "words", "spaces", "sentences"
_BUILT_IN = (WORDS, SPACES, SENTENCES)
_PREFIX = "re:"
_MUST_BE_TOKENIZER = "be 'words', 'spaces', 'sentences' or a regular expression after 're:'"
_NO_FUNCTION = (
    "text is cut inside the engine, one row at a time, and no row becomes a Python object; "
    "write the tokens joined by spaces into a column of your own and use tokenizer='spaces'"
)
_WHOLE_CHARACTERS = "the pattern is read by RE2, where \\C is a part of a character; . is a whole one"
_MAX_LENGTH = 16


@dataclass(frozen=True)
class Tokenizer:
    """Rule for tokens: "words", "spaces", "sentences", or "re:" and a pattern in RE2's syntax whose matches are tokens.

    With `lower` the text is put into lower case before it is cut.
    """

    name: str = WORDS
    lower: bool = True

    def __post_init__(self) -> None:
        flag("lower", self.lower)
        name: object = self.name
        if callable(name):
            raise ParameterError("tokenizer", _MUST_BE_TOKENIZER, "a Python function", _NO_FUNCTION)
        if not isinstance(name, str) or not (name in _BUILT_IN or name.startswith(_PREFIX)):
            raise ParameterError("tokenizer", _MUST_BE_TOKENIZER, came(self.name))
        if self.name == _PREFIX:
            raise ParameterError("tokenizer", "name a pattern after 're:'", came(self.name))
        if self.pattern is not None and "\\C" in re.findall(r"\\.", self.pattern, re.DOTALL):
            raise ParameterError("tokenizer", "match whole characters", came(self.name), _WHOLE_CHARACTERS)

    @property
    def pattern(self) -> str | None:
        """The caller's own pattern; None for a built-in tokenizer."""
        return None if self.name in _BUILT_IN else self.name.removeprefix(_PREFIX)


def ngram_levels(value: int | Sequence[int], tokenizer: Tokenizer) -> tuple[int, int]:
    """Return the shortest and the longest n-grams: (2, 2) for 2, and one to three tokens in a row for (1, 3)."""
    must = "be a whole number or two of them, the smaller first, such as (1, 3)"
    pair: tuple[object, ...] = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    if len(pair) != 2:
        raise ParameterError("ngrams", must, came(value))
    shortest = whole_number("ngrams", pair[0], minimum=1)
    longest = whole_number("ngrams", pair[1], minimum=1)
    if shortest > longest:
        raise ParameterError("ngrams", must, came(value))
    if longest > _MAX_LENGTH:
        raise ParameterError("ngrams", f"be at most {_MAX_LENGTH} long", came(value), "each length needs its own share")
    if tokenizer.name == SENTENCES and longest > 1:
        raise ParameterError("ngrams", "be 1 if sentences are the items", came(value))
    return shortest, longest
