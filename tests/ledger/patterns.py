"""A script: named ways to fork, share, copy, kill and abandon a budget, each in a process of its own.

usage: patterns.py KIND WHERE [WORDS]    KIND is none, path or object; WHERE is the ledger's address, made before, or
"-"; WORDS are in the names of those patterns that are wanted

Every actor of a pattern is greedy: it asks until it is refused, opens another budget and goes on. A line of
JSON for each pattern says how many answers came out of which budget, what the ledger holds, and what it finds wrong.
"""

from __future__ import annotations

import copy
import gc
import json
import os
import pickle
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from fractions import Fraction
from typing import Any

import dpselect as dps
from dpselect.draws import SecureDraws
from dpselect.testing import drawing

TOTAL, QUESTIONS = Fraction(1), 4  # without a delta, so that exactly so many fit
PRICE = TOTAL / QUESTIONS
SCORES = {"ant": 3, "bee": 1}
PATIENCE = 300  # seconds until a pattern counts as hanging


class Meddled(SecureDraws):
    """Draws that do something else in the middle of a question."""

    def __init__(self, meddle: Callable[[], object]) -> None:
        super().__init__()
        self.meddle = meddle

    def categorical(self, weights: Any) -> tuple[int, int]:
        self.meddle()
        return super().categorical(weights)


class World:
    """Where a pattern runs: the ledger and account that pay, and the pipe into which every answer is told."""

    def __init__(self, kind: str, where: str, analyst: str, out: int) -> None:
        self.kind, self.where, self.analyst, self.out = kind, where, analyst, out
        self.ledger = dps.Ledger(where) if kind == "object" else None
        self.names: dict[int, str] = {}
        self.kept: list[dps.Budget] = []  # so that no two have the same id

    def open(self) -> dps.Budget:
        if self.kind == "none":
            budget = dps.Budget(epsilon=TOTAL, delta=0)
        else:
            budget = dps.Budget.open(self.ledger or self.where, analyst=self.analyst)
        self.kept.append(budget)
        self.names[id(budget)] = f"{os.getpid()}.{len(self.kept)}"
        return budget

    def ask(self, budget: dps.Budget, meddle: Callable[[], object] = lambda: None) -> None:
        """One question; told only when its answer is out. A copy counts as what it was copied from."""
        with drawing(Meddled(meddle)):
            dps.choose(SCORES, epsilon=PRICE, budget=budget, fresh=True)
        self.tell(self.names.get(id(budget)) or next(iter(self.names.values())))

    def tell(self, name: str) -> None:
        os.write(self.out, f"{name}\n".encode())

    def greedy(self, budget: dps.Budget | None) -> None:
        """All that can be had, from this budget and from those that can be opened after it."""
        found = [budget or self.open()]
        if self.kind != "none":  # without a ledger, another budget is another promise
            found.append(self.open())
        for one in found:
            with suppress(dps.DpselectError):
                for _ in range(2 * QUESTIONS):
                    self.ask(one)


Pattern = Callable[[World], None]


# ---- forks ------------------------------------------------------------------------------------------------


def forked(when: str, does: str, first: str) -> Pattern:
    """A fork before the first question, between two or inside of one; who comes first, and what the child does."""

    def run(world: World) -> None:
        budget = world.open()
        reading, writing = os.pipe()
        child = 0

        def fork() -> None:
            nonlocal child
            child = os.fork()
            if child == 0 and first == "parent":
                os.close(writing)
                os.read(reading, 1)  # ends when the parent has done all it does
            elif child and first == "child":
                os.waitpid(child, 0)

        with suppress(dps.DpselectError):
            if when != "fresh":
                world.ask(budget, fork if when == "inside" else lambda: None)
            if when != "inside":
                fork()
            if child == 0 and does == "asks":
                world.greedy(budget)
            elif child == 0 and does == "forks":
                if os.fork():
                    os.wait()
            elif child:
                world.greedy(budget)
        if child == 0:
            world.greedy(budget)
            os._exit(0)
        os.close(writing)
        if first == "parent":
            os.waitpid(child, 0)
        world.greedy(budget)

    return run


def forked_beside_a_thread(world: World) -> None:
    """The child must not wait for a lock that a thread held which it does not have."""
    budget, inside, go = world.open(), threading.Event(), threading.Event()

    def meddle() -> None:
        inside.set()
        go.wait(PATIENCE)

    thread = threading.Thread(target=lambda: world.ask(budget, meddle))
    thread.start()
    inside.wait(PATIENCE)
    with getattr(budget, "_lock", nullcontext()):  # one in a ledger has none
        child = os.fork()
        if not child:
            with suppress(dps.DpselectError):
                world.ask(budget)
            gc.collect()
            os._exit(0)
    os.waitpid(child, 0)
    go.set()
    thread.join()
    world.greedy(budget)


def forked_and_ended_by_the_interpreter(world: World) -> None:
    """The child's interpreter frees all that it inherited, as it ends."""
    budget = world.open()
    world.ask(budget)
    child = os.fork()
    if not child:
        world.kept.clear()
        del budget
        gc.collect()
        sys.exit(0)
    os.waitpid(child, 0)
    world.greedy(budget)


# ---- threads ----------------------------------------------------------------------------------------------


