"""Sources in Spark: a frame, a session with a table, or the address of one, as in "spark:local[2]".

A session that is there is used as it is; one setting is changed while files are found. Only where none runs one is
started, and kept.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, cast

from dpselect._ground.parameters import suggest
from dpselect.engines.address import SPARK_PREFIX
from dpselect.engines.sources.files import KIND_OF_EXTENSION, UNCLEAR_EXTENSIONS
from dpselect.errors import DataError, SourceError, install_hint, missing_source_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from dpselect.engines.spark.jobs import SparkWork

# A session of our own logs nothing: Spark's log can quote rows.
_QUIET_SETTINGS = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF"}
_LOCAL_SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}  # nobody else can reach it
UNORDERED_CUTS = {"GlobalLimit": "limit", "Offset": "offset", "Tail": "tail"}
ORDER_DEPENDENT = {"First": "first", "Last": "last", "AnyValue": "any_value"}
KEEPING_ORDER = (*UNORDERED_CUTS, "LocalLimit", "Project", "Filter", "SubqueryAlias", "View")
_PATH = re.compile(r"[a-z0-9+]+://.*|.*/.*|\..*", re.DOTALL)


def display_name(source: object) -> str:
    """Return the name of a source in messages: the address that was given, else Spark."""
    return source.rpartition("@")[2] if isinstance(source, str) else "Spark"


def open_work(source: object) -> SparkWork:
    """Return the work of the session that answers for a source."""
    from dpselect.engines.spark.connect import check_server
    from dpselect.engines.spark.jobs import SparkWork

    _import_pyspark()
    if type(source).__module__.startswith("pyspark.pandas."):
        raise SourceError("source", "be a frame of Spark SQL", "one of pandas on Spark", "pass frame.to_spark()")
    session = _start_session(source) if isinstance(source, str) else getattr(source, "sparkSession", source)
    work = SparkWork(cast("SparkSession", session), display_name(source))
    if work.is_connect:
        work.guarded(lambda: check_server(work.session))
    return work


_FOLDER_TYPES = "spark.sql.sources.partitionColumnTypeInference.enabled"
_settings_lock = threading.Lock()


def _import_pyspark() -> None:
    try:
        import pyspark.sql  # noqa: F401 - is it there?
    except ImportError:
        raise DataError("a table in Spark needs PySpark", install_hint("spark")) from None


def _start_session(address: str) -> SparkSession:
    """Return the running session, or start one; its master is what follows `spark:`, or a whole spark://..."""
    try:
        from pyspark import SparkContext
    except ImportError:
        hint = 'pass a session: dps.Table(spark, "name")'
        raise DataError(f"{display_name(address)} needs PySpark itself, not only its client", hint) from None
    from pyspark.sql import SparkSession

    master = address if address.startswith("spark://") else address.removeprefix(SPARK_PREFIX)
    if SparkContext._active_spark_context is not None:
        running_session = SparkSession.builder.getOrCreate()
        if master and SparkContext._active_spark_context.master != master:
            hint = 'a process has one Spark: write "spark:" for the running one, or stop it'
            raise SourceError("source", "name the running Spark", repr(display_name(address)), hint)
        return running_session
    builder = SparkSession.builder.appName("dpselect")
    for name, value in (_QUIET_SETTINGS | (_LOCAL_SETTINGS if master.startswith("local") else {})).items():
        builder = builder.config(name, value)
    try:
        return (builder.master(master) if master else builder).getOrCreate()
    except Exception:  # of Java, of PySpark or of the network
        pass
    hint = "it needs Java 17 or newer (JAVA_HOME), and a reachable master"
    raise DataError(f"{display_name(address)} could not be started", hint)


@contextmanager
def open_frame(work: SparkWork, source: object, table: str | None) -> Iterator[DataFrame]:
    """Open the frame of a source, read from a catalogue or a schema only.

    On Connect a frame is looked up anew by whatever uses it, so the setting for files holds until a view is made of it.
    """
    is_files = table is not None and not hasattr(source, "sparkSession") and _is_path(table)
    with _folders_as_text(work) if is_files else nullcontext():
        frame = _find_frame(work, source, table)
        work.guarded(lambda: _refuse_unstable(work, frame))
        yield frame


def _find_frame(work: SparkWork, source: object, table: str | None) -> DataFrame:
    if hasattr(source, "sparkSession"):
        if table is not None:
            raise SourceError("table", "be left out for a frame", repr(table))
        return cast("DataFrame", source)
    if table is None:
        hint = suggest("", _tables(work))
        raise SourceError("table", "name a table, a view or files", "nothing", hint)
    return _read_files(work, table) if _is_path(table) else _read_table(work, table)


def _is_path(table: str) -> bool:
    return (
        bool(_PATH.fullmatch(table))
        or table.lower().endswith((*KIND_OF_EXTENSION, *UNCLEAR_EXTENSIONS, ".orc"))
        or os.path.isdir(table)
    )


