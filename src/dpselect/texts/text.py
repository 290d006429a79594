"""Text: a column of texts whose tokens, or several of them in a row, are the items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpselect.errors import ParameterError, came
from dpselect.texts.tokenizer import WORDS, Tokenizer, ngram_levels
from dpselect.texts.words import Words


@dataclass(frozen=True)
class Text:
    """In the place of `item` of a Dataset: the tokens of a column of text are the items, for `union`.

    With `ngrams=(1, 3)` they are one to three tokens in a row. `tokenizer` is "words", "spaces", "sentences", or "re:"
    and a pattern whose matches are the tokens; `lower=False` keeps capitals. Raises ParameterError.

        >>> Text("body", ngrams=(1, 2))
        Text(column='body', ngrams=(1, 2), tokenizer='words', lower=True)
    """

    column: str
    ngrams: int | Sequence[int] = 1
    tokenizer: str = WORDS
    lower: bool = True

    def __post_init__(self) -> None:
        column: object = self.column
        if not (isinstance(column, str) and column.strip()):
            raise ParameterError("text", "be the name of a column", came(self.column))
        levels = ngram_levels(self.ngrams, self.cutter)  # a list could be altered after it was checked
        object.__setattr__(self, "ngrams", levels if isinstance(self.ngrams, Sequence) else levels[0])

    @property
    def cutter(self) -> Tokenizer:
        """What cuts a text."""
        return Tokenizer(self.tokenizer, self.lower)

    @property
    def words(self) -> Words:
        """Which n-grams are meant."""
        return Words(self.cutter, *ngram_levels(self.ngrams, self.cutter))
