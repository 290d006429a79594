"""Query: one question as a value. Python, the command, forecasts and JSON make the same one, and it is checked once.

A query knows what it costs at most, what a ledger knows it by, what it needs of an engine, how it is run and what its
answer cost. It holds no data and no connection: making one, or comparing two, reads nothing.
"""

from __future__ import annotations

import datetime
import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Sized
from copy import copy
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from dpselect._ground import parameters
from dpselect._ground.domain import MOST_COUNTED, MOST_ITEMS, Column, Domain, Listed, Size, Span, most_items
from dpselect._ground.parameters import Progress
from dpselect._ground.privacy import ApproxDP, Privacy, Steps
from dpselect.accounting.two_prices import Price, ceiling, of_outcome
from dpselect.draws import Draws
from dpselect.engines.port import Engine
from dpselect.errors import ParameterError, came
from dpselect.mechanisms.port import settle
from dpselect.questions.kinds import items_read, items_written, several_written
from dpselect.release.accuracy import said_items

if TYPE_CHECKING:
    from dpselect.aggregates.measures import Measure
    from dpselect.aggregates.totals import Totals
    from dpselect.queries.within import AskedAccuracy
    from dpselect.release.formatting import Json
    from dpselect.release.of_rows import OfRows
    from dpselect.release.release import Release
    from dpselect.texts.text import Words

Ready = Callable[[Draws, Progress | None], "Release"]
"""Answers a question. Whoever calls it has seen to the price."""

INNER = {"inner": True}  # of a field that JSON does not have
OF_VALUES = {"inner": True, "of_values": True}  # of one that only a question about the caller's own values may set
LISTS = ("domain", "groups", "exclude", "popular")  # of items, which a release does not name
ALONE = ({str}, {int}, {bytes}, {datetime.date})  # types of items that no column takes for equal
AT_MOST = "at most "
LONGEST = 3000  # characters of a number that a question can have: two of `parameters.MOST_BITS`
VERBS = {
    "top_k": "top_k:TopKQuery",
    "union": "union:UnionQuery",
    "choose": "choose:ChooseQuery",
    "histogram": "histogram:HistogramQuery",
    "quantile": "quantile:QuantileQuery",
}


class Rows(Protocol):
    """What a data set says that a question must know."""

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
    def words(self) -> Words | None:
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


