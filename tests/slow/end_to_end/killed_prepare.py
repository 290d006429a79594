"""Prepares and adds, each killed at one of its lines or at a moment, while readers ask.

Called as: killed_prepare.py FOLDER MOMENTS. Prints one line of JSON for each life: what it did, where it was killed
(null where it lived to its end), the number of the last file that counted before and after it, what it left. The last
line says what the readers saw, and what one more life leaves when nobody reads. The n-th file is the
n-th success: adding it, or preparing all files up to it anew.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import duckdb  # noqa: F401  # before the fork: children start at once

sys.path.insert(0, str(Path(__file__).parents[3]))  # as a script it stands in its own folder

import dpselect as dps
from dpselect.engines.prepared.file import read_state
from dpselect.flat import prepare
from tests.end_to_end.prepared_rows import QUESTIONS, RULES, asked, left_over, right, write

PACKAGE = Path(dps.__file__).parent
WATCHED = ("engines/preparation.py", "engines/prepared/", "_ground/temporary.py")
EVERY = "file.py"  # of which every line has its kill in one of the two, the last time that it runs
STEP = 11  # of the other lines every so many
READERS = 2
PAUSE = 0.3  # seconds between two questions of a reader
MOST = 200  # files at most
Place = tuple[str, int]


@cache
def watched(filename: str) -> str | None:
    path = Path(filename)
    name = path.relative_to(PACKAGE).as_posix() if path.is_relative_to(PACKAGE) else ""
    return name if name.startswith(WATCHED) else None


def traced(seen: Counter[Place], place: Place | None, times: int) -> None:
    """Count the lines that run in all threads; die at one of them, the so many-th time."""

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        name = watched(frame.f_code.co_filename)
        if name is None:
            return None
        if event == "line":
            here = name, frame.f_lineno
            seen[here] += 1
            if here == place and seen[here] == times:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    threading.settrace(trace)
    sys.settrace(trace)


def act(where: Path, doing: str, number: int) -> None:
    if doing == "add":
        prepare(write(where, number), to=where / "data.prepared", add=True)
    else:
        prepare([write(where, one) for one in range(number + 1)], to=where / "data.prepared", **RULES)


def life(where: Path, doing: str, number: int, place: Place | None, times: int, after: float | None) -> Counter[Place]:
    """One process; the lines that it ran, where it lived to its end."""
    read, written = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        seen: Counter[Place] = Counter()
        if after is None:
            traced(seen, place, times)
        act(where, doing, number)
        sys.settrace(None)
        os.write(written, json.dumps(list(seen.items())).encode())
        os._exit(0)
    os.close(written)
    if after is not None:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    with os.fdopen(read, "rb") as pipe:
        told = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return Counter()
    assert status == 0, f"{doing} of {number} ended with {status}"
    return Counter({(name, line): count for (name, line), count in json.loads(told)})


def answering(where: Path) -> int:
    """The number of the last file that counts, by all questions, asked in a new process."""
    read, written = os.pipe()
    child = os.fork()
    if child == 0:
        answers = {question: asked(where / "data.prepared", question) for question in QUESTIONS}
        fits = [one for one in range(MOST) if all(answers[question] == right(question, one) for question in QUESTIONS)]
        os.write(written, json.dumps(fits).encode())
        os._exit(0)
    os.close(written)
    with os.fdopen(read, "rb") as pipe:
        (number,) = json.loads(pipe.read())
    os.waitpid(child, 0)
    return int(number)


def reader(where: Path, out: int) -> None:
    """Ask until it is told to stop. An answer is that of one state, and never of an earlier one than seen before."""
    first, answers, wrong = 0, 0, []
    for question in itertools.cycle(QUESTIONS):
        if (where / "stop").exists():
            break
        try:
            found = asked(where / "data.prepared", question)
            first = next((one for one in range(first, MOST) if right(question, one) == found), -1)
            if first < 0:
                wrong.append(f"{question}: no state says {found}")
                break
        except Exception as error:
            wrong.append(f"{question}: {error!r}")
            break
        answers += 1
        time.sleep(PAUSE)
    os.write(out, json.dumps({"answers": answers, "seen": first, "wrong": wrong}).encode() + b"\n")
    os._exit(0)


def lives(where: Path, moments: int) -> int:
    """All of them; the number of the last file that counts after them."""
    number, state = 0, read_state(str(where / "data.prepared")).name

    def one(doing: str, place: Place | None = None, times: int = 0, after: float | None = None) -> Counter[Place]:
        nonlocal number, state
        before, seen = number, life(where, doing, number + 1, place, times, after)
        now = read_state(str(where / "data.prepared")).name
        if now != state:
            number, state = answering(where), now
        left = sorted([*left_over(where / "data.prepared"), *os.listdir(tempfile.gettempdir())])
        at = place if after is None else ["moment", after]
        line = {"doing": doing, "at": None if seen else at, "before": before, "after": number, "left": left}
        sys.stdout.write(json.dumps(line) + "\n")
        return seen

    chance = random.Random(0)
    for doing in ("prepare", "add"):
        seen = one(doing)
        whole = sorted(place for place in seen if place[0].endswith(EVERY))
        others = sorted(set(seen) - set(whole))[::STEP]
        for place in whole[doing == "add" :: 2]:
            one(doing, place, seen[place])
        for place in others:
            one(doing, place, 1)
        for _ in range(moments):
            one(doing, after=chance.uniform(0.01, 0.3))
    return number


def main(where: Path, moments: int) -> None:
    act(where, "prepare", 0)  # here, so that all is imported once, for all children
    asked(where / "data.prepared", "rows")
    read, written = os.pipe()
    readers = []
    for _ in range(READERS):
        child = os.fork()
        if child == 0:
            reader(where, written)
        readers.append(child)
    os.close(written)
    try:
        number = lives(where, moments)
    finally:
        (where / "stop").touch()
        for child in readers:
            os.waitpid(child, 0)
    with os.fdopen(read, encoding="utf-8") as pipe:
        seen = [json.loads(line) for line in pipe]
    life(where, "add", number + 1, None, 0, None)
    left = sorted([*left_over(where / "data.prepared"), *os.listdir(tempfile.gettempdir())])
    sys.stdout.write(json.dumps({"readers": seen, "last": answering(where), "left": left}) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
