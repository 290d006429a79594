"""One judge for all statistical tests: exact binomial tails, a union bound, wrong distributions that must be refused.

A sampler of a finite distribution is judged by the count of every answer, each against an exact binomial interval whose
two tails together have probability `false_alarm` / number of answers. At the sample size every wrong distribution would
be refused with probability at least 1 - `miss`; at five sixths of it some would not.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache

from flint import arb, ctx

FALSE_ALARM = 1e-8  # about 90 judgements in the suite: together below 1e-6
MISS = 1e-3
LARGEST = 200_000
SIZES = [200]
while SIZES[-1] * 6 // 5 <= LARGEST:
    SIZES.append(SIZES[-1] * 6 // 5)

Law = Mapping[Hashable, float]


def tail(n: int, p: float, x: int) -> float:
    """P(Binomial(n, p) >= x), by the regularised incomplete beta function."""
    if x <= 0:
        return 1.0
    if x > n or p <= 0:
        return 0.0
    if p >= 1:
        return 1.0
    with ctx.workprec(64):
        return float(arb(p).beta_lower(arb(x), arb(n - x + 1), True).mid())


@cache
def interval(n: int, p: float, level: float) -> tuple[int, int]:
    """The counts that are kept: each tail outside has probability at most level / 2."""
    low = _first(n, lambda x: 1 - tail(n, p, x + 1) > level / 2)
    high = _first(n, lambda x: tail(n, p, x + 1) <= level / 2)
    return low, high


def _first(n: int, holds: Callable[[int], bool]) -> int:
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def refusal(n: int, law: Law, wrong: Law) -> float:
    """A lower bound of the probability that a sampler of `wrong` is refused, by an answer that shows it well."""
    level, best = FALSE_ALARM / len(law), 0.0
    for answer in sorted(law, key=lambda a: -abs(law[a] - wrong.get(a, 0.0)) / math.sqrt(law[a] or 1.0)):
        low, high = interval(n, law[answer], level)
        q = wrong.get(answer, 0.0)
        best = max(best, 1 - tail(n, q, low) + tail(n, q, high + 1))
        if best >= 1 - MISS:
            break
    return best


def size(law: Law, wrong: Sequence[Law]) -> int:
    """How many samples it takes to refuse each wrong distribution."""

    def enough(n: int) -> bool:
        return all(refusal(n, law, w) >= 1 - MISS for w in wrong)

    place = bisect_left(SIZES, True, key=enough)
    assert place < len(SIZES), "a wrong distribution is too close to the right one to be refused by so large a sample"
    return SIZES[place]


def accepts(sample: Callable[[], Hashable], law: Law, n: int) -> bool:
    """Whether n samples fit the distribution."""
    seen = Counter(sample() for _ in range(n))
    if set(seen) - set(law):
        return False
    level = FALSE_ALARM / len(law)
    bounds = {a: interval(n, p, level) for a, p in law.items()}
    return all(low <= seen[a] <= high for a, (low, high) in bounds.items())


def judge(sample: Callable[[], Hashable], law: Law, wrong: Sequence[Law]) -> None:
    """Fail unless the sampler fits its distribution in a sample that would refuse every wrong one."""
    assert len(wrong) >= 2
    assert accepts(sample, law, size(law, wrong))
