"""Neighbours for whole calls: forty users whose answer is all but certain, and one more whose rows are awkward."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.replay.cells import KINDS
from tests.replay.kinds import Kind, Made
from tests.replay.odd_values import Odd
from tests.replay.sorts import Column, Rows, joined

CROWD = 40
LONE = "lone"  # held by one user, and never a part of an awkward value: with two users it might come out
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
    odds = [odd for odd in kind.odd(sort, "item") if odd.name not in ("a number in letters",)]
    plain = crowd(sort, numbers)
    more = joined(plain, newcomer(sort, numbers, odds), "middle")
    return lambda folder: kind.make(plain, folder), lambda folder: kind.make(more, folder)


__all__ = ["CROWD", "KINDS", "LONE", "ROWS", "makers"]
