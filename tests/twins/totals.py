"""Wrong ways to select by weights: from users and their rows to an answer. Tests must refuse each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpselect.draws import Draws, Weights
from dpselect.mechanisms import LimitedDomain

Rows = Sequence[tuple[int, int]]  # of one user: item and units
Users = Sequence[Rows]


def totals(rows: Rows) -> Mapping[int, int]:
    """What one user's rows of every item add up to."""
    found: dict[int, int] = {}
    for item, units in rows:
        found[item] = found.get(item, 0) + units
    return found


def scores(users: Users, items: int, cap: int) -> tuple[int, ...]:
    """What is right: every user's own total, cut to the cap, and then the sum."""
    of = [totals(rows) for rows in users]
    return tuple(sum(min(cap, user.get(item, 0)) for user in of) for item in range(items))


def cut_by_row(users: Users, items: int, cap: int) -> tuple[int, ...]:
    """Every row is cut to the cap, and a user may have many."""
    return tuple(sum(min(cap, units) for rows in users for i, units in rows if i == item) for item in range(items))


def cap_of_the_data(users: Users) -> int:
    """The largest total that somebody has."""
    return max((most for rows in users for most in totals(rows).values()), default=1)


def present(users: Users, items: int, cap: int) -> tuple[int | None, ...]:
    """Scores as they are right, but an item that somebody has with no unit at all has a name."""
    seen = {item for rows in users for item, _ in rows}
    return tuple(score if item in seen else None for item, score in enumerate(scores(users, items, cap)))


@dataclass(frozen=True)
class NamedZeros:
    """Limited domain in which items of score 0 that somebody has can be told by their names; None is nobody's."""

    right: LimitedDomain

    def __call__(self, counts: Any, *, draws: Draws) -> Any:
        terms = self.right.terms
        order = sorted((i for i, c in enumerate(counts) if c is not None), key=lambda i: (-counts[i], i))
        inside = order[: terms.k_bar]
        after = counts[order[terms.k_bar]] if len(order) > terms.k_bar else 0
        heights = np.array([*(counts[i] for i in inside), after + terms.sensitivity], dtype=np.int64)
        factors = [Fraction(1)] * len(inside) + [terms.bottom(terms.k_bar)]
        found = []
        for group, _ in draws.peel(Weights(heights, terms.rate, factors=factors), min(terms.k, len(heights))):
            if group == len(inside):
                break
            found.append(inside[group])
        return found
