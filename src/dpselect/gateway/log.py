"""What the owner sees of a running gateway: a line of JSON for each thing that happened, and a few numbers.

No item, no count and no literal of a filter is in it. An error is told by its class and by the place in our own code;
its text might hold a piece of a row.
"""

from __future__ import annotations

import json
import sys
import threading
import traceback
from collections import Counter
from datetime import UTC, datetime
from typing import TextIO

from dpselect.errors import DataError, LedgerError, SourceError
from dpselect.release import Json


class Log:
    """A log of JSON lines."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def __call__(self, event: str, **fields: Json) -> None:
        """Write one line; a stream that cannot be written to stops nothing."""
        time = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = json.dumps({"at": time, "what": event, **fields}, ensure_ascii=True, separators=(",", ":"))
        stream = sys.stderr if self._stream is None else self._stream
        try:
            with self._lock:
                stream.write(line + "\n")
                stream.flush()
        except (OSError, ValueError):
            return

    def failed(self, event: str, error: BaseException, **fields: Json) -> None:
        """Write a line about an error: its class and place, and its text only if that is ours and of the schema."""
        frames = traceback.extract_tb(error.__traceback__)
        frame_places = [f"{frame.filename.rpartition('dpselect/')[2]}:{frame.lineno}" for frame in frames[-3:]]
        message = str(error) if isinstance(error, (DataError, LedgerError, SourceError)) else None
        self(
            event,
            error=type(error).__name__,
            where=[*frame_places],
            **({} if message is None else {"said": message}),
            **fields,
        )


# ---- numbers in the text that Prometheus reads -----------------------------------------------------------------------


HELP = {
    "dpselect_questions_total": "Questions that ended, by how",
    "dpselect_answers_total": "Answers that were read, by form",
    "dpselect_repeats_total": "Questions that were answered again for nothing",
    "dpselect_slips_total": "Ticks that doubled because a question was late",
    "dpselect_waiting": "Questions that wait now",
}


class Metrics:
    """Counters of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()

    def count(self, name: str, label: str = "", by: int = 1) -> None:
        """Increase a counter; a label is written as `state="answered"`."""
        with self._lock:
            self._counts[name, label] += by

    def text(self, waiting: int) -> str:
        """Return all metrics as text."""
        with self._lock:
            counts = dict(self._counts)
        counts["dpselect_waiting", ""] = waiting
        lines: list[str] = []
        for name, help_text in HELP.items():
            lines += [
                f"# HELP {name} {help_text}",
                f"# TYPE {name} {'gauge' if name == 'dpselect_waiting' else 'counter'}",
            ]
            samples = sorted((label, number) for (counter, label), number in counts.items() if counter == name)
            lines += [f"{name}{{{label}}} {number}" if label else f"{name} {number}" for label, number in samples]
        return "\n".join(lines) + "\n"
