"""A process that asks a paid question and is killed at the n-th line it runs in the ledger or in what pays.

Called as: killed.py EVENTS LEDGER FIRST STEP. A child is forked for every STEP-th line from FIRST on; each prints one
line of JSON: at which line it was killed (null when it lived to the end), and whether an answer came out.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import dpselect as dps

WATCHED = ("ledger/", "dataset.py", "release/archive.py", "ledger/question.py", "queries/plan.py")
COMPUTING = ("account.py", "charge.py", "entry.py", "rows.py", "standing.py", "terms.py")  # these change nothing
PACKAGE = Path(dps.__file__).parent


@cache
def watched(filename: str) -> bool:
    path = Path(filename)
    if not path.is_relative_to(PACKAGE) or (path.parent.name == "ledger" and path.name in COMPUTING):
        return False
    return path.relative_to(PACKAGE).as_posix().startswith(WATCHED)


def ask(events: str, ledger: str, last: int, out: int) -> None:
    """One question, killed at its line number `last`; the answer is told through `out`."""
    lines = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        if not watched(frame.f_code.co_filename):
            return None
        if event == "line":
            lines += 1
            if lines == last:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    data = dps.Dataset(events, user="user", item="animal", budget=dps.Budget.open(ledger, analyst="ann"))
    sys.settrace(trace)
    release = data.ask(dps.TopK(1), epsilon=1, delta="1e-6", fresh=True)
    os.write(out, b"+")
    sys.settrace(None)
    assert release.charged is not None


def main(events: str, ledger: str, first: int, step: int) -> None:
    dps.Dataset(events, user="user", item="animal").top_k(1, epsilon=1, delta="1e-6")  # imported once, for all children
    last = first
    while True:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            ask(events, ledger, last, write)
            os._exit(0)
        os.close(write)
        _, status = os.waitpid(child, 0)
        told = os.read(read, 1) == b"+"
        os.close(read)
        killed = os.WIFSIGNALED(status)
        with dps.Ledger(ledger) as book:
            usage = book.standing(dps.Account("default", "ann")).own
            problems = book.verify()
        amounts = [float(usage.spent.epsilon), float(usage.reserved.epsilon)]
        line = {"line": last if killed else None, "told": told, "amounts": amounts, "problems": problems}
        sys.stdout.write(json.dumps({**line, "status": status}) + "\n")
        if not killed:
            return
        last += step


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
