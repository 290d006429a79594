"""Waiting: work in a thread of its own, so that Ctrl-C stops it at once and progress is told in the caller's thread."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from typing import TypeVar

from dpselect.errors import DpselectError

T = TypeVar("T")
POLL = 0.2  # seconds between two reports of progress
THREAD = "dpselect"


def waited(
    work: Callable[[], T],
    *,
    tell: Callable[[], object],
    stop: Callable[[], object],
    said: Callable[[BaseException], DpselectError],
    name: str = THREAD,
) -> T:
    """The result of `work`; meanwhile `tell` reports, and `stop` ends it where the caller's thread is interrupted.

    What an engine says can quote a row. So a failure is looked at, never raised: `said` puts it into words that were
    written before any data were seen, and no traceback or context can carry its text. Errors of ours pass.
    """
    found: list[T] = []
    failed: list[BaseException] = []
    ended = Event()

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:
            failed.append(error)
        finally:
            ended.set()

    thread = Thread(target=run, name=name)
    thread.start()
    try:
        while not ended.wait(POLL):
            tell()
    except BaseException:
        while not ended.is_set():  # again and again: what has not begun yet cannot hear it
            stop()
            ended.wait(POLL)
        raise
    finally:
        thread.join()
    if failed:
        error = failed.pop()
        raise error if isinstance(error, DpselectError) else said(error)
    return found.pop()
