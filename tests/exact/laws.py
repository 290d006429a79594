"""Closed forms to compare laws with, and the two measures of privacy between laws."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cache
from itertools import permutations
from typing import Any

from flint import arb, ctx

from dpselect._ground.reals import enclose
from dpselect.draws import Draws
from dpselect.testing import Law, hockey_stick, law
from tests.papers.exact import ExactNoisyDraws

BITS = 192
CLOSE = 1e-40  # balls of 192 bits agree to far more than this


def same(found: Law, expected: Law) -> bool:
    """Whether two laws are equal up to the radius of their balls, which is tiny."""
    with ctx.workprec(BITS):
        answers = set(found) | set(expected)
        gaps = [found.get(a, arb(0)) - expected.get(a, arb(0)) for a in answers]
        return all(g.overlaps(arb(0)) and g.abs_upper() < CLOSE for g in gaps)


def law_of(mechanism: Any, counts: Sequence[Any]) -> Law:
    """The law of a mechanism's answer on these counts, as tuples of indices."""

    def run(draws: Draws) -> tuple[int, ...]:
        return tuple(int(i) for i in mechanism(counts, draws=draws))

    return law(run, ExactNoisyDraws)


def softmax(counts: Sequence[Any], rate: Fraction) -> Law:
    """P(i) in proportion to exp(rate x count)."""
    with ctx.workprec(BITS):
        weights = [enclose(rate * Fraction(c)).exp() for c in counts]
        return {(i,): w / sum(weights) for i, w in enumerate(weights)}


def peeled(counts: Sequence[int], k: int, rate: Fraction) -> Law:
    """Durfee and Rogers 2021, equation (1): the product of softmaxes without the winners so far."""
    with ctx.workprec(BITS):
        w = [enclose(rate * c).exp() for c in counts]
        found: Law = {}
        for order in permutations(range(len(counts)), k):
            p, left = arb(1), set(range(len(counts)))
            for i in order:
                p *= w[i] / sum(w[j] for j in left)
                left.remove(i)
            found[order] = p
        return found


def max_log_ratio(left: Law, right: Law) -> arb:
    """max over answers of ln(left / right), both laws having the same answers."""
    with ctx.workprec(BITS):
        ratios = [(p / right[a]).log() for a, p in left.items()]
        return max(ratios, key=lambda r: float(r.mid()))


def log_range(left: Law, right: Law) -> arb:
    """max less min over answers of ln(left / right): the bounded range of this pair."""
    with ctx.workprec(BITS):
        return max_log_ratio(left, right) + max_log_ratio(right, left)


def at_most(value: arb, bound: Fraction) -> bool:
    """Whether a ball is not certain to exceed a bound by more than its own tiny radius."""
    with ctx.workprec(BITS):
        return bool(value.mid() <= enclose(bound) + CLOSE)


def equals(value: arb, bound: Fraction) -> bool:
    """Whether a ball meets a value to far more digits than a bug could."""
    with ctx.workprec(BITS):
        return bool(abs(value - enclose(bound)) < CLOSE)


def delta_between(left: Law, right: Law, epsilon: Fraction) -> arb:
    """The larger hockey-stick divergence of the two directions."""
    return largest((hockey_stick(left, right, epsilon), hockey_stick(right, left, epsilon)))


def cached_laws(mechanism: Any) -> Callable[[tuple[int, ...]], Law]:
    """`law_of` for one mechanism, each histogram once."""

    @cache
    def find(counts: tuple[int, ...]) -> Law:
        return law_of(mechanism, counts)

    return find


def largest(balls: Iterable[arb]) -> arb:
    """The ball whose middle is the largest."""
    return max(balls, key=lambda ball: float(ball.mid()))


Laws = Callable[[Any], Law]
Pairs = Iterable[tuple[Any, Any]]


def worst_delta(laws: Laws, pairs: Pairs, epsilon: Fraction) -> arb:
    """The largest hockey-stick divergence of any pair, in either direction."""
    return largest(delta_between(laws(a), laws(b), epsilon) for a, b in pairs)


def private(laws: Laws, pairs: Pairs, epsilon: Fraction, delta: Fraction) -> bool:
    """Is every pair within epsilon and delta, in both directions?"""
    return all(at_most(delta_between(laws(a), laws(b), epsilon), delta) for a, b in pairs)


def pure(laws: Laws, pairs: Pairs, epsilon: Fraction) -> bool:
    """Is every pair within epsilon, in both directions?"""
    ways = (way for pair in pairs for way in (pair, pair[::-1]))
    return all(at_most(max_log_ratio(laws(a), laws(b)), epsilon) for a, b in ways)


def uniform(answers: Iterable[Any]) -> Law:
    """The law in which all of these are as likely."""
    every = list(answers)
    with ctx.workprec(BITS):
        return {answer: arb(1) / len(every) for answer in every}
