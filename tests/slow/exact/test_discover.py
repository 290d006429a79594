"""Discover, then peel: the whole law is that of its two parts, private for all neighbours; twins fail."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from flint import arb, ctx

from dpselect._ground.privacy import BoundedRange, PureDP
from dpselect._ground.reals import enclose
from dpselect.accounting.prices import ceiling, divergence
from dpselect.accounting.renyi import log_moment, renyi_budget
from dpselect.aggregates.user_sets import UserSets
from dpselect.mechanisms import DiscoverThenPeel, RenyiShaped
from dpselect.mechanisms.top_k.discover import UNION_SHARE, picks
from dpselect.testing import SeededDraws, law
from tests.by_names import plan_of
from tests.exact.laws import BITS, at_most, delta_between, peeled, same, worst_delta
from tests.exact.test_grouped import DATABASE, Kept
from tests.exact.union_laws import sets_of
from tests.twins import discovery as broken

EPSILON, DELTA = Fraction(1), Fraction(1, 10)
# Items that are rarely found, found by half, and always. Users of more items than take part are few, or the samples
# of all rounds would have too many outcomes.
BASES = ["", "a " * 3, "a " * 9 + "b", "a " * 40 + "b " * 3, "a " * 30 + "b " * 30, "ab a b"]
TWOS = ["ab " * 4, "ab " * 9 + "a", "ab " * 6 + "bc " * 6]
ADDED = ["a", "c", "ab", "bc"]


@cache
def made(k, most, share="1/2"):
    return DiscoverThenPeel(k=k, epsilon=EPSILON, delta=DELTA, max_items_per_user=most, union_share=share)


def told(run, users):
    """The law of the ranked labels; codes follow the data, so only labels can be compared."""
    sets = UserSets.from_sets(users)
    return law(lambda draws: "".join(str(sets.label(code)) for code in run(sets, draws).tolist()))


def worst(run, bases=BASES):
    """The largest hockey-stick divergence between databases and those with one user more."""
    pairs = ((base, f"{base} {added}") for base, added in product(bases, ADDED))
    return worst_delta(cache(lambda users: told(run, users.split())), pairs, EPSILON)


@pytest.mark.parametrize(("k", "most"), [(2, 1), (3, 3)])
def test_private_for_all_neighbours(k, most):
    m = made(k, most)
    assert at_most(worst(lambda sets, draws: m(sets, draws=draws), BASES if most == 1 else BASES + TWOS), DELTA)


@pytest.mark.parametrize(("k", "share"), [(1, "1/2"), (2, "1/2"), (3, "1/4")])
def test_the_law_is_a_union_and_a_peeling_of_what_it_found(k, share):
    """Against the union's own law and closed forms of peeling; all users count, in the union only those who may."""
    users, most = [*["ab", "a", "b", "b"] * 3, "abc"], 2
    sets, m = UserSets.from_sets(users), made(k, most, share)
    union = RenyiShaped(epsilon=EPSILON, delta=DELTA, max_items_per_user=most, part=share)
    held = [sum(item in user for user in users) for item in "abc"]
    expected = {}
    for found, p in law(lambda draws: tuple(union(sets, draws=draws).tolist())).items():
        size = min(k, len(found))
        rate = m.epsilon_per_pick(picks(k, np.array(found)))
        for order, q in (peeled([held[i] for i in found], size, rate) if found else {(): arb(1)}).items():
            ranking = "".join("abc"[found[i]] for i in order)
            with ctx.workprec(BITS):
                expected[ranking] = expected.get(ranking, arb(0)) + p * q
    assert same(told(lambda sets, draws: m(sets, draws=draws), users), expected)


NEAR = (1, "a " * 15, "cd", Fraction(1, 8))  # found by half, and hardly more than what comes
FEW = (2, "a " * 3, "c", EPSILON)
TIED = (2, "a " * 40 + "b " * 40, "b", EPSILON)
TWINS = [
    (broken.true_best_are_ranked, NEAR),
    (broken.the_data_are_the_domain, FEW),
    (broken.the_missing_are_filled_in, FEW),
    (broken.ranked_without_noise, TIED),
]


