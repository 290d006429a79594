"""The rows of the data sets: a `Dataset` of what their owner declared, and the state in which they are now."""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, Any

from dpselect.engines import Address, identify_source
from dpselect.errors import DpselectError
from dpselect.gateway.settings.kinds import Key, plain
from dpselect.gateway.settings.values import DataSettings
from dpselect.questions import key_columns

if TYPE_CHECKING:
    from dpselect import Dataset

_BRIEF = 0.1  # seconds for which a file is taken to be as it was


def dataset_of(data: DataSettings, item: Key, **options: Any) -> Dataset:
    """Return the data of the settings with these items, or none; further options are those of `flat.dataset_of`."""
    from dpselect import flat

    if data.period is not None:
        options = {"time": data.time, "period": data.period, "timezone": data.timezone, **options}
    if data.types:
        options["types"] = data.types
    return flat.dataset_of(plain(data.source), item=plain(item) or None, outside=data.outside, **options)


def has_counts(data: DataSettings, item: Key) -> bool:
    """Return whether the source is prepared data that have a number of users for each of these items, and no other.

    The owner must have declared how many items there are: the time that they take follows from it.
    """
    path = Address.parse(plain(data.source)).prepared
    if path is None or data.split is not None or data.types or "items" not in data.sizes.model_fields_set:
        return False
    from dpselect.engines import has_counts_of  # which loads the engine

    try:
        return has_counts_of(path, key_columns(item))
    except DpselectError:  # the question itself will fail, at the end of its window
        return False


class Sources:
    """The states of all data sets."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[float, str | None]] = {}

    def find_state(self, data: DataSettings) -> str | None:
        """Return a text that changes whenever the rows do; None if nobody can tell."""
        with self._lock:
            seen_at, state = self._seen.get(data.name, (None, None))
        if seen_at is not None and time.monotonic() - seen_at < _BRIEF:
            return state
        identity, is_pinned = identify_source(Address.parse(plain(data.source)))
        state = json.dumps(identity) if is_pinned else None
        if data.snapshot is not None:
            state = json.dumps([identity, data.snapshot])
        with self._lock:
            self._seen[data.name] = (time.monotonic(), state)
        return state
