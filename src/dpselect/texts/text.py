"""Text: a column of texts whose tokens or n-grams are the items; and the shares of a budget by length."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Number, check_keywords, positive, whole_number
from dpselect.errors import ParameterError, came
from dpselect.texts.tokenizer import WORDS, Tokenizer, ngram_levels

_MIN_SHARE = Fraction(1, 10**6)  # every method can be made for such a share


@check_keywords
@dataclass(frozen=True)
class Text:
    """The tokens of a column of text, which as `item` of a Dataset are the items of a `union`.

    N-grams are released level by level, shortest first.

    Args:
        column: The column of text.
        ngrams: How many tokens in a row make an item: a number, or the smallest and the largest, such as (1, 3).
        tokenizer: "words", "spaces", "sentences", or "re:" and a pattern whose matches are the tokens.
        lower: Whether to lowercase the text.
        level_shares: The share of the price for each length; for three lengths 1/2, 1/3 and 1/6 if left out.

    Raises: ParameterError for a bad parameter.

    Example:
        >>> Text("body", ngrams=(1, 2))
        Text(column='body', ngrams=(1, 2), tokenizer='words', lower=True, level_shares=None)
    """

    column: str
    ngrams: int | Sequence[int] = 1
    tokenizer: str = WORDS
    lower: bool = True
    level_shares: Sequence[Number] | None = None

    def __post_init__(self) -> None:
        column: object = self.column
        if not (isinstance(column, str) and column.strip()):
            raise ParameterError("text", "be the name of a column", came(self.column))
        levels = ngram_levels(self.ngrams, self.cutter)  # a list could be altered after it was checked
        object.__setattr__(self, "ngrams", levels if isinstance(self.ngrams, Sequence) else levels[0])
        if self.level_shares is not None:
            object.__setattr__(self, "level_shares", level_shares(levels[1], self.level_shares))

    @property
    def cutter(self) -> Tokenizer:
        """The tokenizer of the column."""
        return Tokenizer(self.tokenizer, self.lower)

    @property
    def words(self) -> NgramRange:
        """The n-grams that are items."""
        return NgramRange(self.cutter, *ngram_levels(self.ngrams, self.cutter))


@dataclass(frozen=True)
class NgramRange:
    """N-grams of `shortest` to `longest` tokens, of text that `tokenizer` cuts."""

    tokenizer: Tokenizer
    shortest: int
    longest: int


def level_shares(longest: int, shares: Sequence[Number] | None = None) -> tuple[Fraction, ...]:
    """Return the share of each level 1 .. `longest`: positive, and at most 1 together.

    By default three levels have 3, 2 and 1 sixths, two levels 2 and 1 thirds, and so on.

    With a share f a level may spend (f epsilon, f delta), by basic composition. A Gaussian level does better with noise
    of sigma / sqrt(f) and a failure probability of f delta / 2, where sigma is that of (epsilon, delta / 2) for one
    level: n Gaussian answers compose to one whose 1 / sigma^2 is the sum of theirs (docs/text.md).

    >>> [str(share) for share in level_shares(3)]
    ['1/2', '1/3', '1/6']
    """
    levels = whole_number("ngrams", longest, minimum=1)
    if shares is None:
        return tuple(Fraction(2 * weight, levels * (levels + 1)) for weight in range(levels, 0, -1))
    parts: object = shares
    if isinstance(parts, str) or not isinstance(parts, Sequence) or len(parts) != levels:
        hint = "shorter n-grams are released first, so they need a share too"
        raise ParameterError("shares", f"be {levels} numbers, one for each length from 1", came(shares), hint)
    parsed_shares = tuple(positive("shares", share) for share in shares)
    if min(parsed_shares) < _MIN_SHARE:
        raise ParameterError("shares", "be at least 1e-6 each", came(list(shares)))
    if sum(parsed_shares) > 1:
        hint = "write thirds as fractions or as text, such as '1/3': 0.3333 is taken literally"
        raise ParameterError("shares", "add up to at most 1", came(list(shares)), hint)
    return parsed_shares
