"""What a plan must know of the data, and no question says: bounds, items that are left out, the n-grams of a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from dpselect._ground.domain import Column, Domain, Listed
from dpselect._ground.parameters import Number
from dpselect.errors import ParameterError, came
from dpselect.questions.kinds import FLAG, LISTED, ParameterKind, whole_number_kind
from dpselect.questions.value import ParameterSet, field_to_json, frozen, param
from dpselect.release.formatting import Json

if TYPE_CHECKING:
    from dpselect.texts.text import NgramRange

WORDS = "words"


class Rows(Protocol):
    """The facts of a data set that a plan uses."""

    @property
    def max_items_per_user(self) -> int | None:
        """The bound on the items that a user counts for."""
        ...

    @property
    def split(self) -> str | None:
        """The separator between items in one text."""
        ...

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The columns of items, where they have several."""
        ...

    @property
    def words(self) -> NgramRange | None:
        """The n-grams that are the items, where the items are those of a text."""
        ...

    @property
    def level_shares(self) -> Sequence[Fraction] | None:
        """The shares of the price for the levels of a text, where they were given."""
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


def _as_tuple(name: str, value: Any) -> Any:  # noqa: ARG001 - what they must be is known with the tokenizer
    return tuple(value) if isinstance(value, list) else value


def _levels_to_json(value: Any) -> Json:
    return (
        [str(level) if isinstance(level, Fraction) else level for level in value] if isinstance(value, tuple) else value
    )


LEVELS = ParameterKind(_as_tuple, "LEVELS", _levels_to_json)
LEVEL_SHARES = ParameterKind(_as_tuple, "NUMBERS", _levels_to_json)
TOKENIZER = ParameterKind(_tokenizer, "TOKENIZER")


@frozen
class Facts(ParameterSet):
    """Public facts about the data of a question that decide how it is planned."""

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
    shares: Sequence[Number] | None = param(
        LEVEL_SHARES, default=None, help="for a text: how its levels share the price"
    )

    def check(self) -> None:
        """Refuse options of a text without n-grams; take single words where only a tokenizer is given."""
        cut = self.tokenizer != WORDS or self.lower is not True
        if self.ngrams is None and not cut:
            if self.shares is not None:
                raise ParameterError("shares", "be left out if the items are no n-grams", "shares")
            return
        from dpselect.texts.text import level_shares
        from dpselect.texts.tokenizer import Tokenizer, ngram_levels

        if self.exclude is not None:
            requirement = "be left out if the items are those of a text"
            raise ParameterError("exclude", requirement, came(self.exclude), "leave them out of the answer")
        cutter = Tokenizer(self.tokenizer, self.lower)
        object.__setattr__(self, "ngrams", ngram_levels(1 if self.ngrams is None else self.ngrams, cutter))
        if self.shares is not None:
            object.__setattr__(self, "shares", level_shares(self.ngrams[1], self.shares))  # type: ignore[index]

    @classmethod
    def from_rows(cls, rows: Rows, takes: Sequence[str]) -> Self:
        """Return the facts of a data set that a plan uses."""
        known_facts: dict[str, Any] = {"max_items_per_user": rows.max_items_per_user, "exclude": rows.excluded}
        if rows.words is not None:
            words = rows.words
            known_facts |= {"ngrams": (words.shortest, words.longest), "shares": rows.level_shares}
            known_facts |= {"tokenizer": words.tokenizer.name, "lower": words.tokenizer.lower}
        return cls(**{name: value for name, value in known_facts.items() if name in takes})

    def with_own(self, stated: Facts, optional: Sequence[str]) -> Self:
        """Return these facts of data with those that a plan states: the same, or `optional` ones left open.

        Raises ParameterError where a plan and the data disagree.
        """
        adopted: dict[str, Any] = {}
        for fact, value in stated.non_default_fields():
            if getattr(self, fact.name) is None and fact.name in optional:
                adopted[fact.name] = value
            elif field_to_json(fact, value) != field_to_json(fact, getattr(self, fact.name)):
                raise ParameterError(fact.name, "be that of the data", came(value), f"say {fact.name} of the data set")
        return self.replace(**adopted) if adopted else self

    @property
    def words(self) -> NgramRange | None:
        """The n-grams that are the items; None where the items are no text."""
        if self.ngrams is None:
            return None
        from dpselect.texts.text import NgramRange
        from dpselect.texts.tokenizer import Tokenizer

        shortest, longest = self.ngrams  # type: ignore[misc] # check has read it
        return NgramRange(Tokenizer(self.tokenizer, self.lower), shortest, longest)
