"""The last values that were wanted, by name: what many ask for again is at hand."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, Generic, TypeVar

REMEMBERED = 10_000
V = TypeVar("V")


class Recent(Generic[V]):
    """The last values that were wanted, by name."""

    def __init__(self) -> None:
        self._lock, self._kept = threading.Lock(), OrderedDict[Any, V]()

    def get(self, name: object) -> V | None:
        """The value, which is now the last that was wanted."""
        with self._lock:
            if name in self._kept:
                self._kept.move_to_end(name)
            return self._kept.get(name)

    def put(self, name: object, value: V) -> None:
        """One more; the one that nobody wanted for longest may go."""
        with self._lock:
            self._kept[name] = value
            if len(self._kept) > REMEMBERED:
                self._kept.popitem(last=False)
