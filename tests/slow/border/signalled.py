"""The command, sent a signal at the n-th line it runs of what makes folders and files.

Called as: signalled.py EVENTS PLACE SIGNAL FIRST STEP. A child is forked for every STEP-th line from FIRST on, with
PLACE/tmp for temporary folders and PLACE/out for its output; each prints one line of JSON: where it was, what it left
behind, how it ended.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import sys
import tempfile
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import duckdb  # noqa: F401  # before the fork: children start at once

import dpselect
from dpselect.command import main as cli

WATCHED = {
    "command/main.py",
    "command/asking.py",
    "command/output.py",
    "_ground/temporary.py",
    "engines/duckdb/workspace.py",
}
PACKAGE = Path(dpselect.__file__).parent


@cache
def watched(filename: str) -> bool:
    path = Path(filename)
    return path.is_relative_to(PACKAGE) and path.relative_to(PACKAGE).as_posix() in WATCHED


def run(events: str, place: Path, number: int, last: int, out: int) -> None:
    """One question, sent the signal at its line number `last`; that line is told through `out`."""
    lines = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        if not watched(frame.f_code.co_filename):
            return None
        if event == "line":
            lines += 1
            if lines == last:
                os.write(out, f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}".encode())
                os.kill(os.getpid(), number)
        return trace

    tempfile.tempdir = str(place / "tmp")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    words = ["top", events, "--user", "user", "--item", "animal", "-k", "1", "--epsilon", "1", "--delta", "1e-6"]
    sys.settrace(trace)
    status = cli.main([*words, "-o", str(place / "out" / "top.parquet")])
    sys.settrace(None)
    atexit._run_exitfuncs()
    os._exit(status)


def left(place: Path) -> list[str]:
    """What stands in the two folders but for the answer."""
    return sorted(
        path.name for part in ("tmp", "out") for path in (place / part).iterdir() if path.name != "top.parquet"
    )


def main(events: str, place: Path, number: int, last: int, step: int) -> None:
    for part in ("tmp", "out"):
        (place / part).mkdir()
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, signal.default_int_handler if one == signal.SIGINT else signal.SIG_DFL)
    while True:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            run(events, place, number, last, write)
        os.close(write)
        _, status = os.waitpid(child, 0)
        where = os.read(read, 200).decode()
        os.close(read)
        ended = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        sys.stdout.write(json.dumps({"line": last, "where": where, "left": left(place), "ended": ended}) + "\n")
        sys.stdout.flush()
        if not where:
            return
        last += step


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:]))
