"""What a source is called where a person reads it: without its rows, and without a password."""

from __future__ import annotations

import os

from dpselect.engines import spark_source
from dpselect.engines.postgres_address import is_postgres, place
from dpselect.engines.warehouse_source import is_warehouse


def shown(source: object) -> str:
    """A source without its rows."""
    if is_postgres(source):
        return repr(place(source))
    if spark_source.is_spark(source):
        return repr(spark_source.place(source)) if isinstance(source, str) else f"<{type(source).__name__} of Spark>"
    if is_warehouse(source):
        return repr(source)
    if isinstance(source, (str, os.PathLike)):
        return repr(os.fsdecode(source))
    if isinstance(source, (list, tuple)):
        return f"<{len(source)} files>"
    return f"<{type(source).__module__.partition('.')[0]} {type(source).__name__}>"
