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
from dpselect.engines.waiting import waited
from dpselect.errors import DataError, DpselectError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
_THREAD = "dpselect-spark"

# What is looked for in the name of an error's condition, else in what was said; the first that is there counts.
_LOST = (
    "Spark was lost or stopped during the query",
    "ask again; if it happens again, ask the administrator of the cluster",
)
_FULL = ("Spark ran out of memory or disk", "give executors and driver more memory, or use a view with fewer rows")
_GONE = ("the table, or a part of it, does not exist", "check its name; if it was replaced, read it again")
_DENIED = ("this user may not read the table", "ask its owner for the right to")
_SAYS = (
    (("SPARK_JOB_CANCELLED", "cancelled job group", "was cancelled"), ("the question was cancelled", "ask again")),
    (("OutOfMemoryError", "OUT_OF_MEMORY", "ACQUIRE_MEMORY", "No space left on", "maxResultSize"), _FULL),
    (("AccessControlException", "PERMISSION", "AccessDenied"), _DENIED),
    (("ExecutorLost", "SparkContext was shut down", "stopped SparkContext", "Executor heartbeat timed out"), _LOST),
    (("NOT_FOUND", "NOT_EXIST", "FileNotFound", "NoSuchFile"), _GONE),
)
_UNKNOWN = ("the table could not be read", "Spark's message is not shown because it could quote rows")


class SparkWork:
    """What runs in one session. A session belongs to the caller: it is never set up anew, nor stopped."""

    def __init__(self, session: SparkSession, place: str) -> None:
        self.session = session
        self.place = place
        _keep_quiet()

    def guarded(self, work: Callable[[], T], *, progress: Progress | None = None) -> T:
        """The result of `work`, or a DataError of fixed text: what Spark says can quote a row.

        The work has a job group of its own, which Ctrl-C cancels. Spark plans while it runs, so how much is done
        nobody knows.
        """
        context, group = self.session.sparkContext, fresh_name()

        def grouped() -> T:
            context.setJobGroup(group, "dpselect")
            return work()

        def tell() -> None:
            if progress is not None:
                progress(None)

        def stop() -> None:
            with suppress(Exception):
                context.cancelJobGroup(group)

        return waited(
            self._like_here(grouped), tell=tell, stop=stop, said=lambda error: failure(error, self.place), name=_THREAD
        )

    def _like_here(self, work: Callable[[], T]) -> Callable[[], T]:
        """The work for another thread, with what this one has set for its jobs, such as the pool they run in."""
        from pyspark import inheritable_thread_target

        failed: DpselectError | None = None
        try:
            inherit: Callable[[Callable[[], T]], Callable[[], T]] = inheritable_thread_target(self.session)
            return inherit(work)
        except Exception as error:  # the session may be gone
            failed = failure(error, self.place)
        raise failed


def failure(error: BaseException, place: str) -> DpselectError:
    """What went wrong, in words that were written before any data were seen."""
    from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    if isinstance(error, DpselectError):
        return error
    says, hint = _UNKNOWN
    if isinstance(error, (Py4JNetworkError, ConnectionError, EOFError)):
        says, hint = _LOST
    else:
        known = error.getCondition() if isinstance(error, PySparkException) else None
        said = known or _said(error)
        says, hint = next((text for words, text in _SAYS if any(word in said for word in words)), _UNKNOWN)
    return DataError(f"{place}: {says}", hint)


def _said(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # it asks the JVM, which may be gone
        return "stopped SparkContext"


def fresh_name() -> str:
    """A name that nothing has, and that nobody guesses."""
    return f"dpselect_{fresh_key().hex()}"


def _keep_quiet() -> None:
    """PySpark logs what a failed query said, with the values of a row. Not that of ours."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logger = PySparkLogger.getLogger(name)
        if _of_others not in logger.filters:
            logger.addFilter(_of_others)


def _of_others(record: logging.LogRecord) -> bool:
    return not (record.threadName or "").startswith(_THREAD)
