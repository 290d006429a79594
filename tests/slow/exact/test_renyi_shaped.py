"""RenyiShaped: the budget, the curves, the check that proves them, laws over all neighbours; twins are refused."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import cycle, product

import mpmath
import numpy as np
import pytest
from flint import arb, ctx

from dpselect.accounting.renyi import renyi_budget
from dpselect.aggregates.user_sets import UserSets
from dpselect.errors import ParameterError
from dpselect.mechanisms import RenyiShaped, TruncatedGeometric
from dpselect.mechanisms.set_union import renyi_curve
from dpselect.mechanisms.set_union.renyi_curve import Conditions, Curve, check, power, steepest
from dpselect.mechanisms.set_union.renyi_shaped import weigh_by_steps
from dpselect.testing import SeededDraws
from tests.exact.laws import BITS, at_most, delta_between, same, worst_delta
from tests.exact.renyi_laws import (
    audit,
    audited,
    call_law,
    chance_of,
    delta_of,
    divergence,
    heavy,
    spent_by_users,
    worst_product,
)
from tests.exact.union_laws import of_coins, sets_of, subsets
from tests.twins import renyi as broken

BUDGETS = [("1", "4.54e-5"), ("1", "0.1"), ("1/2", "0.4"), ("3", "0.01"), ("0.1", "0.9"), ("2", "1e-6")]


def made(epsilon="1", delta="0.1", most=3, **more):
    return RenyiShaped(epsilon=epsilon, delta=delta, max_items_per_user=most, **more)


# ---- the budget -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "epsilon", "delta"),
    [(12, 1, 4.54e-5), (40, 1, 4.54e-5), (3, 3, 0.01), (5, 3, 0.01), (2, 0.5, 0.4), (5, 6, 1e-9), (40, 6, 1e-9)],
)
def test_no_pair_of_coins_within_the_budget_has_a_larger_delta(order, epsilon, delta):
    """P(heads) = b, Q(heads) = b e^-z, for every z the largest b that the budget allows; some come close."""
    c = float(renyi_budget(order, Fraction(epsilon), Fraction(delta)))
    assert c > 0
    found = 0.0
    for z in np.linspace(epsilon, epsilon + 3, 500):
        low, high = 0.0, 1 - 1e-9
        for _ in range(40):
            b = (low + high) / 2
            low, high = (b, high) if divergence(b * math.exp(-z), b, order) <= c else (low, b)
        found = max(found, low * (1 - math.exp(epsilon - z)))
    assert 0.7 * delta < found <= delta


@pytest.mark.parametrize("order", [2, 7, 100])
def test_the_budget_is_the_inverse_of_the_conversion_rounded_down(order):
    found = renyi_budget(order, Fraction(5), Fraction(1, 1000))
    with mpmath.workdps(40):
        a = mpmath.mpf(order)
        c = 5 + mpmath.log(mpmath.mpf(1) / 1000 * a * (1 - 1 / a) ** (1 - a)) / (a - 1)
        assert c - mpmath.mpf(2) ** -59 < mpmath.mpf(found.numerator) / found.denominator <= c


def test_the_conversion_is_the_largest_gain_over_all_losses():
    """E_P[(1 - e^(epsilon - Z))+] <= E_P[e^((a - 1) Z)] times the largest (1 - e^(epsilon - z)) e^(-(a - 1) z)."""
    for order in (2, 9):
        gain = max((1 - math.exp(1 - z)) * math.exp(-(order - 1) * z) for z in np.linspace(1, 4, 30001))
        assert delta_of(order, 0.0, 1.0) == pytest.approx(gain, rel=1e-7)


# ---- the curves -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta", "most"), [(*budget, m) for budget, m in zip(BUDGETS, cycle((1, 2, 10)))])
def test_curves_spend_delta_and_no_more(epsilon, delta, most):
    """By an audit that reads nothing but the curves and what users give."""
    mechanism = made(epsilon, delta, most)
    assert 0.99 < audit(mechanism) / float(mechanism.delta) <= 1
    assert audit(made(epsilon, delta, most, rounds=4, split="0.4")) <= float(mechanism.delta)


@pytest.mark.parametrize(("epsilon", "delta", "most"), [("1", "0.1", 3), ("3", "0.01", 10), ("1/2", "0.4", 1)])
def test_conditions_hold_to_forty_digits_and_are_met_nearly_everywhere(epsilon, delta, most):
    for curve, terms in zip((m := made(epsilon, delta, most)).curves, m.conditions, strict=True):
        a, least = terms.order, terms.least()
        with mpmath.workdps(40):
            p = [mpmath.mpf(float(x)) for x in curve.chances]
            budget = mpmath.mpf(terms.budget.numerator) / terms.budget.denominator
            delta_r = mpmath.mpf(terms.delta.numerator) / terms.delta.denominator
            at = lambda w: p[min(w, len(p) - 1)]  # noqa: E731, B023
            assert all(1 - (1 - at(share)) ** t <= delta_r for t, share in terms.steps)
            used = [mpmath.mpf(0)] * (len(p) + terms.share(1))
            for t, share in terms.steps:
                for w in range(least, len(p)):
                    x, y = at(w), at(w + share)
                    up = mpmath.log(y**a * x ** (1 - a) + (1 - y) ** a * (1 - x) ** (1 - a)) / (a - 1)
                    down = mpmath.log(x**a * y ** (1 - a) + (1 - x) ** a * (1 - y) ** (1 - a)) / (a - 1)
                    used[w + share] = max(used[w + share], t * max(up, down) / budget)
            assert all(u <= 1 for u in used)
            reached = [float(u) for u in used[2 * terms.share(1) : len(p) - 1]]
            assert np.quantile(reached, 0.1) > 1 - 3e-5


@pytest.mark.parametrize(
    ("t", "order", "budget", "delta"), [(1, 4, "0.5", "0.02"), (3, 3, "0.9", "0.1"), (10, 12, "0.3", "1e-5")]
)
def test_curves_are_those_of_slow_halving(t, order, budget, delta):
    terms = Conditions(order=order, budget=Fraction(budget), delta=Fraction(delta), steps=((t, 1),))
    fast, slow = steepest(terms).chances, broken.curve_of("", terms).chances
    assert abs(len(fast) - len(slow)) <= 1
    n = min(len(fast), len(slow)) - 1
    assert np.allclose(fast[:n], slow[:n], rtol=2e-4, atol=0)
    assert np.allclose(1 - fast[:n], 1 - slow[:n], rtol=2e-3, atol=0)


@pytest.mark.parametrize("moment", [1e-4, 0.01, 0.7, 6, 60])
@pytest.mark.parametrize("order", [2, 12, 400])
def test_the_largest_log_odds_between_nodes_have_the_moment_and_no_more(order, moment):
    """Also next to the corner, and where a cubic would be too steep."""
    terms = Conditions(order=order, budget=Fraction(moment) / (order - 1), delta=Fraction(1, 100), steps=((1, 1),))
    (rule,) = renyi_curve._rules(terms, -30.0, 14.0)
    corner = -both_width(order, moment) / 2
    for odds in [*np.linspace(-30, 14, 89), *(corner + np.linspace(-0.3, 0.3, 13)).clip(-30, 14)]:
        with mpmath.workdps(60):
            p, q = (1 / (1 + mpmath.exp(-x)) for x in (mpmath.mpf(odds), mpmath.mpf(rule.allows(odds, math.inf))))
            pairs = [(p, q), (q, p)]
            found = max(
                mpmath.log(y**order * x ** (1 - order) + (1 - y) ** order * (1 - x) ** (1 - order)) for x, y in pairs
            )
        assert 1 - 2e-5 < float(found) / moment <= 1


def both_width(order, moment):
    """How far two coins whose probabilities add up to 1 are apart in log-odds, of this moment."""
    low, high = 0.0, 800.0
    for _ in range(80):
        x = (low + high) / 2
        p, q = -np.logaddexp(0, x / 2), -np.logaddexp(0, -x / 2)
        low, high = (
            (x, high) if np.logaddexp(order * q - (order - 1) * p, order * p - (order - 1) * q) < moment else (low, x)
        )
    return low


@pytest.mark.parametrize(
    ("epsilon", "delta", "rounds"),
    [(*budget, rounds) for budget, rounds in zip([*BUDGETS, ("0.1", "1e-9")], cycle((1, 3)))],
)
def test_for_one_item_a_user_no_chance_is_above_the_largest_there_is(epsilon, delta, rounds):
    """Truncated geometric selection is optimal, so it is not below us at any number of users; nor is it far above."""
    best, ours = TruncatedGeometric(epsilon=epsilon, delta=delta).law, made(epsilon, delta, 1, rounds=rounds)
    gaps = []
    for users in np.unique(np.geomspace(1, 2 * max(len(c.chances) for c in ours.curves), 150).astype(int)).tolist():
        missed = math.prod(1 - c.chances[min(users, len(c.chances) - 1)] for c in ours.curves)
        largest = float(best.at(Fraction(users)).ball(64).mid())
        assert 1 - missed <= largest * (1 + 1e-12)
        gaps.append(largest - (1 - missed))
    assert max(gaps) > 0.001
    half = next(n for n in range(1, 10**4) if best.at(Fraction(n)).ball(64) > 0.5)
    assert half <= made(epsilon, delta, 1, rounds=1).users_for(0.5) <= 1.4 * half + 2


# ---- the check --------------------------------------------------------------------------------------------------


def raised(curve, w, relative=1e-3):
    """The curve with the chance at one weight larger, and whatever would then be smaller beyond."""
    p = curve.chances.copy()
    p[w] += relative * min(p[w], 1 - p[w])
    return Curve(np.maximum.accumulate(p))


def sums(steps, end):
    """The weights that items can have."""
    found = {0}
    for w in range(1, end):
        if any(w - share in found for _, share in steps):
            found.add(w)
    return found - {0}


@pytest.mark.parametrize(("epsilon", "delta", "most"), [("1", "0.1", 3), ("1", "4.54e-5", 10), ("1/2", "0.4", 1)])
def test_a_chance_that_is_a_thousandth_larger_is_refused(epsilon, delta, most):
    """At every weight that an item can have."""
    mechanism = made(epsilon, delta, most)
    curve, terms = mechanism.curves[-1], mechanism.conditions[-1]
    check(curve, terms)
    weights = sorted(sums(terms.steps, len(curve.chances) - terms.share(1)))
    for w in [*weights[:60], *weights[60::7]]:
        with pytest.raises(ArithmeticError):
            check(raised(curve, w), terms)


TERMS = Conditions(order=4, budget=Fraction(1, 2), delta=Fraction(1, 50), steps=((1, 5), (3, 4)))


@pytest.mark.parametrize(
    "change",
    [
        lambda p: np.concatenate([[1e-9], p[1:]]),
        lambda p: np.concatenate([p[:20], p[19:20] * (1 - 1e-12), p[20:]]),
        lambda p: np.concatenate([p, [1.0]]),
        lambda p: np.concatenate([p[:5], [np.nan], p[6:]]),
        lambda p: np.concatenate([p[:-1], [np.nan]]),
        lambda p: np.concatenate([[-1e-9], p[1:]]),
        lambda p: (np.arange(len(p)) > 9) * 0.01,
        lambda p: p[1:],
        lambda p: np.concatenate([[0], p[2:]]),
        lambda p: np.concatenate([p[:-1], [1 - 2.0**-53]]),
    ],
    ids="zero falls sure gap unending negative jump early shift end".split(),
)
def test_what_is_no_curve_is_refused(change):
    right = steepest(TERMS)
    check(right, TERMS)
    with pytest.raises(ArithmeticError):
        check(Curve(change(right.chances)), TERMS)


def test_no_curve_is_given_that_was_not_checked(monkeypatch):
    """However it was found: here without the smallest of its chances."""
    shifted = [0.0, *steepest(TERMS).chances[5:]]
    monkeypatch.setattr(renyi_curve, "_propose", lambda *_: shifted)
    with pytest.raises(ArithmeticError):
        steepest(replace(TERMS, budget=TERMS.budget * Fraction(9999, 10000)))


@pytest.mark.parametrize(
    "other",
    [{"budget": TERMS.budget * Fraction(999, 1000)}, {"delta": TERMS.delta * Fraction(999, 1000)}]
    + [{"steps": steps} for steps in (((1, 6), (3, 4)), ((1, 5), (4, 4)), ((2, 5), (3, 4)), ((1, 5), (3, 4), (4, 4)))]
    + [{"order": 5}],
    ids=str,
)
def test_curves_are_refused_for_stricter_conditions(other):
    with pytest.raises(ArithmeticError):
        check(steepest(TERMS), replace(TERMS, **other))


@pytest.mark.parametrize("n", [1, 2, 3, 63, 64, 1000, 4097])
def test_powers_are_within_their_rounding(n):
    """At most n - 1 roundings of 2^-53, as the bound of the check says."""
    for x in (0.999, 1.0003, 1 - 2.0**-20, 1.1**0.1):
        found = power(np.array([x]), n)[0]
        with mpmath.workdps(60):
            error = abs(mpmath.mpf(float(found)) / mpmath.mpf(x) ** n - 1) * 2**53
        assert error <= (n - 1) * (1 + 1e-9)


# ---- laws of coins, over weights a real data set would need thousands of users for -----------------------------


@pytest.mark.parametrize(
    ("epsilon", "delta", "most"),
    [(*budget, m) for place, budget in enumerate(BUDGETS) for m in ((1, 3), (2, 4))[place % 2]],
)
def test_products_of_coins_are_private_at_all_weights(epsilon, delta, most):
    one = made(epsilon, delta, most, rounds=1)
    points = {1: 10**4, 2: 120, 3: 35, 4: 18}
    found = [
        worst_product(one.curves[0].chances, t, share, float(one.epsilon), points[t])
        for t, share in one.conditions[0].steps
    ]
    assert 0.25 * float(one.delta) * (1 - 1e-4) <= max(found) <= float(one.delta)


# ---- several shares: the largest chance counts ----------------------------------------------------------------


NUMBERS = {2: (*range(6), 9, 13, 17, 20, 26, 33), 3: (*range(3), 5, 8, 12, 17, 24), 5: (0, 1, 3, 9)}


def mixed(most):
    """Numbers of users of 1, 2, ..., `most` items, not all 0."""
    return [users for users in product(NUMBERS[most], repeat=most) if any(users)]


@pytest.mark.parametrize(
    ("epsilon", "delta", "most"), [("1", "0.1", 2), ("1", "4.54e-5", 3), ("1", "4.54e-5", 5), ("3", "0.01", 3)]
)
def test_the_largest_chance_spends_no_more_than_one_curve(epsilon, delta, most):
    """Over numbers of users of every kind, from the chances alone; new items stay hidden; some curve is the larger."""
    mechanism, larger = made(epsilon, delta, most), False
    grid = mixed(most)
    for shares, terms in zip(mechanism.shares, mechanism.conditions, strict=True):
        assert spent_by_users(shares, mechanism.order, grid) <= float(terms.budget)
        for t in range(1, most + 1):
            alone = chance_of(shares, [int(i == t) for i in range(1, most + 1)])
            assert 0 < -math.expm1(t * math.log1p(-alone)) <= float(terms.delta)
        larger |= any(chance_of(shares, users) > 1.2 * chance_of(shares[:1], users) for users in grid)
    assert larger


@pytest.mark.parametrize("twin", [broken.a_coin_for_each_curve, broken.first_shares_at_every_curve])
def test_other_ways_to_join_curves_spend_more(twin):
    mechanism = made("1", "4.54e-5", 3)
    shares, terms = mechanism.shares[-1], mechanism.conditions[-1]
    assert spent_by_users(shares, mechanism.order, mixed(3)) <= float(terms.budget)
    assert spent_by_users(shares, mechanism.order, mixed(3), twin) > 1.1 * float(terms.budget)


@pytest.mark.parametrize("most", [1, 2, 3, 40])
def test_all_shares_are_whole_and_their_curves_proved(most):
    for shares in made("1", "1e-6", most).shares:
        for one, curve in shares:
            check(curve, one)
            given_to = [one.share(t) for t in range(1, most + 1)]
            assert given_to == sorted(given_to, reverse=True)
            assert given_to[-1] >= 1


def test_shares_whose_curves_would_be_long_are_left_out():
    """By parameters alone; those of users of as many items as the bound are always there."""
    assert [len(one) for one in made("0.02", "1e-6", 3).shares] == [1, 2, 2]
    assert [len(one) for one in made("1", "1e-6", 1).shares] == [1, 1, 1]


def test_of_first_shares_no_chance_is_larger():
    mechanism = made("1", "4.54e-5", 10)
    plain = mechanism.of_first_shares()
    assert (plain.curves, plain.privacy) == (mechanism.curves, mechanism.privacy)
    assert [len(one) for one in plain.shares] == [1, 1, 1]
    for users in ((4, *(0,) * 9), (0, 0, 7, *(0,) * 7), (*(0,) * 9, 30)):
        chances = [chance_of(one.shares[-1], users) for one in (plain, mechanism)]
        assert chances[0] <= chances[1]


# ---- laws of calls ----------------------------------------------------------------------------------------------


def worst_call(mechanism, bases, size, most):
    """The largest hockey-stick divergence over these data sets and one user more with any items."""
    find = cache(lambda database: call_law(mechanism, database, size))
    pairs = [(base, (*base, added)) for base in bases for added in subsets(size, most)]
    return worst_delta(find, pairs, Fraction(mechanism.epsilon))


def tiny(size, most, users):
    """All data sets of at most so many users; their order means nothing."""
    every = subsets(size, most)
    found = [()]
    for _ in range(users):
        found += [(*base, items) for base in found for items in every if not base or items >= base[-1]]
    return sorted(set(found))


@pytest.mark.parametrize(
    ("most", "size", "users", "epsilon", "delta"),
    [
        (1, 2, 2, "1", "0.1"),
        (2, 3, 1, "1/2", "0.4"),
        (3, 3, 1, "1", "0.1"),
        (2, 2, 3, "1/2", "0.4"),
        (2, 2, 3, "1", "0.1"),
        (1, 3, 1, "1", "0.1"),
    ],
)
def test_calls_are_private_on_all_tiny_data(most, size, users, epsilon, delta):
    mechanism = made(epsilon, delta, most, rounds=2)
    assert at_most(worst_call(mechanism, tiny(size, size, users), size, size), Fraction(delta))


@pytest.mark.parametrize(
    ("epsilon", "delta", "first"),
    [("1/2", "0.4", False), ("3", "0.01", False), ("1", "0.1", True)],
)
def test_calls_are_private_where_items_are_common(epsilon, delta, first):
    """Items with no users, and with as many as the last round releases with a small, a middle and a large chance.

    With the first shares alone a good part of delta is spent; with all of them less is, by users of one item.
    """
    mechanism = made(epsilon, delta, 3, rounds=2)
    mechanism = mechanism.of_first_shares() if first else mechanism
    levels = [0, *(mechanism.users_for(chance) for chance in (0.05, 0.6, 0.98))]
    found = worst_call(mechanism, heavy(levels, 3), 3, 3)
    assert at_most(found, Fraction(delta))
    assert float(found.mid()) > (0.25 if first else 0.1) * float(Fraction(delta))


def rounds_law(mechanism, database, size, r=0):
    """The law of a call where nobody has more items than they may keep: rounds of independent coins."""
    if r == mechanism.rounds:
        return {(): arb(1)}
    users = [
        [sum(len(items) == t for items in database if i in items) for t in range(1, size + 1)] for i in range(size)
    ]
    found = {}
    for answer, p in of_coins([arb(chance_of(mechanism.shares[r], each)) for each in users]).items():
        new = tuple(i for i in range(size) if answer >> i & 1)
        left = tuple(tuple(i for i in items if i not in new) for items in database)
        for more, q in rounds_law(mechanism, left, size, r + 1).items():
            key = tuple(sorted((*new, *more)))
            with ctx.workprec(BITS):
                found[key] = found.get(key, arb(0)) + p * q
    return found


@pytest.mark.parametrize("database", [((0,), (0, 1), (0, 1, 2)), ((0,),) * 5 + ((0, 1),) * 3, ((0, 1, 2),)], ids=len)
def test_calls_are_the_rounds_of_the_page(database):
    mechanism = made("1", "0.1", 3)
    assert same(call_law(mechanism, database, 3), rounds_law(mechanism, database, 3))


def test_weights_are_what_users_give():
    steps = ((1, 7), (2, 5), (4, 3))
    kept = sets_of([(0,), (0, 1), (), (1, 2, 3), (0, 2, 3, 4)], 6)
    expected = [7 + 5 + 3, 5 + 3, 3 + 3, 3 + 3, 3, 0]
    assert weigh_by_steps(kept, [steps, ((4, 1),)]).tolist() == [expected, [3, 2, 2, 2, 1, 0]]
    with pytest.raises(IndexError):
        weigh_by_steps(sets_of([(0, 1, 2, 3, 4)], 5), [steps])


@pytest.mark.parametrize("most", [1, 2**28 - 1, 2**28, 2**30, 2**40])
@pytest.mark.parametrize("lists", [1, 2, 3])
def test_weights_of_several_lists_do_not_mix(most, lists):
    """Eight pairs: two sums fit into one number up to 2^31 / 8, and beyond each list is added up by itself."""
    every = [((1, most), (3, (most + 1) // 2)), ((2, most), (3, most // 3)), ((3, most),)][:lists]
    kept = sets_of([(0,), (0, 2), (), (0, 1, 2), (0,), (2,)], 4)
    expected = [[0] * 4 for _ in every]
    for items in ((0,), (0, 2), (0, 1, 2), (0,), (2,)):
        for row, steps in zip(expected, every, strict=True):
            for item in items:
                row[item] += next(share for t, share in steps if len(items) <= t)
    assert weigh_by_steps(kept, every).tolist() == expected


def test_users_keep_no_more_than_they_may_and_common_items_come_back():
    sets = UserSets.from_sets([[*range(u % 50, u % 50 + 20)] for u in range(3000)])
    released = made("1", "1e-6", 5)(sets, draws=SeededDraws(1))
    assert len(released) == sets.size
    assert made("1", "1e-6", 5)(UserSets.from_sets([]), draws=SeededDraws(1)).tolist() == []


# ---- wrong twins ------------------------------------------------------------------------------------------------

ONE_STEP = [
    Conditions(order=3, budget=Fraction(9, 10), delta=Fraction(1, 10), steps=((4, 1),)),
    Conditions(order=12, budget=Fraction(3, 10), delta=Fraction(1, 10**5), steps=((10, 1),)),
]


@pytest.mark.parametrize("terms", ONE_STEP, ids=["few", "many"])
@pytest.mark.parametrize("fault", broken.FAULTS)
def test_wrong_curves_are_refused(fault, terms):
    limit = delta_of(terms.order, float(terms.budget), 1.0) + float(terms.delta)
    right, twin = broken.curve_of("", terms), broken.curve_of(fault, terms)
    check(right, terms)
    assert audited([right], [terms.steps], terms.order, 1.0) <= limit
    with pytest.raises(ArithmeticError):
        check(twin, terms)
    assert audited([twin], [terms.steps], terms.order, 1.0) > limit


@pytest.mark.parametrize("fault", ["budget not divided by the items", "only upwards", "only downwards"])
def test_wrong_curves_are_refused_by_the_laws_of_their_coins(fault):
    """At the epsilon whose delta for the coins is 0.075."""
    terms = Conditions(
        order=3, budget=renyi_budget(3, Fraction(1), Fraction(75, 1000)), delta=Fraction(1, 40), steps=((4, 1),)
    )
    assert worst_product(broken.curve_of("", terms).chances, 4, 1, 1.0, 18) <= 0.1
    assert worst_product(broken.curve_of(fault, terms).chances, 4, 1, 1.0, 18) > 0.1


MECHANISMS = {
    "the whole budget in each round": broken.whole_budget_each_round,
    "twice the shares": broken.larger_shares,
    "unbounded": lambda m: broken.unbounded(m, 10),
    "delta not divided": broken.delta_not_divided,
    "delta for nothing": broken.delta_for_nothing,
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_wrong_mechanisms_are_refused_by_the_audit(name):
    right = made("1", "0.1", 3)
    assert audit(right) <= 0.1
    assert audit(MECHANISMS[name](right)) > 0.1


@pytest.mark.parametrize(
    ("twin", "items"),
    [
        (lambda: broken.whole_budget_each_round(made("1", "0.1", 2, rounds=5, split=1)), 2),
        (lambda: broken.larger_shares(made("1", "0.1", 1, rounds=1)), 1),
        (lambda: broken.unbounded(made("1", "0.1", 1, rounds=1), 6), 6),
    ],
    ids=["rounds", "shares", "unbounded"],
)
def test_wrong_mechanisms_are_refused_by_the_law_of_a_lone_user(twin, items):
    wrong = twin()
    found = delta_between(call_law(wrong, (), items), call_law(wrong, (tuple(range(items)),), items), Fraction(1))
    assert not at_most(found, Fraction(1, 10))


# ---- parameters -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("terms", "parameter"),
    [
        ({"epsilon": "1/2000"}, "epsilon"),
        ({"epsilon": "1e-300"}, "epsilon"),
        ({"epsilon": "1/100", "most": 2**30}, "epsilon"),
        ({"delta": "1e-101"}, "delta"),
        ({"most": 0}, "max_items_per_user"),
        ({"rounds": 0}, "rounds"),
        ({"rounds": 21, "split": 1}, "rounds"),
        ({"rounds": 10**9}, "rounds"),
        ({"rounds": 7}, "rounds"),
        ({"split": 0}, "split"),
        ({"split": "1.01"}, "split"),
        ({"split": "1e-300"}, "rounds"),
    ],
    ids=str,
)
def test_parameters_are_refused_by_name(terms, parameter):
    with pytest.raises(ParameterError) as caught:
        made(**terms)
    assert caught.value.parameter == parameter


@pytest.mark.parametrize(
    ("epsilon", "delta", "most"),
    [
        ("1", "1e-100", 3),
        ("1", "1e-40", 10),
        ("1000000", "1e-6", 3),
        ("1000000", "1e-100", 2),
        ("1e-3", "0.9", 1),
        ("5", "0.999", 60),
    ],
)
def test_the_ends_of_what_is_allowed_work(epsilon, delta, most):
    mechanism = made(epsilon, delta, most)
    assert mechanism.users_for(0.5, most) >= 1
    assert mechanism(UserSets.from_sets(["a"] * 5000), draws=SeededDraws(0)).tolist() == [0]


def test_equal_parameters_make_equal_mechanisms_that_share_curves_nobody_can_change():
    one, other = made(), made()
    assert one == other
    assert one.curves[0] is other.curves[0]
    assert one != made(epsilon=2)
    with pytest.raises(ValueError, match="read-only"):
        one.curves[0].chances[0] = 0.5


def test_the_parts_of_all_rounds_are_all_of_the_budget():
    mechanism = made("1", "1e-4", 2, rounds=4, split="0.4")
    whole = renyi_budget(mechanism.order, Fraction(1), Fraction("0.75e-4"))
    assert sum(c.budget for c in mechanism.conditions) == whole
    assert sum(c.delta for c in mechanism.conditions) == Fraction("0.25e-4")
