"""Answers of picks that are shown while they pass one noisy threshold: is it high enough, and are the steps paid?"""

from __future__ import annotations

from fractions import Fraction

from dpselect.checking.finding import Finding, fails, follows
from tests.judge import tails
from tests.judge.balls import at_most, precision, told
from tests.judge.counts import by_units
from tests.judge.numbers import Parameters
from tests.judge.picks import is_noisy, of_steps, told_of
from tests.judge.steps import Kind, Step, added

NAME = "LimitedDomainSparse"


def composed(said: Parameters, epsilon: Fraction, delta: Fraction, bound: str) -> Finding:
    """Threshold and picks by adding up, where the test that ends a list is hidden with its pick; or one after another.

    docs/mechanisms/limited-domain-sparse.md has both theorems.
    """
    threshold, test = said.epsilon("epsilon_of_threshold"), said.epsilon("epsilon_of_test")
    failure, k, pick = said.delta("delta_threshold"), said.whole("k"), said.epsilon("epsilon_per_pick")
    most, gap = by_units(said), said.whole("height") - by_units(said)
    if gap < 0 or failure == 0:
        return fails("the threshold is not above the counts that it is to hide")
    with precision():
        needs = tails.geometric_pair(threshold / most, test / most, gap)
        passes = f"an item that only one data set has passes the threshold with probability {told(needs)}"
        if not at_most(needs, failure):
            return fails(f"{passes}, and {told(failure)} is paid for it")
    steps = [Step(Kind.PICK, pick, k), *told_of(said, k)]
    sums = threshold + added(steps) - pick + max(pick, test)
    if failure > delta:
        return fails(f"the threshold alone has a delta of {told(failure)}, and {told(delta)} is promised")
    if not is_noisy(steps) and sums <= epsilon:
        return follows(f"{passes}; threshold, picks and the larger of pick and test add up to {told(sums)}")
    left = epsilon - threshold - test
    if left <= 0:
        return fails("threshold and tests take all of epsilon")
    found = of_steps(steps, left, delta, failure, bound)
    return Finding(found.verdict, f"{passes}; {found.sentence}")


def shown(said: Parameters, items: int) -> Fraction:
    """What threshold and picks of so many items cost by adding up: the one that ended it is hidden with its test."""
    pick, test = said.epsilon("epsilon_per_pick"), said.epsilon("epsilon_of_test")
    last = max(pick, test) if items < said.whole("k") else Fraction(0)
    return said.epsilon("epsilon_of_threshold") + items * pick + last


def steps_of(said: Parameters) -> list[Step]:
    """All steps, those of the hidden picks too: threshold and tests are one bounded-range step."""
    tests = said.epsilon("epsilon_of_threshold") + 2 * said.epsilon("epsilon_of_test")
    picks = Step(Kind.PICK, said.epsilon("epsilon_per_pick"), said.whole("k"))
    return [Step(Kind.PICK, tests, 1), picks, *told_of(said, said.whole("k"))]