@dataclass(frozen=True, kw_only=True)
class Query(ABC):
    """One question. Its fields are the parameters, exact; making it raises ParameterError for a bad one."""

    verb: ClassVar[str]
    unfit: ClassVar[Mapping[str, str]] = {}  # what the data may not say, and a hint: this question has no use for it

    asked: AskedAccuracy | None = field(
        init=False, repr=False, compare=False, default=None
    )  # the accuracy it was priced by
    totals: Totals | None = field(init=False, repr=False, compare=False, default=None)  # the weights that are added up
    usual_delta: bool = field(init=False, repr=False, compare=False, default=False)  # needed, and not named

    period: str | None = field(init=False, repr=False, compare=False, default=None)  # in each of which a user counts

    @property
    @abstractmethod
    def price(self) -> Privacy:
        """What any answer promises, and costs at most."""

    @property
    @abstractmethod
    def key(self) -> Mapping[str, object]:
        """What a ledger knows the question by: what was asked, and which method answers."""

    @abstractmethod
    def ready(self, engine: Engine) -> Ready:
        """How the engine answers it. What the schema of the data does not fit is refused now; no row is read yet."""

    @abstractmethod
    def like(self, release: Release) -> Release:
        """The answer with what is planned of one like it: its statement, how good it is, and its kind.

        No data are needed. What depends on an outcome, such as a bound that was chosen, is read from the answer.
        """

    @property
    def of_pairs(self) -> bool:
        """Is an item a group and an item together? Only where groups are asked for."""
        return False

    @property
    def measuring(self) -> tuple[Measure, ...]:
        """The measures of items that come back."""
        return ()

    @property
    def others(self) -> tuple[str, ...]:
        """The names of periods with which those of the data are compared; the question is about these too."""
        return ()

    @property
    def ceiling(self) -> ApproxDP:
        """The price of any answer, as one (epsilon, delta)."""
        return self.price.approx

    def steps(self, release: Release) -> Sequence[Steps]:  # noqa: ARG002
        """The steps that an answer took, read from the answer alone."""
        return self.price.steps

    def price_at(self, order: int | None) -> Price:
        """What any answer costs at most an account of this Rényi order, or one that only adds up."""
        return ceiling(self.price, order)

    def cost_at(self, release: Release, order: int | None) -> Price:
        """What an answer cost it, read from the answer alone: no more than `price_at` in any of its sums."""
        return of_outcome(self.price, self.steps(release), order)

    def of(self, rows: Rows) -> Self:
        """The question of a data set, whose bound on the items of a user is the question's own where it has none."""
        for one in fields(self):
            if one.metadata.get("of_values") and getattr(self, one.name) != one.default:
                raise ParameterError(one.name, "be left out where a data set is asked", "something")
        if rows.words is not None:
            hint = "for the words of a message use item= and split=' '"
            raise ParameterError("item", f"be no Text for {self.verb}, which counts items", "a Text", hint)
        for name, hint in self.unfit.items():
            given = getattr(rows, name)
            if given is not None and name == "columns":
                raise ParameterError("item", f"be one column for a {self.verb}", f"{len(given)} of them", hint)
            if given is not None:
                raise ParameterError(name, f"be left out for a {self.verb}", came(given), hint)
        found = self.without(rows.excluded)
        mine = getattr(self, "max_items_per_user", None)
        if not hasattr(self, "max_items_per_user") or mine == rows.max_items_per_user:
            return found
        if mine is None:
            return replace(found, max_items_per_user=rows.max_items_per_user)  # type: ignore[call-arg]
        must = "be that of the data, which engines keep to"
        raise ParameterError("max_items_per_user", must, came(mine))

    def without(self, items: Domain | None) -> Self:
        """The question of data whose rows of these items do not count."""
        if items is None:
            return self
        if "exclude" not in self.parameters():
            raise ParameterError("exclude", f"be left out for {self.verb}", came(items), "where='item <> ...'")
        own = getattr(self, "exclude")  # noqa: B009 - of those that have it
        if own not in (None, items):
            raise ParameterError("exclude", "be said once, of the data or of the question", "both")
        return replace(self, exclude=items)  # type: ignore[call-arg]

    def once_in_each(self, period: str) -> Self:
        """The same question of several periods, in each of which a user counts once."""
        found = copy(self)
        settle(found, period=period)
        return found

    @property
    def inner(self) -> list[str]:
        """The fields that only our own code sets, and that somebody has set."""
        return [
            one.name for one in fields(self) if one.metadata.get("inner") and getattr(self, one.name) != one.default
        ]

    def refuse_inner(self, must: str) -> None:
        """Refuse what only a verb for the caller's own values may set."""
        if self.inner:
            raise ParameterError(self.inner[0], f"be left out of a question that is {must}", "something")

    def delta_or_default(self, *, needed: bool) -> Fraction:
        """The delta that was given, or the default, for which a budget that pays has one of its own."""
        given: Any = getattr(self, "delta", None)
        settle(self, usual_delta=needed and given is None)
        return parameters.delta_or_default(given, needed=needed)

    @classmethod
    def needs_delta(cls, given: Mapping[str, object]) -> bool:
        """Does a question of these parameters need a delta, whether or not one was named? To find groups, here."""
        return given.get("by") is not None and given.get("groups") is None

    # ---- as JSON --------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Json]:
        """The question in JSON types: the verb, and every parameter that was given. Numbers are exact, as text."""
        self.refuse_inner("written as JSON")
        given = {one.name: getattr(self, one.name) for one in _open(type(self))}
        written = {name: _plain(name, value) for name, value in given.items() if value is not None}
        return {"verb": self.verb, **written}

    @staticmethod
    def from_dict(found: Mapping[str, Json]) -> Query:
        """The question that `to_dict` wrote, or that somebody else wrote by docs/queries.md: checked as any other."""
        return _read(found, lambda make: make.parameters(), _parsed)

    def outline(self, rows: OfRows | None = None) -> dict[str, Json]:
        """What is asked, as a release says it: all that a plan depends on, of lists the length and of no item its name.

        `rows` says whose rows it is about, where they are those of a data set.
        """
        written: dict[str, Json] = {"verb": self.verb}
        for one in fields(self):
            value = getattr(self, one.name)
            if one.init and one.name != "words" and value != one.default:
                written[one.name] = _counted(value) if one.name in LISTS else _plain(one.name, value)
        words: Words | None = getattr(self, "words", None)
        if words is not None:
            written["ngrams"] = [words.shortest, words.longest]
        return written if rows is None else {**written, "rows": rows.to_dict()}

    @staticmethod
    def from_outline(found: Mapping[str, Json]) -> tuple[Query, OfRows | None]:
        """A question that is planned as the one of which this is the outline, and whose rows that was about."""
        from dpselect.release.of_rows import OfRows

        def known(make: type[Query]) -> list[str]:
            return [*make.parameters(), *(one.name for one in fields(make) if one.init)]

        if "rows" not in found:
            return _read(found, known, _any), None
        rows = OfRows.from_dict(found["rows"])
        query = _read({name: value for name, value in found.items() if name != "rows"}, known, _any)
        return (query if rows.counted_in_each is None else query.once_in_each(rows.counted_in_each)), rows

    @classmethod
    def parameters(cls) -> list[str]:
        """The names of all parameters, as JSON has them."""
        return [one.name for one in _open(cls)]

    @classmethod
    def made(cls, given: dict[str, object]) -> Self:
        """The question of parameters that JSON held."""
        return cls(**given)


