"""The whole law of a set union on tiny databases: given the order of users and items, a product of exact coins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np
from flint import arb, ctx

from dpselect.aggregates.user_sets import UserSets
from dpselect.testing import Law
from tests.exact.laws import BITS, at_most, worst_delta

Database = tuple[tuple[int, ...], ...]  # the items of each user in their order, users in theirs


def sets_of(database: Sequence[Sequence[int]], size: int) -> UserSets:
    """Codes are the items 0 .. size - 1 themselves, so that both neighbours speak of the same ones."""
    offsets = np.cumsum([0, *(len(items) for items in database)]).astype(np.int64)
    codes = np.array([item for items in database for item in items], dtype=np.int64)
    return UserSets(offsets=offsets, codes=codes, size=size, label=lambda code: code)


def weights_of(mechanism: Any, database: Sequence[Sequence[int]], size: int) -> list[Fraction]:
    """The exact weights: floats are rationals too."""
    weights, unit = mechanism.weigh(sets_of(database, size))
    return [Fraction(w) / unit for w in weights.tolist()]


def coins(law: Any, weights: Sequence[Fraction]) -> list[arb]:
    """The release probability of each item; one of weight 0 does not exist."""
    return [coin(law, w) if w > 0 else arb(0) for w in weights]


@cache
def coin(law: Any, weight: Fraction) -> arb:
    """One release probability, each once."""
    return law.at(weight).ball(BITS)


def of_coins(heads: Sequence[arb]) -> Law:
    """The law of the set of heads, as a number in binary."""
    law: Law = {0: arb(1)}
    with ctx.workprec(BITS):
        for i, p in enumerate(heads):
            law = {a | (b << i): q * (p if b else 1 - p) for a, q in law.items() for b in (0, 1)}
    return {a: p for a, p in law.items() if p != 0}


def union_law(mechanism: Any, database: Database, size: int) -> Law:
    """The law of the released set."""
    return of_coins(coins(mechanism.law, weights_of(mechanism, database, size)))


def subsets(size: int, most: int) -> list[tuple[int, ...]]:
    """What one user may hold."""
    return [s for k in range(1, most + 1) for s in combinations(range(size), k)]


def neighbours(size: int, most: int, users: int) -> Iterator[tuple[Database, Database]]:
    """Every order of every database of fewer than `users` users, and one more user at every place."""
    every = subsets(size, most)
    for fewer in range(users):
        for base in product(every, repeat=fewer):
            for place in range(fewer + 1):
                for added in every:
                    yield base, (*base[:place], added, *base[place:])


def worst(mechanism: Any, size: int, most: int, users: int) -> arb:
    """The largest hockey-stick divergence over all neighbours and both directions."""
    law = cache(lambda database: union_law(mechanism, database, size))
    return worst_delta(law, neighbours(size, most, users), Fraction(mechanism.epsilon))


def private(mechanism: Any, size: int, most: int, users: int) -> bool:
    """Is it (epsilon, delta)-DP on all of them?"""
    return at_most(worst(mechanism, size, most, users), Fraction(mechanism.delta))
