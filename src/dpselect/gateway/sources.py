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

_BRIEF = 0.1  # seconds for which a file is taken to be as it was


@dataclass(frozen=True)
class Source:
    """The place of rows, and a text that changes whenever they do; None if nobody can tell."""

    location: Any
    prepared: bool
    state: str | None


class Sources:
    """The sources of all data sets."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[float, Source]] = {}

    def find_source(self, data: DataSettings) -> Source:
        """Return where to read the rows now."""
        with self._lock:
            seen_at, source = self._seen.get(data.name, (0.0, None))
        if source is not None and time.monotonic() - seen_at < _BRIEF:
            return source
        source = self._inspect_source(data)
        with self._lock:
            self._seen[data.name] = (time.monotonic(), source)
        return source

    def _inspect_source(self, data: DataSettings) -> Source:
        location: Any = plain(data.source)
        address = Address.parse(location)
        identity, is_pinned = identify_source(address)
        state = json.dumps(identity) if is_pinned else None
        if data.snapshot is not None:
            state = json.dumps([identity, data.snapshot])
        return Source(location, address.prepared is not None, state)


def unpinned() -> str:
    """Return a state for rows whose state nobody can tell: no two questions about them are the same."""
    return fresh_key().hex()
