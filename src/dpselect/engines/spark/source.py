"""Sources in Spark: a frame, a session with a table, or the address of one, as in "spark:local[2]".

A session that is there is used as it is; one setting is changed while files are found. Only where none runs one is
started, and kept.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeGuard, cast

from dpselect._ground.parameters import suggest
from dpselect.engines.sources.files import KINDS, UNCLEAR
from dpselect.errors import DataError, SourceError, install_hint, missing_source_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from dpselect.engines.spark.jobs import SparkWork

_START = "spark:"
# A session of our own says nothing: what Spark logs can quote rows.
_OWN = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF"}
_HERE = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}  # nobody else can reach it
CUTS = {"GlobalLimit": "limit", "Offset": "offset", "Tail": "tail"}
FIRSTS = {"First": "first", "Last": "last", "AnyValue": "any_value"}
KEEPING_ORDER = (*CUTS, "LocalLimit", "Project", "Filter", "SubqueryAlias", "View")
_PATH = re.compile(r"[a-z0-9+]+://.*|.*/.*|\..*", re.DOTALL)


def is_spark(source: object) -> bool:
    """Is it a frame or a session of Spark, or does it name one? PySpark is not imported for that."""
    return (isinstance(source, str) and source.startswith(_START)) or _is_object(source)


def _is_object(source: object) -> bool:
    kinds = {"DataFrame", "SparkSession"}
    return any(one.__module__.startswith("pyspark.sql.") and one.__name__ in kinds for one in type(source).__mro__)


def place(source: object) -> str:
    """What a message calls it: the address that was given, else Spark."""
    return source.rpartition("@")[2] if isinstance(source, str) else "Spark"


def work_of(source: object) -> SparkWork:
    """The session that answers for a source."""
    from dpselect.engines.spark.jobs import SparkWork

    _import()
    if isinstance(source, str):
        return SparkWork(_session(source), place(source))
    if not _is_classic(source):
        hint = "save the rows as a table or as Parquet files, and use those"
        raise SourceError("source", "be of Spark itself", "one of Spark Connect, which is not supported yet", hint)
    session = source.sparkSession if hasattr(source, "sparkSession") else source
    return SparkWork(session, place(source))


def _is_classic(source: object) -> TypeGuard[SparkSession]:
    return hasattr(source, "_jdf") or hasattr(source, "_jsparkSession")


_INFERENCE = "spark.sql.sources.partitionColumnTypeInference.enabled"
_SETTING = threading.Lock()


def _import() -> None:
    try:
        import pyspark.sql  # noqa: F401 - is it there?
    except ImportError:
        raise DataError("a table in Spark needs PySpark", install_hint("spark")) from None


def _session(address: str) -> SparkSession:
    """The running session, else one that is started; its master is what follows `spark:`, or a whole spark://..."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    master = address if address.startswith("spark://") else address.removeprefix(_START)
    if SparkContext._active_spark_context is not None:
        found = SparkSession.builder.getOrCreate()
        if master and found.sparkContext.master != master:
            hint = 'a process has one Spark: write "spark:" for the running one, or stop it'
            raise SourceError("source", "name the running Spark", repr(place(address)), hint)
        return found
    builder = SparkSession.builder.appName("dpselect")
    for name, value in (_OWN | (_HERE if master.startswith("local") else {})).items():
        builder = builder.config(name, value)
    try:
        return (builder.master(master) if master else builder).getOrCreate()
    except Exception:  # of Java, of PySpark or of the network
        pass
    hint = "it needs Java 17 or newer (JAVA_HOME), and a reachable master"
    raise DataError(f"{place(address)} could not be started", hint)


def frame_of(work: SparkWork, source: object, table: str | None) -> DataFrame:
    """The rows that are meant, read from a catalogue or a schema only."""
    from pyspark.sql import SparkSession

    if not isinstance(source, (str, SparkSession)):
        if table is not None:
            raise SourceError("table", "be left out for a frame", repr(table))
        frame = cast("DataFrame", source)  # work_of saw that it is one
    elif table is None:
        hint = suggest("", _tables(work))
        raise SourceError("table", "name a table, a view or files", "nothing", hint)
    else:
        frame = _files(work, table) if _is_path(table) else _table(work, table)
    work.guarded(lambda: _refuse_chance(frame))
    return frame


def _is_path(table: str) -> bool:
    return bool(_PATH.fullmatch(table)) or table.lower().endswith((*KINDS, *UNCLEAR, ".orc")) or os.path.isdir(table)


