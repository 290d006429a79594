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
from dpselect.forecast.forecast import FREE
from dpselect.forecast.population import Released, Zipf, chances, expected_counts, smallest_likely, spread
from dpselect.mechanisms.set_union.release_laws import GaussianTail, LaplaceTail, geometric
from dpselect.release.release import Item, Release, Statement
from dpselect.testing.exact import SeededDraws

DELTA = 1e-6
COUNTS = [400, 120, 60, 31, 22, 15, 14, 13, 9, 4, 2, 1, 1]
CROWD = Zipf(users=3000, items=400, items_per_user=6.0, skew=1.1)


def plan(question, **given):
    return dps.plan(question, draws=SeededDraws(1), **given)


def rows(question, **given):
    return list(plan(question, **given))


# ---- unions from counts: formulas written down a second time -----------------------------------------------


def laplace_tail(gap):
    return math.exp(-gap) / 2 if gap >= 0 else 1 - math.exp(gap) / 2


@pytest.mark.parametrize("epsilon", [0.5, 1, 3])
def test_a_union_of_counts_is_a_sum_of_tails(epsilon):
    [row] = rows("union", like=COUNTS, max_items_per_user=1, epsilon=epsilon, methods="count-laplace")
    threshold = 1 + math.log(1 / (2 * DELTA)) / epsilon
    tails = [laplace_tail(epsilon * (threshold - count)) for count in COUNTS]
    assert row.threshold == pytest.approx(threshold, rel=1e-9)
    assert row.items == pytest.approx(sum(tails), rel=1e-9)
    assert row.items_spread == pytest.approx(math.sqrt(sum(p * (1 - p) for p in tails)), rel=1e-9)
    missing = 1 - sum(p * c for p, c in zip(tails, COUNTS, strict=True)) / sum(COUNTS)
    assert row.error == pytest.approx(missing, rel=1e-9)
    assert row.smallest_count == math.ceil(threshold)


def test_the_gaussian_one_too():
    [row] = rows("union", like=COUNTS, max_items_per_user=1, epsilon=1, methods="count-gaussian")
    mechanism = mechanisms.CountGaussian(epsilon=1, delta="1e-6", max_items_per_user=1)
    noise = NormalDist(float(mechanism.threshold), float(mechanism.law.deviation))
    assert row.items == pytest.approx(sum(noise.cdf(count) for count in COUNTS), rel=1e-9)


@pytest.mark.parametrize(("has", "most"), [(1, 1), (3, 5), (5, 5), (20, 5)])
@pytest.mark.parametrize("method", union.SUMS)
def test_the_smallest_count_is_where_the_release_passes_one_half(method, has, most):
    """Of users of `has` items each, who keep `most` of them: found here by trying one count after another."""
    given = {"like": COUNTS, "items_per_user": has, "max_items_per_user": most, "epsilon": 1, "methods": method}
    [row] = rows("union", **given)
    mechanism = union.UnionForecast(delta=Fraction("1e-6"), max_items_per_user=most).make(method, Fraction(1))
    kept = min(has, mechanism.max_items_per_user)

    def half(count):
        weight = Fraction(count * kept, has) * mechanism.share(kept)
        return mechanism.law.at(weight).ball(96) >= 0.5

    assert half(row.smallest_count)
    assert not half(row.smallest_count - 1)


def test_users_who_have_more_than_they_may_keep_give_less():
    few, many = (
        rows("union", like=COUNTS, items_per_user=has, max_items_per_user=2, epsilon=1, methods="count-laplace")[0]
        for has in (2, 8)
    )
    assert many.items < few.items
    assert many.smallest_count == math.ceil(4 * few.threshold)


# ---- unions of invented users -------------------------------------------------------------------------------


