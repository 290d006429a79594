"""People come and go while the gateway runs: the file of settings is read again when it is written."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from dpselect.errors import DpselectError
from dpselect.gateway.log import Log
from dpselect.gateway.settings.reading import read
from dpselect.gateway.settings.values import Settings

LOOK = 1.0  # seconds between two looks


class Renewal:
    """Watches one file. Only people are taken from it; all else is read at the next start."""

    def __init__(self, path: Path, taken: Callable[[Settings], None], log: Log) -> None:
        self._path, self._taken, self._log = path, taken, log
        self._seen: tuple[int, ...] | None = None  # so that what was written since it was read is seen at once
        self._ending = threading.Event()
        threading.Thread(target=self._watch, name="people", daemon=True).start()

    def stop(self) -> None:
        """Look no more."""
        self._ending.set()

    def _stamp(self) -> tuple[int, ...] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _watch(self) -> None:
        while not self._ending.wait(LOOK):
            now = self._stamp()
            if now is None or now == self._seen:
                continue
            self._seen = now
            try:
                self._taken(read(self._path))
                self._log("people were read again")
            except DpselectError as error:
                self._log.failed("the settings have mistakes, so people stay as they were", error)
            except Exception as error:
                self._log.failed("the settings cannot be read", error)
