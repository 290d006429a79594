"""Answers of picks, of one draw of a set, and of noisy counts after them: does the promise follow by composition?"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from dpselect.checking.finding import Finding, fails, follows
from tests.judge import adaptive, measures
from tests.judge.balls import at_most, ball, precision, told
from tests.judge.counts import counts_of, of_measures
from tests.judge.numbers import Parameters, UnfitError
from tests.judge.steps import Kind, Step, Steps, added, pure_delta, renyi_delta

RENYI, PURE, ADAPTIVE = "Renyi", "optimal pure", "adaptive optimum"
NAMES = {RENYI: "Rényi bound", PURE: "optimum of pure steps", ADAPTIVE: "adaptive optimum"}
RECURSIVE = "RecursiveQuantiles"
OF_SETS = "CanonicalSet"
OF_VALUES = {"Quantile", RECURSIVE, "QuantileByGroup"}


def steps_of(mechanism: str, said: Parameters) -> list[Step]:
    """What an answer takes at most, in the order in which it is taken."""
    if mechanism == OF_SETS:
        first = Step(Kind.PICK, said.epsilon("epsilon_of_set"), 1)
    elif mechanism == RECURSIVE:
        first = Step(Kind.PICK, said.epsilon("epsilon_per_pick"), levels_of(said))
    else:
        times = len(said.several("q")) if mechanism == "Quantile" else said.whole("k")
        first = Step(Kind.PICK, said.epsilon("epsilon_per_pick"), times)
    return [first, *cells_of(mechanism, said), *told_of(said, said.whole("k") if said.has("k") else 1)]


def cells_of(mechanism: str, said: Parameters, groups: int = 1) -> list[Step]:
    """What the noisy cells between quantiles take: a user is in one of them in each of so many groups."""
    return [Step(Kind.PURE, said.epsilon("epsilon_of_cells"), groups)] if mechanism in OF_VALUES else []


def levels_of(said: Parameters) -> int:
    """The levels of quantiles that are found by recursion: each can have twice as many ranks as the one before."""
    wanted, ranks, levels = len(said.several("q")), 0, 0
    while ranks < wanted:
        ranks, levels = ranks + 2**levels, levels + 1
    if said.whole("levels") != levels:
        raise UnfitError(f"{wanted:,} quantiles take another number of levels than is stated")
    return levels


def told_of(said: Parameters, items: int) -> list[Step]:
    """What noisy numbers of so many items take."""
    steps = of_measures(said, items, min(items, measures.moved(said))) if said.has(measures.MEASURES) else []
    return [one for one in (*steps, *counts_of(said, items)) if one.times]


def failure_of(mechanism: str, said: Parameters) -> Fraction:
    """The delta that a threshold takes."""
    return said.delta("delta_threshold") if mechanism == "LimitedDomain" else Fraction(0)


def composed(mechanism: str, said: Parameters, epsilon: Fraction, delta: Fraction, bound: str) -> Finding:
    """Do the steps, and the threshold, come to no more than the promise?"""
    steps, threshold = steps_of(mechanism, said), failure_of(mechanism, said)
    if mechanism == "LimitedDomain" and threshold == 0:
        return fails("a threshold with a delta of 0 lets no item come out; it would be infinitely high")
    return of_steps(steps, epsilon, delta, threshold, bound)


def of_steps(steps: Steps, epsilon: Fraction, delta: Fraction, threshold: Fraction, bound: str) -> Finding:
    """The same for steps that are known."""
    left = delta - threshold
    made = " and ".join(_told(step) for step in steps if step.times) or "no steps"
    if left < 0:
        return fails(f"the threshold alone has a delta of {told(threshold)}, and {told(delta)} is promised")
    if not is_noisy(steps) and added(steps) <= epsilon:
        sums = f"{made}: their epsilons add up to {told(added(steps))}"
        return follows(sums + (f"; the threshold has a delta of {told(threshold)}" if threshold else ""))
    return _by_bounds(steps, epsilon, left, threshold, made, bound)


def _by_bounds(steps: Steps, epsilon: Fraction, left: Fraction, threshold: Fraction, made: str, bound: str) -> Finding:
    """By the bound that the release names, or by another that is enough."""
    if left == 0:
        sums = "Gaussian noise needs a delta" if is_noisy(steps) else f"their epsilons add up to {told(added(steps))}"
        return fails(f"{made}: {sums}, and no delta is left for composing them")
    needs: arb | None = renyi_delta(steps, epsilon)
    name = RENYI
    if needs is not None and is_noisy(steps) and not at_most(needs, left):
        return fails(f"{made} by the Rényi bound need delta {told(needs)}; {_left(left, threshold)}")
    if needs is not None and not at_most(needs, left):
        by_renyi = needs
        name, needs = _optimum(steps, epsilon, left, bound)
        if needs is None or not at_most(needs, left):
            need = f"by the Rényi bound need delta {told(by_renyi)}"
            more = "" if name == RENYI else f", and the {NAMES[name]} does not bring it down to {told(left)}"
            return fails(f"{made} {need}{more}; {_left(left, threshold)}")
    assert needs is not None
    text = f"{made} by the {NAMES[name]} need delta {told(needs)}"
    if threshold:
        with precision():
            text += f"; threshold {told(threshold)}: together {told(needs + ball(threshold))}"
    return follows(text)


def _optimum(steps: Steps, epsilon: Fraction, left: Fraction, bound: str) -> tuple[str, arb | None]:
    """The exact bounds, which take longer: where there are picks the adaptive one, else that of pure steps."""
    if bound != ADAPTIVE and all(one.kind is Kind.PURE for one in steps):
        return PURE, pure_delta(steps, epsilon)
    if any(one.kind is Kind.PICK for one in steps):
        found = adaptive.confirmed(steps, epsilon, left)
        if found is not None:
            return ADAPTIVE, found
    return ADAPTIVE, None


def is_noisy(steps: Steps) -> bool:
    """Is there a step without an epsilon?"""
    return any(step.kind is Kind.NOISE for step in steps)


def _told(step: Step) -> str:
    if step.kind is Kind.NOISE:
        return f"Gaussian noise of rho {told(step.epsilon)}"
    what = "pick" if step.kind is Kind.PICK else "pure step"
    return f"{step.times:,} {what}{'' if step.times == 1 else 's'} of {told(step.epsilon)}"


def _left(left: Fraction, threshold: Fraction) -> str:
    beside = f" beside the threshold's {told(threshold)}" if threshold else ""
    return f"{told(left)} is left for them{beside}"
