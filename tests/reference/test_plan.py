"""Forecasts against independent computations: sums of tails, thresholds, real calls on the same invented users."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

import dpselect as dps
from dpselect import mechanisms
from dpselect._ground.methods import names
from dpselect._ground.privacy import Neighbors
from dpselect.forecast import top_k as top
from dpselect.forecast import union
from dpselect.forecast.crowds import (
    Released,
    Zipf,
    expected_counts,
    moved_poisson,
    release_probabilities,
    smallest_likely,
)
from dpselect.forecast.forecast import FREE_SENTENCE
from dpselect.mechanisms.set_union.release_laws import GaussianTail, LaplaceTail, geometric
from dpselect.release.release import Item, Release, Statement
from dpselect.testing.exact import SeededDraws
from tests.by_names import drawn

DELTA = 1e-6
COUNTS = [400, 120, 60, 31, 22, 15, 14, 13, 9, 4, 2, 1, 1]
CROWD = Zipf(users=3000, items=400, items_per_user=6.0, skew=1.1)


def plan(question, like=None, **given):
    return drawn(SeededDraws(1), lambda: question.forecast(like, **given))


def rows(question, like=None, **given):
    return list(plan(question, like, **given))


def of_counts(has, most, method):
    """A union's row at epsilon 1, of users of COUNTS who have so many items each."""
    mechanism = union.UnionForecastTerms(delta=Fraction("1e-6"), max_items_per_user=most).make(method, Fraction(1))
    counts = np.array(COUNTS, dtype=float)
    world = union.Averages(Released(counts=counts, items=len(counts), items_per_user=has))
    return mechanism, union.forecast_by_formula(method, Fraction(1), mechanism, world)


# ---- unions from counts: formulas written down a second time -----------------------------------------------


def laplace_tail(gap, q):
    """P(Z >= gap) of whole noise with probability in proportion to q^|z|."""
    return q**gap / (1 + q) if gap >= 1 else 1 - q ** (1 - gap) / (1 + q)


@pytest.mark.parametrize("epsilon", [0.5, 1, 3])
def test_a_union_of_counts_is_a_sum_of_tails(epsilon):
    [row] = rows(dps.Union(), COUNTS, max_items_per_user=1, epsilon=epsilon, methods="count-laplace")
    q = math.exp(-epsilon)
    threshold = 1 + math.ceil(math.log(1 / ((1 + q) * DELTA)) / epsilon)
    tails = [laplace_tail(threshold - count, q) for count in COUNTS]
    assert row.threshold == threshold
    assert row.items == pytest.approx(sum(tails), rel=1e-9)
    assert row.items_spread == pytest.approx(math.sqrt(sum(p * (1 - p) for p in tails)), rel=1e-9)
    missing = 1 - sum(p * c for p, c in zip(tails, COUNTS, strict=True)) / sum(COUNTS)
    assert row.error == pytest.approx(missing, rel=1e-9)
    assert row.smallest_count == math.ceil(threshold)


def test_the_gaussian_one_too():
    [row] = rows(dps.Union(), COUNTS, max_items_per_user=1, epsilon=1, methods="count-gaussian")
    mechanism = mechanisms.CountGaussian(epsilon=1, delta="1e-6", max_items_per_user=1)
    noise = NormalDist(float(mechanism.threshold), float(mechanism.law.deviation))
    assert row.items == pytest.approx(sum(noise.cdf(count) for count in COUNTS), rel=1e-9)


@pytest.mark.parametrize(("has", "most"), [(1, 1), (3, 5), (5, 5), (20, 5)])
@pytest.mark.parametrize("method", union.SUM_METHODS)
def test_the_smallest_count_is_where_the_release_passes_one_half(method, has, most):
    """Of users of `has` items each, who keep `most` of them: found here by trying one count after another."""
    mechanism, row = of_counts(has, most, method)
    kept = min(has, mechanism.max_items_per_user)

    def half(count):
        weight = Fraction(count * kept, has) * mechanism.share(kept)
        return mechanism.law.at(weight).ball(96) >= 0.5

    assert half(row.smallest_count)
    assert not half(row.smallest_count - 1)


def test_users_who_have_more_than_they_may_keep_give_less():
    few, many = (of_counts(has, 2, "count-laplace")[1] for has in (2, 8))
    assert [few] == rows(dps.Union(), COUNTS, max_items_per_user=2, epsilon=1, methods="count-laplace")
    assert many.items < few.items
    assert many.smallest_count == math.ceil(4 * few.threshold)


