"""Whose function a name means in a session. Spark looks up operators by name too, and `between`, and == of a frame.

A session's own functions came before Spark's until 4.2, and do so where `spark.sql.functionResolution.sessionOrder` is
"first"; `SET PATH` may put those of a schema before them. A name with `system.builtin` before it is not known to 4.0.
So each name that a statement calls is looked up as Spark will look it up, before that statement runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from dpselect.engines.spark.jobs import SparkWork
from dpselect.errors import SourceError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_QUOTED = re.compile(r"'[^']*'|`[^`]*`")
_CALLED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?=\()")
# What SQL and frames write without parentheses.
_OPERATORS = frozenset(
    {
        "=", "<=>", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "div", "mod", "||", "concat", "negative",
        "and", "or", "not", "in", "between", "like", "rlike", "isnull", "isnotnull", "case", "when", "cast",
    }
)  # fmt: skip
_OWN = "built-in"
_BUILT_IN_FIRST = "system.builtin"


class LookedUpNames:
    """The names that were looked up in one session, for one question."""

    def __init__(self, work: SparkWork) -> None:
        self._work = work
        self._known: set[str] = set()
        self._work.guarded(self._check_path)
        self.check("")

    def check(self, sql: str) -> None:
        """Refuse a session in which something else than Spark would answer for a name of the statement."""
        new = (called(sql) | _OPERATORS) - self._known
        if new:
            self._work.guarded(lambda: _refuse_foreign(self._work.session, sorted(new)))
            self._known |= new

    def _check_path(self) -> None:
        session = self._work.session
        if session.conf.get("spark.sql.path.enabled", "false") != "true":
            return
        path = str(session.sql(f"SELECT {_BUILT_IN_FIRST}.current_path()").collect()[0][0])
        if not path.startswith(_BUILT_IN_FIRST):
            hint = "SET PATH = DEFAULT_PATH, or ask in spark.newSession()"
            raise SourceError("source", f"be a session whose path begins with {_BUILT_IN_FIRST}", repr(path), hint)


def called(sql: str) -> set[str]:
    """The names of functions in a statement of ours, and of types that take a size."""
    return {name.lower() for name in _CALLED.findall(_QUOTED.sub("''", sql))}


def _refuse_foreign(session: SparkSession, names: Iterable[str]) -> None:
    _heed(session)
    java: Any = cast("Any", session)
    # By its whole name at once: Py4J looks through every jar for each part of one with dots.
    identifier = getattr(java._jvm, "org.apache.spark.sql.catalyst.FunctionIdentifier")
    catalog = java._jsparkSession.sessionState().catalog()
    for name in names:
        if not _is_own(catalog, identifier(name)):
            must = "be a session in which Spark's own functions keep their names"
            hint = f"ask in spark.newSession(), or DROP TEMPORARY FUNCTION `{name}`"
            raise SourceError("source", must, f"one with a function of its own called {name!r}", hint)


def _heed(session: SparkSession) -> None:
    """In this thread, which is ours, the settings of the session are what Spark looks names up by."""
    java: Any = cast("Any", session)
    java._get_j_spark_session_class(java._jvm).setActiveSession(java._jsparkSession)


def _is_own(catalog: Any, name: Any) -> bool:
    """Is it Spark's, or no function at all but a part of its grammar?"""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
    from pyspark.errors import AnalysisException

    try:
        found = catalog.lookupFunctionInfo(name)
    except (AnalysisException, Py4JJavaError):
        return True  # where Spark cannot find it either, the statement says so
    return str(found.getSource()) == _OWN
