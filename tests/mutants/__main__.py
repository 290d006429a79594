"""Plants faults in the code, and says which no test notices: `lines` once, then `run`; `tests` lists tests of files."""

from __future__ import annotations

import argparse
import compileall
import csv
import json
import multiprocessing
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coverage import CoverageData

from tests import postgres
from tests.mutants.narrowest import narrowest
from tests.mutants.operators import PACKAGE
from tests.mutants.planting import COSTS, FAILED, ROOMS, Mutant, run, sample

ROOT = Path(__file__).resolve().parents[2]
TESTS_OF_FILES = ROOT / "benchmarks" / "results" / "tests_of_files.csv"
PYTEST = [sys.executable, "-m", "pytest", "-p", "tests.mutants.planting", "-p", "no:cacheprovider"]
LEFT_OUT = re.compile("spark|chromium", re.IGNORECASE)  # a JVM or a browser for each mutant takes too long
# A run with so many times the processor's seconds, and these more, is in a loop without end; so is a longer wait.
SLOWER, BEGIN, PATIENCE = 3, 10, 10
FIRST_FILES, OF_A_FILE = 4, 5
# What no mutant changes is imported once.
WARM = ["pytest", "hypothesis", "numpy", "pandas", "polars", "pyarrow.parquet", "duckdb", "psycopg"]
NO_END = "no end"  # in place of the test that fails
VERDICTS = ("killed", "survived", "undecided", "no test runs the line", "not begun")


def main(arguments: list[str]) -> int:
    """One of the steps."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / ".mutants", help="where notes and results are kept")
    steps = parser.add_subparsers(dest="step", required=True)
    lines = steps.add_parser("lines", help="run the tests once, and note which of them run each line")
    lines.add_argument("pytest", nargs="*", help="arguments of pytest, after --: tests, and `-n 3` for three workers")
    run = steps.add_parser("run", help="judge a sample, going on where an earlier run with this folder has stopped")
    run.add_argument("--sample", type=int, default=300, help="mutants, at least (%(default)s)")
    run.add_argument("--seed", type=int, default=1)
    run.add_argument("--room", choices=ROOMS, help="only those of the sample in this room")
    run.add_argument("--minutes", type=float, default=60, help="no mutant is begun later (%(default)s)")
    run.add_argument("--seconds", type=float, default=20, help="of tests for a mutant (%(default)s)")
    run.add_argument("--jobs", type=int, default=2, help="mutants at once (%(default)s)")
    steps.add_parser("tests", help=f"write {TESTS_OF_FILES.name}: of each file the tests that run most of it")
    given = parser.parse_args(arguments)
    os.chdir(ROOT)
    os.environ["CI"] = "true"  # tests with random examples repeat the same ones
    folder: Path = given.folder.resolve()
    if given.step == "lines":
        return note_lines(folder, given.pytest)
    if given.step == "tests":
        return write_tests(folder / "lines")
    found = [one for one in sample(given.sample, given.seed) if given.room in (None, one.room)]
    judging = Judging(folder, given.seconds)
    for code in (PACKAGE, ROOT / "tests"):
        compileall.compile_dir(code, quiet=1)  # else each process compiles all, where none may write what it compiles
    with ExitStack() as kept:
        with suppress(postgres.NoServerError):  # else each process makes a cluster, which takes longer than its tests
            os.environ[postgres.NEW] = str(kept.enter_context(postgres.new_cluster()))
        end = time.monotonic() + 60 * given.minutes
        with ThreadPoolExecutor(given.jobs) as threads:
            list(threads.map(lambda one: judging.judge(one, end), found))  # whose errors are ours
        print(table(found, judging.results))
        if false := judging.mistrust():
            print("", "Fail without a mutant, too; run again for the mutants that they killed:", *false, sep="\n- ")
    return 1 if false else 0


def note_lines(folder: Path, arguments: list[str]) -> int:
    """Run the tests once, each with its lines and its cost."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    plain = folder / "coveragerc"  # no branches, and no processes that tests start: those run the sound code
    plain.write_text("[run]\nsource_pkgs = dpselect\n", "utf-8")
    environment = {"COVERAGE_FILE": str(folder / "lines"), "COVERAGE_CORE": "ctrace", COSTS: str(folder / "costs")}
    cover = [f"--cov={PACKAGE}", f"--cov-config={plain}", "--cov-context=test", "--cov-report="]
    return subprocess.run([*PYTEST, *cover, *arguments], env=os.environ | environment, check=False).returncode


