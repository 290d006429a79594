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
from dpselect.engines.address import Address
from dpselect.engines.duckdb.elsewhere import DatabaseElsewhere
from dpselect.engines.spark.connect import needs_copy
from dpselect.engines.spark.dialect import SPARK, secret, short_column
from dpselect.engines.spark.jobs import LookedUpNames, fresh_name
from dpselect.engines.spark.source import open_frame, open_work
from dpselect.engines.spark.tables import (
    compile_row_bytes,
    create_column_view,
    create_view,
    expected_bytes,
    make_plan_unique,
    max_result_bytes,
    read_columns,
    to_arrays,
    to_arrow,
    tuples_to_arrow,
)
from dpselect.engines.sql.database import ReadRequest
from dpselect.engines.sql.port import Columns, Int64, Row, SqlType

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from dpselect.engines.filters.spelling import Spelling

# Up to this number of kept rows one task reads them. Spark would keep as many parts as it shuffles into, 200 unless the
# session sets another number, and each question would start a task for every part, and as many for each shuffle.
MAX_ROWS_PER_TASK = 300_000

# The most bytes of rows that are fetched, whatever the session allows. Files are smaller than their rows.
MAX_FETCHED_BYTES = 1 << 29
MAX_EXPECTED_BYTES = MAX_FETCHED_BYTES // 2


