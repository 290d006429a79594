"""Ctrl-C at any line that the package runs."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import dpselect


def interrupted_at(line: int, run: Callable[[], object], *rooms: str) -> bool:
    """Run it, with Ctrl-C at the n-th line that runs in these rooms; whether it came to its end."""
    package, left = Path(dpselect.__file__).parent, itertools.count(line, -1)
    watched = tuple(str(package / room) for room in rooms)

    def each_line(_frame: FrameType, event: str, _: Any) -> Any:
        if event == "line" and next(left) == 1:
            raise KeyboardInterrupt
        return each_line

    def each_call(frame: FrameType, *_: Any) -> Any:
        return each_line if frame.f_code.co_filename.startswith(watched) else None

    before = sys.gettrace()
    sys.settrace(each_call)
    try:
        run()
    except KeyboardInterrupt:
        return False
    finally:
        sys.settrace(before)
    return True
