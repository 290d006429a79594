"""Dataset.union: what is found when the answer is all but certain, what is said of it, paid for it, and refused."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import dpselect as dps
from dpselect._ground.methods import WeightRule, method_row, methods
from dpselect._ground.privacy import ApproxDP
from dpselect.aggregates.user_sets import UserSets
from dpselect.flat import dataset_of
from dpselect.queries.union import bounded_union
from dpselect.queries.union.bound import ITEM_BOUNDS, BoundChoice, bounds_with_curve
from dpselect.queries.union.bounded_union import sort_key
from dpselect.queries.union.method import best_method
from dpselect.release.archive import archive_release, restore_release
from dpselect.testing import SeededDraws, hockey_stick, law
from dpselect.texts.text import NgramRange
from dpselect.texts.tokenizer import Tokenizer
from dpselect.utility.union_accuracy import users_for
from tests.by_names import by_names, plan_of
from tests.twins import unions as broken

METHODS = {one.name: one.mechanism for one in methods("union")}
PRICE = {"epsilon": 50, "delta": "1e-9"}
MANY, SOME = 240, 120


def rows(pairs):
    users, items = zip(*pairs, strict=True) if pairs else ((), ())
    return {"user": list(users), "item": list(items)}


def shared():
    """Two items of many users, each row twice, and one item each of three single users."""
    pairs = [(user, "much") for user in range(MANY)] + [(user, "some") for user in range(SOME)]
    return rows([*pairs, *pairs, *((user, f"own {user}") for user in range(3))])


def dataset(data=None, **more):
    return dataset_of(shared() if data is None else data, **({"user": "user", "item": "item"} | more))


def texts(ngrams=1):
    notes = ["to be or", *["To be!"] * 199, "my own word"]
    data = {"user": [*range(200), 7], "note": notes}
    return dps.Dataset(data, user="user", item=dps.Text("note", ngrams=ngrams))


def said(release):
    return " ".join(release.privacy.sentences)


# ---- what is found ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", *METHODS])
def test_every_method_finds_what_many_share_and_nothing_of_one(method):
    most = 1 if method == "truncated-geometric" else 3
    # Greedy updates at a large epsilon has a cutoff below its threshold, and curves end before: see docs/mechanisms.
    price = PRICE | ({"epsilon": 8} if method in ("greedy-geometric", "renyi-shaped") else {})
    # A cutoff keeps weights so near to the threshold that an item is left out now and then, but not eight times.
    runs = 8 if {"policy", "greedy"} & set(method.split("-")) else 1
    found = [by_names(dataset()).union(**price, max_items_per_user=most, method=method) for _ in range(runs)]
    assert set().union(*(release.labels for release in found)) == {"much", "some"}
    for release in found:
        assert release.labels == sorted(release.labels)
        assert release.complete
        assert release.secure
        assert not release.ranked
    release = found[0]
    name = release.privacy.parameters["method"]
    assert method in (name, "auto")
    assert release.privacy.mechanism == METHODS[name].__name__
    assert f"by {name}" in said(release)
    assert release.privacy.parameters["max_items_per_user"] == most


@pytest.mark.parametrize("method", [name for name, make in METHODS.items() if name != "truncated-geometric"])
def test_every_method_can_have_its_bound_chosen_for_it(method):
    price = {"epsilon": 6, "delta": "1e-9"}
    release = dataset().union(**price, counts=True, method=method)  # counts need a bound
    assert release.privacy.parameters["max_items_per_user"] >= 1
    assert "chosen privately, with 1/20 of epsilon" in said(release)


def test_users_are_counted_once_and_counts_are_near():
    release = by_names(dataset()).union(**PRICE, max_items_per_user=2, method="weighted-gaussian", counts=True)
    assert release.labels == ["much", "some"]
    deviation = release.privacy.parameters["deviation_of_counts"]
    assert 0 < deviation < 2
    for item, truth in zip(release, (MANY, SOME), strict=True):
        assert abs(item.count - truth) <= 8 * deviation


def test_items_stand_by_their_noisy_counts_where_they_have_some():
    data = rows([(user, "z") for user in range(MANY)] + [(user, "a") for user in range(SOME)])
    price = PRICE | {"method": "weighted-gaussian", "max_items_per_user": 2}
    assert by_names(dataset(data)).union(**price, counts=True).labels == ["z", "a"]
    assert by_names(dataset(data)).union(**price).labels == ["a", "z"]


def test_a_user_counts_for_at_most_the_bound():
    """Ten items of the same hundred users, of which each may count for two: all counts together are near 200."""
    data = rows([(user, f"item {n}") for user in range(100) for n in range(10)])
    release = by_names(dataset(data)).union(**PRICE, max_items_per_user=2, method="weighted-gaussian", counts=True)
    total = sum(item.count for item in release)
    wide = 8 * release.privacy.parameters["deviation_of_counts"] * len(release) ** 0.5
    assert len(release) == 10
    assert abs(total - 200) <= wide < 400


def test_counting_without_the_bound_would_be_noticed(monkeypatch):
    """The broken twin of the test above: whoever counts all items of a user moves more than the noise is for."""
    monkeypatch.setattr(bounded_union, "bounded", lambda sets, most, draws: sets)  # noqa: ARG005
    with pytest.raises(AssertionError):
        test_a_user_counts_for_at_most_the_bound()


def test_the_bound_of_the_data_set_is_meant_unless_another_is_given():
    assert by_names(dataset(max_items_per_user=4)).union(**PRICE).privacy.parameters["max_items_per_user"] == 4
    both = by_names(dataset(max_items_per_user=4)).union(**PRICE, max_items_per_user=2)
    assert both.privacy.parameters["max_items_per_user"] == 2


def test_a_chosen_bound_is_about_what_most_users_have():
    data = rows([(user, n) for user in range(400) for n in range(5)])
    found = by_names(dataset(data)).union(**PRICE, method="weighted-gaussian")
    assert found.privacy.parameters["max_items_per_user"] == 5
    assert found.labels == [0, 1, 2, 3, 4]


def same_users(users, items):
    codes = np.tile(np.arange(items, dtype=np.int64), users)
    return UserSets(offsets=np.arange(users + 1, dtype=np.int64) * items, codes=codes, size=items, label=int)


def test_a_bound_chosen_for_a_twentieth_of_a_small_price_is_rarely_far_off():
    """With a thousand points, of which most are far too large, one of those wins more often than not."""
    terms = plan_of("union", epsilon=1, method="weighted-gaussian")
    sets = same_users(2000, 50)
    found = [terms.bound_choice.of_sets(sets, SeededDraws(seed)) for seed in range(40)]
    assert found.count(50) >= 32


@pytest.mark.parametrize(("items", "bound"), [(1, 1), (7, 8), (11, 13), (1000, 1000), (5000, 1000)])
def test_a_bound_leaves_most_users_all_that_they_have(items, bound):
    terms = plan_of("union", epsilon=100, method="weighted-gaussian")
    assert terms.bound_choice.of_sets(same_users(100, items), SeededDraws(0)) == bound


def test_no_rows_are_an_answer():
    release = by_names(dataset(rows([]), where="1 = 1")).union(**PRICE)
    assert len(release) == 0
    assert release.complete
    assert not release.ranked
    assert str(release).startswith("No items: ")
    assert release.to_columns() == {"item": []}


# ---- their order ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [
        ["a", "a bit", "a'b", "ab", "b"],
        [-2, 3, 10],
        [0.5, 2.0, 10.0, float("nan")],
        [Decimal("9.5"), Decimal(10)],
        [datetime.date(2024, 9, 1), datetime.date(2024, 10, 1)],
        [b"a", b"b"],
        [1, 2, "1", "a", [2], None],
    ],
    ids=repr,
)
def test_labels_have_one_order_wherever_they_stood(labels):
    keys = [sort_key(label) for label in labels]
    assert len(set(keys)) == len(labels)
    backwards = list(reversed(labels))
    backwards.sort(key=sort_key)
    assert [sort_key(label) for label in backwards] == sorted(keys)
    if len({type(label) for label in labels}) == 1:
        assert sorted(keys) == keys


# ---- texts ------------------------------------------------------------------------------------------------


def test_the_words_and_pairs_of_a_text():
    release = by_names(texts(ngrams=(1, 2))).union(**PRICE, max_items_per_user=4, method="weighted-gaussian")
    assert release.labels == ["be", "to", "to be"]
    assert release.privacy.parameters["items_by_length"] == {"1": 2, "2": 1}
    assert release.privacy.parameters["shares"] == (Fraction(2, 3), Fraction(1, 3))
    assert "Items by number of tokens: 2 of 1, 1 of 2." in said(release)
    assert "for 2/3, 1/3 of the price of items" in said(release)
    assert restore_release(archive_release(release)) == release


@pytest.mark.parametrize("counts", [False, True])
def test_pairs_only(counts):
    release = by_names(texts(ngrams=2)).union(**PRICE, max_items_per_user=4, method="weighted-gaussian", counts=counts)
    assert release.labels == ["to be"]
    assert (release.items[0].count is not None) == counts
    assert release.counted == counts


def test_the_whole_price_of_counts_goes_to_the_lengths_that_are_shown():
    def plan(first):
        half = Fraction(1, 2)
        words = NgramRange(Tokenizer(), first + 1, 2)
        return plan_of(
            "union",
            epsilon=1,
            max_items_per_user=4,
            method="weighted-gaussian",
            counts=True,
            shares=(half, half),
            words=words,
        )

    twice = pytest.approx(float(2 * plan(1).noise(1, 4)), rel=1e-3)  # what is added for whole noise is not doubled
    assert float(plan(0).noise(0, 4)) == twice


# ---- what is said and paid --------------------------------------------------------------------------------


@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("most", [None, 5])
@pytest.mark.parametrize("words", [None, NgramRange(Tokenizer(), 1, 3)])
def test_the_parts_add_up_to_the_price(counts, most, words):
    terms = plan_of(
        "union", epsilon="0.5", max_items_per_user=most, method="weighted-gaussian", counts=counts, words=words
    )
    (union_epsilon, union_delta), (count_epsilon, count_delta) = terms.price_of_union(5), terms.price_of_counts(5)
    assert union_epsilon + count_epsilon + terms.epsilon_for_bound == terms.epsilon == Fraction(1, 2)
    assert union_delta + count_delta == terms.delta == Fraction(1, 10**6)
    assert (terms.epsilon_for_bound > 0) == (most != 5)
    assert (count_epsilon > 0) == counts
    assert sum(terms.shares_of_levels) <= 1
    assert terms.ceiling == ApproxDP(terms.epsilon, terms.delta)
    if terms.chooses_bound:
        assert terms.bound_choice.chooser.privacy.epsilon <= terms.epsilon_for_bound
        assert terms.bound_choice.chooser.privacy.delta == 0


@pytest.mark.parametrize("method", [*METHODS])
def test_no_level_takes_more_than_its_part(method):
    shares = (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6))
    most = 1 if method == "truncated-geometric" else 5
    words = NgramRange(Tokenizer(), 1, 3)
    terms = plan_of("union", epsilon=1, max_items_per_user=most, method=method, counts=True, shares=shares, words=words)
    made = terms.mechanisms(terms.max_items_per_user)
    if method_row("union", method).weights is WeightRule.ROUNDS:
        assert [one.part for one in made] == list(shares)
        assert {(one.privacy.epsilon, one.privacy.delta) for one in made} == {terms.price_of_union(most)}
    else:
        epsilon, delta = terms.price_of_union(most)
        assert sum(one.privacy.epsilon for one in made) <= epsilon
        assert sum(one.privacy.delta for one in made) <= delta


def test_a_large_delta_is_spoken_of():
    assert "Mind: delta = 0.01 is large" in said(
        by_names(dataset()).union(epsilon=1, delta="0.01", max_items_per_user=3)
    )
    assert "Mind" not in said(by_names(dataset()).union(epsilon=1, delta="1e-6", max_items_per_user=3))


def test_nothing_is_said_that_depends_on_unreleased_data():
    """The same sentences for data of many users and of none, the bound being given."""
    terms = {"epsilon": 1, "delta": "1e-6", "max_items_per_user": 3, "counts": True, "method": "greedy-geometric"}
    full, empty = by_names(dataset()).union(**terms), by_names(dataset(rows([]))).union(**terms)
    assert full.privacy == empty.privacy


# ---- what is refused --------------------------------------------------------------------------------------

REFUSED = {
    "epsilon 0": ({"epsilon": 0}, "epsilon"),
    "epsilon nan": ({"epsilon": float("nan")}, "epsilon"),
    "epsilon beyond use": ({"epsilon": "1e7"}, "epsilon"),
    "delta 0": ({"delta": 0}, "delta"),
    "delta 1": ({"delta": 1}, "delta"),
    "delta tiny": ({"delta": Fraction(1, 10**400)}, "delta"),
    "no items": ({"max_items_per_user": 0}, "max_items_per_user"),
    "half an item": ({"max_items_per_user": 2.5}, "max_items_per_user"),
    "true items": ({"max_items_per_user": True}, "max_items_per_user"),
    "a word": ({"max_items_per_user": "all"}, "max_items_per_user"),
    "two for one": ({"max_items_per_user": 2, "method": "truncated-geometric"}, "max_items_per_user"),
    "unknown method": ({"method": "SIPS"}, "method"),
    "counts guessed": ({"counts": 1}, "counts"),
    "fresh guessed": ({"fresh": 1}, "fresh"),
    "curves too long": ({"method": "renyi-shaped", "epsilon": "0.001"}, "epsilon"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_before_any_row_is_read(name, monkeypatch):
    given, parameter = REFUSED[name]
    monkeypatch.setattr("dpselect.engines.duckdb.engine.DuckDBEngine.contributions", None)
    with pytest.raises(dps.ParameterError) as error:
        by_names(dataset()).union(**(PRICE | given))
    assert error.value.parameter == parameter


def test_text_and_items_are_for_different_questions():
    with pytest.raises(dps.ParameterError) as error:
        texts().top_k(3, epsilon=1, delta="1e-6")
    assert error.value.parameter == "item"
    with pytest.raises(dps.ParameterError) as error:
        dps.Dataset({"user": [1], "n": np.array([2])}, user="user", item=dps.Text("n")).union(epsilon=1)
    assert error.value.parameter == "text"
    with pytest.raises(dps.ParameterError) as error:
        by_names(texts(ngrams=(1, 2))).union(epsilon=1, shares=["1/2", "2/3"])
    assert error.value.parameter == "shares"


EXTREMES = [
    (method, epsilon, delta)
    for method in ["auto", *METHODS]
    for epsilon, delta in [("1e-6", "1e-100"), ("1e-6", "0.999"), ("1e6", "1e-100"), ("1e6", "0.999"), ("10", "2e-20")]
    if method != "renyi-shaped"  # whose curves end before: tests of its own
]


@pytest.mark.parametrize(("method", "epsilon", "delta"), EXTREMES)
def test_what_is_planned_can_be_made_for_any_chosen_bound(method, epsilon, delta):
    """A refusal after the ceiling is reserved would cost it."""
    try:
        terms = plan_of("union", epsilon=epsilon, delta=delta, method=method, counts=True)
    except dps.ParameterError:
        return
    for most in (1, 2, 30, 1000) if terms.chooses_bound else (1,):
        (made,) = terms.mechanisms(most)
        assert all((users_for(made, chance, 1) or 1) >= 1 for chance in (0.5, 0.95))


def test_nothing_is_promised_of_users_of_several_items_under_a_policy():
    """Sixteen users of ten items each were said to be enough for an even chance; it is one in two million."""
    data = {"user": [user for user in range(60) for _ in range(2)], "item": ["a", "b"] * 60}
    found = by_names(dataset(data)).union(**PRICE, max_items_per_user=10, method="greedy-geometric")
    said = " ".join(found.explain().split())
    assert "users who have no other item is found" in " ".join(str(found).split())
    assert "10 items each" not in said
    assert "this says nothing about them" in said
    assert "10 items each" in " ".join(
        str(by_names(dataset(data)).union(**PRICE, max_items_per_user=10, method="weighted-gaussian")).split()
    )


def test_the_method_is_taken_by_public_facts():
    sure, small = (Fraction(1), Fraction(1, 10**6)), (Fraction(1, 1000), Fraction(1, 10**6))
    assert best_method(*sure, 1) == "truncated-geometric"
    assert best_method(*sure, 1, counted=True) == "count-laplace"  # the GROUP BY of one key a user
    assert best_method(*sure, 1, counted=True, in_engine=True) == "truncated-geometric"
    assert best_method(*sure, 100) == best_method(*sure, 2, counted=True) == "renyi-shaped"
    assert best_method(*small, 100) == "weighted-gaussian"  # its curve would take minutes


# ---- the bounds to choose from ----------------------------------------------------------------------------

LAST = {"0.105": 1000, "0.1": 800, "0.07": 400, "0.05": 160, "0.03": 50, "0.02": 20}


@pytest.mark.parametrize("epsilon", LAST)
def test_bounds_are_those_that_have_a_curve(epsilon):
    """One list for all: rounds answer, and a top k is discovered, whichever is chosen."""
    terms = plan_of("union", epsilon=epsilon)
    bounds = terms.bound_choice.bounds
    assert bounds == ITEM_BOUNDS[: len(bounds)]
    assert bounds[-1] == LAST[epsilon]
    assert terms.method == "renyi-shaped"
    assert {terms.method_for(most) for most in bounds[1:]} == {"renyi-shaped"}
    assert plan_of("union", epsilon=epsilon, method="renyi-shaped").bound_choice.bounds == bounds
    assert plan_of("union", epsilon=epsilon, method="weighted-gaussian").bound_choice.bounds == ITEM_BOUNDS
    top = plan_of("top_k", k=100, epsilon=epsilon)
    assert top.method == "discover"
    assert top.selection.selector.bound_choice.bounds == bounds
    counted = plan_of("union", epsilon=float(epsilon) * 1.5, counts=True)
    assert counted.bound_choice.bounds == ITEM_BOUNDS[: len(counted.bound_choice.bounds)]
    assert {counted.method_for(most) for most in counted.bound_choice.bounds[1:]} == {"renyi-shaped"}


def test_the_list_grows_with_epsilon_and_delta():
    at = [bounds_with_curve(Fraction(n, 1000), Fraction(1, 10**6)) for n in range(1, 130)]
    assert all(len(one) <= len(other) for one, other in pairwise(at))
    assert 1 < len(bounds_with_curve(Fraction(1, 10), Fraction(1, 10**9))) < len(at[99])


@pytest.mark.parametrize("epsilon", ["0.019", "0.005"])
def test_where_there_is_no_choice_other_methods_answer(epsilon):
    """By the few bounds that have a curve users of many items would lose nearly all."""
    assert plan_of("union", epsilon=epsilon).method == "weighted-gaussian"
    assert plan_of("union", epsilon=epsilon).bound_choice.bounds == ITEM_BOUNDS
    assert plan_of("top_k", k=100, epsilon=epsilon).method != "discover"
    for question in ({"verb": "union", "method": "renyi-shaped"}, {"verb": "top_k", "k": 5, "method": "discover"}):
        with pytest.raises(dps.ParameterError, match="max_items_per_user chosen") as refused:
            plan_of(**question, epsilon=epsilon)
        least = refused.value.must.split()[3]
        assert plan_of(**question, epsilon=least)


def test_users_of_more_items_than_any_bound_are_answered():
    """At epsilon 0.1 a bound of 1000 has no curve: in memory, in the engine, and read back from the answer."""
    terms, sets = plan_of("union", epsilon="0.1"), same_users(3000, 1200)
    most = terms.bound_choice.of_sets(sets, SeededDraws(1))
    assert most == 800
    assert terms.bound_choice.bound_of_answer(most) == 800
    assert terms.bound_choice.bound_of_answer(1000) == 1
    lengths = SimpleNamespace(user_set_sizes=lambda last: (np.array([last]), np.array([3000])))
    assert terms.bound_choice.of_pairs(lengths, SeededDraws(2)) == 800


def test_a_largest_bound_that_is_taken_from_the_data_is_refused():
    """A twin: one more user adds a bound that could not be chosen before."""
    choice = broken.of_longest_user(BoundChoice(Fraction(1), ITEM_BOUNDS))

    def law_of(*lengths):
        return law(lambda draws: choice(lengths).of_sets(UserSets.from_sets([range(n) for n in lengths]), draws))

    without, given = law_of(1, 2), law_of(1, 2, 6)
    assert float(hockey_stick(given, without, Fraction(1)).mid()) > 0.1
    right = BoundChoice(Fraction(1), ITEM_BOUNDS[:6])
    laws = [
        law(lambda draws, n=n: right.of_sets(UserSets.from_sets([range(size) for size in n]), draws))
        for n in ((1, 2), (1, 2, 6))
    ]
    assert float(hockey_stick(*laws, Fraction(1)).mid()) == float(hockey_stick(*laws[::-1], Fraction(1)).mid()) == 0


def of_equal_users(items, **more):
    """A data set of 3000 users who have the same items."""
    data = {"user": [u for u in range(3000) for _ in range(items)], "item": [str(i) for i in range(items)] * 3000}
    return dps.Dataset(data, user="user", item="item", **more)


def test_users_of_few_items_are_told_of_another_method():
    """Where a bound that was chosen, and so released, says that they are such; nowhere else."""

    def told(items, **more):
        data = by_names(of_equal_users(items, budget=dps.Budget(epsilon=100, delta="1e-3")))
        said = data.union(epsilon=5, delta="1e-6", **more).privacy.sentences
        return any("greedy-geometric" in sentence for sentence in said)

    assert told(2)
    assert told(6)
    assert not told(1)
    assert not told(8)
    assert not told(2, max_items_per_user=2)
    assert not told(2, method="weighted-gaussian")
    assert not told(2, in_engine=True)


BY_BOUND = {1: "TruncatedGeometric", 2: "GreedyGeometric", 6: "GreedyGeometric", 8: "RenyiShaped"}


@pytest.mark.parametrize("items", BY_BOUND)
def test_where_no_account_is_kept_the_chosen_bound_decides_the_method(items):
    """The question says so, and is another one than where an account is kept."""
    alone, kept = of_equal_users(items), of_equal_users(items, budget=dps.Budget(epsilon=100, delta="1e-3"))
    price = {"epsilon": 5, "delta": "1e-6"}
    release = alone.union(**price)
    assert release.privacy.mechanism == BY_BOUND[items]
    assert release.privacy.parameters["max_items_per_user"] == items
    assert release.question["method"] == "by-bound"
    assert str(dps.check(release).verdict) == "follows"
    printed = str(release)
    assert ("for at most" in printed) is (items not in (2, 6))
    assert (release.privacy.parameters.get("all_items") is True) is (items in (2, 6))
    plan = alone.plan(dps.Union(), **price)  # which a budget may pay for, so no method that costs it more
    assert plan == dps.Union().at(**price)
    assert kept.ask(plan).question.get("method") is None
    assert kept.union(**price).privacy.mechanism == ("RenyiShaped" if items > 1 else "TruncatedGeometric")
    assert kept.plan(dps.Union(), **price) == dps.Union().at(**price)
    named = kept.ask(dps.Union(method="by-bound"), **price)
    assert named.privacy.mechanism == BY_BOUND[items]
    assert named.charged.numbers["repeated"] is False
    said = " ".join(release.privacy.sentences)
    assert ("An account that composes would pay more" in said) is (items in (2, 6))
    assert ("Each user contributes at most" in said) is (items not in (2, 6))


def test_only_a_plain_union_whose_bound_is_chosen_is_asked_so():
    alone, bounded = of_equal_users(2), of_equal_users(2, max_items_per_user=2)
    text = dps.Dataset({"user": [1], "text": ["a b"]}, user="user", item=dps.Text("text"))
    plain, price = dps.Union(), {"epsilon": 5, "delta": "1e-6"}
    for data, question in (
        (alone, dps.Union(counts=True)),
        (alone, dps.Union(method=dps.Method(in_engine=True))),
        (alone, dps.Union(method="renyi-shaped")),
        (bounded, plain),
        (text, plain),
    ):
        assert data.ask(question, **price).question.get("method") != "by-bound"
    assert alone.exclude(["a"]).ask(plain, **price).question["method"] == "by-bound"
    for data, question, parameter in (
        (alone, dps.Union(counts=True, method="by-bound"), "counts"),
        (alone, dps.Union(by="item", method="by-bound"), "by"),
        (bounded, dps.Union(method="by-bound"), "max_items_per_user"),
        (text, dps.Union(method="by-bound"), "ngrams"),
    ):
        with pytest.raises(dps.ParameterError, match=f"^{parameter} must be left out for by-bound"):
            data.plan(question, **price)


@pytest.mark.parametrize("epsilon", ["0.005", "0.3", "3"])
def test_a_method_by_the_bound_has_what_the_choice_left(epsilon):
    """Whatever rounds need: what answers a small bound is one step of the epsilon that is left, and of delta_N."""
    price = {"epsilon": epsilon, "delta": "1e-6"}
    free, plan = plan_of("union", **price), plan_of("union", method="by-bound", **price)
    assert plan.bound_choice == free.bound_choice
    assert plan.shared_budget == free.shared_budget
    for most in (2, 6):
        (mechanism,) = plan.mechanisms(most)
        assert type(mechanism).__name__ == "GreedyGeometric"
        assert mechanism.max_items_per_user is None
        assert mechanism.epsilon == Fraction(epsilon) * Fraction(19, 20)
        assert mechanism.delta == (plan.shared_budget.delta_of_others if plan.shared_budget else plan.delta)
    for most in (1, 8):
        assert plan.mechanisms(most) == free.mechanisms(most)
    assert {plan.method_for(most) for most in range(2, 7)} == {"greedy-geometric"}
    assert plan.key["method"] != free.key["method"]


def test_values_of_several_types_stay_what_they_are():
    data = {"user": [user for user in range(200) for _ in range(3)], "item": ["a", 1, 2.5] * 200}
    assert by_names(dataset(data)).union(**PRICE, max_items_per_user=3, method="weighted-gaussian").labels == [
        2.5,
        1,
        "a",
    ]


# ---- a public list ---------------------------------------------------------------------------------------


def test_people_give_to_popular_items_first():
    """Forty people with the same thirty words can lift a few of them, and without a list each lifts another."""
    data = {"user": [user for user in range(40) for _ in range(30)], "item": [f"w{i}" for i in range(30)] * 40}
    price = {"epsilon": 20, "delta": "1e-9"}
    listed = by_names(dataset(data)).union(**price, popular=["w3", "never", "w3", "w5"])
    assert {"w3", "w5"} <= set(listed.labels)
    assert listed.privacy.mechanism == "GreedyGeometric"
    again = by_names(dataset(data)).union(**price, popular=listed, method="greedy-geometric")
    assert {"w3", "w5"} <= set(again.labels)


@pytest.mark.parametrize(
    ("popular", "method", "parameter"),
    [
        ("words", "auto", "popular"),
        (7, "auto", "popular"),
        ([["a"]], "auto", "popular"),
        (["a"], "weighted-gaussian", "popular"),
    ],
    ids=["a text", "a number", "a list of lists", "a method without order"],
)
def test_a_list_of_popular_items_must_be_one(popular, method, parameter):
    with pytest.raises(dps.ParameterError) as refused:
        by_names(dataset({"user": [1], "item": ["a"]})).union(epsilon=1, popular=popular, method=method)
    assert refused.value.parameter == parameter


def test_the_order_of_a_public_list_is_part_of_the_question():
    """Another order is another question, whose answer no ledger holds."""
    asked = [
        plan_of("union", **LISTED, popular=popular).key for popular in (["a", "b"], ["b", "a"], ["a", "b"], [1], ["1"])
    ]
    assert asked[0] == asked[2]
    assert len({one["popular"] for one in asked}) == 4


LISTED = {"epsilon": 1}
SHARES = (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6))


def spent(levels):
    """What the rounds of all levels take: of the Renyi budget or of 1 / deviation^2, and of delta."""
    rounds = [one for level in levels for one in (level.conditions if hasattr(level, "conditions") else level.laws)]
    if hasattr(levels[0], "conditions"):
        return sum(one.budget for one in rounds), sum(one.delta for one in rounds)
    return sum(1 / law.deviation**2 for law in rounds), sum(part for level in levels for part in level.parts)


@pytest.mark.parametrize("method", [one.name for one in methods("union") if one.weights is WeightRule.ROUNDS])
def test_levels_share_one_budget_and_a_twin_that_gives_it_to_each_is_refused(method):
    terms = {"epsilon": 1, "delta": "1e-6", "max_items_per_user": 10}
    whole = spent([METHODS[method](**terms)])
    shared = spent([METHODS[method](**terms, part=part) for part in SHARES])
    twin = spent([METHODS[method](**terms) for _ in SHARES])
    assert all(taken <= most for taken, most in zip(shared, whole, strict=True))
    assert all(taken > Fraction(999, 1000) * most for taken, most in zip(shared, whole, strict=True))
    assert not any(taken <= most for taken, most in zip(twin, whole, strict=True))
