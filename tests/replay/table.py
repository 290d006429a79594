"""The cells as a Markdown table: how many awkward rows fail in which kind of source.

    .venv/bin/python -m tests.replay.table                        the table, without Spark
    .venv/bin/python -m tests.replay.table --spark                with Spark
    .venv/bin/python -m tests.replay.table --failing CSV JSON     what fails in kinds of these names, line by line

Where nothing fails they take a few minutes of CPU, else longer: what fails is tried value by value. To see what an
older state of the library does, put its `src` in front: `PYTHONPATH=OLD/src .venv/bin/python -m tests.replay.table`.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from tests import postgres, spark
from tests.replay.cells import LINES_GROUP, Bench, Cell, every_kind, single_cells
from tests.replay.kinds import Kind
from tests.replay.server_kinds import Servers
from tests.replay.sorts import PLACES

GROUPS = ("missing", "text", "broken text", "numbers", "wrong type", "times", LINES_GROUP)


def main() -> None:
    """Print the table."""
    args = _arguments()
    with contextlib.ExitStack() as stack:
        Servers.postgres = stack.enter_context(postgres.server()).format(name="postgres")
        if args.spark:
            Servers.spark = stack.enter_context(spark.session())
        kinds = [kind for kind in every_kind(servers=True) if args.spark or kind.needs != "spark"]
        kinds = [kind for kind in kinds if not args.kinds or any(name in kind.name for name in args.kinds)]
        if not args.failing:
            _say("| source | " + " | ".join(GROUPS) + " | fail, of |")
            _say("| --- |" + " --- |" * (len(GROUPS) + 1))
        _say_sums([_row(kind, failing=args.failing) for kind in kinds], failing=args.failing)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="How many awkward rows fail in which kind of source.")
    parser.add_argument("kinds", nargs="*", help="parts of the names of kinds; all without")
    parser.add_argument("--failing", action="store_true", help="a line for each row that fails, not the table")
    parser.add_argument("--spark", action="store_true", help="Spark too, which needs Java")
    return parser.parse_args()


def _row(kind: Kind, *, failing: bool) -> tuple[int, int]:
    """One kind of source; how many cells fail, and how many there are."""
    bench = Bench()
    cells = list(single_cells(kind))
    bad = list(_bad(bench, cells))
    for cell, found in bad if failing else ():
        _say(f"{cell}: {found.partition(chr(10))[0]}")
    if not failing:
        number, failed = (Counter(cell.group for cell in some) for some in (cells, [cell for cell, _ in bad]))
        shown = [f"{failed[group] or '-'} / {number[group]}" if number[group] else "" for group in GROUPS]
        _say(f"| {kind.name} | " + " | ".join(shown) + f" | {len(bad)} / {len(cells)} |")
    return len(bad), len(cells)


def _bad(bench: Bench, cells: list[Cell]) -> Iterator[tuple[Cell, str]]:
    """The cells that fail, and how. Where a user with all awkward values at once does no harm, none is tried alone."""
    together: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        together.setdefault((cell.sort, cell.role if cell.line is None else LINES_GROUP), []).append(cell)
    for (_, role), some in together.items():
        odds = tuple(odd for cell in some for odd in cell.odds)
        if role == LINES_GROUP or any(bench.run(replace(some[0], odds=odds, place=place)) for place in PLACES[1:]):
            yield from ((cell, found) for cell in some if (found := bench.run(cell)) is not None)


def _say_sums(rows: list[tuple[int, int]], *, failing: bool) -> None:
    failed, cells = (sum(column) for column in zip(*rows, strict=True))
    said = f"{failed} / {cells}"
    _say(f"{said} fail" if failing else "| all |" + " |" * len(GROUPS) + f" {said} |")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
