"""Where the rows of a data set lie now: at its source, or in a prepared copy that is kept fresh."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpselect._ground.keys import names
from dpselect.draws.entropy import fresh_key
from dpselect.engines.identity import source_of
from dpselect.gateway.log import Log
from dpselect.gateway.problems import Refused
from dpselect.gateway.settings.kinds import plain
from dpselect.gateway.settings.values import DataSettings, Settings

AGAIN = 60.0  # seconds after which a copy that could not be made is tried again
BRIEF = 0.1  # seconds for which a file is taken to be as it was


@dataclass(frozen=True)
class Source:
    """Where the rows are, and a text that is another one once they are others; None where nobody can tell."""

    place: Any
    prepared: bool
    state: str | None


class Sources:
    """The sources of all data sets."""

    def __init__(self, settings: Settings, log: Log) -> None:
        self._settings, self._log = settings, log
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[float, Source]] = {}
        self._ending = threading.Event()

    def of(self, data: DataSettings) -> Source:
        """Where to read now. Refused while the first copy is being prepared."""
        with self._lock:
            at, found = self._seen.get(data.name, (0.0, None))
        if found is not None and time.monotonic() - at < BRIEF:
            return found
        found = self._found(data)
        with self._lock:
            self._seen[data.name] = (time.monotonic(), found)
        return found

    def _found(self, data: DataSettings) -> Source:
        from dpselect.engines.sources.files import prepared_path

        place: Any = plain(data.source)
        if data.prepare:
            place = str(self._copy(data.name))
            if prepared_path(place) is None:
                raise Refused(
                    "unavailable", f"The data {data.name} are being prepared. Try again in a while.", after=30
                )
        named, pinned = source_of(place)
        state = json.dumps(named) if pinned else None
        if data.snapshot is not None:
            state = json.dumps([named, data.snapshot])
        return Source(place, prepared_path(place) is not None, state)

    def _copy(self, name: str) -> Path:
        """A file by the data's name, in characters that every file system takes."""
        plain = "".join(one if one.isascii() and (one.isalnum() or one in "-_") else f"%{ord(one):x}" for one in name)
        return self._settings.server.folder / "prepared" / f"{plain}.prepared"

    # ---- copies -------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Prepare what is to be prepared, now and whenever its source has changed."""
        wanted = [data for data in self._settings.data.values() if data.prepare]
        if wanted:
            threading.Thread(target=self._keep_fresh, args=(wanted,), name="prepare", daemon=True).start()

    def stop(self) -> None:
        """Begin no more copies."""
        self._ending.set()

    def _keep_fresh(self, wanted: list[DataSettings]) -> None:
        next_look = {data.name: 0.0 for data in wanted}
        while not self._ending.is_set():
            for data in wanted:
                if time.monotonic() >= next_look[data.name]:
                    wait = 60 * data.refresh if self._refresh(data) else min(AGAIN, 60 * data.refresh)
                    next_look[data.name] = time.monotonic() + wait
            self._ending.wait(1.0)

    def _refresh(self, data: DataSettings) -> bool:
        """Prepare a copy anew where the source is not what the last one was made from; False where it failed."""
        try:
            if self.refresh(data):
                self._log("prepared", data=data.name)
        except Exception as error:
            self._log.failed("data could not be prepared", error, data=data.name)
            return False
        return True

    def refresh(self, data: DataSettings) -> bool:
        """Was a copy made?"""
        from dpselect.engines.prepared.file import state_of
        from dpselect.engines.sources.files import prepared_path
        from dpselect.flat import prepare

        place: Any = plain(data.source)
        copy = self._copy(data.name)
        found, _ = source_of(place)
        if prepared_path(copy) is not None:
            made = [one["source"] for one in state_of(str(copy)).sources]
            if made == [found]:
                return False
        copy.parent.mkdir(mode=0o700, exist_ok=True)
        prepare(place, copy, max_rows_per_user=data.max_rows_per_user, **columns(data))
        return True


def columns(data: DataSettings) -> dict[str, Any]:
    """What a prepared copy must keep for all questions that the owner allows."""
    first, *others = data.items
    kept = [name for key in others for name in names(key)]
    kept += [*data.groups, *data.filters]
    known = {*names(data.user or ()), *names(first)}
    weights = list(dict.fromkeys([*data.weights, *data.values]))
    keep = [name for name in dict.fromkeys(kept) if name not in known and name != data.time]
    given: dict[str, Any] = {"user": plain(data.user), "item": plain(first), "keep": keep}
    given["weights"] = [name for name in weights if name not in keep and name not in known]
    if data.table is not None:
        given["table"] = data.table
    if data.period is not None:
        given |= {"time": data.time, "period": data.period, "timezone": data.timezone}
    return given


def unpinned() -> str:
    """In the place of the state of rows that nobody can tell: no two questions are the same."""
    return fresh_key().hex()
