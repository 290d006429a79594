"""Workspace: a DuckDB of our own in memory, where every query runs. No text of the engine ever leaves it."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import duckdb
import numpy as np
import numpy.typing as npt

from dpselect._ground.parameters import Progress
from dpselect._ground.temporary import Folder
from dpselect.engines.memory import available, check_address_space
from dpselect.engines.waiting import waited
from dpselect.errors import DataError, DpselectError, OutputError

Row = tuple[Any, ...]
Rows = Callable[[], contextlib.AbstractContextManager[str]]
"""The selected rows, columns u and i, as what stands after FROM."""
Label = Callable[[object], object]
"""From a counted item to a plain Python value."""
T = TypeVar("T")
LITTLE = 1 << 30  # bytes of memory for what can be spilled
_numbers = itertools.count()

# Times are compared in UTC wherever the machine stands. Text stays text: a type that DuckDB infers from a sample
# of Python objects would depend on the rows. Nothing is ever fetched from the network.
_SETTINGS = (
    "SET TimeZone = 'UTC'",
    "SET pandas_analyze_sample = 0",
    "SET autoinstall_known_extensions = false",
)
# Progress is asked for, never printed by the engine. A notebook without ipywidgets refuses both: none is told there.
_PROGRESS = ("SET enable_progress_bar_print = false", "SET enable_progress_bar = true")


# No more can be written, in the system's own words.
_FULL = tuple(os.strerror(getattr(errno, name)) for name in ("ENOSPC", "EDQUOT", "EFBIG") if hasattr(errno, name))


class Workspace:
    """A private connection. What does not fit in memory spills to a folder that only this user may open."""

    def __init__(self) -> None:
        check_address_space()
        self._folder = Folder()
        self.connection: duckdb.DuckDBPyConnection = duckdb.connect(config={"temp_directory": self._folder.path})
        self.files: dict[str, str] = {}  # database files that are open, and what they are called here
        self._ends: list[Callable[[], object]] = []
        self._untold = False
        for setting in _SETTINGS:
            self.connection.execute(setting).fetchall()
        with contextlib.suppress(duckdb.Error):
            for setting in _PROGRESS:
                self.connection.execute(setting).fetchall()

    def close(self) -> None:
        """Drop every table and the spilled files."""
        self.connection.close()
        self.files.clear()
        self._folder.close()
        while self._ends:
            self._ends.pop()()

    def closes(self, end: Callable[[], object]) -> None:
        """Call this too when the workspace is closed."""
        self._ends.append(end)

    def fetch(self, sql: str, values: Sequence[object] = (), *, progress: Progress | None = None) -> list[Row]:
        """All rows of one statement."""
        return self.guarded(lambda: self.rows(sql, values), progress=progress)

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """All rows of one statement, inside guarded work. By this and by `columns` alone does anything leave."""
        return self.connection.execute(sql, list(values)).fetchall()

    def columns(self, sql: str) -> dict[str, npt.NDArray[Any]]:
        """All rows of one statement as arrays, for answers of many numbers; inside guarded work, as `rows` is."""
        return {name: np.asarray(column) for name, column in self.connection.execute(sql).fetchnumpy().items()}

    def guarded(self, work: Callable[[], T], *, progress: Progress | None = None) -> T:
        """The result of `work`, or an error of fixed text: what an engine says can quote a row."""

        def tell() -> None:
            if progress is not None:
                progress(self._done())

        return waited(work, tell=tell, stop=self.connection.interrupt, said=_failure)

    def leave_room(self) -> None:
        """Take three quarters of the memory, and spill what is more; no order of rows is kept. Inside guarded work."""
        self.rows("SET preserve_insertion_order = false")
        memory = available()
        if memory is not None:
            self.rows(f"SET memory_limit = '{memory * 3 // 4} B'")

    @contextlib.contextmanager
    def untold(self) -> Iterator[None]:
        """Inside, no share of a statement is told: who sees where each begins would count them, and so the rows."""
        self._untold = True
        try:
            yield
        finally:
            self._untold = False

    def _done(self) -> float | None:
        """In twentieths: the exact share would tell how many rows there are."""
        if self._untold:
            return None
        percent = self.connection.query_progress()
        return None if percent < 0 else min(percent // 5, 20) / 20

    def register(self, rows: object) -> str:
        """A name under which SQL can read a Python object."""
        name = self.fresh()
        self.connection.register(name, rows)
        return name

    @contextlib.contextmanager
    def registered(self, rows: object) -> Iterator[str]:
        """A name under which SQL can read a Python object, for as long as the block."""
        name = self.register(rows)
        try:
            yield name
        finally:
            self.connection.unregister(name)

    def fresh(self) -> str:
        """A name that nothing has yet."""
        return f"dpselect_{next(_numbers)}"


def _failure(error: BaseException) -> DpselectError:
    """What went wrong, in words that were written before any data were seen."""
    if isinstance(error, (MemoryError, duckdb.OutOfMemoryException)):
        return DataError(
            "the data do not fit into memory and the temporary folder",
            "use fewer columns or rows, or allow more memory",
        )
    if isinstance(error, duckdb.IOException) and any(full in str(error) for full in _FULL):
        return OutputError("the disk is full", "make room; TMPDIR says where temporary files go")
    if isinstance(error, duckdb.ResourceInUseException):
        hint = "fetch all its rows, or pass connection.cursor()"
        return DataError("the source's connection has an unfinished result", hint)
    hint = "a file may be damaged or have changed; the engine's message is not shown because it could quote rows"
    return DataError("the source could not be read", hint)


def sparing(workspace: Workspace, work: Callable[[], T]) -> T:
    """The result of `work` in `LITTLE` memory, with what is more spilled to disk.

    Some things cannot be spilled, such as one very long text. Nobody's row may make a question fail for that, so then
    all is done again, with three quarters of the memory that there is.
    """
    try:
        with _at_most(workspace, LITTLE):
            return work()
    except duckdb.OutOfMemoryException:
        pass
    with _at_most(workspace, None):
        return work()


@contextlib.contextmanager
def _at_most(workspace: Workspace, most: int | None) -> Iterator[None]:
    """Inside, DuckDB takes no more than so many bytes, nor than three quarters of the memory."""
    memory = available()
    limits = [limit for limit in (most, None if memory is None else memory * 3 // 4) if limit is not None]
    if limits:
        workspace.rows(f"SET memory_limit = '{min(limits)} B'")
    try:
        yield
    finally:
        workspace.rows("RESET memory_limit")


def quoted(name: str) -> str:
    """An SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """An SQL string."""
    return "'" + text.replace("'", "''") + "'"
