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
from dpselect.release.formatting import Json


class Log:
    """Lines of JSON."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def __call__(self, what: str, **more: Json) -> None:
        """One line. A stream that cannot be written to stops nothing."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = json.dumps({"at": at, "what": what, **more}, ensure_ascii=True, separators=(",", ":"))
        stream = sys.stderr if self._stream is None else self._stream
        try:
            with self._lock:
                stream.write(line + "\n")
                stream.flush()
        except (OSError, ValueError):
            return

    def failed(self, what: str, error: BaseException, **more: Json) -> None:
        """One line about an error: what it is and where, and its text only where that is ours and of the schema."""
        frames = traceback.extract_tb(error.__traceback__)
        where = [f"{one.filename.rpartition('dpselect/')[2]}:{one.lineno}" for one in frames[-3:]]
        said = str(error) if isinstance(error, (DataError, LedgerError, SourceError)) else None
        self(what, error=type(error).__name__, where=[*where], **({} if said is None else {"said": said}), **more)


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
        """One more. A label is `state="answered"`."""
        with self._lock:
            self._counts[name, label] += by

    def text(self, waiting: int) -> str:
        """All of them."""
        with self._lock:
            counts = dict(self._counts)
        counts["dpselect_waiting", ""] = waiting
        lines: list[str] = []
        for name, what in HELP.items():
            lines += [f"# HELP {name} {what}", f"# TYPE {name} {'gauge' if name == 'dpselect_waiting' else 'counter'}"]
            of_name = sorted((label, number) for (one, label), number in counts.items() if one == name)
            lines += [f"{name}{{{label}}} {number}" if label else f"{name} {number}" for label, number in of_name]
        return "\n".join(lines) + "\n"