def write_tests(lines: Path) -> int:
    """For the auditor's page: the files of tests that run most of each file of the package, and little else."""
    rows = [(file, " ".join(tests)) for file, tests in narrowest(lines).items()]
    with TESTS_OF_FILES.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("file", "tests"), *rows])
    return 0


@dataclass
class Judging:
    """What is known of the tests, and the verdicts so far."""

    folder: Path
    seconds: float
    costs: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    results: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        failed = set()
        for test, seconds, fails in map(json.loads, (self.folder / "costs").read_text("utf-8").splitlines()):
            self.costs[test] += seconds
            failed |= {test} if fails else set()
        self._trusted = {test for test in self.costs if test not in failed and not LEFT_OUT.search(test)}
        self._lines = CoverageData(str(self.folder / "lines"))
        self._lines.read()
        self._breadth = breadth(self.folder / "lines")
        self._results = self.folder / "results.jsonl"
        if self._results.exists():
            for found in map(json.loads, self._results.read_text("utf-8").splitlines()):
                self.results.pop(found["mutant"], None)  # what is written later holds
                # What these seconds did not decide, more may.
                if found["verdict"] != VERDICTS[2] or found["seconds"] >= self.seconds:
                    self.results[found["mutant"]] = found
        self._warm = multiprocessing.get_context("forkserver")
        self._warm.set_forkserver_preload([*WARM, run.__module__])

    def judge(self, mutant: Mutant, end: float) -> None:
        """Run the tests of its lines, if that was not done before, and time is left."""
        if mutant.key in self.results or time.monotonic() > end:
            return
        begun = time.monotonic()
        covering = self.covering(mutant)
        tests = self.affordable(covering)
        verdict, killer = VERDICTS[3], ""
        if tests:
            # Most mutants do not outlive a few tests, and other files need not be imported for those.
            first = first_of(tests)
            killer = self.sure(mutant, first) or self.sure(mutant, [one for one in tests if one not in first])
            verdict = VERDICTS[0 if killer else 1 if len(tests) == len(covering) else 2]
        self._keep({"mutant": mutant.key, "verdict": verdict, "seconds": self.seconds, "killer": killer})
        took = f"{len(tests)} of {len(covering)} tests, {time.monotonic() - begun:.0f} s"
        print(f"{verdict} {mutant} ({took}) {killer}", flush=True)

    def _keep(self, found: dict[str, Any]) -> None:
        self.results[found["mutant"]] = found
        with self._results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(found) + "\n")

    def mistrust(self) -> list[str]:
        """The tests that killed, and fail on the sound code, too: what they killed is to be judged again."""
        false = self.failing("", sorted({found["killer"] for found in self.results.values()} - {"", NO_END}))
        with (self.folder / "costs").open("a", encoding="utf-8") as file:
            file.writelines(json.dumps([test, 0, True]) + "\n" for test in false)
        for found in [one for one in self.results.values() if one["killer"] in false]:
            self._keep(found | {"verdict": VERDICTS[2], "seconds": 0})
        return false

    def covering(self, mutant: Mutant) -> set[str]:
        """The tests that run its lines; those that run when a fixture is made or unmade count for its whole file.

        What runs when a module is imported counts for every test that runs some of its lines.
        """
        contexts = self._lines.contexts_by_lineno(str(PACKAGE / mutant.path))
        lines = contexts if mutant.function is None else mutant.lines
        found = {context.rpartition("|")[::2] for line in lines for context in contexts.get(line, [])}
        files = {test.partition("::")[0] for test, when in found if when != "run"}
        return {one for one in self._trusted if one.partition("::")[0] in files} | self._trusted & {
            one for one, _ in found
        }

    def affordable(self, tests: Iterable[str]) -> list[str]:
        """Those that run few lines first, a few of each file, then more of each, as long as there are seconds."""
        places = Counter[str]()
        ranked = []
        for test in sorted(tests, key=lambda one: (self._breadth[one], one)):
            file = test.partition("::")[0]
            ranked.append((places[file] // OF_A_FILE, self._breadth[test], test))
            places[file] += 1
        spent, found = 0.0, dict[str, list[str]]()
        for _, _, test in sorted(ranked):
            spent += self.costs[test]
            if spent <= self.seconds:
                found.setdefault(test.partition("::")[0], []).append(test)
        return [test for tests in found.values() for test in tests]  # what a file shares is made once

    def sure(self, mutant: Mutant, tests: list[str]) -> str:
        """The first that fails twice: on a busy machine a test may fail that does not see the mutant."""
        while failed := self.killer(mutant, tests):
            if failed == NO_END or self.killer(mutant, [failed]):
                return failed
            tests = [one for one in tests if one != failed]
        return ""

    def killer(self, mutant: Mutant, tests: list[str]) -> str:
        """The first that fails, even to begin or to end, while the mutant is planted; none if all pass."""
        return next(iter(self.failing(mutant.key, tests)), "")

    def failing(self, key: str, tests: list[str]) -> list[str]:
        """Those that fail in a process of their own, forked from one that has imported what is no mutant's."""
        if not tests:
            return []
        most = BEGIN + SLOWER * sum(self.costs[one] for one in tests)
        with tempfile.TemporaryDirectory(prefix="mutant-", ignore_cleanup_errors=True) as name:
            Path(name).chmod(0o755)  # servers run as another user
            process = self._warm.Process(target=run, args=(key, tests, name, most))
            process.start()
            process.join(PATIENCE * most)
            if process.exitcode is None and process.pid:
                os.kill(process.pid, signal.SIGINT)  # so that what tests have started is ended
                process.join(BEGIN)
                process.kill()
                process.join()
            failed = Path(name, FAILED)
            return failed.read_text("utf-8").splitlines() if failed.exists() else [NO_END] * bool(process.exitcode)


def first_of(tests: list[str]) -> list[str]:
    """A few of the first files."""
    files = list(dict.fromkeys(one.partition("::")[0] for one in tests))[:FIRST_FILES]
    return [one for file in files for one in [one for one in tests if one.partition("::")[0] == file][:OF_A_FILE]]


def breadth(lines: Path) -> Counter[str]:
    """How many lines each test runs."""
    found = Counter[str]()
    with closing(sqlite3.connect(lines)) as data:
        for context, bits in data.execute("SELECT context, numbits FROM line_bits JOIN context ON id = context_id"):
            found[context.rpartition("|")[0]] += int.from_bytes(bits).bit_count()
    return found


def table(found: list[Mutant], results: dict[str, dict[str, Any]]) -> str:
    """By room, in Markdown, with the lists of those that no test has found."""
    verdicts = {one: results.get(one.key, {}).get("verdict", VERDICTS[-1]) for one in found}
    lines = [f"| room | mutants | {' | '.join(VERDICTS)} |", f"| --- |{' ---: |' * (1 + len(VERDICTS))}"]
    for room in (*ROOMS, "all"):
        counts = Counter(verdict for one, verdict in verdicts.items() if room in (one.room, "all"))
        lines.append(f"| {room} | {counts.total()} | {' | '.join(str(counts[one]) for one in VERDICTS)} |")
    for column in VERDICTS[1:]:
        lines += ["", f"{column}:", "", *(f"- {one}" for one, verdict in verdicts.items() if verdict == column)]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
