"""The last values that were wanted, by name: what many ask for again is at hand, within a bound on memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, Generic, TypeVar

ROOM = 1 << 21  # characters that all values are written in: objects in memory are ten times as large and more
MAX_KEPT = 5_000
PLANNED = 200
"""Questions at most: one that is planned has up to a quarter of a megabyte."""
MAX_KEPT_BYTES = 1 << 14  # of one value, which is not kept where it is longer
APIECE = 200  # that each counts for at least
V = TypeVar("V")


class Recent(Generic[V]):
    """A bounded cache of the values that were used last, by name."""

    def __init__(self, max_values: int = MAX_KEPT) -> None:
        self._lock, self._kept, self._left = threading.Lock(), OrderedDict[Any, tuple[V, int]](), ROOM
        self._max_values = max_values

    def get(self, name: object) -> V | None:
        """Return the value, which is the last that was used from now on."""
        with self._lock:
            entry = self._kept.get(name)
            if entry is None:
                return None
            self._kept.move_to_end(name)
            return entry[0]

    def put(self, name: object, value: V, size: int) -> None:
        """Keep a value of so many characters; those that were unused for longest may go."""
        if size > MAX_KEPT_BYTES:
            return
        with self._lock:
            _, old_size = self._kept.pop(name, (None, 0))
            self._kept[name] = value, APIECE + size
            self._left += old_size - APIECE - size
            while self._left < 0 or len(self._kept) > self._max_values:
                _, (_, freed) = self._kept.popitem(last=False)
                self._left += freed