@pytest.mark.parametrize("method", names("union"))
def test_more_epsilon_finds_more(method):
    found = rows("union", users=3000, items=400, max_items_per_user=10, epsilon=[0.3, 1, 3], methods=method)
    assert [float(row.epsilon) for row in found] == [0.3, 1, 3]
    items, smallest, lost = zip(*((row.items, row.smallest_count, row.error) for row in found), strict=True)
    assert items[0] < items[1] < items[2]
    assert smallest[0] > smallest[1] > smallest[2]
    assert lost[0] > lost[1] > lost[2]


@pytest.mark.parametrize("method", ["count-laplace", "weighted-gaussian", "policy-laplace", "greedy-geometric"])
def test_expected_items_are_what_real_calls_return(method, monkeypatch):
    """40 real calls on the same users: within five standard errors, and a seventh more or less would be refused."""
    monkeypatch.setattr(union, "ORDERS", 20)
    sets = CROWD.sets(SeededDraws(5))
    sample = union.Sample(sets, SeededDraws(6))
    mechanism = union.UnionForecast(delta=Fraction("1e-6"), max_items_per_user=8).make(method, Fraction(1))
    row = union.by_users(method, Fraction(1), mechanism, sample)
    draws = SeededDraws(7)
    found = [len(mechanism(sets, draws=draws)) for _ in range(40)]
    error = 5 * row.items_spread * math.sqrt(1 / 40 + 1 / (20 if method in union.POLICIES else 40))
    assert abs(np.mean(found) - row.items) < error
    assert error < row.items / 7
    assert row.items_spread / 2 < np.std(found, ddof=1) < 2 * row.items_spread


def test_formulas_are_near_invented_users():
    population = Zipf(users=20_000, items=3000, items_per_user=6.0, skew=1.1)
    sample = union.Sample(population.sets(SeededDraws(2)), SeededDraws(3))
    for method in union.SUMS:
        mechanism = union.UnionForecast(delta=Fraction("1e-6"), max_items_per_user=8).make(method, Fraction(1))
        one = union.by_formula(method, Fraction(1), mechanism, union.Averages(population))
        other = union.by_users(method, Fraction(1), mechanism, sample)
        assert one.items == pytest.approx(other.items, rel=0.05), method
        assert one.smallest_count == pytest.approx(other.smallest_count, rel=0.2), method


def test_too_many_users_are_not_made_one_by_one():
    found = plan("union", users=10**8, items=1000, max_items_per_user=10, epsilon=1)
    assert {row.method for row in found} == set(union.SUMS)
    assert any("Left out: policy-laplace" in s for s in found.sentences)
    with pytest.raises(dps.ParameterError, match="need invented users"):
        plan("union", users=10**8, max_items_per_user=10, epsilon=1, methods="renyi-shaped")


def test_without_a_bound_only_those_that_need_none():
    found = plan("union", users=500, items=50, epsilon=1)
    known = {"truncated-geometric", "greedy-geometric"}
    assert {row.method for row in found} == known


def test_an_epsilon_that_is_too_small_for_one_mechanism_is_said():
    found = plan("union", users=500, items=50, max_items_per_user=5, epsilon=["0.001", 1], methods=["renyi-shaped"])
    assert [row.epsilon for row in found] == [1]
    assert "renyi-shaped is left out at epsilon 0.001, too small for it." in found.sentences
    with pytest.raises(dps.ParameterError, match="be large enough for renyi-shaped"):
        plan("union", users=500, items=50, max_items_per_user=5, epsilon="0.001", methods="renyi-shaped")


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
        assert CROWD.given(most, lambda t: Fraction(1, t)).sum() == pytest.approx(giving, rel=0.02)


@pytest.mark.parametrize(("mean", "variance"), [(0.01, 0.01), (3, 3), (5.2, 2.1), (900, 850)])
def test_how_many_others_a_user_has(mean, variance):
    found = spread(mean, variance)
    numbers, chance = np.array(found).T
    assert chance.sum() == pytest.approx(1)
    assert numbers @ chance == pytest.approx(mean, rel=0.02, abs=0.5)
    assert (numbers - mean) ** 2 @ chance == pytest.approx(variance, rel=0.05, abs=0.5)


