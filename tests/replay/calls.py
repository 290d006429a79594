"""Neighbours for whole calls: forty users whose answer is all but certain, and one more whose rows are awkward."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tests.replay.cells import KINDS
from tests.replay.file_kinds import FILES
from tests.replay.kinds import Kind, Made
from tests.replay.odd_values import Odd
from tests.replay.record import Ask
from tests.replay.sorts import Column, Rows, joined
from tests.replay.verbs import LONE, OF_NUMBERS, VERBS

CROWD = 40
ROWS = CROWD + 30 + 20 + 1


def crowd(sort: str, numbers: str) -> Rows:
    """a has 40 users, b 30, c 20 and one item a single user.

    The last two columns are a number: in letters, and of a type where there is one.
    """
    held = [(n, item) for item, holders in (("a", CROWD), ("b", 30), ("c", 20), (LONE, 1)) for n in range(holders)]
    others = ["3" if n % 5 else "8" for n, _ in held]
    return _columns(sort, numbers, [f"u{n}" for n, _ in held], [item for _, item in held], others)


def newcomer(sort: str, numbers: str, odds: list[Odd]) -> Rows:
    """One more user with all of these items."""
    number = len(odds)
    return _columns(sort, numbers, ["mallory"] * number, [odd.value for odd in odds], ["3"] * number)


def _columns(sort: str, numbers: str, *columns: list[object]) -> Rows:
    found = {name: Column(sort, values) for name, values in zip(("user", "item", "other"), columns, strict=True)}
    values = columns[-1] if numbers == sort else [int(str(value)) for value in columns[-1]]
    return found | {"number": Column(numbers, values)}


def makers(kind: Kind) -> tuple[Callable[[Path], Made], Callable[[Path], Made]]:
    """The maker of everybody's rows, and that of the rows with one user more."""
    sort = "text" if "text" in kind.sorts else "any of texts"
    numbers = "whole" if "whole" in kind.sorts else sort
    odds = [odd for odd in kind.odd(sort) if odd.name not in ("a number in letters",)]
    plain = crowd(sort, numbers)
    more = joined(plain, newcomer(sort, numbers, odds), "middle")
    return lambda folder: kind.make(plain, folder), lambda folder: kind.make(more, folder)


def ask_of(kind: Kind, verb: str) -> Ask:
    """The call; of numbers in text files with the type that their owner declares."""
    ask = VERBS[verb]
    if verb not in OF_NUMBERS or kind.name not in FILES:
        return ask
    return lambda data, draws, tell: ask(partial(data, types={"number": "BIGINT"}), draws, tell)


# How often a stream is asked for rows, and in which thread, goes by the engine's room; prepared data keep no numbers.
CALLED = [
    kind
    for kind in KINDS.values()
    if kind.needs is None and kind.name != "stream of Arrow data" and not kind.name.startswith("prepared")
    if kind.name != "JSON array" and {"text", "any of texts"} & set(kind.sorts)
]


def cases() -> Iterator[tuple[str, str]]:
    """Every verb, on the kinds of sources in turn, and every kind; a column of text alone has no numbers for a verb."""
    turns, used = list(CALLED), set()
    for verb in VERBS:
        kind = next(kind for kind in turns if verb not in OF_NUMBERS or kind.sorts != ("text",))
        turns.remove(kind)
        turns.append(kind)
        used.add(kind.name)
        yield kind.name, verb
    yield from ((kind.name, "top k, counts") for kind in CALLED if kind.name not in used)
    yield "CSV", "quantile"  # it has numbers in letters, which nothing but a declaration says