def many_threads(world: World) -> None:
    budget = world.open()
    threads = [threading.Thread(target=world.greedy, args=(budget,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def a_daemon_thread_is_left(world: World) -> None:
    budget, inside = world.open(), threading.Event()

    def meddle() -> None:
        inside.set()
        threading.Event().wait()

    threading.Thread(target=lambda: world.ask(budget, meddle), daemon=True).start()
    inside.wait(PATIENCE)
    world.greedy(budget)


# ---- copies -----------------------------------------------------------------------------------------------


def copied(how: str, when: str) -> Pattern:
    ways: dict[str, Callable[[Any], Any]] = {
        "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),
        "copy": copy.copy,
        "deepcopy": copy.deepcopy,
    }

    def run(world: World) -> None:
        budget = world.open()
        if when == "asked":
            world.ask(budget)
        with suppress(dps.DpselectError, TypeError, pickle.PicklingError):
            world.greedy(ways[how](budget))
        world.greedy(budget)

    return run


# ---- kills, exceptions, what is never finished ------------------------------------------------------------


def killed(when: str) -> Pattern:
    def run(world: World) -> None:
        child = os.fork()
        if not child:
            if world.ledger is not None:
                world.ledger = dps.Ledger(world.where)
            budget = world.open()
            if when != "fresh":
                world.ask(budget)
            if when == "inside":
                world.ask(budget, lambda: os.kill(os.getpid(), signal.SIGKILL))
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)
        if world.kind != "none":
            give_back(world)
        world.greedy(None)

    return run


def give_back(world: World) -> None:
    """As `dpselect ledger pending --give-back` does."""
    with dps.Ledger(world.where) as ledger:
        for one in getattr(ledger, "pending", list)():
            if one.entry.account.analyst == world.analyst and not one.may_have_read:
                ledger.give_back(one)


def given_back_under_its_hands(world: World) -> None:
    """The owner gives back what has read nothing, while a question is answered."""
    budget = world.open()
    world.ask(budget, lambda: None if world.kind == "none" else give_back(world))
    world.greedy(None)
    world.greedy(budget)


def broken_off(error: type[BaseException]) -> Pattern:
    def run(world: World) -> None:
        def meddle() -> None:
            raise error

        for _ in range(2):
            with suppress(error, dps.DpselectError):
                world.ask(world.open(), meddle)
        world.greedy(None)

    return run


def a_generator_is_never_finished(world: World) -> None:
    def answers() -> Iterator[None]:
        budget = world.open()
        for _ in range(QUESTIONS):
            yield world.ask(budget)

    going = answers()
    next(going)
    child = os.fork()
    if not child:
        del going
        gc.collect()
        sys.exit(0)
    os.waitpid(child, 0)
    with suppress(dps.DpselectError):
        next(going)
    del going
    gc.collect()
    world.greedy(None)


PATTERNS: dict[str, Pattern] = {
    f"fork: {when}, the child {does}, the {first} first": forked(when, does, first)
    for when in ("fresh", "asked", "inside")
    for does in ("asks", "forks")
    for first in ("child", "parent")
}
PATTERNS |= {
    f"copy: {how}, {when}": copied(how, when) for how in ("pickle", "copy", "deepcopy") for when in ("fresh", "asked")
}
PATTERNS |= {f"kill: {when}": killed(when) for when in ("fresh", "asked", "inside")}
PATTERNS |= {
    f"broken off: {e.__name__}": broken_off(e) for e in (KeyError, KeyboardInterrupt, SystemExit, GeneratorExit)
}
PATTERNS |= {
    one.__name__.replace("_", " "): one
    for one in (
        forked_beside_a_thread, forked_and_ended_by_the_interpreter, many_threads, given_back_under_its_hands,
        a_daemon_thread_is_left, a_generator_is_never_finished,
    )
}  # fmt: skip


def main(kind: str, where: str, words: str = "") -> None:
    """Each pattern in a fork of its own, which starts clean."""
    dps.choose(SCORES, epsilon=1)  # imported once, for all forks
    for number, (name, pattern) in enumerate(PATTERNS.items()):
        if words not in name:
            continue
        analyst = f"{kind}{number}"
        account = dps.Account("default", analyst)
        if kind != "none":
            with dps.Ledger(where) as ledger:
                if not ledger.data_accounts():
                    ledger.data(account.dataset, 1000, 0)
                ledger.grant(account, TOTAL, 0)
        reading, writing = os.pipe()
        runner = os.fork()
        if not runner:
            os.close(reading)
            os.setpgid(0, 0)
            signal.alarm(PATIENCE)
            try:
                pattern(World(kind, where, analyst, writing))
            except SystemExit:
                raise  # a child that the interpreter ends, with all that it frees
            except BaseException as error:
                os.write(writing, f"!{type(error).__name__}: {str(error)[:200]}\n".encode())
            os._exit(0)
        os.close(writing)
        _, status = os.waitpid(runner, 0)
        with suppress(ProcessLookupError):
            os.killpg(runner, signal.SIGKILL)  # children that hang
        with os.fdopen(reading) as pipe:
            told = pipe.read().splitlines()
        found: dict[str, Any] = {
            "name": name,
            "status": status,
            "errors": [t for t in told if t.startswith("!")],
        }
        found["answers"] = Counter(t for t in told if not t.startswith("!"))
        if kind != "none":
            with dps.Ledger(where) as ledger:
                used = ledger.standing(account).own.total
                found |= {"used": str(used.epsilon), "problems": ledger.verify()}
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
