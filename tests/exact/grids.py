"""Small histograms and their neighbours: every pair that one user's coming or going can make."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

Counts = tuple[int, ...]


def grid(items: int, most: int) -> Iterator[Counts]:
    """All histograms of so many items with counts 0 .. most."""
    return product(range(most + 1), repeat=items)


def added(counts: Counts, touched: int | None = None) -> Iterator[Counts]:
    """All histograms after one more user who touches at most `touched` items."""
    items = range(len(counts))
    for size in range(1, min(len(counts), touched or len(counts)) + 1):
        for chosen in combinations(items, size):
            yield tuple(c + (i in chosen) for i, c in enumerate(counts))


def pairs(items: int, most: int, touched: int | None = None) -> Iterator[tuple[Counts, Counts]]:
    """All neighbouring pairs, smaller first."""
    for counts in grid(items, most):
        for other in added(counts, touched):
            yield counts, other


def replaced(items: int, most: int) -> Iterator[tuple[Counts, Counts]]:
    """All pairs where one user was replaced by another: every count moves by at most 1, either way."""
    for counts in grid(items, most):
        for step in product((-1, 0, 1), repeat=items):
            other = tuple(c + s for c, s in zip(counts, step, strict=True))
            if min(other) >= 0:
                yield counts, other


def weighed(items: int, most: int, cap: int, touched: int | None = None) -> Iterator[tuple[Counts, Counts]]:
    """All pairs where one more user gives each of at most `touched` items 1 .. cap units: one way, but not alike."""
    for counts in grid(items, most):
        for given in product(range(cap + 1), repeat=items):
            if 0 < sum(map(bool, given)) <= (touched or items):
                yield counts, tuple(c + g for c, g in zip(counts, given, strict=True))


Table = tuple[Counts, ...]  # the counts of every group


def tables(
    groups: int, items: int, largest: int, touched: int, *, most: int | None = None, cap: int = 1
) -> Iterator[tuple[Table, Table]]:
    """All pairs where one more user gives 1 .. cap units to at most `most` items of each of 1 .. `touched` groups."""
    given = [g for g in product(range(cap + 1), repeat=items) if 0 < sum(map(bool, g)) <= (most or items)]
    for table in product(product(range(largest + 1), repeat=items), repeat=groups):
        for size in range(1, touched + 1):
            for where in combinations(range(groups), size):
                for units in product(given, repeat=size):
                    other = list(table)
                    for group, more in zip(where, units, strict=True):
                        other[group] = tuple(map(sum, zip(table[group], more, strict=True)))
                    yield table, tuple(other)