def test_released_counts_share_what_users_keep():
    population = Released(counts=np.array([90.0, 30.0]), items=3, items_per_user=6)
    assert expected_counts(population, None).tolist() == [90, 30, 0]
    assert expected_counts(population, 2) == pytest.approx([30, 10, 0])
    assert population.given(2, lambda t: Fraction(1, t)) == pytest.approx([15, 5, 0])


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
    assert chances(LAWS[name], weights, unit) == pytest.approx(exact, abs=0.01)
    assert chances(LAWS[name], weights, unit).sum() == pytest.approx(sum(exact), abs=0.05)


def test_chances_where_nobody_has_anything():
    assert chances(LAWS["laplace"], np.zeros(3)).tolist() == [0, 0, 0]
    assert len(chances(LAWS["laplace"], np.zeros(0))) == 0


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
    found = plan("top_k", k=3, like=EASY, max_items_per_user=2, epsilon=5, domain_known=known)
    assert {row.method for row in found} == set(top.applying(known=known, bounded=True))
    for row in found:
        assert (row.items, row.items_spread, row.error, row.error_spread) == (3, 0, 0, 0), row.method
        assert row.smallest_count == 70_000, row.method


def test_what_is_lost_has_the_mechanism_s_law(monkeypatch):
    """One of two: peeling takes the second with probability 1 / (1 + e^gap). Half that rate would be refused."""
    monkeypatch.setattr(top, "RUNS", 3000)
    [row] = rows("top_k", k=1, like=[4, 3], epsilon=1, domain_known=True, methods="peeling")
    second, wrong = 1 / (1 + math.exp(1)), 1 / (1 + math.exp(1 / 2))
    error = 5 * math.sqrt(second * (1 - second) / 3000)
    assert abs(4 * row.error - second) < error < abs(wrong - second)
    assert row.error_spread == pytest.approx(math.sqrt(second * (1 - second)) / 4, rel=0.1)
    assert (row.items, row.smallest_count) == (1, 4)


def test_where_counts_are_tiny_bottom_hides_all():
    [row] = rows("top_k", k=3, like=[3, 2, 1], epsilon="0.1", methods="limited-domain")
    assert (row.items, row.error, row.smallest_count) == (0, 1, None)


@pytest.mark.parametrize("method", ["limited-domain", "peeling", "canonical-set"])
def test_more_epsilon_loses_less(method):
    known = method != "limited-domain"
    low, high = rows("top_k", users=1500, items=600, epsilon=["0.1", 2], domain_known=known, methods=method)
    assert low.error > high.error
    assert low.items <= high.items
    assert low.smallest_count is None or low.smallest_count >= high.smallest_count


def test_bottom_stands_where_the_mechanism_puts_it():
    counts = [500, 300, 200, 150, 90, 60, 20]
    [row] = rows("top_k", k=2, k_bar=4, like=counts, epsilon=1, methods="limited-domain")
    terms = mechanisms.LimitedDomain(k=2, k_bar=4, epsilon=1, delta="1e-6").terms
    height = 1 + math.log(4 / terms.delta_threshold) / float(terms.epsilon_per_pick)
    assert row.threshold == pytest.approx(90 + height, rel=1e-9)
    assert row.within == math.ceil(terms.shortfall(0.05)) - 1


def test_asking_for_noisy_counts_costs_accuracy():
    without, with_counts = (
        rows("top_k", k=5, like=COUNTS, epsilon=1, methods="limited-domain", counts=noisy)[0] for noisy in (False, True)
    )
    assert with_counts.threshold > without.threshold


def test_a_known_domain_has_items_that_nobody_has():
    few, many = (
        rows("top_k", k=3, like=[9, 7, 6], items=items, epsilon=1, domain_known=True, methods="peeling")[0]
        for items in (3, 10_000)
    )
    assert few.error == 0
    assert many.error > 0.3


# ---- counts that were released before -------------------------------------------------------------------------


