"""Plants faults in the code, and counts those that no test notices: `lines` once, then `run`, at once or in parts."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")


def main(arguments: list[str]) -> int:
    """One of the two steps."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / ".mutants", help="where notes and results are kept")
    steps = parser.add_subparsers(dest="step", required=True)
    lines = steps.add_parser("lines", help="run the tests once, and note which of them run each line")
    lines.add_argument("pytest", nargs="*", help="arguments of pytest, after --: tests, and `-n 3` for three workers")
    run = steps.add_parser("run", help="judge a sample, going on where an earlier run with this folder has stopped")
    run.add_argument("--sample", type=int, default=300, help="mutants, at least (%(default)s)")
    run.add_argument("--seed", type=int, default=1)
    run.add_argument("--slice", default="1/1", metavar="I/N", help="only this part of the sample")
    run.add_argument("--room", help="only those of the sample in this room")
    run.add_argument("--minutes", type=float, default=60, help="no mutant is begun later (%(default)s)")
    run.add_argument("--seconds", type=float, default=20, help="processor time of a mutant (%(default)s)")
    run.add_argument("--jobs", type=int, default=2, help="mutants at once (%(default)s)")
    run.add_argument("--results", type=Path, help="a file of JSON lines (results.jsonl in the folder)")
    run.add_argument(
        "--check", action="store_true", help="plant nothing: find tests that fail without, and leave them out"
    )
    given = parser.parse_args(arguments)
    folder: Path = given.folder.resolve()
    os.environ.update(dict.fromkeys(THREADS, "1"))  # before any library begins some: a fork would lose them
    from tests.mutants import known
    from tests.mutants.lines import files
    from tests.mutants.run import Run
    from tests.mutants.sample import sample

    if given.step == "lines":
        return known.find(folder, given.pytest)
    part, parts = map(int, given.slice.split("/"))
    found = sample(files(), given.sample, given.seed)
    judging = Run(
        known=known.Known.of(folder),
        sample=found,
        mutants=[one for one in found.mutants[part - 1 :: parts] if given.room in (None, one.room)],
        results=given.results or folder / "results.jsonl",
        minutes=given.minutes,
        seconds=given.seconds,
        at_once=given.jobs,
    )
    status = judging.check() if given.check else judging.judge()
    if not given.check:
        print(judging.table())
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