# ---- unions of invented users -------------------------------------------------------------------------------


@pytest.mark.parametrize("method", names("union"))
def test_more_epsilon_finds_more(method):
    found = rows(
        dps.Union(), dps.Population(3000, items=400), max_items_per_user=10, epsilon=[0.3, 1, 3], methods=method
    )
    assert [float(row.epsilon) for row in found] == [0.3, 1, 3]
    items, smallest, lost = zip(*((row.items, row.smallest_count, row.error) for row in found), strict=True)
    assert items[0] < items[1] < items[2]
    assert smallest[0] > smallest[1] > smallest[2]
    assert lost[0] > lost[1] > lost[2]


@pytest.mark.parametrize("method", ["count-laplace", "weighted-gaussian", "greedy-geometric"])
def test_expected_items_are_what_real_calls_return(method, monkeypatch):
    """40 real calls on the same users: within five standard errors, and a seventh more or less would be refused."""
    monkeypatch.setattr(union, "ORDERS_DRAWN", 20)
    sets = CROWD.sets(SeededDraws(5))
    sample = union.Sample(sets, SeededDraws(6))
    mechanism = union.UnionForecastTerms(delta=Fraction("1e-6"), max_items_per_user=8).make(method, Fraction(1))
    row = union.forecast_by_users(method, Fraction(1), mechanism, sample)
    draws = SeededDraws(7)
    found = [len(mechanism(sets, draws=draws)) for _ in range(40)]
    error = 5 * row.items_spread * math.sqrt(1 / 40 + 1 / (20 if method in union.POLICY_METHODS else 40))
    assert abs(np.mean(found) - row.items) < error
    assert error < row.items / 7
    assert row.items_spread / 2 < np.std(found, ddof=1) < 2 * row.items_spread


def test_formulas_are_near_invented_users():
    population = Zipf(users=20_000, items=3000, items_per_user=6.0, skew=1.1)
    sample = union.Sample(population.sets(SeededDraws(2)), SeededDraws(3))
    for method in union.SUM_METHODS:
        mechanism = union.UnionForecastTerms(delta=Fraction("1e-6"), max_items_per_user=8).make(method, Fraction(1))
        one = union.forecast_by_formula(method, Fraction(1), mechanism, union.Averages(population))
        other = union.forecast_by_users(method, Fraction(1), mechanism, sample)
        assert one.items == pytest.approx(other.items, rel=0.05), method
        assert one.smallest_count == pytest.approx(other.smallest_count, rel=0.2), method


def test_too_many_users_are_not_made_one_by_one():
    found = plan(dps.Union(), dps.Population(10**8, items=1000), max_items_per_user=10, epsilon=1)
    assert {row.method for row in found} == set(union.SUM_METHODS)
    assert any("Left out: greedy-geometric" in s for s in found.sentences)
    with pytest.raises(dps.ParameterError, match="need simulated users"):
        plan(dps.Union(), dps.Population(10**8), max_items_per_user=10, epsilon=1, methods="renyi-shaped")


def test_without_a_bound_only_those_that_need_none():
    found = plan(dps.Union(), dps.Population(500, items=50), epsilon=1)
    known = {"truncated-geometric", "greedy-geometric"}
    assert {row.method for row in found} == known


def test_an_epsilon_that_is_too_small_for_one_mechanism_is_said():
    found = plan(
        dps.Union(), dps.Population(500, items=50), max_items_per_user=5, epsilon=["0.001", 1], methods=["renyi-shaped"]
    )
    assert [row.epsilon for row in found] == [1]
    assert "renyi-shaped is left out at epsilon 0.001, too small for it." in found.sentences
    with pytest.raises(dps.ParameterError, match="be large enough for renyi-shaped"):
        plan(dps.Union(), dps.Population(500, items=50), max_items_per_user=5, epsilon="0.001", methods="renyi-shaped")


