"""What the picks of a greedy hitting set take: a user matters up to the first pick that reaches them.

Recomputed from docs/mechanisms/hitting-set.md: with r = exp(epsilon of a pick) and one pick more to come, a user whose
items hold the share p of its mass is reached with probability p, and a history that has not reached them has become
1 + (r - 1) p times as likely without them as with them. The worst p is where the derivative is 0.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from dpselect.checking.finding import Finding, fails, follows
from tests.judge.balls import at_most, ball, precision, told
from tests.judge.numbers import Parameters

KNOWN = "GreedyHittingSet"
MANY = 2000  # picks that are gone through; of more, the bound that holds for every number of them


def composed(said: Parameters, epsilon: Fraction, delta: Fraction) -> Finding:
    """Do the picks of a known domain keep what is promised? By their sum, or by their delta at epsilon."""
    picks, each = said.whole("k"), said.epsilon("epsilon_per_pick")
    if added(said) <= epsilon:
        return follows(f"{picks:,} picks of {told(each)} add up to {told(added(said))}")
    if each > epsilon:
        return fails(f"one pick of {told(each)} takes more than {told(epsilon)}")
    with precision():
        needs = delta_of(picks, each, epsilon)
        text = f"{picks:,} picks for users not yet reached need delta {told(needs)} at {told(epsilon)}"
        return follows(text) if at_most(needs, delta) else fails(f"{text}, and have {told(delta)}")


def added(said: Parameters) -> Fraction:
    """The epsilons of all picks of a known domain."""
    return said.whole("k") * said.epsilon("epsilon_per_pick")


def divergence(picks: int, epsilon: Fraction, order: int) -> arb:
    """The larger one of both Rényi divergences of this order."""
    with precision():
        if picks > MANY:
            return _of_many(picks, epsilon, order)
        return max((_without(picks, epsilon, order), _with(picks, epsilon, order)), key=lambda one: float(one.mid()))


def delta_of(picks: int, epsilon: Fraction, total: Fraction) -> arb:
    """The delta at a total that is no less than the epsilon of one pick."""
    with precision():
        if total >= picks * epsilon:
            return ball(0)
        rise = ball(epsilon).exp() - 1
        grown = (ball(total + epsilon) / (picks + 1)).exp()  # 1 + rise p, of the worst p
        unreached = (1 - (grown - 1) / rise) ** picks
        return unreached * (1 - ball(total).exp() / grown**picks)


def _without(picks: int, epsilon: Fraction, order: int) -> arb:
    """Of the law without the user against the law with them."""
    rise, moment, reached = ball(epsilon).exp() - 1, ball(1), (-ball(epsilon * (order - 1))).exp()
    for _ in range(picks):
        fall = (moment - reached) / moment
        # (1 + rise p)^(order - 1) (1 - fall p)
        p = _worst((order - 1) * rise - fall, order * rise * fall)
        moment = (moment * (1 + rise * p) ** (order - 1) * (1 - fall * p)).upper()
    return moment.log() / (order - 1)


def _with(picks: int, epsilon: Fraction, order: int) -> arb:
    """Of the law with the user against the law without them."""
    rise, moment, reached = ball(epsilon).exp() - 1, ball(1), ball(epsilon * order).exp()
    for _ in range(picks):
        gain = (reached - moment) / moment
        # (1 + gain p) / (1 + rise p)^order
        p = _worst(gain - order * rise, (order - 1) * rise * gain)
        moment = (moment * (1 + gain * p) / (1 + rise * p) ** order).upper()
    return moment.log() / (order - 1)


def _of_many(picks: int, epsilon: Fraction, order: int) -> arb:
    """The larger limit of both as the picks go on; where there is none, that of as many bounded-range steps."""
    rise = ball(epsilon).exp() - 1
    kept = 1 - (order - 1) * rise
    if not kept > 0:
        return ball(order * epsilon**2 / 8 * picks)
    without, with_ = -(ball(epsilon * (order - 1)).exp() * kept).log(), ball(order * epsilon) - (1 + order * rise).log()
    return max((without, with_), key=lambda one: float(one.mid())) / (order - 1)


def _worst(above: arb, below: arb) -> arb:
    return (above / below).max(ball(0)).min(ball(1))
