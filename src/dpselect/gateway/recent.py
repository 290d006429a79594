"""The last values that were wanted, by name: what many ask for again is at hand, within a bound on memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, Generic, TypeVar

ROOM = 1 << 21  # characters that all values are written in: objects in memory are ten times as large and more
MOST = 5_000
PLANNED = 200
"""Questions at most: one that is planned has up to a quarter of a megabyte."""
SHORT = 1 << 14  # of one value, which is not kept where it is longer
APIECE = 200  # that each counts for at least
V = TypeVar("V")


class Recent(Generic[V]):
    """The last values that were wanted, by name."""

    def __init__(self, most: int = MOST) -> None:
        self._lock, self._kept, self._left = threading.Lock(), OrderedDict[Any, tuple[V, int]](), ROOM
        self._most = most

    def get(self, name: object) -> V | None:
        """The value, which is now the last that was wanted."""
        with self._lock:
            found = self._kept.get(name)
            if found is None:
                return None
            self._kept.move_to_end(name)
            return found[0]

    def put(self, name: object, value: V, size: int) -> None:
        """One more, of so many characters; those that nobody wanted for longest may go."""
        if size > SHORT:
            return
        with self._lock:
            _, before = self._kept.pop(name, (None, 0))
            self._kept[name] = value, APIECE + size
            self._left += before - APIECE - size
            while self._left < 0 or len(self._kept) > self._most:
                _, (_, given) = self._kept.popitem(last=False)
                self._left += given