@pytest.mark.parametrize(("twin", "pair"), TWINS, ids=[twin.__name__ for twin, _ in TWINS])
def test_a_twin_that_tells_more_is_refused(twin, pair):
    k, base, added, epsilon = pair
    m = DiscoverThenPeel(k=k, epsilon=epsilon, delta=DELTA, max_items_per_user=2, union_share="1/2")

    def delta(run):
        return delta_between(told(run, base.split()), told(run, [*base.split(), added]), epsilon)

    assert not at_most(delta(lambda sets, draws: twin(m, sets, draws)), DELTA)
    assert at_most(delta(lambda sets, draws: m(sets, draws=draws)), DELTA)


# ---- users' items in the engine ---------------------------------------------------------------------------------


def asked(in_engine):
    """A plan for users of so many items that nobody has more."""
    return plan_of(
        "top_k", k=2, epsilon=1, delta=DELTA, method="discover", max_items_per_user=3, in_engine=in_engine, counts=False
    ).selection


class OneItemCounts(Kept):
    """Twin: a user counts for one of the items that were found, as in a union, and not for all of them."""

    def released_item_counts(self, _most, key):
        return super().released_item_counts(1, key)


def elsewhere(kind):
    plan = asked(True)
    return law(lambda draws: tuple(item.label for item in plan.draw_pairs(kind(DATABASE, 3), draws, None).items))


def test_the_law_is_the_same_where_users_items_stay_in_the_engine():
    plan, sets = asked(False), sets_of(DATABASE, 3)
    here = law(lambda draws: tuple(plan.select(sets, draws).labels))
    assert same(elsewhere(Kept), here)
    assert not same(elsewhere(OneItemCounts), here)


# ---- the budget, as the proof spends it -------------------------------------------------------------------------


def spent(m, each, found, counts):
    """Renyi divergence of the union's rounds, of all picks and of all counts, by the curves of what they promise."""
    b = arb(m.union.order - 1)
    rounds = sum((one.budget for one in m.union.conditions), Fraction(0))
    ranking = picks(m.k, np.arange(found)) * log_moment(BoundedRange(each), b) / b
    return enclose(rounds) + ranking + counts * log_moment(PureDP(each / 2), b) / b


def affordable(m, each, found, counts=0):
    with ctx.workprec(BITS):
        total = enclose(renyi_budget(m.union.order, Fraction(m.epsilon), Fraction(m.delta) * Fraction(3, 4)))
        return bool(spent(m, each, found, counts) <= total)


CASES = [("0.3", "1e-6", 10, 5), ("1", "1e-6", 10, 40), ("1", "1e-9", 100, 90), ("8", "0.01", 3, 10)]


@pytest.mark.parametrize(("epsilon", "delta", "k", "most"), CASES)
@pytest.mark.parametrize("share", ["1/4", "3/4"])
def test_both_parts_fit_into_one_budget(epsilon, delta, k, most, share):
    m = DiscoverThenPeel(k=k, epsilon=epsilon, delta=delta, max_items_per_user=most, union_share=share)
    for found in (2, k, k + 1, 10 * k):
        counts = min(k, found)
        assert affordable(m, m.epsilon_per_pick(picks(k, np.arange(found))), found)
        assert affordable(m, m.epsilon_per_pick(picks(k, np.arange(found)), counts), found, counts)
    new_items = sum(one.delta for one in m.union.conditions)
    assert new_items + m.delta * Fraction(3, 4) <= m.delta


@pytest.mark.parametrize("twin", [broken.every_part_spends_all, broken.picks_do_not_add_up])
def test_a_twin_that_spends_more_is_refused(twin):
    m = DiscoverThenPeel(k=10, epsilon="0.3", delta="1e-6", max_items_per_user=5)
    assert not affordable(m, twin(m, 100), 100)


