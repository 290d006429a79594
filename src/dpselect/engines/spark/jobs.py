"""Work: questions that a Spark session answers, stopped by Ctrl-C, and what is said where it cannot.

A task that Spark runs again computes the same values again, for our SQL draws nothing, and what is released is drawn
here, once, from what comes back; so nothing is ever released twice.

Names of functions are checked first. A session's own functions came before Spark's until 4.2, and do so where
`spark.sql.functionResolution.sessionOrder` is "first"; `SET PATH` may put those of a schema before them. A name with
`system.builtin` before it is not known to 4.0. So each name that a statement calls is looked up as Spark will look it
up, before that statement runs. Operators, `between` and == of a frame have names, too.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar, cast

from dpselect._ground.parameters import Progress
from dpselect.draws import fresh_key
from dpselect.engines.waiting import run_interruptible
from dpselect.errors import DataError, DpselectError, SourceError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


T = TypeVar("T")
_THREAD = "dpselect-spark"

# Words that are searched for in the name of an error's condition, else in its message; the first match counts.
_SPARK_LOST = (
    "Spark was lost or stopped during the query",
    "ask again; if it happens again, ask the administrator of the cluster",
)
_OUT_OF_ROOM = (
    "Spark ran out of memory or disk",
    "give executors and driver more memory, or use a view with fewer rows",
)
_NOT_FOUND = ("the table, or a part of it, does not exist", "check its name; if it was replaced, read it again")
_NO_PERMISSION = ("this user may not read the table", "ask its owner for the right to")
_MESSAGES = (
    (
        ("SPARK_JOB_CANCELLED", "cancelled job group", "was cancelled", "OPERATION_CANCELED"),
        ("the question was cancelled", "ask again"),
    ),
    (("OutOfMemoryError", "OUT_OF_MEMORY", "ACQUIRE_MEMORY", "No space left on", "maxResultSize"), _OUT_OF_ROOM),
    (("AccessControlException", "PERMISSION", "AccessDenied"), _NO_PERMISSION),
    (
        ("ExecutorLost", "SparkContext was shut down", "stopped SparkContext", "Executor heartbeat timed out"),
        _SPARK_LOST,
    ),
    (("NO_ACTIVE_SESSION", "INVALID_HANDLE", "StatusCode.UNAVAILABLE", "RETRIES_EXCEEDED"), _SPARK_LOST),
    (("CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND",), _SPARK_LOST),  # of a copy
    (("NOT_FOUND", "NOT_EXIST", "FileNotFound", "NoSuchFile"), _NOT_FOUND),
)
_UNKNOWN_ERROR = ("the table could not be read", "Spark's message is not shown because it could quote rows")


class SparkWork:
    """Work in one session. The session belongs to the caller: it is never reconfigured or stopped."""

    def __init__(self, session: SparkSession, display_name: str) -> None:
        self.session = session
        self.display_name = display_name
        self.is_connect: bool = not hasattr(session, "_jsparkSession")
        _silence_query_log()

    def guarded(self, work: Callable[[], T], *, progress: Progress | None = None) -> T:
        """Return the result of `work`, or raise a DataError of fixed text, because Spark's message can quote a row.

        The work has its own job group, on Connect its own tag, which Ctrl-C cancels. Spark plans while it runs, so its
        progress is unknown.
        """
        session, group = self.session, fresh_name()
        tags = (*session.getTags(), group) if self.is_connect else ()

        def run_in_group() -> T:
            if self.is_connect:  # PySpark takes a copy to be of the active session, whichever has it
                cast("Any", session)._set_default_and_active_session(session)
            else:
                session.sparkContext.setJobGroup(group, "dpselect")
            for tag in tags:
                session.addTag(tag)
            return work()

        def report_progress() -> None:
            if progress is not None:
                progress(None)

        def cancel() -> None:
            with suppress(Exception):
                session.interruptTag(group) if self.is_connect else session.sparkContext.cancelJobGroup(group)

        return run_interruptible(
            self._inheriting(run_in_group),
            report_progress=report_progress,
            interrupt=cancel,
            fixed_error=lambda error: fixed_error(error, self.display_name),
            name=_THREAD,
        )

    def _inheriting(self, work: Callable[[], T]) -> Callable[[], T]:
        """Return the work for another thread, with the properties that this one has set for its jobs, as their pool."""
        if self.is_connect:
            return work
        from pyspark import inheritable_thread_target

        inheritance_error: DpselectError | None = None
        try:
            inherit: Callable[[Callable[[], T]], Callable[[], T]] = inheritable_thread_target(self.session)
            return inherit(work)
        except Exception as error:  # the session may be gone
            inheritance_error = fixed_error(error, self.display_name)
        raise inheritance_error


def fixed_error(error: BaseException, display_name: str) -> DpselectError:
    """Return an error whose text was written before any data were read."""
    if isinstance(error, DpselectError):
        return error
    message, hint = _texts_of(error)
    return DataError(f"{display_name}: {message}", hint)


def is_lost(error: BaseException) -> bool:
    """Return whether an error says that the session or Spark is gone."""
    return _texts_of(error) is _SPARK_LOST


def _texts_of(error: BaseException) -> tuple[str, str]:
    from pyspark.errors import PySparkException

    # A client of Connect may be without Py4J.
    if isinstance(error, (ConnectionError, EOFError)) or type(error).__name__ == "Py4JNetworkError":
        return _SPARK_LOST
    condition = error.getCondition() if isinstance(error, PySparkException) else None
    description = condition or _message_of(error)
    return next((texts for markers, texts in _MESSAGES if any(word in description for word in markers)), _UNKNOWN_ERROR)


def _message_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # it asks the JVM, which may be gone
        return "stopped SparkContext"


def fresh_name() -> str:
    """Return an unused name that nobody can guess."""
    return f"dpselect_{fresh_key().hex()}"


def _silence_query_log() -> None:
    """Stop PySpark from logging the messages of our failed queries, which quote values of a row."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logger = PySparkLogger.getLogger(name)
        if _is_from_other_thread not in logger.filters:
            logger.addFilter(_is_from_other_thread)


