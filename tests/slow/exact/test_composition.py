"""Composition against the exact delta of composed worst steps, found by going through every history.

Losses lie on a grid of e / PARTS, so delta(G) of the worst sequence is a small table: with V_0(G) = [1 - e^G]_+,
one step more gives V(G) = max over the forms of the step of the sum of P(o) V(G - loss of o), and the form may
depend on all that came before. A bound is refused if this delta is above the one that it was asked for.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import pytest
from flint import arb, ctx

from dpselect._ground.privacy import AnySteps, ApproxDP, BoundedRange, PureDP, Steps, total_rho
from dpselect._ground.reals import enclose, lower
from dpselect.accounting.composition import Composed, basic, compose, every_bound, zcdp_to_epsilon
from dpselect.accounting.renyi import renyi_epsilon
from dpselect.papers.composition import nonadaptive_delta, nonadaptive_epsilon, optimal_pure

PARTS = 12
BITS = 192
DELTAS = (Fraction(1, 10**6), Fraction(1, 1000), Fraction(1, 20), Fraction(1, 4))


@cache
def forms(value, unit):
    """What a step may be at worst: lists of (loss in units, P); a loss of None is an outcome that P' never has."""
    epsilon = value.epsilon
    size = int(epsilon / unit)
    assert size * unit == epsilon
    e = enclose(epsilon)
    if isinstance(value, BoundedRange):
        two_points = []
        for i in range(1, size):
            t = enclose(i * unit)
            p = ((-t).exp() - (-e).exp()) / (1 - (-e).exp()) * t.exp()
            two_points.append([(i, p), (i - size, 1 - p)])
        return two_points
    fails = enclose(value.delta) if isinstance(value, ApproxDP) else arb(0)
    truth = 1 / (1 + (-e).exp())
    return [[(None, fails), (size, (1 - fails) * truth), (-size, (1 - fails) * (1 - truth))]]


def worst_delta(steps, total, adaptive=True):
    """The largest delta at this total epsilon; without `adaptive`, over forms that are the same in all alike steps."""
    unit = min(s.value.epsilon for s in steps) / PARTS
    with ctx.workprec(BITS):
        if adaptive:
            return _worst([s.value for s in steps for _ in range(s.times)], int(total / unit), unit, {})
        (one,) = steps
        return largest(_fixed([form] * one.times, int(total / unit), unit) for form in forms(one.value, unit))


def _worst(values, left, unit, known):
    """V(left), and its table of what is known."""
    if not values:
        return (1 - enclose(left * unit).exp()).max(arb(0))
    key = (len(values), left)
    if key not in known:
        found = []
        for form in forms(values[0], unit):
            rest = [p * (1 if g is None else _worst(values[1:], left - g, unit, known)) for g, p in form]
            found.append(sum(rest, arb(0)))
        known[key] = largest(found)
    return known[key]


def _fixed(chosen, left, unit):
    law = {0: arb(1)}
    for form in chosen:
        following = {}
        for loss, p in law.items():
            for g, q in form:
                following[loss + g] = following.get(loss + g, arb(0)) + p * q
        law = following
    return sum((p * (1 - enclose((left - loss) * unit).exp()) for loss, p in law.items() if loss > left), arb(0))


def largest(balls):
    return max(balls, key=lambda ball: float(ball.mid()))


