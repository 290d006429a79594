"""top_k by discovery, as a user calls it: what comes back, what is said of it, and when auto takes it."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import pytest

import dpselect as dps
from dpselect._ground.privacy import BoundedRange, PureDP
from dpselect.accounting.prices import divergence
from dpselect.accounting.renyi import renyi_budget
from dpselect.asked_rows import AskedRows
from dpselect.mechanisms import DiscoverThenPeel, RenyiShaped, TruncatedGeometric
from dpselect.mechanisms.set_union.renyi_shaped import COMPOSED
from dpselect.mechanisms.shared_noise import zcdp
from dpselect.mechanisms.top_k.discover import root_down
from dpselect.queries.top.method import best_unknown_method
from tests.by_names import by_names, plan_of

TERMS = {"epsilon": 8, "delta": "1e-9"}
# Everybody has ant; the rarer an item, the fewer users, down to one alone.
HELD = {"ant": 900, "bee": 600, "cat": 400, "dog": 250, "eel": 1}


def rows(held=HELD):
    pairs = [(user, item) for item, users in held.items() for user in range(users)]
    return {"user": [user for user, _ in pairs], "item": [item for _, item in pairs]}


def votes(**settings):
    return dps.Dataset(rows(), user="user", item="item", **settings)


@pytest.mark.parametrize("settings", [{}, {"max_items_per_user": 1}, {"max_items_per_user": 3}], ids=str)
@pytest.mark.parametrize("counts", [False, True])
def test_the_best_of_what_was_discovered(settings, counts):
    release = by_names(votes(**settings)).top_k(3, method="discover", counts=counts, **TERMS)
    assert release.labels == ["ant", "bee", "cat"]
    assert [item.rank for item in release] == [1, 2, 3]
    assert release.complete
    assert (release.privacy.epsilon, release.privacy.delta) == (8, Fraction(1, 10**9))
    assert release.privacy.mechanism == "DiscoverThenPeel"
    assert release.counted is counts
    apart = settings.get("max_items_per_user") == 1  # picks and counts have epsilons there, and else zCDP
    assert ("epsilon_per_count" if apart else "own_variance") in release.privacy.parameters or not counts
    if counts:  # of all users, whatever the bound is
        assert all(abs(item.count - HELD[item.item]) < 60 for item in release)
        used = release.privacy.parameters
        if apart:
            assert used["epsilon_per_count"] == used["epsilon_per_pick"] / 2
        else:
            rho = zcdp(
                3, 3, used["multiple"], own_variance=used["own_variance"], shared_variance=used["shared_variance"]
            )
            assert rho == 3 * used["epsilon_per_pick"] ** 2 / 8


def test_all_are_ranked_where_fewer_than_k_were_discovered():
    release = by_names(votes(max_items_per_user=3)).top_k(5, method="discover", **TERMS)
    assert release.labels == ["ant", "bee", "cat", "dog"]
    assert not release.complete
    assert "4 of at most 5 items: no other could be released" in str(release)
    assert "Items discovered: 4; all of them are ranked by the numbers of all their users" in " ".join(
        release.privacy.sentences
    )
    assert release.privacy.parameters["discovered"] == 4


def test_nothing_to_discover_is_an_answer():
    few = dps.Dataset(rows({"ant": 2}), user="user", item="item", max_items_per_user=3)
    release = few.top_k(5, method="discover", counts=True, epsilon=1, delta="1e-9")
    assert (release.labels, release.complete, release.counted) == ([], False, True)


def test_a_bound_that_was_chosen_is_said():
    chosen, given = votes(), votes(max_items_per_user=3)
    sentences = [by_names(data).top_k(2, method="discover", **TERMS).privacy.sentences[1] for data in (chosen, given)]
    assert "chosen privately, with 1/20 of epsilon" in sentences[0]
    assert sentences[1] == "Every user takes part in the discovery with at most 3 random items."


@pytest.mark.parametrize("epsilon", ["0.3", "3"])
def test_choosing_the_bound_is_in_the_budget_of_what_follows(epsilon):
    """At one order for all bounds; the twin has an order of its own, and forgets what the choice spent."""
    asked = plan(5, None, epsilon=epsilon).selector
    budget = asked.shared_budget
    whole = renyi_budget(budget.order, asked.epsilon, asked.delta * COMPOSED)
    for most in (3, 20):
        made, twin = asked.mechanism(most), DiscoverThenPeel(k=5, **at(epsilon), max_items_per_user=most)
        assert made.union.order == budget.order
        assert Fraction(999, 1000) * whole < spent(made) + budget.spent <= whole
        of_twin = renyi_budget(twin.union.order, asked.epsilon, asked.delta * COMPOSED)
        assert spent(twin) + divergence(BoundedRange(asked.epsilon_for_bound), twin.union.order) > of_twin
    one = asked.mechanism(1)
    assert (one.epsilon + asked.epsilon_for_bound, one.delta) == (asked.epsilon, budget.delta_of_others)
    assert budget.delta_of_others < asked.delta * Fraction(2, 3)
    assert plan(5, 3).selector.shared_budget is None


def at(epsilon):
    return {"epsilon": epsilon, "delta": "1e-6"}


def spent(made):
    """What union and ranking spend of the budget, at its order."""
    return sum(one.budget for one in made.union.conditions) + made.rest.rho * made.union.order


def test_a_bound_chosen_in_a_budget_has_one_kind_of_price():
    """Up to the order of the budget each bound its own, and none above the ceiling; beyond it one for all."""
    found = plan(10, None)
    own, price_of_bound = found.selector.shared_budget.order, found.selector.epsilon_for_bound

    def renyi(most, order):
        privacy = SimpleNamespace(parameters={"max_items_per_user": most})
        return found.cost_at(SimpleNamespace(found=(10,), privacy=privacy), order).renyi

    for order in (2, own // 2, own):
        costs = [renyi(most, order) for most in (1, 2, 20, 100)]
        assert max(costs) <= found.price_at(order).renyi
        assert min(costs) > divergence(BoundedRange(price_of_bound), order)
        assert len(set(costs)) == 4
    for order in (own + 1, 5 * own):
        costs = {renyi(most, order) for most in (1, 2, 20, 100)} | {found.price_at(order).renyi}
        assert costs == {divergence(PureDP(found.privacy.epsilon), order)}


def test_one_item_a_user_has_no_order():
    with pytest.raises(dps.ParameterError, match="at_order must be left out for one item per user"):
        DiscoverThenPeel(k=5, **at(1), max_items_per_user=1, at_order=9)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "discover", "k_bar": 50}, "k_bar must be left out for discover"),
        ({"method": "discover", "domain": ["ant"]}, "method must be one of auto, peeling"),
        ({"method": "discover", "delta": 0}, "delta must be between 0 and 1, both excluded"),
        (
            {"method": "discover", "epsilon": "0.001"},
            r"epsilon must be at least 0\.\d+ for discover with max_items_per_user chosen",
        ),
        ({"method": "discover", "k": 0}, "k must be a whole number of at least 1"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_is_refused_before_any_row_is_read(settings, message, monkeypatch):
    data = votes()
    monkeypatch.setattr(AskedRows, "open_engine", None)
    with pytest.raises(dps.ParameterError, match=message):
        by_names(data).top_k(**{"k": 3, **TERMS, **settings})


# ---- the price --------------------------------------------------------------------------------------------------


def plan(k, most, **more):
    terms = {"epsilon": 1, "delta": "1e-6", "counts": False, "method": "discover", **more}
    return plan_of("top_k", k=k, max_items_per_user=most, **terms).selection


@pytest.mark.parametrize("most", [None, 1, 5])
@pytest.mark.parametrize("found", [0, 3, 10])
def test_any_answer_is_charged_in_full(most, found):
    privacy = SimpleNamespace(parameters={"max_items_per_user": most or 3})
    cost = plan(10, most).cost_at(SimpleNamespace(found=(found,), privacy=privacy), None).whole
    assert (cost.epsilon, cost.failure) == (1, Fraction(1, 10**6))


@pytest.mark.parametrize("most", [1, 4])
def test_fewer_picks_and_no_counts_leave_more_for_each(most):
    m = DiscoverThenPeel(k=10, epsilon=1, delta="1e-6", max_items_per_user=most)
    each = [m.epsilon_per_pick(*terms) for terms in ((1, 0), (9, 0), (10, 0), (10, 10))]
    assert each == sorted(each, reverse=True)
    assert len(set(each)) == 4


def test_one_item_a_user_has_a_union_of_its_own():
    """At D0 = 1 the best Renyi order is so large that ranking would get next to nothing."""
    one, two = (DiscoverThenPeel(k=50, epsilon=1, delta="1e-6", max_items_per_user=n) for n in (1, 2))
    assert (type(one.union), type(two.union)) == (TruncatedGeometric, RenyiShaped)
    assert (one.union.epsilon, one.rest.epsilon) == (Fraction(1, 2), Fraction(1, 2))
    assert one.union.delta + one.rest.delta == Fraction(1, 10**6)
    assert one.epsilon_per_pick(50) > Fraction(3, 100)


@pytest.mark.parametrize("share", ["1/4", "1/2", "3/4"])
def test_the_union_spends_its_share(share):
    m = DiscoverThenPeel(k=5, epsilon=1, delta="1e-6", max_items_per_user=5, union_share=share)
    union = RenyiShaped(epsilon=1, delta="1e-6", max_items_per_user=5, part=share)
    assert [c.budget for c in m.union.conditions] == [c.budget for c in union.conditions]
    spent = sum(c.budget for c in union.conditions)
    assert spent / (spent + m.rest.rho * union.order) == Fraction(share)


@pytest.mark.parametrize("square", ["2", "1e-12", "1e12", "9/16", "1e-300"])
def test_roots_are_rounded_down_by_little(square):
    square = Fraction(square)
    root = root_down(square)
    assert root**2 <= square < (root * (1 + Fraction(1, 2**29))) ** 2


# ---- auto -------------------------------------------------------------------------------------------------------


def test_auto_is_told_by_k_and_epsilon():
    def by(k, epsilon, most=10):
        return best_unknown_method(k, Fraction(epsilon), Fraction(1, 10**6), most)

    assert by(2, "0.01") == by(7, "0.3") == by(25, 1) == by(75, 3) == "limited-domain"
    assert by(3, "0.1") == by(19, "0.01") == by(8, "0.3") == by(26, 1) == by(63, 1) == "limited-domain-sparse"
    assert by(21, "0.1", 10) == by(64, 1) == by(110, 3) == by(64, 1, None) == by(64, 1, 1) == "discover"
    assert by(20, "0.01", 1000) == by(20, "0.01", None) == "limited-domain-sparse"  # no union for so little


def test_a_plan_takes_what_auto_says_and_tells_why():
    assert plan(90, 100, method="auto").reason.endswith("It was chosen because k is large for epsilon.")
    assert not plan(50, 10).reason.endswith("It was chosen because k is large for epsilon.")
    larger = "It takes 100 items of a user, since a smaller max_items_per_user could find too little."
    for bound, taken in ((1, 1), (2, 100), (99, 100), (100, 100), (200, 200)):
        plan_of_auto = plan_of("top_k", k=50, epsilon="0.1", delta="1e-6", max_items_per_user=bound)
        chosen = plan_of_auto.selection
        assert chosen.known_mechanism.max_items_per_user == taken
        assert chosen.reason.endswith(larger) is (taken > bound)
        named = plan_of("top_k", k=50, epsilon="0.1", delta="1e-6", max_items_per_user=bound, method="discover")
        assert named.selection.known_mechanism.max_items_per_user == bound
        assert (named.key == plan_of_auto.key) is (taken == bound)  # else one would be given for the other
    too_small = plan_of("top_k", k=50, epsilon="0.02", delta="1e-6", max_items_per_user=3).selection
    assert too_small.known_mechanism.max_items_per_user == 3
    helped = "With a max_items_per_user that few users exceed, a set union could find more."
    few = {"k": 100, "epsilon": "0.019", "delta": "1e-6"}
    assert plan_of("top_k", **few).reason.endswith(f"It was chosen because k is large for epsilon. {helped}")
    assert plan_of("top_k", **few, max_items_per_user=1).selection.method == "discover"
    assert helped not in plan_of("top_k", **few | {"k": 20, "epsilon": "0.1"}).selection.reason
    assert helped not in plan_of("top_k", **few, by_weight="w", at_most=2).selection.reason
    looked = plan_of("top_k", k=50, epsilon=1, k_bar=500, max_items_per_user=10).selection
    assert type(looked.selector).__name__ == "LimitedDomain"
