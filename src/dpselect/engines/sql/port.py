"""What the SQL engine needs of a database: its way to write what differs, and a few small methods.

Each question is written once (sql_questions.py). A database runs it, keeps a result or writes it again where it is
asked for, takes small tables of public or released values, and reads one row of an ordered result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from dpselect._ground.parameters import Progress
from dpselect.aggregates.user_sets import Int64
from dpselect.engines.sql.sorted_texts import Sorted

if TYPE_CHECKING:
    import pyarrow as pa

Row = tuple[Any, ...]
Needs = Callable[[Sequence[str]], Sequence[str]]
"""The columns that a filter needs, told from the names of all."""
Columns = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class SqlType:
    """How a column of one type is counted. In `form`, `present` and `number` {} is the column.

    Values that compare as equal must look equal too, and must be the ones that DuckDB counts as equal.
    """

    name: str  # what a message calls it
    kind: str  # text, integer, number, boolean, date, time, timestamp or bytes; uuid is other
    form: str  # the SQL of a value in its one form, NULL dropped before
    counted: str  # the type of that form, as the database calls it
    duckdb: str | None  # the type that DuckDB has for it, None where it has no exact one
    present: str = "{} IS NOT NULL"
    nameable: str | None = None  # the same of an item, where Python has no value for all that is present
    number: str | None = None  # the SQL of the one form as a double, NULL where text is no number; None: no numbers
    named: str = "i"  # the SQL of what `label` takes
    label: Callable[[Any], object] = lambda value: value

    @property
    def is_text(self) -> bool:
        """Is it text, and meant as one?"""
        return self.kind == "text"


@dataclass(frozen=True)
class Dialect:
    """How a database writes what differs. In the templates {} is an expression."""

    name: str  # which database it is
    quote: Callable[[str], str]  # an identifier
    literal: Callable[[str], str]  # a text
    text: str  # the text that says which value it is, of a value in its one form
    keyed: Callable[[str, str, str], str]  # (key, user, item) -> what the bound orders by; all three are SQL
    matches: str  # does the text {text} match the regular expression {pattern}, which has no backslash?
    parts: str  # the query of u, {more} and i, a row for each part of the text i of {rows}, cut at {separator}
    sorted: Callable[[SqlType], Sorted | None]  # the texts of values, where keys have several columns
    by_user: str = ""  # a hint that puts the rows of a user together, after SELECT, where later steps gain by it
    in_order: str = ""  # what a query ends with whose rows are kept and asked for again by user, where that gains
    whole: str = "NUMERIC"  # integers of any size, for sums that would not fit
    double: str = "DOUBLE PRECISION"
    divided: str = "div({}, {})"  # of whole numbers that are not negative, rounded down
    binary: str = "{}"  # a text that is compared by its characters
    low: str = "\x01"  # characters that texts may have and that are not above the border between two of them


class Database(Protocol):
    """One table of one database, opened for one question. What it says when it fails is of fixed text."""

    @property
    def dialect(self) -> Dialect:
        """How it writes what databases write differently."""
        ...

    @property
    def source(self) -> str:
        """What stands after FROM to read the table."""
        ...

    @property
    def types(self) -> Mapping[str, SqlType]:
        """The types of the columns that were asked for when it was opened."""
        ...

    def rows(self, sql: str, *, progress: Progress | None = None) -> list[Row]:
        """All rows of one query."""
        ...

    def columns(self, sql: str, names: Sequence[str], *, progress: Progress | None = None) -> Columns:
        """All rows of one large query by column, under these names: int64 for whole numbers, float64, else objects."""
        ...

    def fetched(self, sql: str, most: int, *, progress: Progress | None = None) -> pa.Table | None:
        """All rows of a query, where they have at most so many bytes and to bring them costs less; else None."""
        ...

    def keep(self, sql: str, *, progress: Progress | None = None) -> str:
        """A result that is asked for again, as what stands after FROM (without a name): kept, or the query itself."""
        ...

    def drop(self, kept: str) -> None:
        """A kept result is not asked for any more."""
        ...

    def put(self, columns: Mapping[str, Int64 | Sequence[str]]) -> str:
        """A small table of whole numbers and texts that are public or released, as what stands after FROM."""
        ...

    def put_items(self, values: Sequence[object], item_type: SqlType) -> str:
        """A public list of items in their one form, column i, each once; an error if they do not fit."""
        ...

    def put_tuples(self, values: Sequence[tuple[object, ...]], types: Sequence[SqlType]) -> str:
        """A public list of items of several columns: k0, k1, ..., each in its one form; an error if they do not fit."""
        ...

    def secret(self, key: bytes) -> str:
        """A key as SQL for `Dialect.keyed`; it goes beside the statement where that is possible."""
        ...

    def at(self, sql: str, order: str, places: Int64) -> list[Any]:
        """The column `name` of the rows at these places, from 0, of a query in an order that leaves no ties.

        `order` names columns of the query. The places ascend, and the names come in their order. It is asked again
        and again, for other places of the same query.
        """
        ...

    def close(self) -> None:
        """Forget everything."""
        ...


def read_by(parse: Callable[[str], object]) -> Callable[[object], object]:
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