def test_another_parameter_that_does_not_fit_is_named_and_is_no_small_epsilon():
    asked = {"max_items_per_user": 5, "epsilon": 1, "delta": "1e-120"}
    found = plan(dps.Union(), dps.Population(500, items=50), **asked, methods=["renyi-shaped", "count-laplace"])
    assert [row.method for row in found] == ["count-laplace"]
    assert "renyi-shaped is left out: delta must be at least 1e-100." in found.sentences
    with pytest.raises(dps.ParameterError, match="delta must be at least 1e-100"):
        plan(dps.Union(), dps.Population(500, items=50), **asked, methods="renyi-shaped")
    asked |= {"max_items_per_user": 2**31, "delta": "1e-6"}
    for methods in ("count-laplace", ["count-laplace", "weighted-gaussian"]):
        with pytest.raises(dps.ParameterError, match=r"max_items_per_user must be at most 2\^30"):
            plan(dps.Union(), dps.Population(500, items=50), **asked, methods=methods)


# ---- the population ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("skew", [0, 1.1, 2])
def test_invented_users_have_as_many_items_as_was_said(skew):
    population = Zipf(users=4000, items=300, items_per_user=5.0, skew=skew)
    sets = population.sets(SeededDraws(4))
    pairs = np.repeat(np.arange(4000), np.diff(sets.offsets)) * 300 + sets.codes
    assert len(np.unique(pairs)) == len(pairs)
    assert sets.users == 4000
    assert len(pairs) / 4000 == pytest.approx(5, rel=0.03)
    expected = expected_counts(population, None)
    assert expected.sum() / 4000 == pytest.approx(5, rel=0.03)
    held = np.bincount(sets.codes, minlength=300)
    assert held == pytest.approx(expected, rel=0.1, abs=6 * math.sqrt(expected.max()))
    assert held[0] > held[-1] or skew == 0


def test_bounds_and_shares_in_expectation():
    assert expected_counts(CROWD, 2).sum() <= 2 * CROWD.users
    assert expected_counts(CROWD, 10**6) == pytest.approx(expected_counts(CROWD, None))
    # Everyone who uses anything gives 1 in all; a geometric number of uses is 0 with probability 1 / (1 + activity).
    giving = CROWD.users * CROWD.activity / (1 + CROWD.activity)
    for most in (4, None):
        assert CROWD.expected_weights(most, lambda t: Fraction(1, t)).sum() == pytest.approx(giving, rel=0.02)


@pytest.mark.parametrize(("mean", "variance"), [(0.01, 0.01), (3, 3), (5.2, 2.1), (900, 850)])
def test_how_many_others_a_user_has(mean, variance):
    found = moved_poisson(mean, variance)
    numbers, chance = np.array(found).T
    assert chance.sum() == pytest.approx(1)
    assert numbers @ chance == pytest.approx(mean, rel=0.02, abs=0.5)
    assert (numbers - mean) ** 2 @ chance == pytest.approx(variance, rel=0.05, abs=0.5)


def test_released_counts_share_what_users_keep():
    population = Released(counts=np.array([90.0, 30.0]), items=3, items_per_user=6)
    assert expected_counts(population, None).tolist() == [90, 30, 0]
    assert expected_counts(population, 2) == pytest.approx([30, 10, 0])
    assert population.expected_weights(2, lambda t: Fraction(1, t)) == pytest.approx([15, 5, 0])


# ---- chances ------------------------------------------------------------------------------------------------

