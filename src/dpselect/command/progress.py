"""Progress: one line on standard error, only when something takes longer than a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self, TextIO

PATIENCE = 1.0  # seconds without a word
PAUSE = 0.1  # seconds between two looks of the line
BAR = 24
LEAST = 0.1  # of the work, before anything is said of the rest


class Progress:
    """Called with the part that is done (0 to 1, None where unknown); as a context it cleans up after itself.

    A terminal sees one live line, which is wiped at the end; a log gets one plain line; `quiet` gets nothing.
    `estimate` also says when it may be done, where all of it takes long.
    """

    def __init__(
        self,
        doing: str,
        *,
        quiet: bool,
        estimate: bool = False,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.doing = doing
        self.estimate = estimate
        self.stream: TextIO = sys.stderr if stream is None else stream
        self.quiet: bool = quiet or self.stream is None
        self.live: bool = not self.quiet and self.stream.isatty()
        self.clock = clock
        self.start: float = clock()
        self.last: float = self.start
        self.shown: bool = False

    def __call__(self, done: float | None) -> None:
        """Show how far it is, if it is time to."""
        now = self.clock()
        if self.quiet or now - self.start < PATIENCE or (self.shown and (not self.live or now - self.last < PAUSE)):
            return
        self.shown, self.last = True, now
        if self.live:
            left = about_left(done, now - self.start) if self.estimate else ""
            self._write(f"\r\x1b[K{self.doing} {bar(done)}{now - self.start:.0f} s{left}")
        else:
            self._write(f"dpselect: {self.doing}, this takes a moment\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.shown and self.live:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        # A progress line must never be the reason why a release fails.
        try:
            self.stream.write(text)
            self.stream.flush()
        except (OSError, ValueError):
            self.quiet = True


def about_left(done: float | None, seconds: float) -> str:
    """How long the rest may take, once a part is done that tells it."""
    if done is None or not LEAST <= done <= 1:
        return ""
    return f", about {seconds * (1 - done) / done:.0f} s left"


def bar(done: float | None) -> str:
    """How far, as a bar and a number; nothing where that is not known."""
    if done is None:
        return ""
    part = min(max(done, 0.0), 1.0)
    return f"[{'=' * round(part * BAR):<{BAR}}] {part:4.0%} "
