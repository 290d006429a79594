"""Progress: one line on standard error for work that takes longer than a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self, TextIO

SECONDS_BEFORE_PROGRESS = 1.0  # seconds before the first line
SECONDS_BETWEEN_LINES = 0.1  # seconds between two versions of the line
_BAR_WIDTH = 24
_MIN_DONE_FOR_ESTIMATE = 0.1  # the part of the work before which there is no estimate


class Progress:
    """Progress line that is called with the part that is done: 0 to 1, None where unknown.

    A terminal sees one live line, which is wiped at the end; a log gets one plain line; `quiet` gets nothing.
    `estimate` also says when it may be done, where all of it takes long.
    """

    def __init__(
        self,
        activity: str,
        *,
        quiet: bool,
        estimate: bool = False,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.activity = activity
        self.estimate = estimate
        self.stream: TextIO = sys.stderr if stream is None else stream
        self.quiet: bool = quiet or self.stream is None
        self.live: bool = not self.quiet and self.stream.isatty()
        self.clock = clock
        self.start: float = clock()
        self.last_shown: float = self.start
        self.has_shown: bool = False

    def __call__(self, done: float | None) -> None:
        """Show how much is done, at most once every PAUSE seconds."""
        now = self.clock()
        if (
            self.quiet
            or now - self.start < SECONDS_BEFORE_PROGRESS
            or (self.has_shown and (not self.live or now - self.last_shown < SECONDS_BETWEEN_LINES))
        ):
            return
        self.has_shown, self.last_shown = True, now
        if self.live:
            time_left = format_time_left(done, now - self.start) if self.estimate else ""
            self._write(f"\r\x1b[K{self.activity} {_format_bar(done)}{now - self.start:.0f} s{time_left}")
        else:
            self._write(f"dpselect: {self.activity}, this takes a moment\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.has_shown and self.live:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        # A progress line must never be the reason why a release fails.
        try:
            self.stream.write(text)
            self.stream.flush()
        except (OSError, ValueError):
            self.quiet = True


def format_time_left(done: float | None, seconds: float) -> str:
    """Format an estimate of the time that is left, or "" while too little is done for one."""
    if done is None or not _MIN_DONE_FOR_ESTIMATE <= done <= 1:
        return ""
    return f", about {seconds * (1 - done) / done:.0f} s left"


def _format_bar(done: float | None) -> str:
    """Format the part that is done as a bar and a percentage, or "" if it is unknown."""
    if done is None:
        return ""
    part = min(max(done, 0.0), 1.0)
    return f"[{'=' * round(part * _BAR_WIDTH):<{_BAR_WIDTH}}] {part:4.0%} "
