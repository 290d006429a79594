"""Servers that are killed, databases that crash, full disks, clocks that are moved: what became of every question?

Each line is one world: servers as processes, people who ask, wait, read and cancel, and a fault, many times over. At
the end every question must have ended, every answer that anybody saw must be settled in the record and be read again,
no question may be paid twice, and the record must verify; else the script fails.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from measure import table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.gateway import faults

COLUMNS = ("answered", "lost", "failed", "refused", "cancelled")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="of one server; other faults happen less often")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", help="some of the faults, by the beginning of their names")
    args = parser.parse_args()
    few, seed = max(1, args.kills // 10), args.seed
    print(f"seed {seed}\n")
    worlds: dict[str, tuple[int, Callable[[Path, int], Counter[str]]]] = {
        "killed": (args.kills, lambda folder, times: faults.killed(folder, times, seed)),
        "killed beside another, two folders": (
            2 * few,
            lambda folder, times: faults.killed_beside_another(folder, times, seed),
        ),
        "postgres: one of two killed": (
            2 * few,
            lambda folder, times: _on_postgres(faults.killed_on_postgres, folder, times, seed),
        ),
        "postgres: restarted": (
            few,
            lambda folder, times: _on_postgres(faults.database_restarted, folder, times, seed),
        ),
        "disk full": (few, lambda folder, times: faults.disk_full(folder, times, seed)),
        "clock moved": (2 * args.kills, lambda folder, times: faults.clock_moved(folder, times, seed)),
    }
    rows = []
    for name, (times, run) in worlds.items():
        if args.only and not name.startswith(tuple(args.only)):
            continue
        with tempfile.TemporaryDirectory(prefix="faults-") as folder:
            began = time.monotonic()
            found = run(Path(folder), times)
            rows.append([name, times, *(found[state] for state in COLUMNS), f"{time.monotonic() - began:.0f} s"])
            print(name, dict(found), file=sys.stderr, flush=True)
    table(["fault", "times", *COLUMNS, "took"], rows)


def _on_postgres(run: Callable[..., Counter[str]], folder: Path, times: int, seed: int) -> Counter[str]:
    with faults.databases() as places:
        return run(folder, times, seed, places)


if __name__ == "__main__":
    main()
