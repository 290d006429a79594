"""Work: questions that a Spark session answers, stopped by Ctrl-C, and what is said where it cannot.

A task that Spark runs again computes the same values again, for our SQL draws nothing, and what is released is drawn
here, once, from what comes back; so nothing is ever released twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from dpselect._ground.parameters import Progress
from dpselect.draws import fresh_key
from dpselect.engines.waiting import run_interruptible
from dpselect.errors import DataError, DpselectError

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
    (("SPARK_JOB_CANCELLED", "cancelled job group", "was cancelled"), ("the question was cancelled", "ask again")),
    (("OutOfMemoryError", "OUT_OF_MEMORY", "ACQUIRE_MEMORY", "No space left on", "maxResultSize"), _OUT_OF_ROOM),
    (("AccessControlException", "PERMISSION", "AccessDenied"), _NO_PERMISSION),
    (
        ("ExecutorLost", "SparkContext was shut down", "stopped SparkContext", "Executor heartbeat timed out"),
        _SPARK_LOST,
    ),
    (("NOT_FOUND", "NOT_EXIST", "FileNotFound", "NoSuchFile"), _NOT_FOUND),
)
_UNKNOWN_ERROR = ("the table could not be read", "Spark's message is not shown because it could quote rows")


class SparkWork:
    """Work in one session. The session belongs to the caller: it is never reconfigured or stopped."""

    def __init__(self, session: SparkSession, display_name: str) -> None:
        self.session = session
        self.display_name = display_name
        _silence_query_log()

    def guarded(self, work: Callable[[], T], *, progress: Progress | None = None) -> T:
        """Return the result of `work`, or raise a DataError of fixed text, because Spark's message can quote a row.

        The work has its own job group, which Ctrl-C cancels. Spark plans while it runs, so its progress is unknown.
        """
        context, group = self.session.sparkContext, fresh_name()

        def run_in_group() -> T:
            context.setJobGroup(group, "dpselect")
            return work()

        def report_progress() -> None:
            if progress is not None:
                progress(None)

        def cancel() -> None:
            with suppress(Exception):
                context.cancelJobGroup(group)

        return run_interruptible(
            self._inheriting(run_in_group),
            tell=report_progress,
            stop=cancel,
            fixed_error=lambda error: fixed_error(error, self.display_name),
            name=_THREAD,
        )

    def _inheriting(self, work: Callable[[], T]) -> Callable[[], T]:
        """Return the work for another thread, with the properties that this one has set for its jobs, as their pool."""
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
    from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    if isinstance(error, DpselectError):
        return error
    message, hint = _UNKNOWN_ERROR
    if isinstance(error, (Py4JNetworkError, ConnectionError, EOFError)):
        message, hint = _SPARK_LOST
    else:
        condition = error.getCondition() if isinstance(error, PySparkException) else None
        description = condition or _message_of(error)
        message, hint = next(
            (texts for markers, texts in _MESSAGES if any(word in description for word in markers)), _UNKNOWN_ERROR
        )
    return DataError(f"{display_name}: {message}", hint)


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
