"""The owner's log: one line of JSON for each thing that happened.

No item, no count and no literal of a filter is in it. An error is told by its class and by the place in our own code;
its text might hold a piece of a row.
"""

from __future__ import annotations

import json
import sys
import threading
import traceback
from datetime import UTC, datetime
from typing import TextIO

from dpselect.errors import DataError, LedgerError, SourceError
from dpselect.release.formatting import Json


class Log:
    """Lines of JSON."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def __call__(self, what: str, **more: Json) -> None:
        """One line. A stream that cannot be written to stops nothing."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = json.dumps({"at": at, "what": what, **more}, ensure_ascii=True, separators=(",", ":"))
        stream = sys.stderr if self._stream is None else self._stream
        try:
            with self._lock:
                stream.write(line + "\n")
                stream.flush()
        except (OSError, ValueError):
            return

    def failed(self, what: str, error: BaseException, **more: Json) -> None:
        """One line about an error: what it is and where, and its text only where that is ours and of the schema."""
        frames = traceback.extract_tb(error.__traceback__)
        where = [f"{one.filename.rpartition('dpselect/')[2]}:{one.lineno}" for one in frames[-3:]]
        said = str(error) if isinstance(error, (DataError, LedgerError, SourceError)) else None
        self(what, error=type(error).__name__, where=[*where], **({} if said is None else {"said": said}), **more)
