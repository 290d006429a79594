"""How many groups of a long tail get a good answer, by the share of epsilon that finds the groups.

Nothing is drawn: the numbers follow from the laws of the mechanisms. Group r of 2,000 has 200,000 / r^1.3 users. A good
answer is one of a group that is found with a chance of a half, and misses by a tenth of its users at most, 95 times of
100.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dpselect.mechanisms import ChoiceByGroup, ExponentialMechanism, QuantileByGroup
from dpselect.queries.groups import GroupFinder
from dpselect.utility.union_accuracy import users_for

SHARES = tuple(map(Fraction, ("1/10", "1/6", "1/4", "1/3", "1/2")))
DELTA = Fraction(1, 10**6)
SIZES = [int(200_000 / rank**1.3) for rank in range(1, 2001)]
GOOD, BETA = 10, 0.05

Gap = Callable[[Fraction, int], Fraction]


def median(epsilon: Fraction, groups: int) -> Fraction:
    """By how many users a median in steps of 1 between 0 and 120 misses."""
    ages = QuantileByGroup(bounds=(0, 120), step=1, max_groups_per_user=groups, epsilon=epsilon, delta=DELTA / 2)
    return ages.each.gap(BETA)


def quartiles(epsilon: Fraction, groups: int) -> Fraction:
    """By how many users three quantiles without a step miss."""
    shares = ("0.25", "0.5", "0.75")
    fine = QuantileByGroup(q=shares, bounds=(0, 120), max_groups_per_user=groups, epsilon=epsilon, delta=DELTA / 2)
    return fine.each.gap(BETA)


def choice(epsilon: Fraction, groups: int) -> Fraction:
    """By how many users a choice of ten misses."""
    chosen = ChoiceByGroup(max_groups_per_user=groups, epsilon=epsilon, delta=DELTA / 2)
    assert isinstance(chosen.each, ExponentialMechanism)
    return chosen.each.gap(BETA, 10)


def good(epsilon: Fraction, groups: int, share: Fraction, gap: Gap) -> int:
    """How many groups are found and answered well."""
    needed = users_for(GroupFinder.for_price(epsilon * share, DELTA, groups).union, 0.5, 1)
    least = GOOD * gap(epsilon * (1 - share), groups)
    return sum(needed is not None and size >= needed and size >= least for size in SIZES)


def main() -> None:
    """A line for each question."""
    print("| epsilon | G | question |", *(f"{share} |" for share in SHARES))
    print("| --- | --- | --- |", *("--- |" for _ in SHARES))
    for epsilon in map(Fraction, ("0.3", "1", "3")):
        for groups in (1, 4):
            for gap in (median, quartiles, choice):
                found = [good(epsilon, groups, share, gap) for share in SHARES]
                print(f"| {float(epsilon):g} | {groups} | {gap.__name__} |", *(f"{one} |" for one in found), flush=True)


if __name__ == "__main__":
    main()