def kind(verb: str) -> type[Query]:
    """The class of a verb's queries."""
    module, _, name = VERBS[parameters.one_of("verb", verb, VERBS)].partition(":")
    found: type[Query] = getattr(importlib.import_module(f"dpselect.queries.{module}"), name)
    return found


def with_rows(make: type[Query], given: Mapping[str, Any], rows: Rows) -> dict[str, Any]:
    """The parameters of a question, its price among them, with what the data say of the same."""
    known = [*(one.name for one in _open(make) if one.name != "words"), "share"]
    parameters.refuse_others(given, known, f"be a parameter of {make.verb}")
    found = dict(given)
    if "max_items_per_user" in make.parameters() and found.get("max_items_per_user") is None:
        found["max_items_per_user"] = rows.max_items_per_user
    if rows.words is not None and hasattr(make, "words"):
        found |= {"words": rows.words, "shares": found.get("shares") or rows.level_shares}
    refuse_missing(make, {**found, "epsilon": "the price comes later"})
    return found


def asked_with(outline: Mapping[str, Json], release: Release) -> Release:
    """The answer, which says what was asked."""
    return replace(release, question=outline)


def _read(
    found: Mapping[str, Json],
    parameters_of: Callable[[type[Query]], Sequence[str]],
    parsed: Callable[[str, Json], object],
) -> Query:
    if not isinstance(found, Mapping):
        raise ParameterError("query", "be an object with a verb", came(found))
    verb = parameters.one_of("verb", found.get("verb"), VERBS)
    make = kind(verb)
    known = parameters_of(make)
    given: dict[str, object] = {}
    for name, value in found.items():
        if name == "verb":
            continue
        if name not in known:
            raise ParameterError("query", f"hold parameters of {verb}", came(name), parameters.near(name, known))
        given[name] = parsed(name, value)
    refuse_missing(make, given)
    return make.made(given)


def refuse_missing(make: type[Query], given: Mapping[str, object]) -> None:
    """Refuse a question without a parameter that has no default."""
    missing = [one.name for one in _open(make) if one.default is MISSING and given.get(one.name) is None]
    if missing:
        raise ParameterError(missing[0], f"be given for {make.verb}", "nothing")


def _counted(value: object) -> Json:
    """A list as its length, or what that is at most; a column of another source, which has an unknown one, as its name.

    Some items a column may take for equal: of several types, or numbers that are written in several ways.
    """
    if isinstance(value, Column):
        return {"column": value.column}
    if isinstance(value, Span):
        return {"start": value.start, "stop": value.stop}
    if isinstance(value, Listed):
        alone = {type(item) for item in value.items if item is not None} in ALONE
        return most_items(value) if alone else f"{AT_MOST}{most_items(value)}"
    if isinstance(value, Size):
        return value.items
    return len(value) if isinstance(value, Sized) else None


def _any(name: str, value: Json) -> object:
    """A list of any items of the length that an outline names."""
    if name not in LISTS or value is None:
        exact = isinstance(value, str) and parameters.LONGEST_TEXT < len(value) <= LONGEST and "/" in value
        return Fraction(str(value)) if exact else _parsed(name, value)
    if isinstance(value, dict):
        return Column("", str(value["column"])) if set(value) == {"column"} else _parsed(name, value)
    if isinstance(value, str) and value.startswith(AT_MOST) and value.removeprefix(AT_MOST).isdecimal():
        value = int(value.removeprefix(AT_MOST)[:40])
    if name == "domain":
        number = parameters.whole(name, value, least=1, most=MOST_ITEMS)
        return Span(0, number) if number <= MOST_COUNTED else Size(number)
    return tuple(range(parameters.whole(name, value, least=0, most=MOST_COUNTED)))


def cut_by(most: int | None, listed: Domain | None) -> int | None:
    """A bound on what of a user counts; None where there is none, or where no more are listed."""
    known = None if listed is None else most_items(listed)
    return most if most is None or known is None or most < known else None


def sampled(most: int | None) -> str:
    """What of a user counts where the data are bounded: a sentence to put behind another."""
    return "" if most is None else f" Every user counts for at most {said_items(most)}, chosen at random."


def _open(cls: type[Query]) -> list[Field[Any]]:
    """The fields that JSON has."""
    return [one for one in fields(cls) if one.init and not one.metadata.get("inner")]


def _plain(name: str, value: object) -> Json:
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, (Listed, Span, Size, Column)):
        return items_written(value, name)
    if name == "popular":
        return several_written(value)  # type: ignore[arg-type] # __post_init__ has read it
    if isinstance(value, (list, tuple)):
        return [_plain(name, one) for one in value]
    return value if value is None or isinstance(value, (bool, int)) else str(value)


def _parsed(name: str, value: Json) -> object:
    if name in LISTS and isinstance(value, list):
        return items_read(name, value)
    if name == "domain" and isinstance(value, dict):
        return items_read(name, value)
    if isinstance(value, dict):
        raise ParameterError(name, "be a number, a text or a list", "an object")
    return value