LAWS = {
    "laplace": LaplaceTail(Fraction(20), Fraction(1, 3)),
    "gaussian": GaussianTail(Fraction(20), Fraction(4)),
    "geometric": geometric(Fraction(1), Fraction("1e-6")),
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("unit", [1, 8])
def test_chances_are_those_of_the_law(name, unit):
    weights = np.arange(60 * unit, dtype=np.int64) % 57
    weights = np.concatenate([weights, [0, 0, 1, 900 * unit]])
    exact = [float(LAWS[name].at(Fraction(int(w), unit)).ball(96).mid()) if w else 0.0 for w in weights]
    assert release_probabilities(LAWS[name], weights, unit) == pytest.approx(exact, abs=0.01)
    assert release_probabilities(LAWS[name], weights, unit).sum() == pytest.approx(sum(exact), abs=0.05)


def test_chances_where_nobody_has_anything():
    assert release_probabilities(LAWS["laplace"], np.zeros(3)).tolist() == [0, 0, 0]
    assert len(release_probabilities(LAWS["laplace"], np.zeros(0))) == 0


@pytest.mark.parametrize(
    ("counts", "likely", "smallest"),
    [
        ([9, 7, 5, 3], [1, 0.9, 0.4, 0.1], 7),
        ([3, 9, 5, 7], [0.1, 1, 0.4, 0.9], 7),
        ([9, 7, 7, 3], [1, 0.9, 0.05, 0], 9),  # equal counts stay together
        ([9, 7, 5], [1, 0.4, 0.9], 5),  # more is gained than lost
        ([9, 7], [0.4, 0.1], None),
        ([9, 7], [1, 1], 7),
        ([], [], None),
    ],
)
def test_smallest_likely_count(counts, likely, smallest):
    assert smallest_likely(counts, np.array(likely, dtype=float)) == smallest


# ---- a top k ------------------------------------------------------------------------------------------------

EASY = [10_000 * i for i in range(9, 0, -1)]


@pytest.mark.parametrize("known", [True, False])
def test_where_gaps_are_huge_nothing_is_lost(known):
    found = plan(dps.TopK(3, domain=len(EASY) if known else None), EASY, max_items_per_user=2, epsilon=5)
    assert {row.method for row in found} == set(top.applicable_methods(has_domain=known))
    for row in found:
        assert (row.items, row.items_spread, row.error, row.error_spread) == (3, 0, 0, 0), row.method
        assert row.smallest_count == 70_000, row.method


def test_what_is_lost_has_the_mechanism_s_law(monkeypatch):
    """One of two: peeling takes the second with probability 1 / (1 + e^gap). Half that rate would be refused."""
    monkeypatch.setattr(top, "RANKINGS_DRAWN", 3000)
    [row] = rows(dps.TopK(1, domain=2), [4, 3], epsilon=1, methods="peeling")
    second, wrong = 1 / (1 + math.exp(1)), 1 / (1 + math.exp(1 / 2))
    error = 5 * math.sqrt(second * (1 - second) / 3000)
    assert abs(4 * row.error - second) < error < abs(wrong - second)
    assert row.error_spread == pytest.approx(math.sqrt(second * (1 - second)) / 4, rel=0.1)
    assert (row.items, row.smallest_count) == (1, 4)


def test_where_counts_are_tiny_bottom_hides_all():
    [row] = rows(dps.TopK(3), [3, 2, 1], epsilon="0.1", methods="limited-domain")
    assert (row.items, row.error, row.smallest_count) == (0, 1, None)


@pytest.mark.parametrize("method", ["limited-domain", "peeling", "canonical-set"])
def test_more_epsilon_loses_less(method):
    asked = dps.TopK(domain=None if method == "limited-domain" else 600, method=method)
    low, high = rows(asked, dps.Population(1500, items=600), epsilon=["0.1", 2])
    assert low.error > high.error
    assert low.items <= high.items
    assert low.smallest_count is None or low.smallest_count >= high.smallest_count


def test_bottom_stands_where_the_mechanism_puts_it():
    counts = [500, 300, 200, 150, 90, 60, 20]
    [row] = rows(dps.TopK(2, method=dps.Method(k_bar=4)), counts, epsilon=1, methods="limited-domain")
    terms = mechanisms.LimitedDomain(k=2, k_bar=4, epsilon=1, delta="1e-6").terms
    height = 1 + math.log(4 / terms.delta_threshold) / float(terms.epsilon_per_pick)
    assert row.threshold == pytest.approx(90 + height, rel=1e-9)
    assert row.within == math.ceil(terms.shortfall(0.05)) - 1


def test_asking_for_noisy_counts_costs_accuracy():
    without, with_counts = (
        rows(dps.TopK(5, counts=noisy), COUNTS, epsilon=1, methods="limited-domain")[0] for noisy in (False, True)
    )
    assert with_counts.threshold > without.threshold


def test_a_known_domain_has_items_that_nobody_has():
    few, many = (rows(dps.TopK(3, domain=items), [9, 7, 6], epsilon=1, methods="peeling")[0] for items in (3, 10_000))
    assert few.error == 0
    assert many.error > 0.3


@pytest.mark.parametrize("most", [1, 5])
def test_counts_of_a_union_have_a_width_and_take_their_part(most):
    """As the plan of the same question says, without data."""
    found = dps.Union(counts=True).forecast(dps.Population(3000, items=400), epsilon=1, max_items_per_user=most)
    assert {row.method for row in found} >= {"count-laplace", "weighted-gaussian", "renyi-shaped"}
    for row in found:
        asked = dps.Union(counts=True, method=row.method).at(
            epsilon=1, delta="1e-6", max_items_per_user=None if row.method == "truncated-geometric" else most
        )
        assert row.width == asked.accuracy.numbers["width_of_counts"]
    with pytest.raises(dps.ParameterError, match="max_items_per_user must be given for a forecast of counts"):
        dps.Union(counts=True).forecast(dps.Population(3000, items=400), epsilon=1)


# ---- counts that were released before -------------------------------------------------------------------------


def released(counts):
    items = tuple(Item(f"item {i}", i + 1, count) for i, count in enumerate(counts))
    told = Statement(Fraction(1), Fraction(0), Neighbors.ADD_REMOVE, "Peeling", {"k": len(counts)}, "basic", ())
    return Release(items=items, counted=None not in counts, privacy=told, secure=True)


def test_a_release_takes_the_place_of_invented_users():
    given = {"max_items_per_user": 3, "epsilon": 1, "methods": ["count-laplace", "weighted-gaussian"]}
    one, other = rows(dps.Union(), released(COUNTS), **given), rows(dps.Union(), COUNTS, **given)
    assert one == other
    assert one != rows(dps.Union(), COUNTS[:5], **given)


def test_noise_below_nothing_is_nothing():
    asked = dps.TopK(2, method="limited-domain")
    assert rows(asked, [90, 60, -4, 0], epsilon=1) == rows(asked, [90, 60, 0, 0], epsilon=1)


def test_a_release_without_counts_says_so():
    with pytest.raises(dps.ParameterError, match="a Release without"):
        plan(dps.TopK(), released([None, None]))


# ---- forms ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def found():
    return plan(dps.TopK(3), EASY, epsilon=["0.5", 5], max_items_per_user=2)


def test_it_says_that_nothing_was_spent(found):
    told = json.loads(found.to_json())
    assert told["data_read"] is False
    assert told["spent"] == {"epsilon": 0, "delta": 0}
    assert told["notes"][0] == FREE_SENTENCE == "A forecast: no data was read and no budget was spent."
    assert FREE_SENTENCE in str(found)
    assert FREE_SENTENCE in found._repr_html_()
    assert told["assumed"]["k"] == 3
    assert told["assumed"]["like"] == len(EASY)


def test_every_form_has_every_row(found):
    assert len(found) == len(list(found)) == len(found.rows) == 4
    names = set(found.rows[0].to_dict())
    frames = found.to_polars(), found.to_pandas(), found.to_arrow()
    for frame in frames:
        assert len(frame) == 4
        assert set(getattr(frame, "column_names", frame.columns)) == names
    assert found.to_columns()["epsilon"] == [0.5, 5] * 2
    assert [row["method"] for row in found.to_dict()["rows"]][::2] == [
        "limited-domain",
        "limited-domain-sparse",
    ]
    assert len(str(found).split("\n\n")[1].splitlines()) == 5


def test_the_picture_has_a_line_for_each_method(found, tmp_path):
    picture = found.plot()
    assert [panel.title for panel in picture.panels] == [
        "items returned",
        "smallest likely count (users)",
        "lost (%)",
    ]
    assert [[line.name for line in panel.lines] for panel in picture.panels] == [picture.names] * 3
    assert len(picture.names) == 2
    first = [(float(row.epsilon), row.items) for row in found if row.method == picture.names[0]]
    assert list(picture.panels[0].lines[0].points) == first
    assert f"{picture.names[0]}: {first[0][1]:.1f} items" in picture.alt
    picture.save(tmp_path / "prospects.svg")
    assert (tmp_path / "prospects.svg").read_text() == picture.svg()
    with pytest.raises(dps.OutputError, match="cannot be written"):
        picture.save(tmp_path / "nowhere" / "prospects.svg")


def test_progress_rises_to_one():
    said = []
    plan(
        dps.Union(),
        dps.Population(300, items=40),
        max_items_per_user=4,
        epsilon=[1, 2],
        methods="renyi-shaped",
        progress=said.append,
    )
    assert said == sorted(said)
    assert said[-1] == 1
    assert len(said) == 3


# ---- mistakes -------------------------------------------------------------------------------------------------


TOP, UNION = dps.TopK(), dps.Union()


@pytest.mark.parametrize(
    ("question", "like", "given", "message"),
    [
        (TOP, None, {"epsilon": 0}, "epsilon must be a positive"),
        (TOP, None, {"epsilon": []}, "epsilon must be a positive number or several"),
        (TOP, None, {"epsilon": [1, "much"]}, "epsilon must be a positive"),
        (TOP, None, {"epsilon": 1e-9}, "epsilon must be between"),
        (TOP, None, {"epsilon": 101}, "epsilon must be between"),
        (TOP, None, {"delta": 0}, "delta must be between 0 and 1"),
        (UNION, None, {"delta": 0}, "delta must be between 0 and 1"),
        (dps.TopK(10**8), None, {}, "k must be a whole number from 1 to 10000000"),
        (TOP, dps.Population(1, items_per_user="0.1"), {}, "users must be enough"),
        (TOP, None, {"methods": "peeling"}, "methods must be among limited-domain"),
        (TOP, None, {"methods": []}, "methods must name at least one"),
        (TOP, None, {"methods": 3}, "methods must be among"),
        (dps.TopK(method="discover"), None, {}, "method must be among limited-domain.*got 'discover'"),
        (dps.TopK(method="set"), None, {}, "method must be among limited-domain.*got 'set'"),
        (dps.TopK(domain=20), None, {"methods": "limited-domain"}, "methods must be among peeling"),
        (dps.TopK(domain=4), dps.Population(items_per_user=2), {}, "k must be at most"),
        (dps.TopK(domain=4), dps.Population(items_per_user=4), {}, "items_per_user must be at most nine tenths"),
        (dps.TopK(domain=10**8), None, {}, "domain must be a list, a range or a number, of 10,000,000 items at most"),
        (dps.TopK(domain=dps.Column("items.csv", "item")), None, {}, "domain must be a list, a range or a number"),
        (dps.TopK(method=dps.Method(k_bar=3)), None, {}, "k_bar must be at least"),
        (TOP, "many", {}, "like must be a Population, a Release"),
        (TOP, [0, -1], {}, "none above 0"),
        (TOP, [2.5], {}, "like must be a whole number"),
        (dps.TopK(1, domain=1), [3, 2], {}, "domain must have at least as many items as there are counts, got 1"),
        (UNION, None, {"max_items_per_user": 0}, "max_items_per_user must be a whole number"),
        (UNION, None, {"methods": "renyi-shaped"}, "most need max_items_per_user"),
        (dps.Union(method="renyi-shaped"), None, {}, "method must be among.*\n.*most need max_items_per_user"),
        (UNION, [3], {"max_items_per_user": 2, "methods": "renyi-shaped"}, "need simulated users"),
        (UNION, dps.Population(groups=[9]), {}, "groups must be left out if the question has no by"),
    ],
)
def test_mistakes_are_explained(question, like, given, message):
    with pytest.raises(dps.ParameterError, match=message):
        plan(question, like, **given)


@pytest.mark.parametrize(
    ("question", "parameter"),
    [
        (dps.TopK(score=dps.Total("minutes")), "score"),
        (dps.TopK(score=dps.Gain("2026-09")), "score"),
        (dps.TopK(measures="users"), "measures"),
        (dps.TopK(method=dps.Method(in_engine=True)), "in_engine"),
        (dps.TopK(by=dps.By("country", groups=["DE"])), "groups"),
        (dps.TopK(by=dps.By("country", sizes=True)), "sizes"),
        (dps.TopK(by="country", domain=9), "domain"),
        (dps.Union(method=dps.Method(in_engine=True)), "in_engine"),
        (dps.Union(method=dps.Method(popular=["a"])), "popular"),
        (dps.Union(by="country"), "by"),
    ],
    ids=str,
)
def test_what_a_question_says_and_no_forecast_knows_is_refused(question, parameter):
    with pytest.raises(dps.ParameterError, match=f"{parameter} must be left out for a forecast") as refused:
        question.forecast(dps.Population(groups=[90, 9]))
    assert refused.value.parameter == parameter
    assert refused.value.hint


@pytest.mark.parametrize("question", [dps.Choose(["a"]), dps.Quantile(bounds=(0, 9)), dps.Histogram(["a"])], ids=str)
def test_the_accuracy_of_other_questions_does_not_depend_on_data(question):
    with pytest.raises(dps.ParameterError, match=r"question.at\(epsilon=1\).accuracy"):
        question.forecast()


def test_an_accuracy_in_place_of_epsilon_is_for_its_question_alone():
    for question, given, message in (
        (TOP, {"within": 5, "epsilon": 1}, "within must be left out if epsilon is given"),
        (UNION, {"threshold": 5, "epsilon": 1}, "threshold must be left out if epsilon is given"),
        (TOP, {"threshold": 5}, "threshold must be left out for top_k"),
        (UNION, {"within": 5}, "within must be left out for union"),
        (TOP, {"within": "x"}, "within must be a whole number of at least 1"),
        (UNION, {"threshold": 0}, "threshold must be a whole number of at least 1"),
        (UNION, {"threshold": 1, "max_items_per_user": 3, "methods": "count-laplace"}, "threshold must be at least 2"),
    ):
        with pytest.raises(dps.ParameterError, match=message):
            question.forecast(**given)


def test_the_question_names_its_method_unless_methods_do():
    people = dps.Population(200, items=30)
    for question, given, methods in (
        (dps.TopK(3, domain=30, method="peeling"), {}, ["peeling"]),
        (dps.TopK(3, domain=30, method="set"), {}, ["canonical-set"]),
        (dps.TopK(3, domain=30, method="peeling"), {"methods": ["canonical-set"]}, ["canonical-set"]),
        (dps.TopK(3, method=dps.Method(k_bar=9)), {}, ["limited-domain", "limited-domain-sparse"]),
        (dps.Union(method="greedy-geometric"), {}, ["greedy-geometric"]),
        (dps.Union(), {}, ["truncated-geometric", "greedy-geometric"]),
    ):
        found = question.forecast(people, epsilon=2, **given)
        assert [row.method for row in found] == methods, question


def test_items_are_those_of_the_domain():
    given = {"epsilon": 1, "methods": "peeling"}
    [small] = rows(dps.TopK(3, domain=30), dps.Population(200), **given)
    for domain in (list(range(30)), range(30), [*range(30), 7, None]):
        assert rows(dps.TopK(3, domain=domain), dps.Population(200, items=500), **given) == [small]


# ---- the population as a value --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"users": 0}, "users must be a whole number"),
        ({"users": 10**13}, "users must be a whole number from 1 to 1000000000000"),
        ({"items": 10**8}, "items must be a whole number from 1 to 10000000"),
        ({"items_per_user": 1999}, "items_per_user must be at most nine tenths of items, got 1999"),
        ({"items_per_user": 0}, "items_per_user must be a positive"),
        ({"skew": -1}, "skew must be a number from 0"),
        ({"skew": 11}, "skew must be a number from 0"),
        ({"groups": []}, "groups must be numbers of users"),
        ({"groups": "DE"}, "groups must be numbers of users"),
        ({"groups": {5: 6}}, "groups must be numbers of users"),
        ({"groups": [0]}, "groups must be a whole number"),
        ({"groups": [5] * 1001}, "at most 1,000, got 1,001"),
        ({"groups": [5], "users": 5}, "users must be left out if groups are given"),
        ({"groups": [5], "groups_per_user": 2}, "groups_per_user must be from 1 to the 1 groups"),
        ({"groups_per_user": 2}, "groups must be given if groups_per_user is"),
    ],
    ids=str,
)
def test_a_population_is_checked_when_it_is_made(given, message):
    with pytest.raises(dps.ParameterError, match=message):
        dps.Population(**given)


def test_a_population_is_a_value():
    for text in (
        "Population()",
        "Population(500, items=30, items_per_user=4.5, skew=0)",
        "Population(groups=7)",
        "Population(groups=[50, 20], groups_per_user=1.5)",
    ):
        value = eval(text, {"Population": dps.Population})
        assert repr(value) == text
        assert value == eval(repr(value), {"Population": dps.Population})
    assert dps.Population(10_000, items=2_000, items_per_user=10) != dps.Population()
    assert dps.Population(10_000, items=2_000, skew="1.1") == dps.Population()
    assert [dps.Population(items=items).mean_items for items in (15, 20, 500)] == [7.5, 10, 10]


@pytest.mark.parametrize("method", ["peeling", "canonical-set", "limited-domain"])
def test_a_forecast_at_a_price_says_the_accuracy_that_the_price_was_found_for(method):
    asked = dps.TopK(3, domain=None if method == "limited-domain" else 60, method=method)
    people = dps.Population(500, items=60)
    [near] = rows(asked, people, within=20)
    [same] = rows(asked, people, epsilon=near.epsilon)
    assert near.within == same.within <= 20
    [less] = rows(asked, people, epsilon=near.epsilon * 97 / 100)
    assert less.within > 20
