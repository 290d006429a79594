"""One process for one folder of questions: two would each take the other for dead."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from dpselect.errors import OutputError

if sys.platform != "win32":
    import fcntl

NAME = "gateway.lock"


class OnlyOne:
    """Held while this process serves a folder; the system lets go of it however the process ends."""

    def __init__(self, folder: Path) -> None:
        self._held: int | None = None
        if sys.platform == "win32":
            return
        held = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(held)
            hint = "stop it first; several processes need a jobs = address of PostgreSQL"
            raise OutputError(f"another gateway serves the folder {folder}", hint) from None
        self._held = held

    def close(self) -> None:
        """Let go."""
        if self._held is not None:
            with contextlib.suppress(OSError):
                os.close(self._held)
            self._held = None
