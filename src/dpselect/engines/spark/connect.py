"""Spark Connect: what a server is asked where a session of this process asks Java.

A server tells a plan as text only. So a frame is read as it is if every line of its plan is known to give the same rows
each time. Any other is copied before it is read, which also serves frames that draw or number their rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from dpselect.engines.spark.jobs import fresh_name, is_lost
from dpselect.errors import SourceError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OLDEST_SERVER = (4, 2)  # older ones do not list functions that replace their own
_LEAF = r"(?:SubqueryAlias|View|Relation|RelationV2|LocalRelation|LogicalRDD|Range|OneRowRelation)\b.*"
# Without any call but casts and tests for null, and in full: Spark leaves "... 3 more fields" out of long lines. The
# result of a function of Python has a number, cast(x#1)#2, whatever the function is called.
_NODE = (
    r"(?:Project|Filter|Join|Union)\b(?!.* more fields|.*\)#\d)"
    r"(?:[^(]|(?<!\w)\(|(?<=\bcast)\(|(?<=\bdecimal)\(|(?<=\bisnull)\(|(?<=\bisnotnull)\()*"
)
_STABLE_LINE = re.compile(f"[ :+|-]*(?:{_LEAF}|{_NODE})")
_SIZE = re.compile(r"sizeInBytes=([0-9.E+]+) ([KMGTPE]?)i?B")


def check_server(session: SparkSession) -> None:
    """Refuse a server that is not Spark itself, is too old to list redefined functions, or keeps no results."""
    requirement = "be a session of Spark itself"
    if _refuses(lambda: session.sql("SELECT 'a' COLLATE UTF8_BINARY").schema):
        reason = "without COLLATE, such as Sail, which also wraps large sums and ignores a session's time zone"
        hint = "pass the files that it reads, as paths"
        raise SourceError("source", requirement, f"one of a server {reason}", hint)
    if tuple(map(int, session.version.split(".")[:2])) < OLDEST_SERVER:
        hint = "pass frame.toArrow(), or update the server"
        raise SourceError("source", f"{requirement} 4.2 or newer on Connect", session.version, hint)
    unique = f"'{fresh_name()}' = ''"  # else it would be the caller's to lose
    if _refuses(lambda: session.range(1).where(unique).persist().unpersist()):
        hint = "pass frame.toArrow(), or a session of a cluster of your own"
        raise SourceError("source", "be a session that can keep results", "one whose server refuses persist()", hint)


def _refuses(attempt: Callable[[], object]) -> bool:
    """Return whether a server refuses something; raise if it is lost."""
    from pyspark.errors import PySparkException

    try:
        attempt()
    except PySparkException as error:
        if is_lost(error):
            raise
        return True
    return False


def needs_copy(frame: DataFrame) -> bool:
    """Return whether the rows of a frame may differ at the next read; raise if the server then keeps no copy."""
    plan = str(cast("Any", frame)._explain_string(mode="extended"))
    analyzed = plan.partition("== Analyzed Logical Plan ==\n")[2].rpartition("\n== Optimized Logical Plan ==")[0]
    nodes = analyzed.splitlines()[1:]  # after the columns
    if nodes and all(map(_STABLE_LINE.fullmatch, nodes)):
        return False
    if _refuses(lambda: frame.sparkSession.range(1).localCheckpoint()):
        requirement = "be a table, or rows that the server may copy, because they may differ at each read"
        hint = 'frame.write.saveAsTable("rows"), then dps.Table(spark, "rows")'
        raise SourceError("source", requirement, "a frame of a server that refuses localCheckpoint()", hint)
    return True


def expected_bytes(frame: DataFrame) -> int:
    """Return Spark's estimate of the size of a frame; very large if it has none."""
    size = _SIZE.search(cast("Any", frame)._explain_string(mode="cost"))
    return 1 << 62 if size is None else int(float(size[1]) * 1024 ** " KMGTPE".index(size[2] or " "))