def released(counts):
    items = tuple(Item(f"item {i}", i + 1, count) for i, count in enumerate(counts))
    told = Statement(Fraction(1), Fraction(0), Neighbors.ADD_REMOVE, "Peeling", {"k": len(counts)}, "basic", ())
    return Release(items=items, counted=None not in counts, privacy=told, secure=True)


def test_a_release_takes_the_place_of_invented_users():
    given = {"max_items_per_user": 3, "epsilon": 1, "methods": ["count-laplace", "weighted-gaussian"]}
    one, other = rows("union", like=released(COUNTS), **given), rows("union", like=COUNTS, **given)
    assert one == other
    assert one != rows("union", like=COUNTS[:5], **given)


def test_noise_below_nothing_is_nothing():
    given = {"k": 2, "epsilon": 1, "methods": "limited-domain"}
    assert rows("top_k", like=[90, 60, -4, 0], **given) == rows("top_k", like=[90, 60, 0, 0], **given)


def test_a_release_without_counts_says_so():
    with pytest.raises(dps.ParameterError, match="a Release without"):
        plan("top_k", like=released([None, None]))


# ---- forms ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def forecast():
    return plan("top_k", k=3, like=EASY, epsilon=["0.5", 5], max_items_per_user=2)


def test_it_says_that_nothing_was_spent(forecast):
    told = json.loads(forecast.to_json())
    assert told["data_read"] is False
    assert told["spent"] == {"epsilon": 0, "delta": 0}
    assert told["notes"][0] == FREE == "A forecast: no data was read and no budget was spent."
    assert FREE in str(forecast)
    assert FREE in forecast._repr_html_()
    assert told["assumed"]["k"] == 3
    assert told["assumed"]["like"] == len(EASY)


def test_every_form_has_every_row(forecast):
    assert len(forecast) == len(list(forecast)) == len(forecast.rows) == 6
    names = set(forecast.rows[0].to_dict())
    frames = forecast.to_polars(), forecast.to_pandas(), forecast.to_arrow()
    for frame in frames:
        assert len(frame) == 6
        assert set(getattr(frame, "column_names", frame.columns)) == names
    assert forecast.to_columns()["epsilon"] == [0.5, 5] * 3
    assert [row["method"] for row in forecast.to_dict()["rows"]][::2] == [
        "limited-domain",
        "limited-domain-sparse",
        "limited-domain-laplace",
    ]
    assert len(str(forecast).split("\n\n")[1].splitlines()) == 7


def test_the_picture_has_a_line_for_each_method(forecast, tmp_path):
    picture = forecast.plot()
    assert [panel.title for panel in picture.panels] == [
        "items returned",
        "smallest likely count (users)",
        "lost (%)",
    ]
    assert [[line.name for line in panel.lines] for panel in picture.panels] == [picture.names] * 3
    assert len(picture.names) == 3
    first = [(float(row.epsilon), row.items) for row in forecast if row.method == picture.names[0]]
    assert list(picture.panels[0].lines[0].points) == first
    assert f"{picture.names[0]}: {first[0][1]:.1f} items" in picture.alt
    picture.save(tmp_path / "prospects.svg")
    assert (tmp_path / "prospects.svg").read_text() == picture.svg()
    with pytest.raises(dps.OutputError, match="cannot be written"):
        picture.save(tmp_path / "nowhere" / "prospects.svg")


def test_progress_rises_to_one():
    said = []
    plan(
        "union", users=300, items=40, max_items_per_user=4, epsilon=[1, 2], methods="renyi-shaped", progress=said.append
    )
    assert said == sorted(said)
    assert said[-1] == 1
    assert len(said) == 3


