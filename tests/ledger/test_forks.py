"""What a forked child inherits, it leaves alone: random words, sessions, reservations, connections."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import dpselect as dps
from dpselect.draws.entropy import SystemBits
from dpselect.ledger import Account, Ledger
from dpselect.ledger.budget import LedgerBudget
from tests.ledger.amounts import ask, charge, grant

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork")


def in_a_child(do: Callable[[], object]) -> str:
    """What it gives or raises, in a forked child."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            said = repr(do())
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


# ---- random words -----------------------------------------------------------------------------------------


def test_a_child_draws_other_words() -> None:
    bits = SystemBits()
    bits.word()
    assert in_a_child(bits.word) != repr(bits.word())


def test_a_child_with_the_id_of_its_parent_draws_other_words(monkeypatch: pytest.MonkeyPatch) -> None:
    bits = SystemBits()
    monkeypatch.setattr("os.getpid", lambda: 1)  # as for the first process of a namespace of its own
    bits.word()
    assert in_a_child(bits.word) != repr(bits.word())


NEWPID = 0x20000000  # CLONE_NEWPID
ALONE = f"""
import ctypes, json, os
from dpselect.draws.entropy import SystemBits
bits = SystemBits()
bits.word()
assert ctypes.CDLL(None).unshare({NEWPID}) == 0
reading, writing = os.pipe()
child = os.fork()
if not child:
    os.write(writing, json.dumps([os.getpid(), bits.word()]).encode())
    os._exit(0)
print(json.dumps([[os.getpid(), bits.word()], json.loads(os.read(reading, 1000))]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's")
def test_a_real_namespace_of_process_ids() -> None:
    """The first process of one forks into another: both have the id 1."""
    unshared = ["unshare", "--pid", "--fork", "--kill-child"]
    try:
        subprocess.run([*unshared, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this machine does not let us make a namespace of process ids")
    done = subprocess.run([*unshared, sys.executable, "-c", ALONE], check=True, capture_output=True, text=True)
    (parent, word), (child, other) = json.loads(done.stdout)
    assert (parent, child) == (1, 1)
    assert word != other


# ---- budgets and reservations ----------------------------------------------------------------------------


@pytest.fixture
def granted(where: str, ann: Account) -> str:
    with Ledger.create(where) as ledger:
        grant(ledger, ann, 1, "1e-6")
    return where


def test_a_child_settles_no_reservation_of_its_parent(granted: str, ann: Account) -> None:
    with Ledger(granted) as ledger:
        reservation = ledger.reserve(ann, charge("1", "1e-6"), "{}")

        def free() -> None:
            with Ledger(granted) as anew:
                anew.give_back(reservation)

        def settle() -> None:
            with Ledger(granted) as anew:
                anew.settle(reservation, charge("0"), None)

        for do in (free, settle, lambda: Ledger(granted).start(reservation)):
            assert in_a_child(do).startswith("LedgerError: reservation 3 was made in another process")
        ledger.start(reservation)
        ledger.settle(reservation, charge("1"), "[]")


# ---- connections ------------------------------------------------------------------------------------------


def test_a_child_uses_no_connection(granted: str, ann: Account) -> None:
    with Ledger(granted) as ledger:
        ask(ledger, ann, charge("0.25"))
        for use in (lambda: ledger.standing(ann), lambda: ledger.reserve(ann, charge("0.25"), "{}"), ledger.verify):
            assert "was opened in another process" in in_a_child(use)
        assert in_a_child(ledger.close) == "None"
        ask(ledger, ann, charge("0.25"))


ENDS = """
import gc, os, sys, weakref
from dpselect.ledger import Account, Ledger
from tests.ledger.amounts import ask, charge, grant

ledger, ann = Ledger(sys.argv[1]), Account("plays", "ann")
ask(ledger, ann, charge("0.25"))
if not os.fork():
    store = weakref.ref(ledger._session._store)
    del ledger
    gc.collect()
    print("it is", "freed" if store() is None else "left alone")
    sys.exit(0)  # as a script does: the interpreter frees all that it has
os.wait()
ask(ledger, ann, charge("0.25"))
print(ledger.verify(ledger.head))
"""


def test_a_child_that_its_interpreter_ends_frees_no_connection(granted: str) -> None:
    done = subprocess.run([sys.executable, "-c", ENDS, granted], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["it is left alone", "[]"]


# ---- copies -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickle.dumps], ids=["copy", "deepcopy", "pickle"])
def test_what_can_be_spent_cannot_be_copied(granted: str, ann: Account, how: Callable[[Any], object]) -> None:
    with Ledger(granted) as ledger:
        budgets = LedgerBudget(granted, data=ann.dataset, analyst=ann.analyst), dps.Budget(epsilon=1)
        for thing in (ledger, *budgets, ledger.reserve(ann, charge("0.5"), "{}")):
            name = type(thing).__name__
            with pytest.raises(dps.BudgetError, match=f"a {name} cannot be copied or pickled: it could be spent twice"):
                how(thing)
