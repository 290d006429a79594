"""Budget beside Algorithm 2 of Durfee and Rogers 2019, "pay what you get": which epsilon of a pick, how many questions?

Questions of k = 10 by limited domain, all of which return so many items: fewer than 10 where bottom ends the list.
Algorithm 2 is computed here. It has k* picks of one epsilon and l* thresholds, fixed beforehand, and composes with
half of delta, as Budget does; so many thresholds as those of Budget's questions fit into the other half.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from measure import table

from dpselect import TopK
from dpselect._ground.privacy import BoundedRange, Steps
from dpselect.accounting.composition import advanced, basic, bounded_range, compose, zcdp
from dpselect.accounting.prices import Price
from dpselect.accounting.promise import Promise, how_many
from dpselect.queries.top.plan import TopKPlan

K, DELTA = 10, Fraction(1, 10**6)
APART, OF_A_QUESTION = DELTA / 2, DELTA / 1000
CASES = ((1, 20), (1, 100), (3, 100))  # epsilon, questions
ITEMS = (10, 5, 2, 0)
HALVINGS = 24
Bound = Callable[[list[Steps], Fraction], Fraction]

BOUNDS: dict[str, Bound] = {
    "as published": lambda steps, delta: min(basic(steps), advanced(steps, delta), bounded_range(steps, delta)),
    "zCDP": lambda steps, delta: min(basic(steps), zcdp(steps, delta)),
    "the adaptive optimum": lambda steps, delta: compose(steps, delta).epsilon,
}


def largest(fits: Callable[[Fraction], bool], most: Fraction) -> Fraction:
    """The largest number that fits, by halving."""
    low, high = most / 2**HALVINGS, most
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def picks(items: int) -> int:
    """Those of one answer: bottom is one of them, unless k items came."""
    return min(items + 1, K)


def algorithm_2(epsilon: Fraction, k_star: int, bound: Bound) -> Fraction:
    """The largest epsilon of k* picks whose total is epsilon."""
    return largest(lambda e: bound([Steps(BoundedRange(e), k_star)], APART) <= epsilon, epsilon)


def asked(epsilon: Fraction) -> TopKPlan:
    """A question at Budget's usual delta."""
    return TopK(K, method="limited-domain").at(epsilon=epsilon, delta=OF_A_QUESTION)


def paid(promise: Promise, query: TopKPlan, items: int) -> int:
    """How many such questions Budget takes, if each returns so many items."""
    release: Any = SimpleNamespace(found=(items,))
    most: Price = query.price_at(promise.order)
    return how_many(promise, most, typical=query.cost_at(release, promise.order))


def main() -> None:
    """Two tables for each promise."""
    for total, questions in CASES:
        epsilon = Fraction(total)
        promise, rows, counted = Promise.for_account(epsilon, DELTA), [], []
        fixed = asked(largest(lambda x, p=promise, n=questions: paid(p, asked(x), K) >= n, epsilon))
        l_star = int((DELTA - APART) / fixed.selection.selector.delta_threshold)
        for items in ITEMS:
            found = largest(lambda x, p=promise, n=questions, j=items: paid(p, asked(x), j) >= n, epsilon)
            ours = asked(found).selection.selector.epsilon_per_pick
            k_star = (questions - 1) * picks(items) + K  # the last question must still find k of them
            theirs = [algorithm_2(epsilon, k_star, bound) for bound in BOUNDS.values()]
            rows.append([items, k_star, *(f"{float(e):.5f}" for e in (ours, *theirs))])
            left = (questions * K - K) // picks(items) + 1
            counted.append([items, paid(promise, fixed, items), min(left, l_star)])
        print(f"({total}, 1e-6), {questions} questions: the largest epsilon of a pick\n")
        table(["items", "k*", "Budget", *(f"Algorithm 2, {name}" for name in BOUNDS)], rows)
        print(f"Made for {questions} full lists, questions that are paid if all end early:\n")
        table(["items", "Budget", "Algorithm 2"], counted)


if __name__ == "__main__":
    main()
