"""Answers that are no plain composition: noise on the largest counts, and a union whose items are then picked."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from flint import arb

from dpselect.checking.finding import Finding, fails, follows, stated
from tests.judge import by_group, measures, unions
from tests.judge.balls import ball, precision, told
from tests.judge.counts import of_measures, shared_rho
from tests.judge.numbers import Parameters, UnfitError
from tests.judge.picks import of_steps
from tests.judge.steps import Kind, Step, renyi_divergence

COMPOSED = Fraction(3, 4)  # of delta, for the divergence that union and picks share
MOST_ORDER = 10**6
MOST_MOMENT = 400  # (order - 1) times the divergence that a union takes a share of: more is no use to it
DISCOVERED = "DiscoverThenPeel"


def discovered(said: Parameters, epsilon: Fraction, delta: Fraction, counted: bool) -> Iterator[Finding]:
    """The picks and counts of a ranking take no more than what its union leaves. The union itself is only stated."""
    k, found, share = said.whole("k"), said.of.get("discovered"), said.number("union_share")
    most = said.whole("max_items_per_user")
    if isinstance(found, bool) or not isinstance(found, int) or found < 0 or share >= 1:
        raise UnfitError("discovered is no number of items, or union_share no part")
    sizes = _sizes(said, found)
    steps = [
        Step(Kind.PICK, said.epsilon("epsilon_per_pick"), sum(max(0, min(k, size - 1)) for size in sizes)),
        _counts(said, [min(k, size) for size in sizes]) if counted else Step(Kind.PURE, Fraction(1), 0),
    ]
    if said.has(measures.MEASURES):
        (size,) = (min(k, size) for size in sizes)  # measures are of one list
        steps += of_measures(said, size, size)
    left, spent = epsilon - by_group.for_bound(said), Fraction(0)
    if said.has("bound_in_budget"):
        spent = said.epsilon("epsilon_of_bound")
    elif said.has("epsilon_of_bound"):
        left -= said.epsilon("epsilon_of_bound")
    if left <= 0:
        yield fails("choosing max_items_per_user, or max_groups_per_user, takes all of epsilon")
        return
    if most > 1:
        yield _ranked(steps, said, left, delta * COMPOSED, share, spent)
    else:
        delta = unions.of_other_bound(said, delta) if said.has("order_of_other_bounds") else delta
        yield of_steps(steps, left * (1 - share), delta * (1 - share), Fraction(0), "")
    yield stated("how the union found its items cannot be recomputed: its release curve is not in the release")


def _counts(said: Parameters, sizes: list[int]) -> Step:
    """Of Laplace noise a step for each count of these groups; Gaussian noise is of one list, and told by its rho."""
    if said.has("epsilon_per_count"):
        return Step(Kind.PURE, said.epsilon("epsilon_per_count"), sum(sizes))
    if len(sizes) != 1:
        raise UnfitError("noise for all counts together is that of one list")
    items = sizes[0]
    if said.has("variance"):
        return Step(Kind.NOISE, items / (2 * said.number("variance")), 1)
    own, shared = said.number("own_variance"), said.number("shared_variance")
    return Step(Kind.NOISE, shared_rho(items, items, said.whole("multiple"), own, shared), 1)


def _sizes(said: Parameters, found: int) -> tuple[int, ...]:
    """How many items were ranked: all that were found, or by group those of the groups that one user may count in."""
    if not said.has("discovered_by_group"):
        return (found,)
    given, most = said.of["discovered_by_group"], said.whole("max_groups_per_user")
    sizes = given if isinstance(given, tuple) else ()
    if sizes is not given or not all(type(size) is int and 0 <= size <= found for size in sizes):
        raise UnfitError("discovered_by_group are no sizes of groups")
    if len(sizes) > most or sum(sizes) > found or (len(sizes) < most and sum(sizes) < found):
        raise UnfitError("discovered_by_group are not the groups of one user")
    return sizes


def _ranked(
    steps: list[Step], said: Parameters, epsilon: Fraction, delta: Fraction, share: Fraction, spent: Fraction
) -> Finding:
    """In one divergence of one order: a pick of e is e^2/8-zCDP, and a count of e is e^2/2-zCDP.

    Of it, choosing max_items_per_user has `spent` that of one pick.
    """
    order = _order(said, delta)
    with precision():
        left = _left(order, epsilon, delta, share, renyi_divergence(Step(Kind.PICK, spent, 1), order) if spent else 0)
        rho = sum(map(_rho, steps), Fraction(0))
        taken = ball(order * rho)
        counts = "counts and measures" if said.has(measures.MEASURES) else "counts"
        text = (
            f"{steps[0].times:,} picks and their {counts} have a divergence of {told(taken)} of order "
            f"{order:,}, of which the union leaves them {told(left)}"
        )
        return follows(text) if taken <= left * (1 + ball(Fraction(1, 2**50))) else fails(text)


def _rho(step: Step) -> Fraction:
    if step.kind is Kind.NOISE:
        return step.epsilon
    return step.epsilon**2 / (8 if step.kind is Kind.PICK else 2) * step.times


def _order(said: Parameters, delta: Fraction) -> int:
    order = said.whole("order")
    if not 2 <= order <= MOST_ORDER or delta == 0:
        raise UnfitError("order is no order, or delta 0")
    return order


def _left(order: int, epsilon: Fraction, delta: Fraction, share: Fraction, spent: arb | int) -> arb:
    """The divergence of this order that gives (epsilon, delta), less the union's part, which has a largest size."""
    a = ball(order)
    whole = ball(epsilon) - (1 - 1 / a).log() + (ball(delta).log() + a.log()) / (a - 1) - spent
    most = ball(Fraction(MOST_MOMENT, order - 1))
    return whole - (whole if whole <= most else most) * ball(share)
