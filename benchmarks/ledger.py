"""How many questions a second can a ledger take: reserve and settle, each on the disk before it returns?

Target: at least 500 pairs per second in SQLite where the disk allows it. Two syncs are in each pair, so half of the
disk's own rate of syncs, measured in the same folder in turns with the ledger, is the most that could be.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

from measure import table, verdict

from dpselect.dataset import Dataset
from dpselect.ledger import Account, Charge, Ledger
from dpselect.ledger.budget import Budget
from dpselect.questions.questions import TopK

PAGE = bytes(4096 + 24)  # what SQLite appends to its log for one changed page
ACCOUNT = Account("plays", "ann")
PRICE = Charge.round_up(Fraction("0.001"), Fraction("1e-9"))
QUESTION = '{"question": "top", "k": 10, "where": "' + "x" * 400 + '"}'
RELEASE = "[" + "1234567, " * 100 + "0]"

DISK = "the disk's syncs"


def syncs(folder: Path, seconds: float) -> float:
    """How often per second this disk takes one page and says that it is there."""
    path = folder / "syncs"
    with path.open("wb", buffering=0) as file:

        def one(_: int) -> None:
            file.write(PAGE)
            os.fsync(file.fileno())

        rate = per_second(one, seconds)
    path.unlink()
    return rate


def pairs(ledger: Ledger, seconds: float) -> float:
    """Questions per second: one reserve and one settle each."""

    def one(number: int) -> None:
        reservation = ledger.reserve(ACCOUNT, PRICE, f"{QUESTION}{number}")
        ledger.start(reservation)
        ledger.settle(reservation, PRICE, RELEASE)

    return per_second(one, seconds)


def per_second(one: Callable[[int], None], seconds: float) -> float:
    """Call it for that long."""
    start = time.perf_counter()
    number = 0
    while time.perf_counter() - start < seconds:
        one(number)
        number += 1
    return number / (time.perf_counter() - start)


def opened(where: str | Path) -> Ledger:
    """A new ledger with a budget that does not run out."""
    ledger = Ledger.create(where)
    ledger.data(ACCOUNT.dataset, 10**6, "0.9")
    ledger.grant(ACCOUNT, 10**6, "0.5")
    return ledger


def overhead(folder: Path, questions: int = 40) -> tuple[float, float]:
    """Milliseconds of wall time that a ledger adds to a question, and that a stored answer takes; medians, in turns."""
    rows = {"user": list(range(1000)), "item": ["ant"] * 1000}
    where = folder / "questions.ledger"
    with Ledger.create(where) as ledger:
        ledger.data("default", 10**6, "0.9")
        ledger.grant(Account("default", "ann"), 10**6, "0.5")
    plain = Dataset(rows, user="user", item="item")
    paid = Dataset(rows, user="user", item="item", budget=Budget.open(where, analyst="ann", snapshot="one"))
    asks = {
        "plain": lambda: plain.top_k(10, epsilon=1, delta="1e-6"),
        "paid": lambda: paid.ask(TopK(10), epsilon=1, delta="1e-6", fresh=True),
        "again": lambda: paid.top_k(10, epsilon=1, delta="1e-6"),
    }
    times: dict[str, list[float]] = {name: [] for name in asks}
    for _ in range(questions):
        for name, ask in asks.items():
            start = time.perf_counter()
            ask()
            times[name].append(1000 * (time.perf_counter() - start))
    added = [paid - plain for plain, paid in zip(times["plain"], times["paid"], strict=True)]
    return statistics.median(added), statistics.median(times["again"])


def main() -> None:
    """One table, and how long it takes to check all that was written."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2, help="of each run")
    parser.add_argument("--folder", type=Path, help="on the disk to measure (default: where temporary files are)")
    parser.add_argument("--postgres", metavar="URL", help="an empty database, measured too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as made:
        folder = Path(made)
        ledgers = {"SQLite": opened(folder / "budget.ledger")}
        if options.postgres:
            ledgers["PostgreSQL"] = opened(options.postgres)
        contenders: dict[str, Callable[[], float]] = {
            DISK: lambda: syncs(folder, options.seconds),
            **{name: (lambda one=one: pairs(one, options.seconds)) for name, one in ledgers.items()},
        }
        rates: dict[str, list[float]] = {name: [] for name in contenders}
        for _ in range(options.runs):
            for name, contender in contenders.items():
                rates[name].append(contender())
        print(f"Medians of {options.runs} runs of {options.seconds:g} s, in turns\n")
        rows = []
        for name, found in rates.items():
            rate = statistics.median(found)
            shown = verdict(rate, 500, least=True) if name == "SQLite" else f"{rate:,.0f}"
            share = statistics.median(2 * mine / disk for mine, disk in zip(found, rates[DISK], strict=True))
            rows.append(
                [name, shown, f"{min(found):,.0f} to {max(found):,.0f}", "" if name == DISK else f"{share:.2f}"]
            )
        table(["", "per second", "lowest and highest", "of half the syncs"], rows)
        for name, ledger in ledgers.items():
            start = time.perf_counter()
            problems = ledger.verify()
            took = time.perf_counter() - start
            print(f"{name}: {ledger.count:,} entries verified in {took:.2g} s, {len(problems)} problems")
            ledger.close()
        added, again = overhead(folder)
        print(f"a question paid from a SQLite file takes {added:.1f} ms more: {verdict(added / 10, 5)} % of 1 s")
        print(f"a stored answer takes {again:.1f} ms in all")


if __name__ == "__main__":
    main()
