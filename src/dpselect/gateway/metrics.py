"""A few numbers about the gateway itself, in the text that Prometheus reads. None of them is of rows."""

from __future__ import annotations

import threading
from collections import Counter

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