def refused(bound, steps, deltas=DELTAS):
    """Whether some delta is exceeded: at the next grid point that is not below the total, delta should be kept."""
    unit = min(s.value.epsilon for s in steps) / PARTS
    for delta in deltas:
        total = bound(steps, delta)
        place = -(-total.epsilon // unit) * unit  # delta falls with epsilon, so it is kept here all the more
        with ctx.workprec(BITS):
            if worst_delta(steps, place) > enclose(total.delta):
                return True
    return False


E = Fraction(1, 2)
SEQUENCES = {
    "pure": [Steps(PureDP(E), 3)],
    "many pure": [Steps(PureDP(E), 30)],
    "pure, different": [Steps(PureDP(E), 2), Steps(PureDP(E / 2), 3)],
    "one pick": [Steps(BoundedRange(E), 1)],
    "two picks": [Steps(BoundedRange(2 * E), 2)],
    "three picks": [Steps(BoundedRange(E), 3)],
    "ten picks": [Steps(BoundedRange(E), 10)],
    "picks, then counts": [Steps(BoundedRange(E), 3), Steps(PureDP(E / 2), 3)],
    "counts, then picks": [Steps(PureDP(E), 2), Steps(BoundedRange(E), 2)],
    "picks of two sizes": [Steps(BoundedRange(E), 2), Steps(BoundedRange(2 * E), 2)],
    "approximate": [AnySteps(ApproxDP(E, Fraction(1, 50)), 3)],
    "approximate and picks": [AnySteps(ApproxDP(E, Fraction(1, 1000)), 2), Steps(BoundedRange(E), 3)],
    "large": [Steps(BoundedRange(8 * E), 3), Steps(PureDP(8 * E), 1)],
}


@pytest.mark.parametrize("steps", SEQUENCES.values(), ids=SEQUENCES.keys())
def test_no_sequence_exceeds_any_bound(steps):
    names = {t.bound for t in every_bound(steps, DELTAS[0])}
    assert names >= {"basic", "Renyi", "zCDP", "advanced", "bounded range"}
    for name in names:
        assert not refused(lambda s, d, name=name: next(t for t in every_bound(s, d) if t.bound == name), steps)
    assert not refused(compose, steps)


PLAIN = {name: steps for name, steps in SEQUENCES.items() if not any(isinstance(s.value, ApproxDP) for s in steps)}


@pytest.mark.parametrize("steps", PLAIN.values(), ids=PLAIN.keys())
def test_no_sequence_exceeds_the_pure_optimum(steps):
    assert not refused(lambda s, d: Composed(optimal_pure(s, d), "optimal pure", d), steps)


@pytest.mark.parametrize("name", ["pure", "many pure", "pure, different"])
def test_randomised_response_meets_the_pure_optimum(name):
    """At every point of the grid, delta there gives the point back."""
    steps = SEQUENCES[name]
    unit = min(s.value.epsilon for s in steps) / PARTS
    most = int(basic(steps) / unit)
    for place in range(1, most, max(1, most // 40)):
        with ctx.workprec(BITS):
            delta = lower(worst_delta(steps, place * unit))
        assert 0 <= optimal_pure(steps, delta) - place * unit < Fraction(1, 2**100)


def test_approximate_steps_meet_theirs():
    """With a failing mass in every step: the delta that is told is the exact one."""
    steps = SEQUENCES["approximate"]
    place = 20 * E / PARTS
    pure = [Steps(PureDP(E), 3)]
    with ctx.workprec(BITS):
        inner, exact = lower(worst_delta(pure, place)), lower(worst_delta(steps, place))
    assert 0 <= optimal_pure(pure, inner) - place < Fraction(1, 2**100)
    composed = compose(steps, inner)
    assert composed.epsilon >= place
    assert 0 <= composed.delta - exact < Fraction(1, 2**90)


# ---- the non-adaptive optimum -----------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_the_non_adaptive_optimum_is_met_by_its_worst_t(k):
    """On the grid of t, delta comes as near as the grid allows, and never above; at grid points that hold the worst t

    (k + 1 divides PARTS here, but for k = 4) it is met exactly.
    """
    steps = [Steps(BoundedRange(E), k)]
    for place in range(0, PARTS * k, k + 1):
        total = place * E / PARTS
        ours, exact = nonadaptive_delta(k, E, total), worst_delta(steps, total, adaptive=False)
        with ctx.workprec(BITS):
            assert not exact > enclose(ours)
            assert enclose(ours) - exact <= 2.0**-90


@pytest.mark.parametrize(("k", "total", "more"), [(2, Fraction(1, 6), "1.03"), (3, Fraction(11, 12), "1.06")])
def test_adaptive_picks_exceed_the_non_adaptive_optimum(k, total, more):
    """Picks of e = 1 whose t depends on what came before: so this bound must not be used for peeling."""
    steps = [Steps(BoundedRange(Fraction(1)), k)]
    adaptive = worst_delta(steps, total)
    with ctx.workprec(BITS):
        assert adaptive > enclose(nonadaptive_delta(k, Fraction(1), total) * Fraction(more))
        delta = lower(adaptive)
    assert nonadaptive_epsilon(k, Fraction(1), delta) < total <= compose(steps, delta).epsilon

    def fixed(steps, delta):
        return Composed(nonadaptive_epsilon(sum(s.times for s in steps), Fraction(1), delta), "fixed", delta)

    assert refused(fixed, steps, [delta * Fraction(999, 1000)])
    assert not refused(compose, steps, [delta * Fraction(999, 1000)])


def test_the_adaptive_picks_written_out():
    """Two picks of e = 1 at a total of 1/6, by hand: t is 1/2, then 1/3 or 5/6."""
    first, second, total = Fraction(1, 2), (Fraction(1, 3), Fraction(5, 6)), Fraction(1, 6)
    with ctx.workprec(BITS):

        def points(t):
            p = ((-enclose(t)).exp() - arb(-1).exp()) / (1 - arb(-1).exp())
            return [(t, p * enclose(t).exp()), (t - 1, (1 - p) * enclose(t - 1).exp())]

        delta = arb(0)
        for (loss, p), t in zip(points(first), second, strict=True):
            for more, q in points(t):
                if loss + more > total:
                    delta += p * q * (1 - enclose(total - loss - more).exp())
        assert delta > enclose(nonadaptive_delta(2, Fraction(1), total))


# ---- broken twins -----------------------------------------------------------------------------------------


def forgets_times(steps, delta):
    """Every step counts once."""
    return compose([Steps(s.value, 1) for s in steps], delta)


def pure_as_bounded_range(steps, delta):
    """A pure step is given the range e in the place of 2e, so e^2/8 in the place of e^2/2."""
    return Composed(zcdp_to_epsilon(total_rho(steps) / 4, delta), "twin", delta)


def pure_by_the_renyi_curve_of_a_pick(steps, delta):
    """The same on the Renyi curve."""
    return Composed(renyi_epsilon([Steps(BoundedRange(s.value.epsilon), s.times) for s in steps], delta), "twin", delta)


def lattice_the_wrong_way(steps, delta):
    """The first (k - 2i) e whose delta_i is at least delta, in the place of the last with at most delta."""
    (s,) = steps
    totals = [(s.times - 2 * i) * s.value.epsilon for i in range(s.times // 2 + 1)]
    return Composed(next((t for t in totals if worst_delta(steps, t) >= enclose(delta)), totals[-1]), "twin", delta)


def forgets_failures(steps, delta):
    """Approximate steps whose delta is lost."""
    return Composed(compose(steps, delta).epsilon, "twin", delta)


def forgets_to_fail_at_all(steps, delta):
    """delta counted once for all steps."""
    once = max(s.value.delta for s in steps)
    return Composed(compose(steps, delta).epsilon, "twin", 1 - (1 - delta) * (1 - once))


TWINS = [
    (forgets_times, "ten picks"),
    (forgets_times, "many pure"),
    (pure_as_bounded_range, "many pure"),
    (pure_by_the_renyi_curve_of_a_pick, "many pure"),
    (lattice_the_wrong_way, "many pure"),
    (forgets_failures, "approximate"),
    (forgets_to_fail_at_all, "approximate"),
]


@pytest.mark.parametrize(("twin", "name"), TWINS)
def test_a_broken_bound_is_refused(twin, name):
    assert refused(twin, SEQUENCES[name])
    assert not refused(compose, SEQUENCES[name])
