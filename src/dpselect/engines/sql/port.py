"""How a database writes what databases write differently: its types and its dialect. Each question is written once."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np

from dpselect._ground.dataclass import dataclass
from dpselect.errors import SourceError, came

if TYPE_CHECKING:
    import numpy.typing as npt

Int64: TypeAlias = "npt.NDArray[np.int64]"
Row = tuple[Any, ...]
Columns: TypeAlias = "Mapping[str, npt.NDArray[Any]]"


@dataclass(frozen=True)
class UndeclaredText:
    """A column of text whose values no owner has declared; `in_view` if only a view can declare them."""

    name: str
    in_view: bool = False

    def refuse(self, used_as: str, value: object = None, declare: str = "") -> NoReturn:
        """Refuse to read numbers or times from the text. `declare` is a type that the question itself implies."""
        requirement = f"declare column {self.name!r}, which is text, to be used as {used_as}"
        inspect_hint = "dpselect inspect FILE --user ... --item ... shows which types fit"
        if self.in_view:
            hint = "cast the column in a view of the database"
        elif declare:
            hint = f'types={{"{self.name}": "{declare}"}} or --type {self.name}={declare}; {inspect_hint}'
        else:
            hint = f'types={{"{self.name}": ...}} or --type {self.name}=...; {inspect_hint}'
        raise SourceError("types", requirement, "nothing" if value is None else came(value), hint)


@dataclass(frozen=True)
class SqlType:
    """The way in which a column of one type is counted. In the templates {} is the SQL of the column.

    Values that compare as equal must have the same canonical form, and must be the ones that DuckDB counts as equal.
    """

    name: str  # in messages
    kind: str  # text, integer, number, boolean, date, time, timestamp, bytes, any; uuid is other
    canonical_form: str  # a template: the one SQL value that stands for all equal values, after NULL is dropped
    canonical_type: str  # the type of that, as the database calls it
    duckdb_type: str | None  # the type that DuckDB has for the column, None where it has no exact one
    present_condition: str = "{} IS NOT NULL"  # a template, for users and numbers
    nameable_condition: str | None = None  # for items: without infinities, and what Python has no value for
    number_form: str | None = None  # of the canonical form: a double, NULL where text is no number; None: no numbers
    label_form: str = "i"  # the SQL of the value that `to_label` takes, from an item i in its canonical form
    to_label: Callable[[Any], object] = lambda value: value  # from what the database returns to a Python value
    integer_form: str | None = None  # the SQL of i as an integer of a range, unless its kind is integer
    undeclared_text: UndeclaredText | None = None  # for text whose type its owner has not declared

    @property
    def is_text(self) -> bool:
        """Is the column text, and declared as no other type?"""
        return self.kind == "text"

    @property
    def has_text(self) -> bool:
        """Can a value be a text? In a column without a declared type each value has its own type."""
        return self.kind in ("text", "any")


def with_view_declarations(types: Mapping[str, SqlType]) -> dict[str, SqlType]:
    """Return the types of columns of another database, where only a view can declare what a text holds."""
    texts = {name: UndeclaredText(name, in_view=True) for name, sql_type in types.items() if sql_type.is_text}
    return {name: replace(sql_type, undeclared_text=texts.get(name)) for name, sql_type in types.items()}


@dataclass(frozen=True)
class CompiledKey:
    """A key of a user, an item or a group: the SQL of its canonical form, the conditions on it, and its type."""

    canonical_form: str
    present_condition: str
    nameable_condition: str
    type: SqlType
    column_types: tuple[SqlType, ...]


@dataclass(frozen=True)
class SortedText:
    """The form of a type's values as texts that sort as they do: the SQL of the text of {}, and the label of a text."""

    text_sql: str
    to_label: Callable[[str], object]


@dataclass(frozen=True)
class Dialect:
    """The SQL that differs between databases. In the templates {} is an expression."""

    name: str  # of the database
    quote: Callable[[str], str]  # an identifier
    literal: Callable[[str], str]  # a text
    text: str  # an injective form of a value that can be listed: most often a text
    keyed_hash: Callable[[str, str, str], str]
    """Compile the hash of (secret key, user, item), all of them SQL, by which a bound orders."""
    split_query: str  # the query of u, {more} and i, a row for each part of the text i of {rows}, split at {separator}
    exact_sum: str  # the sum of whole numbers, which does not overflow
    sorted_text: Callable[[SqlType], SortedText | None] = lambda _type: None  # for keys of several columns
    struct: str | None = None  # several columns {} as one value, whose fields k0, k1, ... are compared; None: as a text
    period_literal: str = "'{}:'"  # the position of a period, the number {}; the colon ends a text
    user_in_period: str | None = None  # the user u in the period {}; None: a text of both
    first_by_hash: str | None = None  # an aggregate of many {value}: the one of the least {hash}; None: none
    user_hint: str = ""  # a hint that puts the rows of a user together, after SELECT, where later steps gain by it
    reread_order: str = ""  # the end of a query whose rows are kept and read again by user, if that gains
    big_integer: str = "NUMERIC"  # the type of integers of any size
    double: str = "DOUBLE PRECISION"
    underflow_fails: bool = False  # does a quotient fail that is nearer to 0 than any double?
    floor_division: str = "div({}, {})"  # the quotient of integers that are not negative, rounded down
    binary: str = "{}"  # a text that is compared by its characters
    low_characters: str = "\x01"  # characters of texts that are not above their separator


def label_or_unparsed(parse: Callable[[str], object]) -> Callable[[object], object]:
    """Return a label from the text that a database returned; a value that Python cannot hold (44 BC) is kept unparsed.

    An error would quote the value.
    """

    def label(value: object) -> object:
        try:
            return parse(str(value))
        except ValueError:
            return value

    return label


def _in_utc(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC)


MOMENT_LABELS: Mapping[str, Callable[[object], object]] = {
    "date": label_or_unparsed(datetime.date.fromisoformat),
    "time": label_or_unparsed(datetime.time.fromisoformat),
    "timestamp": label_or_unparsed(datetime.datetime.fromisoformat),
    "timestamptz": label_or_unparsed(_in_utc),
}
"""Labels of dates and times that a database elsewhere returns as texts."""


def int64(values: object) -> Int64:
    """Return integers as an array of int64."""
    return np.asarray(values, dtype=np.int64)
