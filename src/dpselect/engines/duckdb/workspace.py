"""Workspace: a DuckDB of our own in memory, where every query runs. No text of the engine ever leaves it."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dpselect._ground.parameters import Progress
from dpselect._ground.temporary import Folder
from dpselect.engines.duckdb.library import duckdb
from dpselect.engines.memory import available_bytes, check_address_space, said_bytes
from dpselect.engines.waiting import run_interruptible
from dpselect.errors import DataError, DpselectError, OutputError

if TYPE_CHECKING:
    import numpy.typing as npt

Row = tuple[Any, ...]
OpenRows = Callable[[], contextlib.AbstractContextManager[str]]
"""Context of the SQL after FROM of the selected rows, columns u and i."""
Label = Callable[[object], object]
"""Function from a counted item to a plain Python value."""
T = TypeVar("T")
SMALL_MEMORY = 1 << 30  # bytes, for work that can spill to disk
LEAST_MEMORY = 1 << 27  # bytes, without which sources cannot be opened
_name_numbers = itertools.count()

# Times are compared in UTC wherever the machine stands. Text stays text: a type that DuckDB infers from a sample
# of Python objects would depend on the rows. Nothing is ever fetched from the network.
_SETTINGS = (
    "SET TimeZone = 'UTC'",
    "SET pandas_analyze_sample = 0",
    "SET autoinstall_known_extensions = false",
)
# Progress is queried, never printed by the engine. A notebook without ipywidgets refuses both and gets no progress.
_PROGRESS = ("SET enable_progress_bar_print = false", "SET enable_progress_bar = true")


# The system's own messages for a full disk.
_DISK_FULL = tuple(os.strerror(getattr(errno, name)) for name in ("ENOSPC", "EDQUOT", "EFBIG") if hasattr(errno, name))


class Workspace:
    """A private connection. Data beyond memory spill to a folder that only this user may open."""

    def __init__(self) -> None:
        check_address_space()
        self._folder = Folder()
        self.connection: duckdb.DuckDBPyConnection = duckdb.connect(config={"temp_directory": self._folder.path})
        self.attached_files: dict[str, str] = {}  # open database files, with their names here
        self._is_progress_hidden = False
        self.restore_memory_limit()
        for setting in _SETTINGS:
            self.connection.execute(setting).fetchall()
        with contextlib.suppress(duckdb.Error):
            for setting in _PROGRESS:
                self.connection.execute(setting).fetchall()

    def close(self) -> None:
        """Drop every table and the spilled files."""
        self.connection.close()
        self.attached_files.clear()
        self._folder.close()

    def fetch(self, sql: str, values: Sequence[object] = (), *, progress: Progress | None = None) -> list[Row]:
        """Return all rows of one statement, as guarded work of its own."""
        return self.guarded(lambda: self.fetch_unguarded(sql, values), progress=progress)

    def fetch_unguarded(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """Return all rows of one statement, inside guarded work. Rows leave by this and the next method alone."""
        return self.connection.execute(sql, list(values)).fetchall()

    def fetch_arrays_unguarded(self, sql: str) -> dict[str, npt.NDArray[Any]]:
        """Return all rows of one statement as arrays, for large numeric results; inside guarded work, too."""
        return {name: np.asarray(column) for name, column in self.connection.execute(sql).fetchnumpy().items()}

    def guarded(self, work: Callable[[], T], *, progress: Progress | None = None) -> T:
        """Return the result of `work`, or raise an error of fixed text, because an engine's message can quote a row."""

        def report_progress() -> None:
            if progress is not None:
                progress(self._progress_share())

        return run_interruptible(
            work, report_progress=report_progress, interrupt=self.connection.interrupt, fixed_error=_fixed_error
        )

    def leave_room(self) -> None:
        """Limit the memory to three quarters and spill the rest; rows have no order then. Inside guarded work."""
        self.fetch_unguarded("SET preserve_insertion_order = false")
        memory = available_bytes()
        if memory is not None:
            self.fetch_unguarded(f"SET memory_limit = '{memory * 3 // 4} B'")

    def restore_memory_limit(self) -> None:
        """Limit the memory to three quarters of what the user allows, or else as DuckDB does. Inside guarded work."""
        said = said_bytes()
        limit = None if said is None else max(said * 3 // 4, LEAST_MEMORY)
        self.fetch_unguarded("RESET memory_limit" if limit is None else f"SET memory_limit = '{limit} B'")

    @contextlib.contextmanager
    def without_progress(self) -> Iterator[None]:
        """Report no progress inside: the starts of statements would reveal their number, and so that of rows."""
        self._is_progress_hidden = True
        try:
            yield
        finally:
            self._is_progress_hidden = False

    def _progress_share(self) -> float | None:
        """Return the progress in twentieths: the exact share would reveal the number of rows."""
        if self._is_progress_hidden:
            return None
        percent = self.connection.query_progress()
        return None if percent < 0 else min(percent // 5, 20) / 20

    def register(self, rows: object) -> str:
        """Register a Python object and return the name under which SQL can read it."""
        name = self.fresh_name()
        self.connection.register(name, rows)
        return name

    @contextlib.contextmanager
    def registered(self, rows: object) -> Iterator[str]:
        """Register a Python object for the block, and yield the name under which SQL can read it."""
        name = self.register(rows)
        try:
            yield name
        finally:
            self.connection.unregister(name)

    def fresh_name(self) -> str:
        """Return an unused name."""
        return f"dpselect_{next(_name_numbers)}"


def _fixed_error(error: BaseException) -> DpselectError:
    """Return an error whose text was written before any data were read."""
    if isinstance(error, (MemoryError, duckdb.OutOfMemoryException)):
        return DataError(
            "the data do not fit into memory and the temporary folder",
            "use fewer columns or rows, or allow more memory",
        )
    if isinstance(error, duckdb.IOException) and any(message in str(error) for message in _DISK_FULL):
        return OutputError("the disk is full", "make room; TMPDIR says where temporary files go")
    if isinstance(error, duckdb.ResourceInUseException):
        hint = "fetch all its rows, or pass connection.cursor()"
        return DataError("the source's connection has an unfinished result", hint)
    hint = "a file may be damaged or have changed; the engine's message is not shown because it could quote rows"
    return DataError("the source could not be read", hint)


def run_in_little_memory(workspace: Workspace, work: Callable[[], T]) -> T:
    """Return the result of `work` in `SMALL_MEMORY`, with more spilled to disk, or else in more memory.

    Some things cannot be spilled, such as one very long text. No user's row may make a question fail for that, so then
    all is done again, with three quarters of the available memory.
    """
    try:
        with _memory_limit(workspace, SMALL_MEMORY):
            return work()
    except duckdb.OutOfMemoryException:
        pass
    with _memory_limit(workspace, None):
        return work()


@contextlib.contextmanager
def _memory_limit(workspace: Workspace, max_bytes: int | None) -> Iterator[None]:
    """Limit DuckDB to `max_bytes` and to three quarters of the available memory inside."""
    memory = available_bytes()
    limits = [limit for limit in (max_bytes, None if memory is None else memory * 3 // 4) if limit is not None]
    if limits:
        workspace.fetch_unguarded(f"SET memory_limit = '{min(limits)} B'")
    try:
        yield
    finally:
        workspace.restore_memory_limit()


def quoted(name: str) -> str:
    """Return an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return an SQL string."""
    return "'" + text.replace("'", "''") + "'"
