"""Judge a sample of mutants with the tests that run their lines, and say by room what became of them."""

from __future__ import annotations

import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from tests.mutants.judge import Done, Job, Jobs, Judge, Outcome
from tests.mutants.known import Known
from tests.mutants.lines import ROOMS, files
from tests.mutants.planting import Mutant, code_of
from tests.mutants.sample import Sample

LEFT_OUT = re.compile("spark|chromium", re.IGNORECASE)  # a JVM or a browser for each mutant takes too long
FIRST_ROUND = 0.05  # seconds of each file; the next round gives each file four times as many
KILLED = ("failed", "crashed", "endless")
NOT_JUDGED = ("only Spark or Chromium", "no test in process")
COLUMNS = ("killed", "survived", "undecided", *NOT_JUDGED)
QUIET = ("-n0", "-q", "-s", "--no-header", "--no-summary", "-p", "no:cacheprovider")


@dataclass
class Run:
    """The mutants asked for, what is known of the tests, and where results are kept."""

    known: Known
    sample: Sample
    mutants: list[Mutant]
    results: Path
    minutes: float
    seconds: float
    at_once: int
    sources: dict[str, str] = field(default_factory=files)

    def __post_init__(self) -> None:
        self.tests_of = cache(self.known.tests)

    def judge(self) -> int:
        """Each mutant that has no result yet, or that had too few seconds."""
        results, begin = self.read(), time.monotonic()
        undecided = {
            key for key, one in results.items() if one["verdict"] == "undecided" and one["limit"] < self.seconds
        }
        done = results.keys() - undecided

        def jobs(there: set[str]) -> Iterator[Job]:
            for mutant in self.mutants:
                if mutant.key in done or time.monotonic() - begin > 60 * self.minutes:
                    continue
                covering = self.covering(mutant)
                tests = self.in_rounds(covering & there)
                if tests:
                    code = code_of(mutant, self.sources[mutant.path])
                    yield Job(mutant.key, mutant.path, code, tests, self.seconds)
                else:
                    self.write(mutant, Outcome(NOT_JUDGED[0 if covering else 1]))

        by_key = {one.key: one for one in self.mutants}
        return self._collect(jobs, lambda job, outcome: self.write(by_key[job.name], outcome))

    def check(self) -> int:
        """The tests that each mutant would meet, on sound code: those that fail are left out from then on."""

        def jobs(there: set[str]) -> Iterator[Job]:
            met: set[str] = set()
            for mutant in self.mutants:
                tests = self.in_rounds(self.covering(mutant) & there)
                spent = accumulate(self.known.cost[test] for test, _ in tests)
                new = [
                    pair
                    for pair, so_far in zip(tests, spent, strict=True)
                    if so_far < self.seconds and pair[0] not in met
                ]
                met |= {test for test, _ in new}
                if new:
                    yield Job(str(mutant), mutant.path, {}, new, 2 * self.seconds)

        def done(job: Job, outcome: Outcome) -> None:
            print(f"{outcome.tests} tests in {outcome.seconds} s of {job.name}", *outcome.failed, flush=True)
            self.known.distrust(outcome.failed)

        return self._collect(jobs, done)

    def _collect(self, jobs: Jobs, done: Done) -> int:
        return pytest.main([*self.known.arguments, *QUIET], plugins=[Judge(self.sources, jobs, done, self.at_once)])

    def covering(self, mutant: Mutant) -> set[str]:
        """The tests that run its lines."""
        found = self.tests_of(mutant.path)
        return set().union(*(found.get(line, set()) for line in mutant.lines))

    def in_rounds(self, tests: Iterable[str]) -> list[tuple[str, float]]:
        """Cheap tests first, a few of every file before more of any, each with its cost."""
        by_file: dict[str, list[tuple[float, str]]] = defaultdict(list)
        for test in tests:
            uses = self.known.uses.get(test)
            if uses is not None and test not in self.known.failed and not LEFT_OUT.search(" ".join([test, *uses])):
                by_file[test.partition("::")[0]].append((self.known.full_cost(test), test))
        found = []
        for costs in map(sorted, by_file.values()):
            number, spent, end = 0, 0.0, FIRST_ROUND
            for cost, test in costs:
                spent += self.known.cost[test] if spent else cost
                while spent > end:
                    number, end = number + 1, 4 * end
                found.append((number, costs[0], cost, test))
        return [(test, cost) for _, _, cost, test in sorted(found)]

    def read(self) -> dict[str, dict[str, Any]]:
        """Results so far, by the key of the mutant."""
        lines = self.results.read_text("utf-8").splitlines() if self.results.exists() else []
        return {one["key"]: one for one in map(json.loads, lines)}

    def write(self, mutant: Mutant, outcome: Outcome) -> None:
        """Keep a result, and show it."""
        result = {"key": mutant.key, "mutant": str(mutant), "limit": self.seconds} | asdict(outcome)
        with self.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")
        print(f"{outcome.verdict} {mutant} ({outcome.tests} tests, {outcome.seconds} s)", *outcome.failed, flush=True)

    def table(self) -> str:
        """By room, in Markdown, with the lists of those that no test has found."""
        results = self.read()
        verdicts = {one: str(results.get(one.key, {}).get("verdict", "not begun")) for one in self.mutants}
        counts = {room: Counter[str]() for room in ROOMS}
        for mutant, verdict in verdicts.items():
            counts[mutant.room]["killed" if verdict in KILLED else verdict] += 1
        counts["all"] = sum(counts.values(), Counter[str]())
        columns = [*COLUMNS, *sorted(counts["all"].keys() - set(COLUMNS))]
        lines = [f"| room | mutants | {' | '.join(columns)} |", f"| --- |{' ---: |' * (1 + len(columns))}"]
        for room, found in counts.items():
            lines.append(f"| {room} | {found.total()} | {' | '.join(str(found[column]) for column in columns)} |")
        for column in columns[1:]:
            lines += ["", f"{column}:", "", *(f"- {one}" for one, verdict in verdicts.items() if verdict == column)]
        return "\n".join(
            [*lines, "", f"{self.sample.at_import} mutants would run once, at import, and are not judged."]
        )
