"""The worst that anybody can do to an account: every strategy at once, by dynamic programming over what was charged.

Two neighbours answer with P and Q, and somebody who knows all of the rule chooses each next step from all answers so
far. Steps are the worst of their kinds: randomised response, two outcomes with losses t and t - e, a tell. A call of
several picks may be left open while others are asked, and may end early, by whichever of the two outcomes suits.

All losses are multiples of one unit, so what can still be gained is a list over the total loss L = ln(P / Q) so far.
At the end it is (1 - e^(E - L))+, whose mean under P is the sum of (P - e^E Q)+ over all paths; before, it is the
largest over what may come next. Floats do: all terms are positive, and nothing is compared closer than to 10^-9.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np

from dpselect._ground.privacy import PureDP, Value
from dpselect.accounting.prices import Price, Spent, divergence
from dpselect.accounting.promise import Promise

Law = tuple[tuple[int, float, float], ...]
"""Outcomes: the loss in units, P, Q."""


def laws(value: Value, unit: Fraction) -> list[Law]:
    """The worst laws of a step, with losses in units."""
    size = value.epsilon / unit
    assert size.denominator == 1
    e, n, u = float(value.epsilon), int(size), float(unit)
    if isinstance(value, PureDP):
        true = 1 / (1 + math.exp(-e))
        return [((n, true, 1 - true), (-n, 1 - true, true))]
    found = []
    for t in range(1, n):
        p = math.expm1(t * u - e) / math.expm1(-e)
        found.append(((t, p, p * math.exp(-t * u)), (t - n, 1 - p, (1 - p) * math.exp(e - t * u))))
    return found


def reversed_law(law: Law) -> Law:
    """The same step, seen from the other neighbour."""
    return tuple(sorted(((-loss, q, p) for loss, p, q in law), reverse=True))


@dataclass(frozen=True)
class Call:
    """At most `picks` steps of one kind, after a tell of probability `tell`; `price` is by the steps it took."""

    value: Value
    picks: int
    tell: Fraction
    price: Callable[[int, bool], Price]
    """Of so many steps, of which bottom, or not, was the last."""


class Account:
    """The rule as it is."""

    nothing = Spent()

    def __init__(self, promise: Promise) -> None:
        self.promise = promise

    def opens(self, settled: Spent, pending: Spent, call: Call) -> Spent | None:
        """The ceiling of a call that is admitted."""
        ceiling = self.promise.charge(settled, call.price(call.picks, False))
        return ceiling if self.promise.admits(settled, pending, ceiling) else None

    def closes(self, ceiling: Spent, call: Call, taken: int, bottom: bool) -> Spent:
        """What a call is charged that took so many steps."""
        return self.promise.settled_charge(ceiling, call.price(taken, bottom))


@dataclass(frozen=True)
class Open:
    """A call that has not ended."""

    call: int
    taken: int
    ceiling: Spent


@dataclass(frozen=True)
class State:
    """What is known of the past, but for the loss."""

    settled: Spent
    open: tuple[Open, ...]
    calls: int
    grants: int


class Adversary:
    """All strategies against an account: of at most `calls` calls from this menu, `at_once` of them open together.

    `later` is the account after a grant, which comes when it suits the strategy.
    """

    def __init__(
        self,
        account: Account,
        menu: list[Call],
        unit: Fraction,
        *,
        calls: int,
        at_once: int = 1,
        backwards: bool = False,
        later: Account | None = None,
    ) -> None:
        self.accounts = [account] if later is None else [account, later]
        self.menu, self.at_once, self.calls = menu, at_once, calls
        forms = [laws(call.value, unit) if call.picks else [] for call in menu]
        self.laws = [[reversed_law(law) for law in of] for of in forms] if backwards else forms
        farthest = max((abs(loss) for of in self.laws for law in of for loss, _, _ in law), default=0)
        self.reach = farthest * calls * max(call.picks for call in menu)
        losses = np.arange(-self.reach, self.reach + 1) * float(unit)
        self.at_the_end = [np.maximum(0, -np.expm1(float(a.promise.epsilon) - losses)) for a in self.accounts]
        self._known: dict[State, np.ndarray] = {}

    def gains(self) -> float:
        """The largest sum of (P - e^E Q)+ over all strategies."""
        return float(self._worth(State(self.accounts[0].nothing, (), self.calls, 0))[self.reach])

    def _worth(self, state: State) -> np.ndarray:
        if state not in self._known:
            best = self.at_the_end[state.grants]
            for found in self._choices(state):
                best = np.maximum(best, found)
            self._known[state] = best
        return self._known[state]

    def _choices(self, state: State) -> Iterator[np.ndarray]:
        """What each possible next step is worth."""
        account = self.accounts[state.grants]
        if state.grants + 1 < len(self.accounts):
            yield self._worth(replace(state, grants=state.grants + 1))
        if state.calls and len(state.open) < self.at_once:
            pending = sum((one.ceiling for one in state.open), account.nothing)
            for number, call in enumerate(self.menu):
                ceiling = account.opens(state.settled, pending, call)
                if ceiling is not None:
                    opened, mass = Open(number, 0, ceiling), float(call.tell)
                    yield mass + (1 - mass) * self._after(replace(state, calls=state.calls - 1), opened)
        for place, one in enumerate(state.open):
            others = replace(state, open=state.open[:place] + state.open[place + 1 :])
            taken = replace(one, taken=one.taken + 1)
            goes_on, ends = self._after(others, taken), self._after(others, taken, bottom=True)
            ways = (goes_on,) if ends is goes_on else (goes_on, ends)
            for (loss, p, _), (other, rest, _) in self.laws[one.call]:
                for first, second in product(ways, ways):
                    yield p * shifted(first, loss) + rest * shifted(second, other)

    def _after(self, others: State, one: Open, *, bottom: bool = False) -> np.ndarray:
        """The worth where a call has come so far: still open, or charged."""
        call = self.menu[one.call]
        if bottom or one.taken == call.picks:
            charged = self.accounts[others.grants].closes(one.ceiling, call, one.taken, bottom)
            return self._worth(replace(others, settled=others.settled + charged))
        still = sorted([*others.open, one], key=lambda o: (o.call, o.taken, o.ceiling.failure))
        return self._worth(replace(others, open=tuple(still)))


def shifted(worth: np.ndarray, by: int) -> np.ndarray:
    """The list seen from a loss `by` units further on; the ends are out of reach."""
    if by > 0:
        return np.concatenate([worth[by:], np.full(by, worth[-1])])
    return np.concatenate([np.full(-by, worth[0]), worth[:by]]) if by else worth


def simple(value: Value, order: int, *, failure: Fraction = Fraction(0)) -> Call:
    """A call of one step."""
    price = Price(value.epsilon, divergence(value, order), failure)
    return Call(value, 1, failure, lambda *_: price)


def tell(probability: Fraction) -> Call:
    """Only a tell."""
    price = Price(Fraction(0), Fraction(0), probability)
    return Call(PureDP(Fraction(0)), 0, probability, lambda *_: price)


def picks(value: Value, k: int, order: int, *, failure: Fraction = Fraction(0)) -> Call:
    """At most k steps, priced by the outcome: bottom is a pick like any."""
    each = divergence(value, order)
    return Call(value, k, failure, lambda n, _: Price(value.epsilon * n, each * n, failure))