class SparkDatabase(DatabaseElsewhere):
    """A database over one frame of a session."""

    dialect = SPARK

    def __init__(self, address: Address, request: ReadRequest) -> None:
        self._work = open_work(address.source)
        self._views: dict[str, DataFrame | None] = {}  # our views, and the frames that Spark keeps for them
        self._ordered: dict[tuple[str, str], str] = {}
        self._uncopied_view: str | None = None  # of rows that may differ at the next read, until they are first read
        self._names = LookedUpNames(self._work)
        try:
            with open_frame(self._work, address.source, address.table) as frame:
                self.types: Mapping[str, SqlType] = read_columns(self._work, frame, request)
                view_name = create_column_view(self._work, frame, list(self.types))
                self._views[view_name] = None
                if self._work.is_connect and self._work.guarded(lambda: needs_copy(frame)):
                    self._uncopied_view = view_name
            columns_sql = ", ".join(short_column(column, sql_type) for column, sql_type in self.types.items())
            self.source: str = f"(SELECT {columns_sql} FROM {view_name})"
        except BaseException:
            self.close()
            raise

    @property
    def spelling(self) -> Spelling:
        """The way in which filters and periods are written."""
        from dpselect.engines.spark.spelling import SPARK_SPELLING

        return SPARK_SPELLING

    def rows(self, sql: str, *, progress: Progress | None = None) -> list[Row]:
        """Return all rows of one query."""
        self._names.check(sql)
        return self._work.guarded(lambda: [tuple(row) for row in self._ask(sql).collect()], progress=progress)

    def columns(self, sql: str, names: Sequence[str], *, progress: Progress | None = None) -> Columns:
        """Return all rows of one large query by column."""
        self._names.check(sql)
        return to_arrays(self._work.guarded(lambda: self._ask(sql).toArrow(), progress=progress), names)

    def _ask(self, sql: str) -> DataFrame:
        """Return the frame of a statement; what it reads is copied before the first that reads it.

        A copy outlives the machines that made its parts: where one is lost, the question fails.
        """
        session, view_name = self._work.session, self._uncopied_view
        if view_name is not None and view_name in sql:
            copy = session.table(view_name).localCheckpoint()
            copy.createOrReplaceTempView(view_name)
            self._views[view_name], self._uncopied_view = copy, None
        return session.sql(sql)

    def fetch_if_small(self, sql: str, max_bytes: int, *, progress: Progress | None = None) -> pa.Table | None:
        """Return the rows if Spark's estimate, and then their exact number of bytes, are small enough; else None.

        To find the distinct pairs of ten million rows here costs two fifths of the processor's time.
        """
        session = self._work.session
        self._names.check(sql)
        expected_size, max_result = self._work.guarded(
            lambda: (expected_bytes(self._ask(sql)), max_result_bytes(session))
        )
        max_bytes = min(max_bytes, max_result, MAX_FETCHED_BYTES)
        if expected_size > min(MAX_EXPECTED_BYTES, max_bytes):
            return None
        kept_view = self.keep(sql, progress=progress)
        try:
            sizes = self._work.guarded(lambda: compile_row_bytes(session.table(kept_view), kept_view))
            if (self.rows(sizes, progress=progress)[0][0] or 0) > max_bytes:
                return None
            return self._work.guarded(lambda: session.table(kept_view).toArrow(), progress=progress)
        finally:
            self.drop(kept_view)

    def keep(self, sql: str, *, progress: Progress | None = None) -> str:
        """Store a result that is read again as a view of what Spark keeps."""
        self._names.check(sql)
        name = fresh_name()
        self._views[name] = self._work.guarded(lambda: self._persist(name, sql), progress=progress)
        return name

    def _persist(self, name: str, sql: str) -> DataFrame:
        from pyspark import StorageLevel

        frame = make_plan_unique(self._ask(sql), name)
        try:
            rows = frame.persist(StorageLevel.MEMORY_AND_DISK).count()
            (frame.coalesce(1) if rows <= MAX_ROWS_PER_TASK else frame).createTempView(name)
        except BaseException:
            frame.unpersist()
            raise
        return frame

    def drop(self, table: str) -> None:
        """Drop a kept result, which is not read again, and its rows in any order."""
        for key, ordered in list(self._ordered.items()):
            if table in key[0]:
                del self._ordered[key]
                self.drop(ordered)
        if table in self._views:
            frame = self._views.pop(table)
            self._work.guarded(lambda: self._drop_view(table, frame))

    def _drop_view(self, name: str, frame: DataFrame | None) -> None:
        self._work.session.catalog.dropTempView(name)
        if frame is not None:
            frame.unpersist()

    def put(self, columns: Mapping[str, Int64 | Sequence[str]]) -> str:
        """Store a small table of integers and texts as a view."""
        return self._put_table(to_arrow(columns))

    def put_tuples(self, values: Sequence[tuple[object, ...]], types: Sequence[SqlType]) -> str:
        """Store a public list of tuples with their indices; DuckDB has checked them."""
        casts = (f"CAST(k{index} AS {sql_type.canonical_type}) AS k{index}" for index, sql_type in enumerate(types))
        return self._put_table(tuples_to_arrow(values, types), *casts, "place")

    def _put_table(self, table: pa.Table, *expressions: str) -> str:
        name = fresh_name()

        def create() -> None:
            frame = self._work.session.createDataFrame(table)
            create_view(frame.selectExpr(*expressions) if expressions else frame, name)

        self._work.guarded(create)
        self._views[name] = None
        return name

    def secret_key_sql(self, key: bytes) -> str:
        """Return a key as SQL. It is visible in the plan to anybody who may inspect the session, as its rows are."""
        return secret(key)

    def names_at(self, sql: str, order: str, indices: Int64) -> list[Any]:
        """Return the names at these indices of a query in an order, which is kept for the next call."""
        ordered = self._ordered.get((sql, order))
        if ordered is None:
            # One task sorts them all, on disk if they do not fit into memory.
            index_column = f"row_number() OVER (ORDER BY {order}) - 1 AS place"
            ordered = self.keep(f"SELECT name, {index_column} FROM ({sql}) AS q")
            self._ordered[sql, order] = ordered
        requested_indices = f"SELECT place FROM {self.put({'place': indices})} AS a"
        rows = self.rows(f"SELECT name FROM {ordered} AS o WHERE place IN ({requested_indices}) ORDER BY place")
        return [row[0] for row in rows]

    def close(self) -> None:
        """Drop all of our views; the session goes on."""
        super().close()
        for view_name in reversed(list(self._views)):  # on Connect what is kept is found by the views that it reads
            with suppress(Exception):
                self.drop(view_name)
        self._views.clear()