def _is_from_other_thread(record: logging.LogRecord) -> bool:
    return not (record.threadName or "").startswith(_THREAD)


_QUOTED = re.compile(r"'[^']*'|`[^`]*`")
_CALLED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?=\()")
# Functions that SQL and frames write without parentheses.
_OPERATORS = frozenset(
    {
        "=", "<=>", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "div", "mod", "||", "concat", "negative",
        "and", "or", "not", "in", "between", "like", "rlike", "isnull", "isnotnull", "case", "when", "cast",
    }
)  # fmt: skip
_BUILT_IN = "built-in"
_BUILT_IN_FIRST = "system.builtin"


class LookedUpNames:
    """The names that were resolved in one session, for one question."""

    def __init__(self, work: SparkWork) -> None:
        self._work = work
        self._known: set[str] = set()
        self._work.guarded(self._check_path)
        self.check("")

    def check(self, sql: str) -> None:
        """Refuse a session in which a name of the statement means something other than Spark's own function."""
        unchecked = (called_functions(sql) | _OPERATORS) - self._known
        if unchecked:
            self._work.guarded(lambda: _refuse_foreign(self._work.session, sorted(unchecked)))
            self._known |= unchecked

    def _check_path(self) -> None:
        session = self._work.session
        if session.conf.get("spark.sql.path.enabled", "false") != "true":
            return
        path = str(session.sql(f"SELECT {_BUILT_IN_FIRST}.current_path()").collect()[0][0])
        if not path.startswith(_BUILT_IN_FIRST):
            hint = "SET PATH = DEFAULT_PATH, or ask in spark.newSession()"
            raise SourceError("source", f"be a session whose path begins with {_BUILT_IN_FIRST}", repr(path), hint)


def called_functions(sql: str) -> set[str]:
    """Return the names of functions in a statement of ours, and of types that take a size."""
    return {name.lower() for name in _CALLED.findall(_QUOTED.sub("''", sql))}


def _refuse_foreign(session: SparkSession, names: Iterable[str]) -> None:
    replaced = _replaced_on_server if not hasattr(session, "_jsparkSession") else _replaced_in_java
    for name in replaced(session, names):
        requirement = "be a session in which Spark's own functions keep their names"
        hint = f"ask in spark.newSession(), or DROP TEMPORARY FUNCTION `{name}`"
        raise SourceError("source", requirement, f"one with a function of its own called {name!r}", hint)


def _replaced_on_server(session: SparkSession, names: Iterable[str]) -> list[str]:
    """Return those of some names that functions of the session have before Spark's own."""
    if session.conf.get("spark.sql.functionResolution.sessionOrder", "second") != "first":
        return []
    own_names = {str(row[0]).lower() for row in session.sql("SHOW USER FUNCTIONS").collect()}
    return [name for name in names if name in own_names]


def _replaced_in_java(session: SparkSession, names: Iterable[str]) -> Iterator[str]:
    _activate_session(session)
    py4j: Any = cast("Any", session)
    # By its full name at once: Py4J looks through every jar for each part of one with dots.
    identifier = getattr(py4j._jvm, "org.apache.spark.sql.catalyst.FunctionIdentifier")
    catalog = py4j._jsparkSession.sessionState().catalog()
    return (name for name in names if not _is_own(catalog, identifier(name)))


def _activate_session(session: SparkSession) -> None:
    """Make Spark resolve names by the settings of the session, in this thread, which is ours."""
    py4j: Any = cast("Any", session)
    py4j._get_j_spark_session_class(py4j._jvm).setActiveSession(py4j._jsparkSession)


def _is_own(catalog: Any, name: Any) -> bool:
    """Return whether a name is Spark's, or no function at all but a part of its grammar."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
    from pyspark.errors import AnalysisException

    try:
        function_info = catalog.lookupFunctionInfo(name)
    except (AnalysisException, Py4JJavaError):
        return True  # if Spark cannot find it either, the statement fails
    return str(function_info.getSource()) == _BUILT_IN
