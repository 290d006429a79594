"""Few cases of a product, in which each two values of two factors meet: a fault of any two meets a test."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence, Set
from itertools import combinations
from typing import Any, TypeVar

T = TypeVar("T")


def covering(*factors: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Cases, each with one value of every factor, so that any two values of two factors are in one; always the same.

    Greedy: a case begins with the first two values that have not met, and takes of each other factor the value that
    has not met most of them.
    """
    places = [range(len(values)) for values in factors]
    unmet = dict.fromkeys(
        ((i, a), (j, b)) for i, j in combinations(range(len(factors)), 2) for a in places[i] for b in places[j]
    )
    used: Counter[tuple[int, int]] = Counter()
    cases = []
    while unmet:
        case = dict(next(iter(unmet)))
        for at in set(range(len(factors))) - case.keys():
            case[at] = max(places[at], key=lambda value: (_gain(unmet, case, at, value), -used[at, value]))
        for two in combinations(sorted(case.items()), 2):
            unmet.pop(two, None)
        used.update(case.items())
        cases.append(tuple(values[case[at]] for at, values in enumerate(factors)))
    return cases


def _gain(unmet: dict[Any, None], case: dict[int, int], at: int, value: int) -> int:
    """How many values of the case have not met this one."""
    return sum(tuple(sorted(((at, value), other))) in unmet for other in case.items())


def covering_of(cases: Iterable[T], pairs: Callable[[T], Set[Hashable]]) -> list[T]:
    """Some of these cases, with every pair that one of them meets: again and again the one that meets most new ones.

    Of cases that meet equally many the first is taken, so the choice is the same in every process.
    """
    offered = [(case, pairs(case)) for case in cases]
    left = set().union(*(met for _, met in offered))
    best = [(-len(met), place) for place, (_, met) in enumerate(offered)]
    heapq.heapify(best)
    chosen = []
    while left:
        promised, place = heapq.heappop(best)
        case, met = offered[place]
        new = len(met & left)
        if new == -promised:
            chosen.append(case)
            left -= met
        elif new:  # less than when it was last weighed, for what is left only shrinks
            heapq.heappush(best, (-new, place))
    return chosen
