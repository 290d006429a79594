"""A whole call with all that it does beside its answer: functions entered, queries sent, progress, charges.

Mechanisms and draws look at counts, so what they do inside depends on counts and coins: their functions are not noted,
nor those of a module that works row by row (it is entered once for each row, or more); and a loop counts as one round.
All else must be the same for neighbours that get the same answer.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import re
import sys
import tempfile
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

import dpselect
import dpselect as dps
from dpselect.draws import Draws
from dpselect.errors import DpselectError
from dpselect.flat import dataset_of
from dpselect.ledger import Account, Ledger
from dpselect.release.archive import archive_release
from dpselect.release.release import Release
from dpselect.testing import SeededDraws
from tests.replay.masks import masked

PACKAGE = str(Path(dpselect.__file__).parent) + "/"
# What may go by the counts: a mechanism, its coins, what it is made of, and looking on while an engine works.
# Readers of text files and of frames run in threads of the engine, which asks for batches when it has room.
READERS = (
    "engines/sources/arrow_texts.py", "engines/sources/csv_fields.py", "engines/sources/text_",
    "engines/sources/scans/lines.py",
    "engines/sources/frames.py", "engines/sources/columns.py", "engines/sources/objects.py",
    "engines/sources/lake.py", "engines/sources/iceberg_tables.py", "engines/sources/delta_rows.py",
)  # fmt: skip
BY_COUNTS = (
    "draws/", "mechanisms/", "testing/", "_ground/reals.py", "_ground/privacy.py",
    "aggregates/count_groups.py", "aggregates/value_counts.py", *READERS,
)  # fmt: skip
POLLING = re.compile(r"\.tell$|Progress|progress")
ACCOUNT = Account("default", "ann")
MOST_SEEDS = 300
LOOP = 12  # functions in the body of a loop
MEMORY = "1GiB"  # what is free on the machine changes while it runs

Tell = Callable[[float | None], None]
Ask = Callable[[Callable[..., dps.Dataset], Draws, Tell], Release]


class Lines(logging.Handler):
    """All lines, and what stands true when each comes."""

    def __init__(self, now: Callable[[], object] = lambda: None) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []
        self.when: list[object] = []
        self._now = now

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        self.lines.append(f"{record.levelname} {record.name}: {record.getMessage()}")
        self.when.append(self._now())


@contextlib.contextmanager
def listening(lines: Lines) -> Iterator[Lines]:
    """Inside, the package logs at its most talkative."""
    log = logging.getLogger("dpselect")
    before = log.level
    log.addHandler(lines)
    log.setLevel(logging.DEBUG)
    try:
        yield lines
    finally:
        log.removeHandler(lines)
        log.setLevel(before)


@dataclass
class Recorded:
    """What one call did."""

    answer: str = ""
    words: str = ""
    failed: str | None = None
    progress: list[float | None] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    charges: list[tuple[object, ...]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)


def recorded(make: Callable[[Path], tuple[object, str | None]], ask: Ask, seed: int, grant: str = "1000") -> Recorded:
    """One call, paid from a new ledger, in a temporary folder that nothing else uses."""
    found = Recorded()
    printed = io.StringIO()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="replay-")))
        rows, work, ledger = folder / "rows", folder / "work", folder / "budget.sqlite"
        rows.mkdir()
        work.mkdir()
        with Ledger.create(ledger) as opened:
            opened.data(ACCOUNT.dataset, grant, "0.2")
            opened.grant(ACCOUNT, grant, "0.1")
        source, table = make(rows)
        warned = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
        stack.enter_context(contextlib.redirect_stdout(printed))
        stack.enter_context(contextlib.redirect_stderr(printed))
        stack.enter_context(_temporary_files_in(work))
        stack.enter_context(patch.dict(os.environ, DPSELECT_MEMORY=MEMORY))
        heard = stack.enter_context(listening(Lines()))
        with _watching(found):
            try:
                _call(found, lambda **more: _data(source, table, ledger, more), ask, seed)
            except DpselectError as error:
                found.failed = masked(f"{type(error).__name__}: {error}")
        with Ledger(ledger) as opened:
            found.charges = [_charge(entry) for entry in opened.entries()]
        found.said = [printed.getvalue(), *(str(one.message) for one in warned)]
        found.log = heard.lines
        found.left = sorted(path.name for path in work.iterdir())
    return found


def _data(source: object, table: str | None, ledger: Path, more: dict[str, object]) -> dps.Dataset:
    budget = dps.Budget.open(ledger, analyst="ann", snapshot="monday")
    named = {"user": "user", "table": table, "budget": budget}
    return dataset_of(source, **({"item": "item"} | named | more))  # type: ignore[arg-type]


def _call(found: Recorded, data: Callable[..., dps.Dataset], ask: Ask, seed: int) -> None:
    def tell(done: float | None) -> None:
        caller = sys._getframe(1).f_code.co_filename
        if not caller.startswith(PACKAGE + "engines/"):  # an engine tells it by the clock
            found.progress.append(done)

    release = ask(data, SeededDraws(seed), tell)
    found.answer, found.words = archive_release(release), str(release) + release.explain() + release._repr_html_()


def _charge(entry: Any) -> tuple[object, ...]:
    """An entry without its time and its place in the chain, and its question without which file it was."""
    question = None if entry.question is None else json.loads(entry.question)
    if question is not None and isinstance(question["data"]["source"], list):
        question["data"]["source"] = len(question["data"]["source"])
    shown = masked(json.dumps(question, sort_keys=True))
    return entry.number, str(entry.kind), str(entry.account), str(entry.charge), shown, entry.refers_to, entry.release


@contextlib.contextmanager
def _temporary_files_in(folder: Path) -> Iterator[None]:
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before


@contextlib.contextmanager
def _watching(found: Recorded) -> Iterator[None]:
    """Note every function of the package that is entered, and every query that one is given, in all threads."""
    main = threading.get_ident()
    functions: tuple[list[str], list[str]] = ([], [])

    def watch(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PACKAGE):
            return
        module = code.co_filename.removeprefix(PACKAGE)
        if not module.startswith(BY_COUNTS) and not POLLING.search(code.co_qualname):
            functions[threading.get_ident() != main].append(f"{module}: {code.co_qualname}")
        sql = frame.f_locals.get("sql")
        if isinstance(sql, str) and code.co_name in ("rows", "columns", "fetch", "keep", "run", "execute"):
            found.queries.append(masked(sql))

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        found.functions = [*functions[0], "in a thread:", *functions[1]]


def control_flow(one: Recorded, other: Recorded, rows: int) -> tuple[list[str], list[str]]:
    """What both entered, without the modules that work row by row in either."""
    by_row = {
        name.partition(":")[0]
        for recording in (one, other)
        for name, times in Counter(recording.functions).items()
        if times >= rows
    }
    first, second = (_one_round([n for n in r.functions if n.partition(":")[0] not in by_row]) for r in (one, other))
    return first, second


def _one_round(names: list[str]) -> list[str]:
    """The names, with what follows itself at once left out: how many rounds a loop has is how many items came."""
    found: list[str] = []
    for name in names:
        found.append(name)
        for length in range(1, LOOP + 1):
            if found[-length:] == found[-2 * length : -length]:
                del found[-length:]
                break
    return found


def same_answer(
    make: Callable[[Path], tuple[object, str | None]], ask: Ask, wanted: Recorded, **more: str
) -> Recorded | None:
    """The call on other rows under coins with which its answer is the one wanted: the outcome is frozen by choice."""
    for seed in range(MOST_SEEDS):
        found = recorded(make, ask, seed, **more)
        if found.answer == wanted.answer or found.failed:
            return found
    return None


def difference(one: Recorded, other: Recorded, rows: int) -> str | None:
    """In what two calls of the same answer differ; None where in nothing."""
    if one.failed != other.failed:
        return f"fails: {other.failed or one.failed}"
    for name in ("answer", "words", "progress", "queries", "charges", "said", "left", "log"):
        first, second = getattr(one, name), getattr(other, name)
        if first != second:
            return f"{name} differ: {_first_difference(first, second)}"
    flow = control_flow(one, other, rows)
    return None if flow[0] == flow[1] else f"the control flow differs: {_first_difference(*flow)}"


def _first_difference(one: Any, other: Any) -> str:
    if isinstance(one, str):
        one, other = one.splitlines(), other.splitlines()
    pairs = zip([*one, None], [*other, None], strict=False)
    place, (first, second) = next((n, pair) for n, pair in enumerate(pairs) if pair[0] != pair[1])
    texts = str(first), str(second)
    same = next((at for at, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), 0)
    start = max(0, same - 40)
    return f"at {place}: {texts[0][start : start + 160]!r} and {texts[1][start : start + 160]!r}"