def test_counts_that_are_not_paid_are_refused():
    m = DiscoverThenPeel(k=10, epsilon="0.3", delta="1e-6", max_items_per_user=5)
    assert not affordable(m, m.epsilon_per_pick(10), 100, counts=10)


# ---- the price at the order of an account -----------------------------------------------------------------------


def worth(m, base, added, order):
    """The larger divergence of one user more and one less, but for what fails (docs/composing.md, "A union")."""
    q, p = (told(lambda sets, draws: m(sets, draws=draws), users) for users in (base, [*base, added]))
    is_shaped = isinstance(m.union, RenyiShaped)
    hidden = sum(one.delta for one in m.union.conditions) if is_shaped else m.union.privacy.delta
    with ctx.workprec(BITS):
        more = {ranked: mass for ranked, mass in p.items() if set(ranked) <= set("".join(base))}
        less = {ranked: mass * (1 - enclose(hidden)) for ranked, mass in q.items()}
        means = [
            sum((mass * (mass / right[o]) ** (order - 1) for o, mass in left.items()), arb(0))
            for left, right in ((more, q), (less, p))
        ]
    return max(float(mean.log().mid()) for mean in means) / (order - 1)


PRICED = [(2, 2, "1/2"), (1, 2, "1/8"), (2, 1, "1/2")]


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize(("k", "most", "share"), PRICED)
def test_an_answer_is_worth_its_divergence_at_any_order(k, most, share, order):
    m = made(k, most, share)
    assert m.divergence(order) is not None
    for base, added in product([*BASES[1:5], "a " * 40 + "b " * 40], ["b", "ab"]):
        assert worth(m, base.split(), added, order) <= float(m.divergence(order))


def test_a_ranking_that_is_free_is_refused():
    """Both items are always found here, so that their order is all that is told."""
    m, base = made(1, 2, "1/8"), ["a"] * 40 + ["b"] * 40
    assert worth(m, base, "b", 2) > 3 * float(m.union.divergence(2))
    assert worth(m, base, "b", 2) > 0.9 * float(m.rest.divergence(2))


def test_whoever_chose_the_bound_is_charged_for_it_and_for_what_it_came_to():
    query = plan_of("top_k", k=30, epsilon="0.5", delta="1e-6", method="discover")
    known = plan_of("top_k", k=30, epsilon="0.475", delta="1e-6", method="discover", max_items_per_user=2)
    release = query.selection.select(UserSets.from_sets(["a", "b"] * 50), SeededDraws(3))
    most = release.privacy.parameters["max_items_per_user"]
    bound = divergence(BoundedRange(Fraction(1, 40)), 23)
    for_items = query.selection.selector.mechanism(most).divergence(23)
    price, found = query.price_at(23), query.cost_at(release, 23)
    assert most > 1
    assert bound + for_items <= found.renyi < bound + for_items + Fraction(1, 2**99)
    assert found.renyi < price.renyi == bound + divergence(PureDP(Fraction(19, 40)), 23)
    assert (found.whole.epsilon, found.whole.failure) == (price.whole.epsilon, price.whole.failure)
    assert known.price_at(23) == known.cost_at(release, 23)
    assert known.price_at(None) == ceiling(known.price, None)


# ---- the plan ---------------------------------------------------------------------------------------------------


def test_what_top_k_runs_is_the_mechanism():
    """Labels, in rank order, by the same law; counts are noise on items already told."""
    plan = plan_of("top_k", k=2, epsilon=EPSILON, delta=DELTA, method="discover", max_items_per_user=2).selection
    sets = UserSets.from_sets(BASES[3].split())
    ran = law(lambda draws: "".join(plan.select(sets, draws).labels))
    m = made(2, 2, str(UNION_SHARE))
    assert same(ran, told(lambda sets, draws: m(sets, draws=draws), BASES[3].split()))
