"""What a plan must know of the data, and no question says: bounds, items that are left out, the n-grams of a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from dpselect._ground.domain import Column, Domain, Listed, max_domain_size
from dpselect._ground.parameters import Number
from dpselect.errors import ParameterError, came
from dpselect.questions.kinds import FLAG, LISTED, Kind, whole_number_kind
from dpselect.questions.value import Value, field_to_json, frozen, param
from dpselect.release.formatting import Json

if TYPE_CHECKING:
    from dpselect.texts.text import NgramRange

WORDS = "words"


class Rows(Protocol):
    """What a data set says that a plan must know."""

    @property
    def max_items_per_user(self) -> int | None:
        """How many items of a user count."""
        ...

    @property
    def split(self) -> str | None:
        """What stands between items in one text."""
        ...

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The columns of items, where they have several."""
        ...

    @property
    def words(self) -> NgramRange | None:
        """Which n-grams are the items, where they are those of a text."""
        ...

    @property
    def level_shares(self) -> Sequence[Fraction] | None:
        """How the levels of a text share the price, where that was said."""
        ...

    @property
    def excluded(self) -> Domain | None:
        """The items whose rows do not count."""
        ...


def _tokenizer(name: str, value: Any) -> str:  # noqa: ARG001 - it names itself
    if value != WORDS:
        from dpselect.texts.tokenizer import Tokenizer

        Tokenizer(value, lower=True)  # refuses what is none
    return str(value)


def _several(name: str, value: Any) -> Any:  # noqa: ARG001 - what they must be is known with the tokenizer
    return tuple(value) if isinstance(value, list) else value


def _written(value: Any) -> Json:
    return [str(one) if isinstance(one, Fraction) else one for one in value] if isinstance(value, tuple) else value


LEVELS = Kind(_several, "LEVELS", _written)
PARTS = Kind(_several, "NUMBERS", _written)
TOKENIZER = Kind(_tokenizer, "TOKENIZER")


@frozen
class Facts(Value):
    """What is public of the data that a question is about, and decides how it is planned."""

    error_noun: ClassVar[str] = "data"

    _: KW_ONLY
    max_items_per_user: int | None = param(
        whole_number_kind(), default=None, help="the most items that a user counts for, chosen at random"
    )
    exclude: Listed | Column | None = param(
        LISTED,
        default=None,
        help="items that are never returned: [their rows do not count](data.md#items-to-leave-out)",
    )
    ngrams: int | Sequence[int] | None = param(
        LEVELS, default=None, help="for a text: the shortest and the longest n-grams; default: single words"
    )
    tokenizer: str = param(
        TOKENIZER, default=WORDS, help="for a text: `words`, `spaces`, `sentences`, or a pattern after `re:`"
    )
    lower: bool = param(FLAG, default=True, help="for a text: whether to lowercase it")
    shares: Sequence[Number] | None = param(PARTS, default=None, help="for a text: how its levels share the price")

    def check(self) -> None:
        """What is about a text goes with n-grams; one word is one, where a tokenizer is all that is said."""
        cut = self.tokenizer != WORDS or self.lower is not True
        if self.ngrams is None and not cut:
            if self.shares is not None:
                raise ParameterError("shares", "be left out if the items are no n-grams", "shares")
            return
        from dpselect.texts.text import level_shares
        from dpselect.texts.tokenizer import Tokenizer, ngram_levels

        if self.exclude is not None:
            must = "be left out if the items are those of a text"
            raise ParameterError("exclude", must, came(self.exclude), "leave them out of the answer")
        cutter = Tokenizer(self.tokenizer, self.lower)
        object.__setattr__(self, "ngrams", ngram_levels(1 if self.ngrams is None else self.ngrams, cutter))
        if self.shares is not None:
            object.__setattr__(self, "shares", level_shares(self.ngrams[1], self.shares))  # type: ignore[index]

    @classmethod
    def of(cls, rows: Rows, takes: Sequence[str]) -> Self:
        """Those of a data set that a plan looks at."""
        said: dict[str, Any] = {"max_items_per_user": rows.max_items_per_user, "exclude": rows.excluded}
        if rows.words is not None:
            words = rows.words
            said |= {"ngrams": (words.shortest, words.longest), "shares": rows.level_shares}
            said |= {"tokenizer": words.tokenizer.name, "lower": words.tokenizer.lower}
        return cls(**{name: value for name, value in said.items() if name in takes})

    def with_own(self, own: Facts, beside: Sequence[str]) -> Self:
        """These of data, and what a plan says by itself: the same, or of `beside` what the data leave open."""
        more: dict[str, Any] = {}
        for one, value in own.non_default_fields():
            if getattr(self, one.name) is None and one.name in beside:
                more[one.name] = value
            elif field_to_json(one, value) != field_to_json(one, getattr(self, one.name)):
                raise ParameterError(one.name, "be that of the data", came(value), f"say {one.name} of the data set")
        return self.replace(**more) if more else self

    @property
    def words(self) -> NgramRange | None:
        """Which n-grams are the items; None where items are no text."""
        if self.ngrams is None:
            return None
        from dpselect.texts.text import NgramRange
        from dpselect.texts.tokenizer import Tokenizer

        shortest, longest = self.ngrams  # type: ignore[misc] # check has read it
        return NgramRange(Tokenizer(self.tokenizer, self.lower), shortest, longest)


def cut_by(most: int | None, listed: Domain | None) -> int | None:
    """A bound on what of a user counts; None where there is none, or where no more are listed."""
    known = None if listed is None else max_domain_size(listed)
    return most if most is None or known is None or most < known else None
