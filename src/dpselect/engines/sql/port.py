"""How a database writes what databases write differently: its types and its dialect. Each question is written once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from dpselect.errors import SourceError, came

if TYPE_CHECKING:
    from dpselect.engines.sql.sorted_texts import SortedText

Int64 = npt.NDArray[np.int64]
Row = tuple[Any, ...]
Columns = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class TextColumn:
    """A column of text of which no owner said what its values are; `in_view` where only a view can say it."""

    name: str
    in_view: bool = False

    def refuse(self, used_as: str, value: object = None, declare: str = "") -> NoReturn:
        """Refuse to read numbers or times out of the text. `declare` is a type that the question itself shows."""
        must = f"declare column {self.name!r}, which is text, to be used as {used_as}"
        look = "dpselect inspect FILE --user ... --item ... shows which types fit"
        if self.in_view:
            hint = "cast the column in a view of the database"
        elif declare:
            hint = f'types={{"{self.name}": "{declare}"}} or --type {self.name}={declare}; {look}'
        else:
            hint = f'types={{"{self.name}": ...}} or --type {self.name}=...; {look}'
        raise SourceError("types", must, "nothing" if value is None else came(value), hint)


@dataclass(frozen=True)
class SqlType:
    """How a column of one type is counted. In `form`, `present` and `number` {} is the column.

    Values that compare as equal must look equal too, and must be the ones that DuckDB counts as equal.
    """

    name: str  # what a message calls it
    kind: str  # text, integer, number, boolean, date, time, timestamp, bytes, any; uuid is other
    form: str  # the SQL of a value in its one form, NULL dropped before
    form_type: str  # the type of that form, as the database calls it
    duckdb: str | None  # the type that DuckDB has for it, None where it has no exact one
    present: str = "{} IS NOT NULL"
    nameable: str | None = None  # the same of an item: infinities, and what Python has no value for, name none
    number: str | None = None  # the SQL of the one form as a double, NULL where text is no number; None: no numbers
    label_form: str = "i"  # the SQL of what `label` takes
    label: Callable[[Any], object] = lambda value: value
    integer_form: str | None = (
        None  # the SQL of the whole number that i is in a range, where its kind alone does not say it
    )
    undeclared: TextColumn | None = None  # of text that its owner has not declared

    @property
    def is_text(self) -> bool:
        """Is it text, and meant as one?"""
        return self.kind == "text"

    @property
    def has_text(self) -> bool:
        """Can a value be a text? Of a column without a declared type each value has a type of its own."""
        return self.kind in ("text", "any")


def with_view_declarations(types: Mapping[str, SqlType]) -> dict[str, SqlType]:
    """Return the types of columns of a database elsewhere, where a view alone says what a text holds."""
    texts = {name: TextColumn(name, in_view=True) for name, one in types.items() if one.is_text}
    return {name: replace(one, undeclared=texts.get(name)) for name, one in types.items()}


@dataclass(frozen=True)
class Key:
    """What a user, an item or a group is: the SQL of its one form, when it is there, and its type."""

    form: str
    present: str
    nameable: str
    type: SqlType
    types: tuple[SqlType, ...]  # those of its columns


@dataclass(frozen=True)
class Dialect:
    """How a database writes what differs. In the templates {} is an expression."""

    name: str  # which database it is
    quote: Callable[[str], str]  # an identifier
    literal: Callable[[str], str]  # a text
    text: str  # what says which value it is, of a value in its one form, and can be listed: most often a text
    bound_order: Callable[[str, str, str], str]  # (key, user, item) -> what the bound orders by; all three are SQL
    split_query: str  # the query of u, {more} and i, a row for each part of the text i of {rows}, cut at {separator}
    exact_sum: str  # the sum of whole numbers, which does not overflow
    sorted_text: Callable[[SqlType], SortedText | None] = lambda _type: (
        None
    )  # the texts of values, for keys of several columns
    period: str = "'{}:'"  # the place of a period, which is the number {}; of a text the colon ends it
    in_period: str | None = None  # the user u in the period {}; None: a text of both
    first_by_hash: str | None = (
        None  # of many {value} the one with the least {hash}, as an aggregate, where there is one
    )
    user_hint: str = ""  # a hint that puts the rows of a user together, after SELECT, where later steps gain by it
    reread_order: str = ""  # what a query ends with whose rows are kept and asked for again by user, where that gains
    big_integer: str = "NUMERIC"  # integers of any size, where more than a sum is asked of them
    double: str = "DOUBLE PRECISION"
    underflow: bool = False  # does a quotient fail that is nearer to 0 than any double?
    floor_division: str = "div({}, {})"  # of whole numbers that are not negative, rounded down
    binary: str = "{}"  # a text that is compared by its characters
    low_characters: str = "\x01"  # characters that texts may have and that are not above the border between two of them


def parse_or_keep(parse: Callable[[str], object]) -> Callable[[object], object]:
    """A label from the text that a database gave; what Python cannot hold (44 BC) stays: an error would quote it."""

    def label(value: object) -> object:
        try:
            return parse(str(value))
        except ValueError:
            return value

    return label


def int64(values: object) -> Int64:
    """Whole numbers as an array."""
    return np.asarray(values, dtype=np.int64)
