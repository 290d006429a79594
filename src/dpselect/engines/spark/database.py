"""The Spark database: one frame of one session, opened for one question. It leaves nothing behind.

Results that are asked for again are kept by Spark, in memory and on disk, until they are dropped. What was kept on a
machine that is lost is computed again, and is the same: the rows must be the same each time they are read, which a
frame that draws or numbers its rows is refused for. A table that others write to meanwhile is not seen as it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dpselect._ground.parameters import Progress
from dpselect.engines.duckdb.elsewhere import DatabaseElsewhere
from dpselect.engines.spark.dialect import SPARK, secret, short
from dpselect.engines.spark.jobs import fresh_name
from dpselect.engines.spark.names import LookedUpNames
from dpselect.engines.spark.sizes import bytes_of, expected_bytes, most_bytes
from dpselect.engines.spark.source import frame_of, work_of
from dpselect.engines.spark.tables import apart, arrays_of, columns_of, table_of, tuples_of, view, view_of
from dpselect.engines.sql.database import ReadRequest
from dpselect.engines.sql.port import Columns, Int64, Row, SqlType

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

# So many rows that are kept are read by one task. Spark would keep as many parts as it shuffles into, 200 unless the
# session says otherwise, and each question of them would start a task for every part, and as many for each shuffle.
FEW = 300_000

# Rows that come here at most, whatever the session lets come. Files are smaller than what they hold.
MOST_BYTES = 1 << 29
EXPECTED_BYTES = MOST_BYTES // 2


class SparkDatabase(DatabaseElsewhere):
    """One frame of a session."""

    dialect = SPARK

    def __init__(
        self,
        source: object,
        table: str | None,
        asked: ReadRequest,
    ) -> None:
        self._work = work_of(source)
        self._kept: dict[str, DataFrame | None] = {}  # our views, and the frames that Spark keeps for them
        self._ordered: dict[tuple[str, str], str] = {}
        self._names = LookedUpNames(self._work)
        try:
            frame = frame_of(self._work, source, table)
            self.types: Mapping[str, SqlType] = columns_of(self._work, frame, asked)
            rows = view_of(self._work, frame, list(self.types))
            self._kept[rows] = None
            read = ", ".join(short(column, one) for column, one in self.types.items())
            self.source: str = f"(SELECT {read} FROM {rows})"
        except BaseException:
            self.close()
            raise

    def rows(self, sql: str, *, progress: Progress | None = None) -> list[Row]:
        """All rows of one query."""
        session = self._work.session
        self._names.check(sql)
        return self._work.guarded(lambda: [tuple(row) for row in session.sql(sql).collect()], progress=progress)

    def columns(self, sql: str, names: Sequence[str], *, progress: Progress | None = None) -> Columns:
        """All rows of one large query by column."""
        session = self._work.session
        self._names.check(sql)
        return arrays_of(self._work.guarded(lambda: session.sql(sql).toArrow(), progress=progress), names)

    def fetch_if_small(self, sql: str, max_bytes: int, *, progress: Progress | None = None) -> pa.Table | None:
        """The rows where they are few by what Spark expects without a look at them, and then by their bytes.

        To find the distinct pairs of ten million rows here costs two fifths of the processor's time.
        """
        session = self._work.session
        self._names.check(sql)
        expected, may_come = self._work.guarded(lambda: (expected_bytes(session.sql(sql)), most_bytes(session)))
        max_bytes = min(max_bytes, may_come, MOST_BYTES)
        if expected > min(EXPECTED_BYTES, max_bytes):
            return None
        kept = self.keep(sql, progress=progress)
        try:
            sizes = self._work.guarded(lambda: bytes_of(session.table(kept), kept))
            if (self.rows(sizes, progress=progress)[0][0] or 0) > max_bytes:
                return None
            return self._work.guarded(lambda: session.table(kept).toArrow(), progress=progress)
        finally:
            self.drop(kept)

    def keep(self, sql: str, *, progress: Progress | None = None) -> str:
        """A result that is asked for again, as a view of what Spark keeps."""
        self._names.check(sql)
        name = fresh_name()
        self._kept[name] = self._work.guarded(lambda: self._keep(name, sql), progress=progress)
        return name

    def _keep(self, name: str, sql: str) -> DataFrame:
        from pyspark import StorageLevel

        frame = apart(self._work.session.sql(sql), name)
        try:
            rows = frame.persist(StorageLevel.MEMORY_AND_DISK).count()
            (frame.coalesce(1) if rows <= FEW else frame).createTempView(name)
        except BaseException:
            frame.unpersist()
            raise
        return frame

    def drop(self, table: str) -> None:
        """A kept result is not asked for any more, nor are its rows in an order."""
        for key, ordered in list(self._ordered.items()):
            if table in key[0]:
                del self._ordered[key]
                self.drop(ordered)
        if table in self._kept:
            frame = self._kept.pop(table)
            self._work.guarded(lambda: self._forget(table, frame))

    def _forget(self, name: str, frame: DataFrame | None) -> None:
        self._work.session.catalog.dropTempView(name)
        if frame is not None:
            frame.unpersist()

    def put(self, columns: Mapping[str, Int64 | Sequence[str]]) -> str:
        """A small table of whole numbers and texts, as a view."""
        return self._put(table_of(columns))

    def put_tuples(self, values: Sequence[tuple[object, ...]], types: Sequence[SqlType]) -> str:
        """A public list of tuples at their places; DuckDB has checked them."""
        casts = (f"CAST(k{at} AS {one.form_type}) AS k{at}" for at, one in enumerate(types))
        return self._put(tuples_of(values, types), *casts, "place")

    def _put(self, table: pa.Table, *expressions: str) -> str:
        name = fresh_name()

        def make() -> None:
            frame = self._work.session.createDataFrame(table)
            view(frame.selectExpr(*expressions) if expressions else frame, name)

        self._work.guarded(make)
        self._kept[name] = None
        return name

    def secret(self, key: bytes) -> str:
        """A key as SQL. It stands in the plan, which whoever may look into the session sees, as they see its rows."""
        return secret(key)

    def names_at(self, sql: str, order: str, indices: Int64) -> list[Any]:
        """The names at these places of a query in an order, which is kept for the next time."""
        ordered = self._ordered.get((sql, order))
        if ordered is None:
            # One task sorts them all, on disk where they do not fit.
            place = f"row_number() OVER (ORDER BY {order}) - 1 AS place"
            ordered = self.keep(f"SELECT name, {place} FROM ({sql}) AS q")
            self._ordered[sql, order] = ordered
        asked = f"SELECT place FROM {self.put({'place': indices})} AS a"
        found = self.rows(f"SELECT name FROM {ordered} AS o WHERE place IN ({asked}) ORDER BY place")
        return [row[0] for row in found]

    def close(self) -> None:
        """Forget everything that is ours; the session goes on."""
        super().close()
        for kept in list(self._kept):
            with suppress(Exception):
                self.drop(kept)
        self._kept.clear()