def _read_table(work: SparkWork, table: str) -> DataFrame:
    from pyspark.errors import AnalysisException

    def read() -> DataFrame | None:
        try:
            frame = work.session.table(table)
            frame.schema  # noqa: B018 - a server is asked only then
            return frame
        except AnalysisException as error:  # 42 is a wrong name or syntax, 42501 a missing right
            state = error.getSqlState() or ""
            if state[:2] != "42" or state == "42501":
                raise
        return None

    frame = work.guarded(read)
    if frame is None:
        requirement = "be a table or view of the catalogue, or files"
        raise missing_source_error("table", requirement, repr(table), suggest(table, _tables(work)))
    return frame


def _tables(work: SparkWork) -> list[str]:
    """Return the names of tables and views of the current database, without our own."""
    names = work.guarded(lambda: [table.name for table in work.session.catalog.listTables()])
    return sorted(name for name in names if not name.startswith("dpselect_"))


def _read_files(work: SparkWork, path: str) -> DataFrame:
    """Read files by their suffix, a folder as Parquet. Text stays text: Spark can infer other types from rows only."""
    from dpselect.engines.spark.jobs import fresh_name

    name = path.lower().rstrip("/")
    kinds = {**KIND_OF_EXTENSION, **dict.fromkeys(UNCLEAR_EXTENSIONS, "json"), ".orc": "orc"}
    kind = next((kinds[suffix] for suffix in kinds if name.endswith(suffix)), "parquet")
    # A server may keep what it found in a folder before, by another setting. It does so by a reader's options.
    reader = work.session.read.option("dpselect", fresh_name())
    if kind in ("json", "duckdb"):
        hint = "read it yourself, session.read.schema(...).json(...), and pass the frame"
        requirement = "be Parquet, ORC, CSV or TSV files"
        raise SourceError("table", requirement, f"a {kind} file, whose columns are known only from its rows", hint)

    def open_files() -> DataFrame:
        if kind in ("csv", "tsv"):
            separator = "\t" if kind == "tsv" else ","
            # One line is one record: an open quote would include the rows after it.
            return reader.csv(path, header=True, inferSchema=False, sep=separator, escape='"', multiLine=False)
        return reader.format(kind).load(path)

    return work.guarded(open_files)


@contextmanager
def _folders_as_text(work: SparkWork) -> Iterator[None]:
    """Make the names of folders text while files are opened: Spark would read 01 and 1 as one number."""
    conf = work.session.conf
    with _settings_lock:
        previous = work.guarded(lambda: conf.get(_FOLDER_TYPES))
        try:
            work.guarded(lambda: conf.set(_FOLDER_TYPES, "false"))
            yield
        finally:
            work.guarded(lambda: conf.set(_FOLDER_TYPES, str(previous)))


def _refuse_unstable(work: SparkWork, frame: DataFrame) -> None:
    """Refuse rows that may differ at each read, because a question may read its rows more than once."""
    if frame.isStreaming:
        raise SourceError(
            "source", "be rows that are there", "a stream", "save the rows received so far, and use those"
        )
    if work.is_connect:  # it copies them
        return
    plan = cast("Any", frame)._jdf.queryExecution().analyzed()
    instability = "rows that are drawn or numbered again at each read"
    if plan.deterministic():
        operation = next(filter(None, map(_unstable_operation, _plan_nodes(plan))), None)
        if operation is None:
            return
        instability = f"an unordered {operation}, which may leave other rows at each read"
    hint = "save it as a table, or call frame.localCheckpoint(), and use that"
    raise SourceError("source", "be the same rows each time", instability, hint)


def _plan_nodes(plan: Any) -> Iterator[Any]:
    """Yield every node of a query's plan, and of the queries inside it."""
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        yield node
        for inner in (node.children(), node.subqueries()):
            waiting += [inner.apply(index) for index in range(inner.size())]


def _unstable_operation(node: Any) -> str | None:
    """Return the operation of a plan's node if the order of rows decides which of them it keeps."""
    name = node.nodeName()
    if name in UNORDERED_CUTS:
        return None if _is_ordered(node) else UNORDERED_CUTS[name]
    if name == "Deduplicate" and node.keys().size() < node.child().output().size():
        return "dropDuplicates of some columns"
    if name == "Aggregate":
        return next((ORDER_DEPENDENT[class_] for class_ in _expression_names(node) if class_ in ORDER_DEPENDENT), None)
    return "sample" if name == "Sample" else None


def _expression_names(node: Any) -> Iterator[str]:
    """Yield the names of the classes of all expressions of a node."""
    waiting = [node.expressions().apply(index) for index in range(node.expressions().size())]
    while waiting:
        expression = waiting.pop()
        yield expression.getClass().getSimpleName()
        inner = expression.children()
        waiting += [inner.apply(index) for index in range(inner.size())]


def _is_ordered(cut: Any) -> bool:
    """Return whether the rows that a limit cuts are sorted, before nothing but what keeps their order."""
    node = cut
    while node.nodeName() in KEEPING_ORDER:
        node = node.children().apply(0)
    return bool(node.nodeName() == "Sort" and getattr(node, "global")())
