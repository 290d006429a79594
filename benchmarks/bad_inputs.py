"""Does every bad input end in an answer or in one of our errors, soon, and without a word about the data?

Inputs are made from seeds, more than 10,000: parameters of every public function, mechanisms and accounting, damaged
files, odd frames, sources, filters and command lines. Each runs in a folder of its own, in worker processes that are
ended when a case takes too long. An input is *bad* if it ends in an exception that is not ours, takes more than 20
seconds, ends its process, quotes a marker that stands in the data, or leaves a file behind.

    ./dev bench bad_inputs                                    all of them, a table by kind (half an hour on 2 cores)
    ./dev bench bad_inputs --kinds files --cases 100 --show   some, and what each bad one did
    ./dev bench bad_inputs --kinds files --only 17 --show     one of them again
"""

from __future__ import annotations

import argparse
import json
import select
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, SimpleQueue

from measure import table

HERE = Path(__file__).resolve().parent
CASES = {
    "verbs": 2500, "functions": 1500, "mechanisms": 2000, "accounting": 800, "files": 1500, "frames": 900,
    "filters": 1200, "commands": 900, "sources": 300,
}  # fmt: skip
SECONDS = 20.0
MEMORY = 6  # GiB that a worker may ask for
OUTCOMES = ("answer", "our error", "another error", "too slow", "process ended")
Case = tuple[str, int]
Ended = dict[str, object]


class Worker:
    """A process that runs one case after another."""

    def __init__(self, folder: str) -> None:
        self._command = [sys.executable, str(HERE / "bad_cases.py"), folder, str(MEMORY)]
        self._process = self._started()

    def _started(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
        )

    def run(self, case: Case, seconds: float) -> Ended:
        """How a case ended; a process that hangs or died is replaced."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        start = time.monotonic()
        try:
            self._process.stdin.write(json.dumps(case) + "\n")
            if select.select([self._process.stdout], [], [], seconds)[0]:
                line = self._process.stdout.readline()
                if line:
                    return {**json.loads(line), "seconds": time.monotonic() - start}
                ended = f"process ended: {self._process.wait()}"
            else:
                ended = "too slow"
        except BrokenPipeError:
            ended = "process ended"
        self.close()
        self._process = self._started()
        return {"outcome": ended.partition(":")[0], "detail": ended, "seconds": time.monotonic() - start}

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


def run(cases: list[Case], workers: int, seconds: float) -> Iterator[tuple[Case, Ended]]:
    """All cases, by several workers; as they end."""
    waiting: SimpleQueue[Case] = SimpleQueue()
    done: SimpleQueue[tuple[Case, Ended]] = SimpleQueue()
    for case in cases:
        waiting.put(case)

    def work() -> None:
        with tempfile.TemporaryDirectory(prefix="bad-inputs-") as folder:
            worker = Worker(folder)
            try:
                while True:
                    case = waiting.get_nowait()
                    done.put((case, worker.run(case, seconds)))
            except Empty:
                worker.close()

    for _ in range(workers):
        threading.Thread(target=work).start()
    for _ in cases:
        yield done.get()


def is_bad(ended: Ended) -> bool:
    """Neither an answer nor one of our errors, or one that shows data or leaves a file."""
    return ended["outcome"] not in ("answer", "our error") or bool(ended.get("quotes") or ended.get("left"))


def summed(found: list[tuple[Case, Ended]]) -> list[list[str]]:
    """One row a kind: how many, how they ended, what was quoted or left, the longest."""
    rows = []
    for kind in dict.fromkeys(kind for (kind, _), _ in found):
        ended = [one for (of, _), one in found if of == kind]
        outcomes = Counter(str(one["outcome"]) for one in ended)
        more = [str(sum(bool(one.get(name)) for one in ended)) for name in ("quotes", "left")]
        longest = max(float(str(one["seconds"])) for one in ended)
        rows.append([kind, str(len(ended)), *(str(outcomes[name]) for name in OUTCOMES), *more, f"{longest:.1f} s"])
    return rows


def main() -> int:
    """Run them and print the table; the exit code is 1 where one is bad."""
    parser = argparse.ArgumentParser(description="Does every bad input end in an answer or in one of our errors?")
    parser.add_argument("--kinds", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--cases", type=int, help="so many of each kind")
    parser.add_argument("--only", type=int, help="the case of this number alone")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long a case may take")
    parser.add_argument("--show", action="store_true", help="show each bad one, grouped by what it did")
    args = parser.parse_args()
    number = {kind: args.cases or CASES[kind] for kind in args.kinds}
    every = [(kind, n) for kind in args.kinds for n in ([args.only] if args.only is not None else range(number[kind]))]
    found = sorted(run(every, args.workers, args.seconds), key=lambda one: (list(CASES).index(one[0][0]), one[0][1]))
    bad = [(case, ended) for case, ended in found if is_bad(ended)]
    if args.show:
        _show(bad)
    table(["kind", "inputs", *OUTCOMES, "quoted data", "left files", "longest"], summed(found))
    print(f"\n{len(bad)} of {len(found)} are bad")
    return 1 if bad else 0


def _show(bad: list[tuple[Case, Ended]]) -> None:
    """What the bad ones did, equal ones once, with the number of the first."""
    groups: dict[tuple[str, str], list[int]] = {}
    for (kind, number), ended in bad:
        did = [str(ended["detail"])] + [f"{name}: {ended[name]}" for name in ("quotes", "left") if ended.get(name)]
        groups.setdefault((kind, " | ".join(did)), []).append(number)
    for (kind, did), numbers in groups.items():
        print(f"{kind} {numbers[0]} ({len(numbers)} alike): {did}")


if __name__ == "__main__":
    sys.exit(main())