def _table(work: SparkWork, table: str) -> DataFrame:
    from pyspark.errors import AnalysisException

    def read() -> DataFrame | None:
        try:
            return work.session.table(table)
        except AnalysisException as error:  # 42 are names and how they are written, 42501 is a right that is missing
            state = error.getSqlState() or ""
            if state[:2] != "42" or state == "42501":
                raise
        return None

    found = work.guarded(read)
    if found is None:
        must = "be a table or view of the catalogue, or files"
        raise missing_source_error("table", must, repr(table), suggest(table, _tables(work)))
    return found


def _tables(work: SparkWork) -> list[str]:
    """The tables and views of the current database, without our own."""
    found = work.guarded(lambda: [table.name for table in work.session.catalog.listTables()])
    return sorted(name for name in found if not name.startswith("dpselect_"))


def _files(work: SparkWork, path: str) -> DataFrame:
    """Files by their suffix, a folder as Parquet. Text is text: Spark could tell other types from the rows only."""
    name = path.lower().rstrip("/")
    kinds = {**KINDS, **dict.fromkeys(UNCLEAR, "json"), ".orc": "orc"}
    kind = next((kinds[end] for end in kinds if name.endswith(end)), "parquet")
    read = work.session.read
    if kind in ("json", "duckdb"):
        hint = "read it yourself, session.read.schema(...).json(...), and pass the frame"
        must = "be Parquet, ORC, CSV or TSV files"
        raise SourceError("table", must, f"a {kind} file, whose columns are known only from its rows", hint)

    def find() -> DataFrame:
        if kind in ("csv", "tsv"):
            comma = "\t" if kind == "tsv" else ","
            # One line is one record: an open quote would swallow the rows behind it.
            return read.csv(path, header=True, inferSchema=False, sep=comma, escape='"', multiLine=False)
        return read.format(kind).load(path)

    with _folders_as_text(work):
        return work.guarded(find)


@contextmanager
def _folders_as_text(work: SparkWork) -> Iterator[None]:
    """Let names of folders be text while files are found: Spark would take 01 and 1 for one number."""
    conf = work.session.conf
    with _SETTING:
        before = work.guarded(lambda: conf.get(_INFERENCE))
        try:
            work.guarded(lambda: conf.set(_INFERENCE, "false"))
            yield
        finally:
            work.guarded(lambda: conf.set(_INFERENCE, str(before)))


def _refuse_chance(frame: DataFrame) -> None:
    """A question may read its rows more than once, so they must be the same each time."""
    plan = cast("Any", frame)._jdf.queryExecution().analyzed()
    if plan.isStreaming():
        raise SourceError(
            "source", "be rows that are there", "a stream", "save the rows received so far, and use those"
        )
    again = "rows that are drawn or numbered again at each read"
    if plan.deterministic():
        cut = next(filter(None, map(_unordered, _nodes(plan))), None)
        if cut is None:
            return
        again = f"an unordered {cut}, which may leave other rows at each read"
    hint = "save it as a table, or call frame.localCheckpoint(), and use that"
    raise SourceError("source", "be the same rows each time", again, hint)


def _nodes(plan: Any) -> Iterator[Any]:
    """Yield every node of a query's plan, and of the queries inside it."""
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        yield node
        for inner in (node.children(), node.subqueries()):
            waiting += [inner.apply(place) for place in range(inner.size())]


def _unordered(node: Any) -> str | None:
    """Return what a node of a plan does if the order in which rows come decides which of them it leaves."""
    name = node.nodeName()
    if name in CUTS:
        return None if _is_ordered(node) else CUTS[name]
    if name == "Deduplicate" and node.keys().size() < node.child().output().size():
        return "dropDuplicates of some columns"
    if name == "Aggregate":
        return next((FIRSTS[one] for one in _expressions(node) if one in FIRSTS), None)
    return "sample" if name == "Sample" else None


def _expressions(node: Any) -> Iterator[str]:
    """Yield the names of the classes of all expressions of a node."""
    waiting = [node.expressions().apply(place) for place in range(node.expressions().size())]
    while waiting:
        expression = waiting.pop()
        yield expression.getClass().getSimpleName()
        inner = expression.children()
        waiting += [inner.apply(place) for place in range(inner.size())]


def _is_ordered(cut: Any) -> bool:
    """Return whether the rows that a limit cuts are sorted, before nothing but what keeps their order."""
    node = cut
    while node.nodeName() in KEEPING_ORDER:
        node = node.children().apply(0)
    return bool(node.nodeName() == "Sort" and getattr(node, "global")())
