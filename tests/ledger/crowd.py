"""A script: one of many processes that ask as fast as they can. Prints how many questions were answered.

usage: crowd.py WHERE QUESTIONS [ANALYST]
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from fractions import Fraction

from dpselect.errors import BudgetError
from dpselect.ledger import Account, Charge, Ledger

PRICE = Charge.round_up(Fraction("0.001"), Fraction("1e-10"))


def main(where: str, questions: int, analyst: str = "ann") -> None:
    """Reserve and settle, again and again."""
    told: Counter[str] = Counter()
    with Ledger(where) as ledger:
        for number in range(questions):
            try:
                reservation = ledger.reserve(Account("plays", analyst), PRICE, f"{os.getpid()} asks {number}")
            except BudgetError:
                told["refused"] += 1
            else:
                ledger.start(reservation)
                ledger.settle(reservation, PRICE, "[]")
                told["answered"] += 1
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
