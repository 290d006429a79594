"""Prepared data as a frame of Spark: rows put together again from their codes (docs/prepared.md).

The folder must be one that driver and workers share, at the same path. What a file must say is given, not found out,
so that nothing hangs on how a session is set up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpselect.engines.prepared.reading import Reading
from dpselect.engines.prepared.state import CODES, Part
from dpselect.engines.sources.files import prepared_folder
from dpselect.engines.spark.jobs import Work
from dpselect.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_SAME = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "BOOLEAN", "DATE"}
_TYPES = {
    **{name: name for name in _SAME},
    "UTINYINT": "SMALLINT",
    "USMALLINT": "INTEGER",
    "UINTEGER": "BIGINT",
    "VARCHAR": "STRING",
    "BLOB": "BINARY",
    "TIMESTAMP": "TIMESTAMP_NTZ",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMP_LTZ",
}
# A row as often as it was there, in two steps, so that no list of places is long.
_EACH = (
    "explode(sequence(0L, (n - 1L) div 65536L)) AS block",
    "explode(sequence(1L, least(65536L, n - block * 65536L))) AS once",
)
CALLED = " ".join(_EACH)
"""All functions that a frame of these calls, by their names in the session."""
_CODED = "p DATE, i BIGINT, u BIGINT, c BIGINT, n BIGINT"


@dataclass(frozen=True)
class PreparedSource:
    """One state of a folder of prepared data, as frames of a session."""

    work: Work
    reading: Reading

    @classmethod
    def of(cls, work: Work, table: str | None) -> PreparedSource | None:
        """What is meant where a path of prepared data stands for a table; it is held until it is closed."""
        folder = prepared_folder(table)
        return None if folder is None else cls(work, Reading(folder))

    def schema(self) -> DataFrame:
        """No rows, and all columns; one that Spark cannot have is refused where it is asked for."""
        rules = self.reading.state.rules
        types = {name: spark_name(rules.type_of(name)) or "STRING" for name in rules.names}
        listed = ", ".join(f"{_quoted(name)} {sort}" for name, sort in types.items())
        return self.work.guarded(lambda: self.work.session.createDataFrame([], listed))

    def frame(self, columns: Sequence[str], *, each: bool = False) -> DataFrame:
        """Some columns by their names, in the types of the source; rows that say the same stand once, or `each`."""
        return self.work.guarded(lambda: self._frame(columns, each=each))

    def _frame(self, columns: Sequence[str], *, each: bool) -> DataFrame:
        from pyspark.sql.functions import col

        state = self.reading.state
        parts = [part for one in state.segments for part in one.rows]
        frame = self._read(parts, _CODED, "w", state.rules.weight, columns)
        if each:
            for expression in _EACH:
                frame = frame.selectExpr("*", expression)
        places = {column: self._place(column) for column in columns}
        for table in sorted({table for table, _ in places.values()} & set(CODES)):
            frame = frame.join(self._dictionary(table, columns), CODES[table])
        return frame.select(*(col(place).alias(column) for column, (_, place) in places.items()))

    def dictionary(self, table: str, columns: Sequence[str], code: str) -> DataFrame:
        """The values of some columns by their own names, beside their code."""

        def make() -> DataFrame:
            from pyspark.sql.functions import col

            values = [col(self._place(column)[1]).alias(column) for column in columns]
            return self._dictionary(table, columns).select(col(CODES[table]).alias(code), *values)

        return self.work.guarded(make)

    def sets(self) -> DataFrame:
        """Sets s of combinations cs."""
        parts = self.reading.state.sets
        return self.work.guarded(lambda: self._read(parts, "s BIGINT, cs ARRAY<BIGINT>", "", (), ()))

    def cells(self) -> DataFrame:
        """Numbers n of users by item i and set s in each period p."""
        parts = [part for one in self.reading.state.segments for part in one.cells]
        return self.work.guarded(lambda: self._read(parts, "p DATE, i BIGINT, s BIGINT, n BIGINT", "", (), ()))

    def totals(self) -> DataFrame:
        """The same over all periods."""
        parts = self.reading.state.totals
        if self.reading.state.rules.period is None:
            return self.cells()
        return self.work.guarded(lambda: self._read(parts, "i BIGINT, s BIGINT, n BIGINT", "", (), ()))

    def sums(self) -> DataFrame:
        """Numbers n of all users of each item i."""
        parts = self.reading.state.sums
        return self.work.guarded(lambda: self._read(parts, "i BIGINT, n BIGINT", "", (), ()))

    def _dictionary(self, table: str, columns: Sequence[str]) -> DataFrame:
        from pyspark.sql.functions import col

        parts: tuple[Part, ...] = getattr(self.reading.state, table)
        frame = self._read(parts, f"{CODES[table]} BIGINT", "v", self._columns(table), columns)
        code, *values = frame.columns
        return frame.select(code, *(col(value).alias(f"{table}_{value}") for value in values))

    def _read(
        self, parts: Sequence[Part], first: str, letter: str, held: Sequence[str], columns: Sequence[str]
    ) -> DataFrame:
        """Files, and of the columns that they hold those that are asked for."""
        values = [f"{letter}{at} {self._type(name)}" for at, name in enumerate(held) if name in columns]
        return read(self.work, self.reading.paths(parts), ", ".join([first, *values]))

    def _place(self, column: str) -> tuple[str, str]:
        """The table in which a column stands, and where."""
        for table in CODES:
            if column in self._columns(table):
                return table, f"{table}_v{self._columns(table).index(column)}"
        weights = self.reading.state.rules.weight
        return "rows", f"w{weights.index(column)}" if column in weights else "p"

    def _columns(self, table: str) -> tuple[str, ...]:
        rules = self.reading.state.rules
        return {"users": rules.user, "items": rules.item, "kept": rules.keep}[table]

    def _type(self, column: str) -> str:
        sort = self.reading.state.rules.types[column]
        found = spark_name(sort)
        if found is None:
            hint = f"ask without Spark: Dataset({self.reading.shown})"
            raise DataError(f"Spark does not have a column of type {sort.partition('(')[0]}", hint)
        return found


def spark_name(sort: str) -> str | None:
    """Spark's type for values of one of DuckDB's, with the same labels; None where it has none."""
    return sort if sort.startswith("DECIMAL(") else _TYPES.get(sort)


def read(work: Work, paths: Sequence[str], schema: str | StructType) -> DataFrame:
    """Parquet files, all of which must be there, whole, and in this form."""
    options = {
        "datetimeRebaseMode": "CORRECTED",
        "ignoreCorruptFiles": "false",
        "ignoreMissingFiles": "false",
        "mergeSchema": "false",
    }
    plain = (re.sub(r"([\[\]{}*?\\])", r"\\\1", path) for path in paths)  # Spark reads paths as patterns
    return work.session.read.schema(schema).options(**options).parquet(*(f"file://{path}" for path in plain))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
