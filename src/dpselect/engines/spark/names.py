"""Check that names of functions mean Spark's own in a session. Operators, `between` and == of a frame have names, too.

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
    _activate_session(session)
    py4j: Any = cast("Any", session)
    # By its full name at once: Py4J looks through every jar for each part of one with dots.
    identifier = getattr(py4j._jvm, "org.apache.spark.sql.catalyst.FunctionIdentifier")
    catalog = py4j._jsparkSession.sessionState().catalog()
    for name in names:
        if not _is_own(catalog, identifier(name)):
            requirement = "be a session in which Spark's own functions keep their names"
            hint = f"ask in spark.newSession(), or DROP TEMPORARY FUNCTION `{name}`"
            raise SourceError("source", requirement, f"one with a function of its own called {name!r}", hint)


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
