"""The judge of the tests: mutants are planted where functions live, samples repeat, and verdicts are those of tests."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

from tests.mutants.planting import code_of, mutants, plant, plantable
from tests.mutants.sample import sample

ROOT = Path(__file__).resolve().parents[2]
SOURCE = """
from functools import cache

LIMIT = 5

class Thing:
    def twice(self, n):
        return n * 2

def outer(n):
    def inner():
        return n + 1
    return inner

made_before = outer(1)

@cache
def less(n):
    return n - 1

def many(items):
    return [one for one in items if one > 1]

def shared(n):
    def inner():
        print(n)
    return inner

def refused(n: int = 3) -> int:
    '''Not below zero.'''
    if n < 0:
        raise ValueError(f"{n + 1} is wrong")
    return n
"""


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("tests.an_example")
    exec(compile(SOURCE, "example.py", "exec"), vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def planted(example: ModuleType, change: str) -> int:
    (mutant,) = (one for one in mutants("example.py", SOURCE) if f"`{one.before}` -> `{one.after}`" == change)
    functions = [
        *(one for one in vars(example).values() if isinstance(one, FunctionType)),
        *(example.Thing.twice, example.made_before, example.less.__wrapped__),
    ]
    return plant(code_of(mutant, SOURCE), functions)


@pytest.mark.parametrize(
    ("change", "call", "sound", "wrong"),
    [
        ("`n * 2` -> `n / 2`", lambda m: m.Thing().twice(4), 8, 2),
        ("`n + 1` -> `n - 1`", lambda m: m.outer(1)(), 2, 0),
        ("`n + 1` -> `n - 1`", lambda m: m.made_before(), 2, 0),
        ("`n - 1` -> `n + 1`", lambda m: m.less(5), 4, 6),
        ("`one > 1` -> `one >= 1`", lambda m: m.many([1, 2]), [2], [1, 2]),
    ],
    ids=["a method", "a function made later", "a function made before", "a cached function", "a comprehension"],
)
def test_a_mutant_takes_its_place(example, change, call, sound, wrong):
    assert call(example) == sound
    assert planted(example, change)
    assert call(example) == wrong


def test_what_is_left_alone():
    found = list(mutants("example.py", SOURCE))
    assert {one.before for one in found if one.function is None} == {"5", "1", "3"}
    kinds = ["always", "comparison", "n to n + 1", "never", "returns None", "statement dropped"]
    assert sorted(one.operator for one in found if one.function == "refused") == kinds  # no annotation, no text


def test_no_mutant_changes_what_a_living_function_shares_with_its_maker():
    (dropped,) = (one for one in mutants("example.py", SOURCE) if one.function == "shared.inner")
    assert dropped.after == "pass"
    assert not plantable(code_of(dropped, SOURCE))


def test_a_sample_hangs_on_the_seed_and_no_change_elsewhere():
    sources = {f"{room}/{name}.py": SOURCE.replace("n - 1", f"n - len('{name}')") for room, name in PLACES}
    first = sample(sources, 12, seed=1)
    assert first == sample(sources, 12, seed=1)
    assert first.mutants != sample(sources, 12, seed=2).mutants
    assert {one.room for one in first.mutants} == {room for room, _ in PLACES}
    moved = sample({path: f"# A line more.\n{text}" for path, text in sources.items()}, 12, seed=1)
    assert [(one.path, one.number) for one in moved.mutants] == [(one.path, one.number) for one in first.mutants]


PLACES = [("draws", "a"), ("draws", "bb"), ("ledger", "ccc")]


TESTS = """
import os, signal, subprocess, sys
from fractions import Fraction
from pathlib import Path

from dpselect.accounting.renyi_prices import up

def test_it_is_no_less():
    assert up(Fraction(1, 3)) >= Fraction(1, 3)

def test_nothing_stays_nothing():
    assert up(Fraction(0)) == 0

def test_without_end():
    while True:
        pass

def test_that_crashes():
    os.kill(os.getpid(), signal.SIGSEGV)

def test_that_leaves_a_process():
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    Path(__file__).with_name("left").write_text(str(sleeper.pid))
"""
JUDGING = """
import json, sys
import pytest
from tests.mutants import judge
from tests.mutants.lines import files
from tests.mutants.planting import code_of, mutants

PATH = "accounting/renyi_prices.py"
judge.HANG = 0
code = {one.after: code_of(one, files()[PATH]) for one in mutants(PATH, files()[PATH]) if one.function == "up"}
wrong = code["(number * GRID).__floor__"]
verdicts = []

def jobs(there):
    name = {one.partition("::")[2]: one for one in there}
    for what, *tests in (
        (wrong, "test_nothing_stays_nothing", "test_it_is_no_less"),
        (wrong, "test_nothing_stays_nothing"),
        ({}, "test_nothing_stays_nothing", "test_it_is_no_less"),
        ({}, "test_without_end"),
        ({}, "test_that_crashes", "test_it_is_no_less"),
        ({}, "test_that_leaves_a_process"),
    ):
        yield judge.Job("", PATH, what, [(name[one], 0.0) for one in tests], 20)

def done(job, outcome):
    verdicts.append((outcome.verdict, outcome.tests))

pytest.main(["-q", "-s", "-p", "no:cacheprovider", sys.argv[1]], plugins=[judge.Judge([PATH], jobs, done, 1)])
print(json.dumps(verdicts))
"""


def test_verdicts_are_those_of_the_tests_and_nothing_is_left(tmp_path):
    (tmp_path / "test_up.py").write_text(TESTS, "utf-8")
    command = [sys.executable, "-c", JUDGING, tmp_path / "test_up.py"]
    told = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert json.loads(told.splitlines()[-1]) == [
        ["failed", 2], ["survived", 1], ["survived", 2], ["endless", 1], ["crashed", 1], ["survived", 1],
    ]  # fmt: skip
    left = Path("/proc", (tmp_path / "left").read_text(), "stat")
    assert not left.exists() or left.read_text().rpartition(")")[2].split()[0] == "Z"  # ended, and not yet buried
