"""Set unions: do the parts add up, and is the threshold what epsilon and delta ask for?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

from flint import arb

from dpselect.checking.finding import Finding, fails, follows, stated
from tests.judge import tails
from tests.judge.balls import at_most, ball, precision, told
from tests.judge.numbers import Parameters, UnfitError
from tests.judge.steps import Kind, Step, renyi_divergence

LAPLACE = "CountLaplace"
NEAR = Fraction(3, 4)  # of delta for what is in the Renyi budget
NO_LENGTH = "no length of n-grams was counted, so the noise of counts cannot be recomputed"
PARTS = 2**30  # weights are whole multiples of 1 / PARTS
MOST_USERS, ULP = 2**27, Fraction(1, 2**53)  # of l2-descent, in floats


def findings(mechanism: str, said: Parameters, epsilon: Fraction, delta: Fraction) -> Iterator[Finding]:
    """All that can be recomputed of a set union."""
    if said.of.get("bound_in_budget") is True:
        yield from _bound_in_budget(mechanism, said, epsilon, delta)
        return
    items = said.epsilon("epsilon_of_items"), said.delta("delta_of_items")
    yield _sum(said, items, epsilon, delta)
    if said.has("order_of_other_bounds"):
        yield _other_bound(said, items[1], delta)
    if said.of.get("counts_decided") is True:
        yield _counts_that_decided(mechanism, said)
    elif said.has("share_of_counts"):
        yield _counts_of_budget(said, _budget(said, *items))
    elif said.has("epsilon_of_counts") or said.has("deviation_of_counts"):
        yield _counts(said)
    if mechanism == "RenyiShaped":
        yield _curve(*items)
        return
    if mechanism not in THRESHOLDS:
        yield stated(f"this version knows no union called {mechanism}")
        return
    last = _levels(said)[-1]  # levels of n-grams add up
    yield _threshold(mechanism, said, items[0] * last, items[1] * last)


def _sum(said: Parameters, items: tuple[Fraction, Fraction], epsilon: Fraction, delta: Fraction) -> Finding:
    """Items, counts, and the choice of max_items_per_user add up."""
    text, parts = "items", items
    if said.has("epsilon_of_counts"):
        parts = items[0] + said.epsilon("epsilon_of_counts"), items[1] + said.delta("delta_of_counts")
        text = "items and counts"
    bound = said.epsilon("epsilon_of_bound") if said.has("epsilon_of_bound") else Fraction(0)
    rest = epsilon - parts[0] - bound
    text += f" have an epsilon of {told(parts[0])} and a delta of {told(parts[1])}"
    text += f", choosing max_items_per_user one of {told(bound)}" if bound else ""
    if rest < 0 or parts[1] > delta:
        return fails(f"{text}, which is more than what is promised")
    if rest:
        return fails(f"{text}; for what the rest of epsilon is, nothing says")
    return follows(text)


def laplace_steps_of(said: Parameters) -> Iterator[Step]:
    """Count Laplace is as many pure steps as counts that a user moves, on each level; before them a choice."""
    if said.has("epsilon_of_bound"):
        yield Step(Kind.PICK, said.epsilon("epsilon_of_bound"), 1)
    epsilon, most = said.epsilon("epsilon_of_items"), said.whole("max_items_per_user")
    for part in _levels(said):
        yield Step(Kind.PURE, epsilon * part / most, most)


def _levels(said: Parameters) -> list[Fraction]:
    """How the lengths of n-grams share the price."""
    return said.shares("shares") if said.has("shares") else [Fraction(1)]


def _counts(said: Parameters) -> Finding:
    """Gaussian noise on the counts of what was released, with a price of its own."""
    epsilon, delta, rho = said.epsilon("epsilon_of_counts"), said.delta("delta_of_counts"), _rho_of_counts(said)
    counted = _counted_levels(said)
    if rho is None or counted is None:
        return stated(NO_LENGTH)
    with precision():
        needs, text = tails.zcdp_delta(rho, epsilon), _noise_of_counts(said)
        less = tails.whole_square(said.whole("max_items_per_user") * len(counted), epsilon)
        if said.number("deviation_of_counts") ** 2 > less:
            needs = needs.min(tails.whole_gaussian_delta(_rho_of_counts(said, less) or rho, epsilon))
        text += f" need delta {told(needs)}"
        return follows(text) if at_most(needs, delta) else fails(f"{text}, and have {told(delta)}")


def _counts_of_budget(said: Parameters, budget: arb) -> Finding:
    """Gaussian noise on the counts for a share of the Renyi budget of the items, at the order of their curves."""
    share, order, rho = said.number("share_of_counts"), said.whole("order"), _rho_of_counts(said)
    if share >= 1:
        return fails(f"counts take {told(share)} of a Renyi budget, and the items need some of it")
    if rho is None:
        return stated(NO_LENGTH)
    with precision():
        spent = order * ball(rho)
        text = f"{_noise_of_counts(said)} spend {told(spent)} of a budget of {told(budget)} of order {order}"
        return follows(text) if spent <= budget * ball(share) else fails(f"{text}, more than their {told(share)}")


def _budget(said: Parameters, epsilon: Fraction, delta: Fraction) -> arb:
    """The Renyi divergence that gives this epsilon, for the part of delta that is left beside hidden items."""
    order = said.whole("order")
    if order < 2:
        raise UnfitError("the order of a Renyi budget is at least 2")
    with precision():
        a, near = arb(order), ball(delta * NEAR)
        return ball(epsilon) - (1 - 1 / a).log() + (near.log() + a.log()) / (a - 1)


def _curve(epsilon: Fraction, delta: Fraction) -> Finding:
    return stated(
        f"the release curve of the union, which makes its items ({told(epsilon)}, {told(delta)})-DP, is not in the "
        "release"
    )


def _choice(said: Parameters, order: int) -> tuple[Fraction, arb]:
    """The epsilon of the choice of max_items_per_user, and what it spends of a budget of this order."""
    of_bound = said.epsilon("epsilon_of_bound")
    return of_bound, renyi_divergence(Step(Kind.PICK, of_bound, 1), order)


def _bound_in_budget(mechanism: str, said: Parameters, epsilon: Fraction, delta: Fraction) -> Iterator[Finding]:
    """The choice of max_items_per_user, counts and items are in one Renyi budget of the whole price."""
    if mechanism != "RenyiShaped":
        yield fails(f"{mechanism} has no Renyi budget in which a bound could be chosen")
        return
    with precision():
        of_bound, spent = _choice(said, said.whole("order"))
        budget = _budget(said, epsilon, delta) - spent
        text = f"choosing max_items_per_user with epsilon {told(of_bound)} leaves {told(budget)} of the Renyi budget"
        yield follows(text) if budget > 0 else fails(f"{text}, which is nothing")
        if said.has("share_of_counts"):
            yield _counts_of_budget(said, budget)
        elif said.has("deviation_of_counts"):
            yield fails("counts have noise, and nothing says what pays for it")
    yield _curve(epsilon, delta)


def _other_bound(said: Parameters, parts: Fraction, delta: Fraction) -> Finding:
    """What answers without a part in the budget of most bounds has less of delta: docs/mechanisms/renyi-shaped.md."""
    if said.has("delta_of_counts"):
        parts += said.delta("delta_of_counts")
    with precision():
        allowed = _allowed(said, delta)
        text = f"a bound that rounds do not answer has a delta of {told(parts)}"
        return follows(text) if ball(parts) <= allowed else fails(f"{text}, and {told(allowed)} is left to it")


def of_other_bound(said: Parameters, delta: Fraction) -> Fraction:
    """What is left of delta to such a bound, rounded down."""
    with precision():
        mantissa, exponent = _allowed(said, delta).lower().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _allowed(said: Parameters, delta: Fraction) -> arb:
    order = said.whole("order_of_other_bounds")
    if order < 2:
        raise UnfitError("the order of a Renyi budget is at least 2")
    of_bound, spent = _choice(said, order)
    least = (-(order - 1) * (ball(of_bound) + spent)).exp()
    return ball(delta * (1 - NEAR)) + ball(delta * NEAR) * least


def _noise_of_counts(said: Parameters) -> str:
    deviation, most = said.number("deviation_of_counts"), said.whole("max_items_per_user")
    return f"counts with noise of deviation {told(deviation)}, {most:,} moved by one user,"


def _counted_levels(said: Parameters) -> list[Fraction] | None:
    """How the lengths of n-grams that are counted share the price; None if none is."""
    parts = _levels(said)
    lengths = said.of.get("items_by_length")
    if len(parts) == 1:
        return parts
    known = [str(length) for length in range(1, len(parts) + 1)]
    names = [known.index(name) for name in lengths if name in known] if isinstance(lengths, dict) else []
    return parts[min(names) :] if names else None


def _rho_of_counts(said: Parameters, less: Fraction = Fraction(0)) -> Fraction | None:
    """The zCDP of all counts; the deviation is the largest of all levels. None if no level was counted.

    Of noises whose variances are `less` by so much, where that is given.
    """
    deviation, most = said.number("deviation_of_counts"), said.whole("max_items_per_user")
    parts = _counted_levels(said)
    if parts is None:
        return None
    part = min(parts) / sum(parts)
    return most / (2 * (deviation**2 - less) * part) * (1 - Fraction(1, 2**50))  # a float's deviation is rounded


def _counts_that_decided(mechanism: str, said: Parameters) -> Finding:
    """Counts that are shown as they decided have the noise that decided, and no other mechanism shows them."""
    text = f"counts carry the noise that decided, of deviation {told(said.number('deviation_of_counts'))}"
    if mechanism not in ("CountGaussian", LAPLACE):
        return fails(f"{text}, but nothing that {mechanism} decides by may be shown")
    if said.of.get("in_engine"):
        return fails(f"{text}, but what decided in an engine is nowhere known")
    if mechanism == LAPLACE:
        rate = float(said.number("rate"))
        deviation = Fraction(math.sqrt(2) * math.exp(-rate / 2) / -math.expm1(-rate))
    else:
        deviation = said.number("deviation")
    if said.number("deviation_of_counts") < deviation * (1 - Fraction(1, 2**40)):
        return fails(f"{text}, which is less than the {told(deviation)} of the union")
    return follows(text)


# ---- thresholds -------------------------------------------------------------------------------------------


def _threshold(mechanism: str, said: Parameters, epsilon: Fraction, delta: Fraction) -> Finding:
    threshold = said.number("threshold")
    if mechanism == "GreedyGeometric" and said.number("cutoff").denominator != 1:
        return fails("the cutoff of a greedy union is no whole number, so one user may bring many new items")
    with precision():
        wrong = THRESHOLDS[mechanism](said, threshold, epsilon, delta)
    text = f"a threshold of {told(threshold)} users for ({told(epsilon)}, {told(delta)})"
    if wrong:
        return fails(f"{text} {wrong}")
    return follows(f"{text} is no lower than what new items of one user ask for")


Threshold = Callable[[Parameters, Fraction, Fraction, Fraction], str]
"""What is wrong with a threshold for a union of this epsilon and delta; nothing where it is high enough."""


def _tail(tail: tails.Tail, threshold: Fraction, delta: Fraction, most: int, share: Callable[[int], Fraction]) -> str:
    t = tails.too_likely(tail, threshold, delta, most, share)
    return f"lets {t:,} new item{'' if t == 1 else 's'} of one user appear too often" if t else ""


def _count_laplace(said: Parameters, threshold: Fraction, epsilon: Fraction, delta: Fraction) -> str:
    most, rate = said.whole("max_items_per_user"), said.number("rate")
    if rate * most > epsilon:
        return "is of too little noise"
    if threshold.denominator != 1:
        return "is no whole number"
    return _tail(tails.whole_laplace(rate), threshold, delta, most, lambda _: Fraction(1))


def _count_gaussian(said: Parameters, threshold: Fraction, epsilon: Fraction, delta: Fraction) -> str:
    most = said.whole("max_items_per_user")
    if most > PARTS:
        raise UnfitError("there are too many items of one user")
    return _joint(said.number("deviation") * (1 + Fraction(1, 2**50)), threshold, epsilon, delta, most)


def _joint(deviation: Fraction, threshold: Fraction, epsilon: Fraction, delta: Fraction, most: int) -> str:
    """For every number of new items: how likely one appears, and the delta of the noise on the others."""
    new = tails.gaussian(ball(deviation))(ball(threshold - 1))
    todo = [(0, most)]
    while todo:  # the first rises with the number, the second falls
        a, b = todo.pop()
        others = tails.gaussian_delta(ball(deviation) / arb(most - a).sqrt(), epsilon) if a < most else arb(0)
        if -((-new).log1p() * b).expm1() + others <= ball(delta):
            continue
        if a == b:
            return f"lets {a:,} new items of one user appear too often" if a else "is of too little noise"
        middle = (a + b) // 2
        todo += [(a, middle), (middle + 1, b)]
    return ""


def _weighted_gaussian(said: Parameters, threshold: Fraction, epsilon: Fraction, delta: Fraction) -> str:
    deviation = ball(tails.least_deviation(epsilon, delta / 2))
    return _tail(tails.gaussian(deviation), threshold, delta / 2, said.whole("max_items_per_user"), rooted)


def _geometric(_: Parameters, threshold: Fraction, epsilon: Fraction, delta: Fraction) -> str:
    low = tails.geometric_chance(epsilon, delta, math.floor(threshold)) < 0.5
    return "is below the number of users that may be released half of the time" if low else ""


def rooted(t: int) -> Fraction:
    """1 / sqrt(t) in parts, rounded down."""
    return Fraction(math.isqrt(PARTS * PARTS // t), PARTS)


THRESHOLDS: dict[str, Threshold] = {
    LAPLACE: _count_laplace,
    "CountGaussian": _count_gaussian,
    "WeightedGaussian": _weighted_gaussian,
    "TruncatedGeometric": _geometric,
    "GreedyGeometric": _geometric,
}
