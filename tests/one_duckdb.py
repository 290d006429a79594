"""One DuckDB for the questions of many tests, each in a database of its own: a new one takes as long as an answer."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from dpselect.engines.duckdb import workspace

_names = itertools.count()
# What a question sets for the whole DuckDB: the next one finds it as it is in a new one.
_SET = ("memory_limit", "preserve_insertion_order")


class Connection:
    """A connection whose tables, and the files that it opens, go when it is closed, as with a DuckDB of its own."""

    def __init__(self, whole: duckdb.DuckDBPyConnection) -> None:
        self._inner, self._own = whole.cursor(), f"own{next(_names)}"
        self._files: list[str] = []
        self._inner.execute(f"ATTACH ':memory:' AS {self._own}")
        self._inner.execute(f"USE {self._own}")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def execute(self, sql: str, *given: Any) -> Any:
        """As it is; a database file that it opens is noted."""
        self._files += re.findall(r"^ATTACH '.*' AS (\w+) \(", sql, re.DOTALL)
        return self._inner.execute(sql, *given)

    def close(self) -> None:
        with suppress(duckdb.ConnectionException):  # closed before
            for name in _SET:  # first: what follows needs memory
                self._inner.execute(f"RESET {name}")
            self._inner.execute("USE memory")
            for name in (self._own, *self._files):
                self._inner.execute(f"DETACH DATABASE IF EXISTS {name}")
        self._inner.close()


@contextmanager
def shared(whole: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Inside, whatever opens a workspace gets a connection to this DuckDB."""

    def connect(**given: Any) -> Any:
        try:
            return Connection(whole)
        except duckdb.FatalException:  # it is broken for good; what broke it has failed, and nothing else shall
            return duckdb.connect(**given)

    with pytest.MonkeyPatch.context() as patch:
        found = SimpleNamespace(**vars(duckdb) | {"connect": connect})
        patch.setattr(workspace, "duckdb", found)
        yield
