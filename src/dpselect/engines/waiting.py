"""Waiting: work in a thread of its own, so that Ctrl-C stops it at once and progress is told in the caller's thread."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from typing import TypeVar

from dpselect.errors import DpselectError

T = TypeVar("T")
POLL_SECONDS = 0.2  # seconds between two reports of progress
THREAD_NAME = "dpselect"


def run_interruptible(
    work: Callable[[], T],
    *,
    report_progress: Callable[[], object],
    interrupt: Callable[[], object],
    fixed_error: Callable[[BaseException], DpselectError],
    name: str = THREAD_NAME,
) -> T:
    """Return the result of `work`; `interrupt` ends it if the caller's thread is interrupted.

    An engine's error can quote a row. So it is never raised: `fixed_error` returns one whose text was written before
    any data were read, and no traceback or context can carry the engine's text. Errors of ours pass.
    """
    results: list[T] = []
    errors: list[BaseException] = []
    ended = Event()

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)
        finally:
            ended.set()

    thread = Thread(target=run, name=name)
    thread.start()
    try:
        while not ended.wait(POLL_SECONDS):
            report_progress()
    except BaseException:
        while not ended.is_set():  # again and again: what has not begun yet cannot hear it
            interrupt()
            ended.wait(POLL_SECONDS)
        raise
    finally:
        thread.join()
    if errors:
        error = errors.pop()
        raise error if isinstance(error, DpselectError) else fixed_error(error)
    return results.pop()
