"""Where the rows of a data set lie, and in which state they are now."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass
from typing import Any

from dpselect.draws.entropy import fresh_key
from dpselect.engines.address import Address
from dpselect.engines.identity import identify_source
from dpselect.gateway.settings.kinds import plain
from dpselect.gateway.settings.values import DataSettings

BRIEF = 0.1  # seconds for which a file is taken to be as it was


@dataclass(frozen=True)
class Source:
    """Where the rows are, and a text that is another one once they are others; None where nobody can tell."""

    place: Any
    prepared: bool
    state: str | None


class Sources:
    """The sources of all data sets."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[float, Source]] = {}

    def of(self, data: DataSettings) -> Source:
        """Where to read now."""
        with self._lock:
            at, found = self._seen.get(data.name, (0.0, None))
        if found is not None and time.monotonic() - at < BRIEF:
            return found
        found = self._found(data)
        with self._lock:
            self._seen[data.name] = (time.monotonic(), found)
        return found

    def _found(self, data: DataSettings) -> Source:
        place: Any = plain(data.source)
        address = Address.parse(place)
        named, pinned = identify_source(address)
        state = json.dumps(named) if pinned else None
        if data.snapshot is not None:
            state = json.dumps([named, data.snapshot])
        return Source(place, address.prepared is not None, state)


def unpinned() -> str:
    """In the place of the state of rows that nobody can tell: no two questions are the same."""
    return fresh_key().hex()
