"""A script: one question, killed at each line of the ledger in turn. Prints what each dead process left behind.

usage: killed.py WHERE STEP [COPY]    WHERE is an address, or with COPY a file that is copied for each life
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import sys
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import Any

import dpselect.ledger
from dpselect.ledger import Account, Charge, Ledger

HOME = str(Path(dpselect.ledger.__file__).parent)
# These see no store and change nothing: between two lines of theirs a death leaves what it leaves before them.
COMPUTING = ("account.py", "charge.py", "entry.py", "rows.py", "standing.py", "terms.py")
CEILING = Charge.round_up(Fraction("0.75"), Fraction("1e-6"))
PRICE = Charge.round_up(Fraction("0.5"), Fraction("1e-6"))


def die_at(line: int) -> None:
    """Kill this process at the n-th line that it runs inside of the ledger, but for those that only compute."""
    left = itertools.count(line, -1)

    def each_line(_frame: FrameType, event: str, _: Any) -> Any:
        if event == "line" and next(left) == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return each_line

    def each_call(frame: FrameType, *_: Any) -> Any:
        file = frame.f_code.co_filename
        return each_line if file.startswith(HOME) and not file.endswith(COMPUTING) else None

    sys.settrace(each_call)


def live(where: str, account: Account, line: int, released: int) -> None:
    """Ask one question; say so when it reads rows, and when its answer is out."""
    with Ledger(where) as ledger:
        die_at(line)
        reservation = ledger.reserve(account, CEILING, "{}")
        ledger.start(reservation)
        os.write(released, b"r")  # a row was read
        ledger.settle(reservation, PRICE, "[1]")
        os.write(released, b"!")


def left_behind(where: str, account: Account, said: bytes) -> dict[str, object]:
    """What the next process finds, and what is left once it has given back what surely read no row."""
    with Ledger(where) as ledger:
        problems = ledger.verify()
        used = amounts(ledger, account)
        pending = [one for one in ledger.pending() if one.entry.account == account]
        for one in pending:
            if not one.may_have_read:
                ledger.give_back(one)
        problems += ledger.verify()
        after = amounts(ledger, account)
    unread = [not one.may_have_read for one in pending]
    return {"used": used, "unread": unread, "after": after, "said": said.decode(), "problems": problems}


def amounts(ledger: Ledger, account: Account) -> list[str]:
    """The epsilon that is spent, and the epsilon that is reserved."""
    usage = ledger.standing(account).own
    return [str(usage.spent.epsilon), str(usage.reserved.epsilon)]


def main(where: str, step: int, copy: str | None = None) -> None:
    """Every line, or every STEP-th, until a process lives to its end."""
    for line in itertools.count(1, step):
        account, place = Account("plays", "ann" if copy else f"ann{line}"), where
        if copy:
            place = f"{where}.{line}"
            shutil.copy(where, place)
        else:
            with Ledger(where) as ledger:
                if not ledger.data_accounts():
                    ledger.data(account.dataset, 1000, "0.1")
                ledger.grant(account, 1, "1e-6")
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            live(place, account, line, writing)
            os._exit(0)
        os.close(writing)
        _, status = os.waitpid(child, 0)
        with os.fdopen(reading, "rb") as pipe:
            found = {"line": line, "status": status, **left_behind(place, account, pipe.read())}
        sys.stdout.write(json.dumps(found) + "\n")
        if status != signal.SIGKILL:
            return


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
