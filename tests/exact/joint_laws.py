"""The joint mechanisms by brute force: every set or sequence with its loss, from the definitions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, permutations

from flint import arb, ctx

from dpselect._ground.reals import enclose
from dpselect.testing import Law
from tests.exact.laws import BITS

Answer = tuple[int, ...]
LossOf = Callable[[Sequence[int], Answer], int]


def joint_loss(counts: Sequence[int], chosen: Answer) -> int:
    """Gillenwater et al. 2021, Lemma 5: max over i of c_(i) - c_(S, i), both sorted."""
    best, mine = sorted(counts, reverse=True), sorted((counts[i] for i in chosen), reverse=True)
    return max(b - c for b, c in zip(best, mine, strict=False))


def sequence_loss(counts: Sequence[int], chosen: Answer) -> int:
    """The same in the order of the sequence."""
    best = sorted(counts, reverse=True)
    return max(b - counts[i] for b, i in zip(best, chosen, strict=False))


def canonical_loss(counts: Sequence[int], chosen: Answer) -> int:
    """How far the smallest inside lies below the largest outside."""
    outside = [c for i, c in enumerate(counts) if i not in chosen]
    return max(0, max(outside) - min(counts[i] for i in chosen)) if outside else 0


def losses(counts: Sequence[int], k: int, loss: LossOf) -> dict[Answer, int]:
    """Every answer with its loss."""
    answers: Iterator[Answer] = permutations(range(len(counts)), k)
    if loss is not sequence_loss:
        answers = combinations(range(len(counts)), k)
    return {answer: loss(counts, answer) for answer in answers}


def exponential(found: dict[Answer, int], rate: Fraction) -> Law:
    """P in proportion to exp(-rate loss)."""
    with ctx.workprec(BITS):
        weights: dict[Hashable, arb] = {a: enclose(-rate * x).exp() for a, x in found.items()}
        total = sum(weights.values(), arb(0))
        return {a: w / total for a, w in weights.items()}


def sorted_grid(items: int, most: int) -> Iterator[tuple[int, ...]]:
    """All count vectors up to the order of the items, ties included."""
    return combinations_with_replacement(range(most, -1, -1), items)
