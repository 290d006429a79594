"""A greedy hitting set: its whole law, its price in both currencies for all neighbours, and twins of both."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest
from flint import arb, ctx

from dpselect._ground.privacy import BoundedRange
from dpselect._ground.reals import enclose
from dpselect.accounting.hitting_set import (
    COUNTED,
    hitting_delta,
    hitting_divergence,
    largest_hitting_pick,
    largest_hitting_pick_at,
)
from dpselect.accounting.renyi import renyi_budget
from dpselect.accounting.renyi_prices import divergence
from dpselect.aggregates.user_sets import UserSets
from dpselect.dataset import Dataset
from dpselect.mechanisms import HittingSet
from dpselect.mechanisms.top_k.discover import picks
from dpselect.mechanisms.top_k.hitting_set import chosen_together
from dpselect.testing import law
from tests.exact.laws import BITS, at_most, delta_between, max_log_ratio, same
from tests.judge import hitting as checked
from tests.twins import hitting as broken

ITEMS = "abc"
KINDS = ["a", "b", "c", "ab", "ac", "bc", "abc"]
EACH = Fraction(1)


def sets_of(users):
    """Codes are places in ITEMS, also of items that nobody has."""
    held = [[ITEMS.index(item) for item in user] for user in users]
    return UserSets(
        offsets=np.append(0, np.cumsum([len(one) for one in held])).astype(np.int64),
        codes=np.array([code for one in held for code in one], dtype=np.int64),
        size=len(ITEMS),
        label=ITEMS.__getitem__,
    )


ALL = np.arange(len(ITEMS), dtype=np.int64)


def picked(users, k=2, each=EACH, choose=chosen_together):
    sets = sets_of(users)
    return law(lambda draws: "".join(ITEMS[code] for code in choose(k, sets, ALL, each, draws)))


def written_out(users, k, each):
    """Every order of k items, by who has none of those before."""
    found = {}
    with ctx.workprec(BITS):
        for order in permutations(ITEMS, k):
            p = arb(1)
            for place, item in enumerate(order):
                before, left = order[:place], [one for one in ITEMS if one not in order[:place]]
                new = {one: sum(one in u and not set(u) & set(before) for u in users) for one in left}
                p *= enclose(each * new[item]).exp() / sum(enclose(each * n).exp() for n in new.values())
            found["".join(order)] = p
    return found


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("users", [[], ["a"], ["ab", "b", "bc"], ["abc", "abc", "c", "ab"]], ids=str)
def test_each_pick_is_by_the_users_that_no_pick_before_has_reached(users, k):
    assert same(picked(users, k), written_out(users, k, EACH))


@cache
def neighbours():
    """Small databases, and those with one user more."""
    bases = [list(b) for n in range(3) for b in combinations_with_replacement(KINDS, n)]
    return [(b, [*b, x]) for b in bases for x in KINDS]


@cache
def written(users, k):
    return written_out(users, k, EACH)


def pairs(k):
    for without, with_ in neighbours():
        yield written(tuple(sorted(without)), k), written(tuple(sorted(with_)), k)


def renyi(left, right, order):
    """The divergence of `left` from `right`."""
    with ctx.workprec(BITS):
        return sum((p**order / right[a] ** (order - 1) for a, p in left.items()), arb(0)).log() / (order - 1)


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3])
def test_private_for_all_neighbours_in_both_currencies(k):
    claimed = {total: hitting_delta(k, EACH, total) for total in (Fraction(1), Fraction(5, 4), Fraction(3, 2))}
    for without, with_ in pairs(k):
        for total, delta in claimed.items():
            assert at_most(delta_between(without, with_, total), delta)
        for order in (2, 8):
            bound = hitting_divergence(k, EACH, order)
            assert at_most(renyi(without, with_, order), bound)
            assert at_most(renyi(with_, without, order), bound)


@pytest.mark.parametrize("users", [[], ["c"], ["a", "bc"]], ids=str)
def test_what_becomes_likelier_with_a_user_does_so_by_one_pick_at_most(users):
    for more in KINDS:
        assert at_most(max_log_ratio(picked([*users, more]), picked(users)), EACH)


def many(users, choose, k=2):
    """The law among ten items, most of which nobody has."""
    sets = sets_of(users)
    wide = UserSets(offsets=sets.offsets, codes=sets.codes, size=10, label=str)
    return law(lambda draws: tuple(choose(k, wide, np.arange(10, dtype=np.int64), EACH, draws).tolist()))


@pytest.mark.parametrize(
    "twin", [broken.nobody_is_ever_reached, broken.the_reached_weigh_twice_in_the_next_pick], ids=lambda t: t.__name__
)
def test_users_who_matter_after_they_were_reached_are_refused(twin):
    assert not at_most(max_log_ratio(many(["ab"], twin), many([], twin)), EACH)
    assert at_most(max_log_ratio(many(["ab"], chosen_together), many([], chosen_together)), EACH)


# ---- the price, against shares that an adversary chooses ----------------------------------------------------


def by_hand(picks, each, total, shares=5000):
    """The largest delta where the user has one of so many shares of each pick, by going through them all.

    A share is the same in every pick: nothing else is better.
    """
    rise = math.expm1(each)
    return max((1 - p) ** picks * (1 - math.exp(total) / (1 + rise * p) ** picks) for p in np.linspace(0, 1, shares))


def game(picks, each, total, shares=60):
    """The same where each share may be another one, hits counted: a function of the ratio, on a fine grid."""
    p = np.linspace(0, 1, shares)[:, None]
    grown = 1 + math.expm1(each) * p
    log = np.linspace(-picks * each - each, total + picks * each, 4000)
    ratio = np.exp(log)
    value = np.maximum(0, 1 - ratio)
    for _ in range(picks):
        hit = np.maximum(0, 1 - ratio * math.exp(each) / grown)
        on = np.interp(np.log(ratio / grown), log, value)
        value = (p * hit + (1 - p) * on).max(axis=0)
    return float(np.interp(total, log, value))


CASES = [(1, 1.0, 1.0), (2, 1.0, 1.0), (2, 1.0, 1.5), (5, 0.5, 1.0), (20, 0.2, 1.0), (100, 0.1, 1.0), (100, 0.05, 1)]


@pytest.mark.parametrize(("k", "each", "total"), CASES)
def test_the_delta_is_that_of_the_worst_shares_and_not_more(k, each, total):
    ours = float(hitting_delta(k, Fraction(each), Fraction(total)))
    assert ours >= by_hand(k, each, total) * (1 - 1e-9)
    assert ours <= by_hand(k, each, total) * 1.001 + 1e-12
    assert ours >= game(k, each, total) - 1e-5
    assert ours <= game(k, each, total) * 1.05 + 1e-5
    with ctx.workprec(BITS):
        again = checked.delta_of(k, Fraction(each), Fraction(total))
        assert abs(float(again.mid()) - ours) <= 1e-12


@pytest.mark.parametrize("twin", [broken.of_one_pick_less, broken.of_half_the_epsilon], ids=lambda t: t.__name__)
def test_a_delta_that_is_too_small_is_refused(twin):
    assert float(twin(5, Fraction(1, 2), Fraction(1))) < by_hand(5, 0.5, 1.0) * 0.99


def moments(picks, each, order, shares=2000):
    """Both divergences, the worst share of each pick found by going through them all."""
    p, grown = np.linspace(0, 1, shares), 1 + math.expm1(each) * np.linspace(0, 1, shares)
    without = with_ = 1.0
    for _ in range(picks):
        without = float((grown ** (order - 1) * (p * math.exp(-each * (order - 1)) + (1 - p) * without)).max())
        with_ = float(((p * math.exp(each * order) + (1 - p) * with_) / grown**order).max())
    return max(math.log(without), math.log(with_)) / (order - 1)


@pytest.mark.parametrize(
    ("k", "each", "order"), [(1, 1.0, 2), (3, 0.5, 5), (20, 0.1, 17), (50, 0.01, 100), (2, 3.0, 3)]
)
def test_the_divergence_is_that_of_the_worst_shares(k, each, order):
    ours = hitting_divergence(k, Fraction(each), order)
    assert float(ours) >= moments(k, each, order) * (1 - 1e-9)
    assert float(ours) <= moments(k, each, order) * (1 + 1e-4)
    assert ours <= k * divergence(BoundedRange(Fraction(each)), order)
    again = checked.divergence(k, Fraction(each), order)
    assert abs(float(again.mid()) - float(ours)) <= 1e-9 * float(ours)
    if k > 1:
        assert float(broken.divergence_of_one_pick_less(k, Fraction(each), order)) < moments(k, each, order)


@pytest.mark.parametrize(("each", "order"), [("0.01", 20), ("0.04", 20), ("0.05", 20), ("0.001", 300)])
def test_of_very_many_picks_the_bound_for_any_number_holds(each, order):
    """Also at the last number of picks that are gone through; the largest here is where no number has a bound."""
    exact, bound = (hitting_divergence(k, Fraction(each), order) for k in (COUNTED, COUNTED + 1))
    assert exact <= bound
    assert float(checked.divergence(COUNTED + 1, Fraction(each), order).mid()) == pytest.approx(float(bound), rel=1e-2)
    if each != "0.05":
        assert float(bound) <= 1.2 * float(exact)


def test_the_price_of_very_many_picks_is_that_of_many():
    budget = Fraction(1, 20)
    many, more = (largest_hitting_pick_at(k, 20, budget) for k in (COUNTED, 10**6))
    assert 0.99 * many < more < many
    assert hitting_divergence(10**6, more, 20) <= budget


@pytest.mark.parametrize("k", [1, 2, 30, 1000])
def test_the_largest_pick_fits_and_a_little_more_does_not(k):
    epsilon, delta, more = Fraction(1), Fraction(1, 10**6), Fraction(1001, 1000)
    each = largest_hitting_pick(k, epsilon, delta)
    assert hitting_delta(k, each, epsilon) <= delta
    assert k == 1 or hitting_delta(k, each * more, epsilon) > delta
    budget = Fraction(1, 10)
    at_order = largest_hitting_pick_at(k, 17, budget)
    assert hitting_divergence(k, at_order, 17) <= budget < hitting_divergence(k, at_order * more, 17)


def test_below_one_pick_there_is_no_price():
    with pytest.raises(ValueError, match="other direction"):
        hitting_delta(3, Fraction(1), Fraction(1, 2))


# ---- the whole call, of a known domain ----------------------------------------------------------------------


def asked(users, delta=0, most=None):
    """The law of a real question of two items of three, one of which nobody needs to have."""
    rows = [(user, item) for user, items in enumerate(users) for item in items]
    data = Dataset(
        {
            "user": np.array([user for user, _ in rows], dtype=np.int64),
            "item": np.array([i for _, i in rows], dtype="U1"),
        },
        user="user",
        item="item",
        max_items_per_user=most,
    )
    terms = {"epsilon": EACH, "delta": delta, "domain": list(ITEMS), "method": "hitting-set"}
    return law(lambda draws: "".join(data.top_k(2, draws=draws, **terms).labels))


def test_the_question_has_the_law_of_the_mechanism_also_for_items_that_nobody_has():
    users = ["a", "abd"]  # d is not in the domain
    assert same(asked(users), written_out(users, 2, EACH / 2))


@pytest.mark.slow
@pytest.mark.parametrize("most", [None, 1])
def test_a_question_of_a_known_domain_is_private(most):
    delta = Fraction(1, 20)
    base = asked(["ab"], delta, most)
    for more in ("a", "ab"):
        law_with = asked(["ab", more], delta, most)
        assert at_most(delta_between(base, law_with, EACH), delta)
        assert at_most(delta_between(law_with, base, EACH), delta)


# ---- the whole call -----------------------------------------------------------------------------------------

EPSILON, DELTA = Fraction(1), Fraction(1, 10)
BASES = ["", "a " * 9 + "b", "a " * 40 + "b " * 3, "ab " * 9 + "a"]


@cache
def made(k, most):
    return HittingSet(k=k, epsilon=EPSILON, delta=DELTA, max_items_per_user=most, union_share="1/2")


def told(m, users):
    sets = UserSets.of(users)
    return law(lambda draws: "".join(str(sets.label(code)) for code in m(sets, draws=draws).tolist()))


@pytest.mark.slow
@pytest.mark.parametrize(("k", "most"), [(2, 1), (3, 2)])
def test_the_whole_call_is_private_for_all_neighbours(k, most):
    m = made(k, most)
    for base, added in product(BASES if most > 1 else BASES[:3], ["a", "c", "ab"]):
        users = base.split()
        assert at_most(delta_between(told(m, users), told(m, [*users, added]), EPSILON), DELTA)


@pytest.mark.parametrize(("epsilon", "delta", "k"), [("0.3", "1e-6", 10), ("1", "1e-6", 100), ("8", "0.01", 3)])
def test_union_and_picks_stay_within_one_budget(epsilon, delta, k):
    m = HittingSet(k=k, epsilon=epsilon, delta=delta, max_items_per_user=20)
    whole = renyi_budget(m.union.order, Fraction(epsilon), Fraction(delta) * Fraction(3, 4))
    union = sum((one.budget for one in m.union.conditions), Fraction(0))
    for found in (2, k, k + 1, 10 * k):
        made = picks(k, np.arange(found))
        each = m.epsilon_per_pick(made)
        assert union + hitting_divergence(made, each, m.union.order) <= whole
        assert union + hitting_divergence(made, each * 2, m.union.order) > whole