# ---- mistakes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "given", "message"),
    [
        ("quantile", {}, "question must be one of top_k, union"),
        ("top_k", {"epsilon": 0}, "epsilon must be a positive"),
        ("top_k", {"epsilon": []}, "epsilon must be a positive number or several"),
        ("top_k", {"epsilon": [1, "much"]}, "epsilon must be a positive"),
        ("top_k", {"epsilon": 1e-9}, "epsilon must be between"),
        ("top_k", {"epsilon": 101}, "epsilon must be between"),
        ("top_k", {"delta": 0}, "delta must be between 0 and 1"),
        ("union", {"delta": 0}, "delta must be between 0 and 1"),
        ("top_k", {"k": 0}, "k must be a whole number"),
        ("top_k", {"users": 0}, "users must be a whole number"),
        ("top_k", {"users": 10**13}, "users must be at most"),
        ("top_k", {"users": 1, "items_per_user": "0.1"}, "users must be enough"),
        ("top_k", {"items": 10**8}, "items must be at most"),
        ("top_k", {"items_per_user": 1999}, "items_per_user must be at most nine tenths"),
        ("top_k", {"items_per_user": 0}, "items_per_user must be a positive"),
        ("top_k", {"skew": -1}, "skew must be a number from 0"),
        ("top_k", {"skew": 11}, "skew must be a number from 0"),
        ("top_k", {"methods": "peeling"}, "methods must be among limited-domain"),
        ("top_k", {"methods": []}, "methods must name at least one"),
        ("top_k", {"methods": 3}, "methods must name at least one"),
        ("top_k", {"domain_known": True, "methods": "limited-domain"}, "methods must be among peeling"),
        ("top_k", {"domain_known": 1}, "domain_known must be True or False"),
        ("top_k", {"domain_known": True, "k": 10, "items": 4}, "k must be at most"),
        ("top_k", {"k": 10, "k_bar": 3}, "k_bar must be at least"),
        ("top_k", {"like": "many"}, "like must be a Release"),
        ("top_k", {"like": [0, -1]}, "none above 0"),
        ("top_k", {"like": [2.5]}, "like must be a whole number"),
        ("top_k", {"like": [3], "users": 9}, "users must be left out"),
        ("top_k", {"like": [3], "skew": 1}, "skew must be left out"),
        ("top_k", {"like": [3, 2], "items": 1}, "items must be at least"),
        ("union", {"k": 3}, "k must be left out for a union"),
        ("union", {"domain_known": True}, "domain_known must be left out for a union"),
        ("union", {"max_items_per_user": 0}, "max_items_per_user must be a whole number"),
        ("union", {"methods": "renyi-shaped"}, "most need max_items_per_user"),
        ("union", {"like": [3], "max_items_per_user": 2, "methods": "renyi-shaped"}, "need invented users"),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value)),
)
def test_mistakes_are_explained(question, given, message):
    with pytest.raises(dps.ParameterError, match=message):
        plan(question, **given)


def test_an_accuracy_in_place_of_epsilon_is_for_its_question_alone():
    for question, given, message in (
        ("top_k", {"within": 5, "epsilon": 1}, "within must be left out where epsilon is given"),
        ("union", {"users_for": 5, "epsilon": 1}, "users_for must be left out where epsilon is given"),
        ("top_k", {"users_for": 5}, "users_for must be left out for top_k"),
        ("union", {"within": 5}, "within must be left out for union"),
        ("top_k", {"within": "x"}, "within must be a whole number of at least 1"),
    ):
        with pytest.raises(dps.ParameterError, match=message):
            dps.plan(question, **given)


@pytest.mark.parametrize("method", ["peeling", "canonical-set", "joint-sequence", "limited-domain"])
def test_a_forecast_at_a_price_says_the_accuracy_that_the_price_was_found_for(method):
    known = method != "limited-domain"
    given = {"k": 3, "users": 500, "items": 60, "domain_known": known, "methods": method}
    [near] = rows("top_k", within=20, **given)
    [same] = rows("top_k", epsilon=near.epsilon, **given)
    assert near.within == same.within <= 20
    [less] = rows("top_k", epsilon=near.epsilon * 97 / 100, **given)
    assert less.within > 20
