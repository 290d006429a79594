"""What Spark writes into a folder of prepared data: steps that are read again, and files that stay.

It works in a session of our own beside the caller's, whose settings are known. Workers write, the driver looks: every
row that was written must stand in files that the driver sees, else the folder is none that they share.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpselect.engines.prepared.state import Part
from dpselect.engines.prepared.writing import Writing
from dpselect.engines.spark.jobs import Work
from dpselect.engines.spark.names import Names
from dpselect.engines.spark.prepared_source import read
from dpselect.engines.sql.port import Row
from dpselect.errors import DataError
from dpselect.parameters import Progress

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

SEGMENT = "segment"  # the column by which rows are put into files of their own
_OWN = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "false",
    "spark.sql.files.maxRecordsPerFile": "0",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.session.timeZone": "UTC",
}
_IN_SEGMENT = re.compile(f"{SEGMENT}=([0-9]+)")


class Files:
    """One folder while Spark writes to it. Views have plain names: nobody else is in the session."""

    def __init__(self, work: Work, writing: Writing) -> None:
        self._writing = writing
        self._folders: list[str] = []
        self.work: Work = Work(work.guarded(work.session.newSession), work.place)
        self.work.guarded(self._set_up)
        self._names = Names(self.work)
        self.progress: Progress | None = None

    def _set_up(self) -> None:
        for name, value in _OWN.items():
            self.work.session.conf.set(name, value)

    def close(self) -> None:
        """Remove what is not to stay."""
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)

    def sql(self, sql: str) -> DataFrame:
        """A query of views."""
        self._names.check(sql)
        return self.work.guarded(lambda: self.work.session.sql(sql))

    def number(self, sql: str) -> int:
        """The one number that a query gives."""
        return int(self.rows(sql)[0][0])

    def rows(self, sql: str) -> list[Row]:
        """All rows of a small result."""
        frame = self.sql(sql)
        return [tuple(row) for row in self.work.guarded(frame.collect, progress=self.progress)]

    def view(self, name: str, frame: DataFrame) -> None:
        """Give a frame of our session a name."""
        self.work.guarded(lambda: frame.createOrReplaceTempView(name))

    def put(self, name: str, table: pa.Table) -> None:
        """A small table."""
        self.view(name, self.work.guarded(lambda: self.work.session.createDataFrame(table)))

    def keep(self, name: str, frame: DataFrame) -> int:
        """Write a step, which is read again by its name; how many rows it has."""
        paths, rows = self._written(frame, None)
        self.view(name, self.work.guarded(lambda: read(self.work, paths, frame.schema)))
        return rows

    def write(self, kind: str, frame: DataFrame, *, by_segment: bool = False) -> dict[int, tuple[Part, ...]]:
        """Write files that stay, by segments; without them all are of segment 0."""
        found: dict[int, tuple[Part, ...]] = {}
        for path in self._written(frame, SEGMENT if by_segment else None)[0]:
            inside = _IN_SEGMENT.fullmatch(Path(path).parent.name)
            place = int(inside[1]) if inside else 0
            found[place] = (*found.get(place, ()), self._writing.taken(kind, path))
        return found

    def read_parts(self, name: str, parts: Sequence[Part], frame: DataFrame) -> None:
        """Read files that stay by a name, with the columns of the frame that was written."""
        paths = [self._writing.path(part) for part in parts]
        self.view(name, self.work.guarded(lambda: read(self.work, paths, frame.schema)))

    def _written(self, frame: DataFrame, by: str | None) -> tuple[list[str], int]:
        from pyspark.sql import Observation
        from pyspark.sql.functions import count, lit

        folder, seen = self._writing.new_folder(), Observation()
        self._folders.append(folder)

        def write() -> int:
            writer = frame.observe(seen, count(lit(1)).alias("rows")).write.option("compression", "zstd")
            (writer if by is None else writer.partitionBy(by)).parquet(f"file://{folder}")
            return int(seen.get.get("rows", 0))

        rows = self.work.guarded(write, progress=self.progress)
        paths = sorted(str(path) for path in Path(folder).rglob("*.parquet"))
        if sum(map(_rows_in, paths)) != rows:
            hint = "name a folder that driver and workers share, at the same path on each, or prepare with master local"
            raise DataError(f"not all that Spark wrote is in {self._writing.shown}", hint)
        return paths, rows


def _rows_in(path: str) -> int:
    import pyarrow.parquet as pq

    return int(pq.read_metadata(os.fspath(path)).num_rows)
