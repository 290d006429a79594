"""Wrong certificates of quantiles: each must be refused by the tests of the right one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpselect.draws import Draws
from dpselect.mechanisms import CertifiedQuantiles
from dpselect.mechanisms.certified_quantiles import CertifiedValues, TooMany, count_cells
from dpselect.mechanisms.gaps import laplace_width

Cells = Callable[[CertifiedQuantiles, Sequence[Sequence[int]], Sequence[int]], list[int]]


def counted(mechanism: CertifiedQuantiles, users: Sequence[Sequence[int]], places: Sequence[int]) -> list[int]:
    """The right cells, of the first value of every user."""
    assert mechanism.shares
    first = np.array([values[0] for values in users], dtype=np.int64)
    return count_cells(first, [(place, place) for place in dict.fromkeys(places)])


def at_both_sides(mechanism: CertifiedQuantiles, users: Sequence[Sequence[int]], places: Sequence[int]) -> list[int]:
    """Users at a value count below it and above it, too."""
    right = counted(mechanism, users, places)
    for at in range(1, len(right), 2):
        right[at - 1] += right[at]
        right[at + 1] += right[at]
    return right


def of_all_values(mechanism: CertifiedQuantiles, users: Sequence[Sequence[int]], places: Sequence[int]) -> list[int]:
    """Every value of a user counts."""
    return counted(mechanism, [[value] for values in users for value in values], places)


def at_the_true_quantiles(
    mechanism: CertifiedQuantiles, users: Sequence[Sequence[int]], places: Sequence[int]
) -> list[int]:
    """Cells end at the values that have the ranks, and not at those that were released."""
    first = sorted(values[0] for values in users)
    true = [first[min(len(first) - 1, int(q * len(first)))] if first else 0 for q in mechanism.shares]
    return counted(mechanism, users, true if len(dict.fromkeys(true)) == len(dict.fromkeys(places)) else places)


def with_all_users(mechanism: CertifiedQuantiles, users: Sequence[Sequence[int]], places: Sequence[int]) -> list[int]:
    """The true number of users stands beside the cells, as often as noise of the same rate hides one user of many."""
    return [*counted(mechanism, users, places), 10 * len(users)]


def by_one_cell(mechanism: CertifiedQuantiles, answer: CertifiedValues, beta: float) -> list[TooMany]:
    """The width of one cell, for sums of many of them."""
    width = laplace_width(mechanism.rate, beta)
    found = []
    for q, below, above in zip(mechanism.shares, answer.below, answer.above, strict=True):
        excess = below - q * answer.users + width, above - (1 - q) * answer.users + width
        found.append(TooMany(*(max(0, one.__ceil__()) for one in excess)))
    return found


def of_another_key(mechanism: CertifiedQuantiles, chosen: Any, others: Any, draws: Draws) -> CertifiedValues:
    """Values are drawn of one choice of a value for each user, and counted in another one."""
    right = mechanism(chosen, draws=draws)
    places = [mechanism.grid.indices_of([value])[0] for value in right.values]
    cells = count_cells(mechanism.grid.indices_of(others), [(place, place) for place in dict.fromkeys(places)])
    noisy = [cell + draws.laplace(mechanism.rate) for cell in cells]
    upto = [0, *np.cumsum(noisy).tolist()]
    below, above = upto[1 : 2 * len(places) : 2], [upto[-1] - one for one in upto[2 : 2 * len(places) + 1 : 2]]
    return CertifiedValues(values=right.values, below=below, above=above, users=upto[-1])
