"""What `lines` found: who runs a line, what a test costs, and with which tests it was found."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from coverage import CoverageData

from tests.mutants.lines import FOLDER, PACKAGE, ROOT, files

RUN = "run.json"
UNRELIABLE = "tests-unreliable.jsonl"  # more tests that fail though no mutant is planted
SETTINGS = ("CI",)  # environment variables that decide what tests do


def digests() -> dict[str, str]:
    """What tells whether a source has changed."""
    return {path: hashlib.sha256(text.encode()).hexdigest() for path, text in files().items()}


def find(folder: Path, arguments: list[str]) -> int:
    """Run the tests once and note their lines, and nothing of an earlier time."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.environ.setdefault("CI", "true")  # tests with random examples repeat the same ones
    settings = {name: os.environ[name] for name in SETTINGS if name in os.environ}
    run = {"arguments": arguments, "settings": settings, "digests": digests()}
    (folder / RUN).write_text(json.dumps(run), "utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "tests.mutants.lines", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=ROOT, env=os.environ | {FOLDER: str(folder)}, check=False).returncode


@dataclass
class Known:
    """The notes of all workers together."""

    folder: Path
    arguments: list[str]
    cost: dict[str, float] = field(default_factory=lambda: defaultdict(float))  # of tests, and of shared fixtures
    uses: dict[str, list[str]] = field(default_factory=dict)
    users: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    failed: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, folder: Path) -> Known:
        """Read them; refuse those of other sources."""
        run = json.loads((folder / RUN).read_text("utf-8"))
        changed = sorted(path for path, digest in digests().items() if run["digests"].get(path) != digest)
        if changed:
            raise SystemExit(f"the lines are those of other sources than {', '.join(changed)}\nhint: run `lines` again")
        os.environ.update(run["settings"])
        known = cls(folder, run["arguments"])
        for path in folder.glob("tests-*.jsonl"):
            for line in path.read_text("utf-8").splitlines():
                known._read(*json.loads(line))
        return known

    def _read(self, name: str, what: str, *values: object) -> None:
        if what == "uses":
            (self.uses[name],) = values  # type: ignore[assignment]
            for fixture in self.uses[name]:
                self.users[fixture].append(name)
        elif what == "failed":
            self.failed.add(name)
        else:
            own, children, _ = values
            self.cost[name] += own + children  # type: ignore[operator]

    def tests(self, path: str) -> dict[int, set[str]]:
        """The tests of every line of a source."""
        found: dict[int, set[str]] = defaultdict(set)
        for worker in self.folder.glob("lines-*.sqlite"):
            data = CoverageData(str(worker))
            data.read()
            for line, contexts in data.contexts_by_lineno(str(PACKAGE / path)).items():
                for context in contexts:
                    found[line] |= set(self.users[context]) if context in self.users else {context}
        return {line: tests - {""} for line, tests in found.items()}

    def full_cost(self, test: str) -> float:
        """Seconds with the shared fixtures that it uses, as if it ran alone."""
        return self.cost[test] + sum(self.cost[fixture] for fixture in self.uses.get(test, []))

    def distrust(self, tests: Iterable[str]) -> None:
        """Leave these out from now on."""
        with (self.folder / UNRELIABLE).open("a", encoding="utf-8") as file:
            file.writelines(f"{json.dumps([test, 'failed'])}\n" for test in tests)
