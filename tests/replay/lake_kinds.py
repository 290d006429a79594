"""Tables that others keep: Delta, Iceberg, Parquet in S3, SQLite; each written by its own writer."""

from __future__ import annotations

import asyncio
import os
import queue
import sqlite3
import tempfile
import threading
from functools import cache
from pathlib import Path

import pyarrow.parquet as pq

from tests.replay.frame_kinds import arrow_table
from tests.replay.kinds import ANY, kind
from tests.replay.sorts import Rows

_DELTA = ("text", "whole", "real", "decimal", "truth", "bytes", "day", "moment us", "moment in a zone")
_CANNOT = "surrogate, invalid, special decimal, far beyond"


@kind("Delta", _DELTA, cannot=_CANNOT, like="Parquet")
def _delta(rows: Rows, folder: Path) -> object:
    import deltalake

    deltalake.write_deltalake(folder / "rows", arrow_table(rows))
    return str(folder / "rows")


# Those whose files alone are not their rows are read by PyArrow.
@kind("Delta with mapped columns", _DELTA, cannot=_CANNOT, like="pyarrow")
def _mapped_delta(rows: Rows, folder: Path) -> object:
    import deltalake

    mapping = {"delta.columnMapping.mode": "name"}
    deltalake.write_deltalake(folder / "rows", arrow_table(rows), configuration=mapping)
    return str(folder / "rows")


@kind("Delta with deleted rows", _DELTA, cannot=_CANNOT, like="pyarrow")
def _delta_with_deleted_rows(rows: Rows, folder: Path) -> object:
    """The first row stands there twice, and one of them is deleted."""
    import deltalake
    import pyarrow as pa

    from tests.lakes import with_row_deleted

    table = arrow_table(rows)
    vectors = {"delta.enableDeletionVectors": "true"}
    deltalake.write_deltalake(folder / "rows", pa.concat_tables([table.slice(0, 1), table]), configuration=vectors)
    return with_row_deleted(folder / "rows", 0)


@kind("Arrow dataset", _DELTA, cannot=_CANNOT, like="pyarrow")
def _arrow_dataset(rows: Rows, folder: Path) -> object:
    from pyarrow import dataset

    pq.write_table(arrow_table(rows), folder / "rows.parquet")
    return dataset.dataset(folder / "rows.parquet")


# Its writer refuses days beyond those of Python: they are no rows of such a table.
@kind("Iceberg", _DELTA, cannot=f"{_CANNOT}, beyond", like="pyarrow")
def _iceberg(rows: Rows, folder: Path) -> object:
    from pyiceberg.catalog.sql import SqlCatalog

    found = arrow_table(rows)
    catalog = SqlCatalog("tests", uri="sqlite://", warehouse=folder.as_uri())
    catalog.create_namespace("events")
    table = catalog.create_table("events.rows", schema=found.schema)
    table.append(found)
    return table.location().removeprefix("file://")


@cache
def address() -> str:
    """Where a server is that answers for files of temporary folders, as S3 does for objects."""
    started: queue.Queue[int] = queue.Queue()
    threading.Thread(target=asyncio.run, args=(_serve(started),), daemon=True).start()
    return f"127.0.0.1:{started.get(timeout=60)}"


async def _serve(started: queue.Queue[int]) -> None:
    from aiohttp import web

    app = web.Application()
    app.router.add_static("/", tempfile.gettempdir())
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    started.put(runner.addresses[0][1])
    await asyncio.Event().wait()


def stored(path: Path, scheme: str = "s3") -> str:
    """The address of a file: its first folder is the bucket."""
    name = path.relative_to(tempfile.gettempdir()).as_posix()
    return f"http://{address()}/{name}" if scheme == "http" else f"s3://{name}?{AT}={address()}&scheme=http"


AT = "endpoint_override"


@kind(
    "Parquet in S3",
    ("text", "whole", "real", "day", "moment us"),
    cannot="surrogate, special decimal, beyond the day",
    like="pyarrow",
)
def _s3(rows: Rows, folder: Path) -> object:
    os.environ.update(AWS_ACCESS_KEY_ID="tests", AWS_SECRET_ACCESS_KEY="tests")  # or PyArrow looks for them elsewhere
    path = folder / "rows.parquet"
    pq.write_table(arrow_table(rows), path)
    return stored(path)


_DECLARED = {"text": "TEXT", "whole": "INTEGER", "real": "REAL"}


@kind("SQLite", (*_DECLARED, *ANY), cannot="surrogate, object")
def _sqlite(rows: Rows, folder: Path) -> object:
    """A column of no type holds anything; a text that is no UTF-8 is one of its values."""
    path = folder / "rows.sqlite"
    with sqlite3.connect(path) as connection:
        columns = [f"{name} {_DECLARED.get(column.sort, '')}" for name, column in rows.items()]
        connection.execute(f"CREATE TABLE events ({', '.join(columns)})")
        values = zip(*(map(_value, column.values) for column in rows.values()), strict=True)
        forms = ", ".join("CAST(? AS TEXT)" if column.sort == "text" else "?" for column in rows.values())
        connection.executemany(f"INSERT INTO events VALUES ({forms})", values)
    connection.close()
    return str(path), "events"


def _value(value: object) -> object:
    """Lists and mappings as their texts, and numbers beyond 64 bits as real ones: SQLite has neither."""
    if isinstance(value, (list, dict)):
        return str(value)
    return float(value) if isinstance(value, int) and abs(value) >= 2**63 else value
