"""Policies: users contribute one after another, since what a user gives depends on what others have given.

The loops over users, in Python on lists: docs/mechanisms/set-union-policies.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from dpselect._ground.parameters import Progress
from dpselect.aggregates.user_sets import Sets

Weight = TypeVar("Weight", int, float)

PARTS = 20  # reports of progress, however many users there are: their number is private
USERS = 1 << 16  # users whose items are a list at one time


def contribute_in_turn(
    contribute: Callable[[list[int], list[int], list[Weight]], None],
    ordered: Sets,
    weights: list[Weight],
    progress: Progress | None,
) -> None:
    """Let all users contribute to the weights, block after block, by `contribute(offsets, codes, weights)`.

    User v of a block has the items codes[offsets[v] : offsets[v + 1]], in an order that does not depend on the data.
    """
    reported, done, users_per_call = 0, 0, max(1, min(USERS, ordered.users // PARTS))
    for block in ordered.blocks():
        codes = block.codes.tolist()
        for start in range(0, block.users, users_per_call):
            reported = _report(progress, reported, done + start, ordered.users)
            contribute(block.offsets[start : start + users_per_call + 1].tolist(), codes, weights)
        done += block.users
    _report(progress, reported, done, ordered.users)


def _report(progress: Progress | None, reported: int, user: int, users: int) -> int:
    """Report each of the PARTS that begins at this user or before; return how many have been reported."""
    while progress is not None and reported < PARTS and users * reported <= user * PARTS:
        progress(reported / PARTS)
        reported += 1
    return reported
