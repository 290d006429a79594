"""Plants faults in the code, and says which no test notices: `lines` once, then `run`."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from coverage import CoverageData

from tests.mutants.operators import PACKAGE
from tests.mutants.planting import COSTS, MUTANT, ROOMS, Mutant, sample

ROOT = Path(__file__).resolve().parents[2]
PYTEST = [sys.executable, "-m", "pytest", "-p", "tests.mutants.planting", "-p", "no:cacheprovider"]
LEFT_OUT = re.compile("spark|chromium", re.IGNORECASE)  # a JVM or a browser for each mutant takes too long
SLOWER, BEGIN = 6, 60  # a run that takes so many times as long, and these seconds more, is in a loop without end
VERDICTS = ("killed", "survived", "undecided", "no test runs the line", "not begun")


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
    run.add_argument("--room", choices=ROOMS, help="only those of the sample in this room")
    run.add_argument("--minutes", type=float, default=60, help="no mutant is begun later (%(default)s)")
    run.add_argument("--seconds", type=float, default=20, help="of tests for a mutant (%(default)s)")
    run.add_argument("--jobs", type=int, default=2, help="mutants at once (%(default)s)")
    given = parser.parse_args(arguments)
    os.chdir(ROOT)
    os.environ["CI"] = "true"  # tests with random examples repeat the same ones
    folder: Path = given.folder.resolve()
    if given.step == "lines":
        return note_lines(folder, given.pytest)
    found = [one for one in sample(given.sample, given.seed) if given.room in (None, one.room)]
    judging = Judging(folder, given.seconds)
    end = time.monotonic() + 60 * given.minutes
    with ThreadPoolExecutor(given.jobs) as threads:
        threads.map(lambda one: judging.judge(one, end), found)
    print(table(found, judging.results))
    return 0


def note_lines(folder: Path, arguments: list[str]) -> int:
    """Run the tests once, each with its lines and its cost."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    environment = {"COVERAGE_FILE": str(folder / "lines"), "COVERAGE_CORE": "ctrace", COSTS: str(folder / "costs")}
    cover = [f"--cov={PACKAGE}", "--cov-context=test", "--cov-report=", "--cov-fail-under=0"]
    return subprocess.run([*PYTEST, *cover, *arguments], env=os.environ | environment, check=False).returncode


@dataclass
class Judging:
    """What is known of the tests, and the verdicts so far."""

    folder: Path
    seconds: float
    costs: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    results: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        failed = set()
        for test, seconds, fails in map(json.loads, (self.folder / "costs").read_text("utf-8").splitlines()):
            self.costs[test] += seconds
            failed |= {test} if fails else set()
        self._trusted = {test for test in self.costs if test not in failed and not LEFT_OUT.search(test)}
        self._lines = CoverageData(str(self.folder / "lines"))
        self._lines.read()
        self._results = self.folder / "results.jsonl"
        if self._results.exists():
            self.results.update(map(json.loads, self._results.read_text("utf-8").splitlines()))

    def judge(self, mutant: Mutant, end: float) -> None:
        """Run the tests of its lines, if that was not done before, and time is left."""
        if mutant.key in self.results or time.monotonic() > end:
            return
        covering = self.covering(mutant)
        tests = self.affordable(covering)
        verdict = VERDICTS[3]
        if tests:
            survived = self.passes(mutant, tests)
            verdict = VERDICTS[0 if not survived else 1 if len(tests) == len(covering) else 2]
        self.results[mutant.key] = verdict
        with self._results.open("a", encoding="utf-8") as file:
            file.write(json.dumps([mutant.key, verdict]) + "\n")
        print(f"{verdict} {mutant} ({len(tests)} tests)", flush=True)

    def covering(self, mutant: Mutant) -> set[str]:
        """The tests that run its lines; those that run when a fixture is made or unmade count for its whole file."""
        contexts = self._lines.contexts_by_lineno(str(PACKAGE / mutant.path))
        found = {context.rpartition("|")[::2] for line in mutant.lines for context in contexts.get(line, [])}
        files = {test.partition("::")[0] for test, when in found if when != "run"}
        return {one for one in self._trusted if one.partition("::")[0] in files} | self._trusted & {
            one for one, _ in found
        }

    def affordable(self, tests: Iterable[str]) -> list[str]:
        """The cheapest of each file, then the next of each, as long as there are seconds."""
        places = Counter[str]()
        ranked = []
        for test in sorted(tests, key=lambda one: (self.costs[one], one)):
            file = test.partition("::")[0]
            ranked.append((places[file], self.costs[test], test))
            places[file] += 1
        spent, found = 0.0, []
        for _, cost, test in sorted(ranked):
            spent += cost
            if spent <= self.seconds:
                found.append(test)
        return found

    def passes(self, mutant: Mutant, tests: list[str]) -> bool:
        """Does nothing fail, not even to begin or to end, while the mutant is planted?"""
        with tempfile.TemporaryDirectory(prefix="mutant-", ignore_cleanup_errors=True) as name:
            Path(name).chmod(0o755)  # servers run as another user
            asked = Path(name, "tests")
            asked.write_text("\n".join(tests), "utf-8")
            # Numba's keys do not see constants, so that its cache would have the sound code.
            environment = {MUTANT: mutant.key, "TMPDIR": name, "NUMBA_CACHE_DIR": name}
            command = [*PYTEST, "-x", "-q", "-o", "norecursedirs=.*", f"@{asked}"]
            process = subprocess.Popen(command, env=os.environ | environment, stdout=subprocess.DEVNULL)
            try:
                return process.wait(BEGIN + SLOWER * sum(self.costs[one] for one in tests)) == 0
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGINT)  # so that what tests have started is ended
                try:
                    process.wait(BEGIN)
                finally:
                    process.kill()
                return False


def table(found: list[Mutant], results: dict[str, str]) -> str:
    """By room, in Markdown, with the lists of those that no test has found."""
    verdicts = {one: results.get(one.key, VERDICTS[-1]) for one in found}
    lines = [f"| room | mutants | {' | '.join(VERDICTS)} |", f"| --- |{' ---: |' * (1 + len(VERDICTS))}"]
    for room in (*ROOMS, "all"):
        counts = Counter(verdict for one, verdict in verdicts.items() if room in (one.room, "all"))
        lines.append(f"| {room} | {counts.total()} | {' | '.join(str(counts[one]) for one in VERDICTS)} |")
    for column in VERDICTS[1:]:
        lines += ["", f"{column}:", "", *(f"- {one}" for one, verdict in verdicts.items() if verdict == column)]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
