"""Quantiles as a user asks for them: refused before data, near the true rank, paid, and the same in every form."""

from __future__ import annotations

import datetime
import json
from collections import deque
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import dpselect as dps
from dpselect.aggregates.value_counts import Grid
from dpselect.flat import dataset_of
from dpselect.mechanisms import Quantile, RecursiveQuantiles
from dpselect.release.accuracy import TOO_MANY, format_at_most
from dpselect.testing import SeededDraws
from tests.by_names import by_names, drawn, plan_of
from tests.judge.both import check

VALUES = np.random.default_rng(5).normal(40, 12, 20_000)
ROWS = {"user": np.arange(20_000), "item": VALUES}
ANN = dps.Account("default", "ann")


class Untouched:
    """Values that nobody may look at."""

    def __array__(self, *_args: object, **_more: object) -> None:
        raise AssertionError("the values were looked at")

    to_numpy = __array__


@pytest.fixture
def people() -> dps.Dataset:
    return dps.Dataset(ROWS, user="user", item="item")


def misses(found, q, values=VALUES):
    """By how many users an answer misses its rank."""
    below, above = (values < found).sum(), (values > found).sum()
    return max(0, below - q * len(values), above - (1 - q) * len(values))


BAD = {
    "bounds reversed": ({"bounds": (120, 0)}, "bounds must be two numbers, the lower one first"),
    "bounds equal": ({"bounds": (1, 1)}, "bounds must"),
    "one bound": ({"bounds": 5}, "bounds must"),
    "three bounds": ({"bounds": (1, 2, 3)}, "bounds must"),
    "bounds NaN": ({"bounds": (float("nan"), 1)}, "bounds must"),
    "bounds infinite": ({"bounds": (0, float("inf"))}, "bounds must"),
    "bounds words": ({"bounds": ("a", "b")}, "bounds must"),
    "bounds huge": ({"bounds": (0, "2e300")}, "bounds must be between -1e300 and 1e300"),
    "bounds alike": ({"bounds": (1, 1 + Fraction(1, 10**281))}, "apart"),
    "no q": ({"q": []}, "q must be one number, or several in ascending order"),
    "q 0": ({"q": 0}, "q must"),
    "q 1": ({"q": 1}, "q must"),
    "q tiny": ({"q": "1e-9"}, "the smallest q is 1e-6"),
    "q NaN": ({"q": float("nan")}, "q must"),
    "q words": ({"q": "middle"}, "q must"),
    "q falling": ({"q": [0.5, 0.25]}, "q must be one number, or several in ascending order"),
    "q twice": ({"q": [0.5, "1/2"]}, "q must be one number, or several in ascending order"),
    "step 0": ({"step": 0}, "step must be a positive"),
    "step negative": ({"step": -1}, "step must be a positive"),
    "step NaN": ({"step": float("nan")}, "step must"),
    "step wide": ({"step": 200}, "step must be at most the distance of the bounds"),
    "step fine": ({"step": "1e-30"}, "step must cut the bounds into less than 2.50"),
    "epsilon 0": ({"epsilon": 0}, "epsilon must"),
    "delta 1": ({"delta": 1}, "delta must"),
}


@pytest.mark.parametrize(("bad", "message"), BAD.values(), ids=BAD.keys())
def test_bad_parameters_are_refused_before_a_value_is_looked_at(bad, message, people):
    usual = {"bounds": (0, 120), "epsilon": 1}
    with pytest.raises(dps.ParameterError, match=message):
        dps.quantile(Untouched(), **usual | bad)
    with pytest.raises(dps.ParameterError, match=message):
        by_names(people).quantile(**usual | bad)


@pytest.mark.parametrize(
    "values", [np.array([[1, 2]]), 5, "text", np.array(["a" * 672, "b"]), np.array(["2024-01-01"], "M8[D]")]
)
def test_values_that_are_no_numbers_are_refused_by_their_type(values):
    with pytest.raises(dps.ParameterError, match="values must be a one-dimensional array of numbers") as caught:
        dps.quantile(values, bounds=(0, 1), epsilon=1)
    assert "672" not in str(caught.value)  # the length of the longest text is a row's


ODD = [
    "x", "3", None, [1], {}, object(), 10**5000, -(10**400), float("nan"), Decimal("sNaN"), 1j, True, b"1", "\ud800",
    np.array([1, 2]), np.float16(2), Fraction(1, 3),
]  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: type(odd).__name__)
def test_a_value_that_is_no_number_is_missing_and_changes_no_other(odd):
    grid = Grid.parse((0, 10), 1)
    plain = [1, 2.5, 3, 2**62, 9] * 3
    for values in ([odd, *plain], [*plain, odd], (*plain, odd)):
        places = sorted(grid.indices_of(values).tolist())
        for place in sorted(grid.indices_of(plain).tolist()):
            places.remove(place)
        assert len(places) <= 1
    assert dps.quantile([*plain, odd], bounds=(0, 10), epsilon=1, step=1).labels[0] in range(11)


def test_a_column_of_any_package_is_read_whether_something_is_missing_or_not():
    makers = (
        pyarrow.array, polars.Series, pandas.Series,
        lambda values: pyarrow.chunked_array([values]), lambda values: pandas.Series(values, dtype="Int64"),
    )  # fmt: skip
    for make in makers:
        assert sorted(Grid.parse((0, 10), 1).indices_of(make([1, None, 3])).tolist()) == [1, 3]
        assert sorted(Grid.parse((0, 10), 1).indices_of(make([1, 3])).tolist()) == [1, 3]


def column(kind):
    """What makes a column of a declared type that holds no numbers."""
    day = datetime.datetime(2024, 2, 29)
    return {
        "pandas boolean": (lambda values: pandas.Series(values, dtype="boolean"), True),
        "pandas index": (lambda values: pandas.Series(values, dtype="boolean", index=[-2.5, -1.5]), True),
        "pandas category": (lambda values: pandas.Series(values, dtype="category"), True),
        "polars": (polars.Series, True),
        "arrow chunks": (lambda values: pyarrow.chunked_array([values]), True),
        "arrow times": (lambda values: pyarrow.array(values, pyarrow.timestamp("us")), day),
        "arrow spans": (lambda values: pyarrow.array(values, pyarrow.duration("us")), day - day),
    }[kind]


@pytest.mark.parametrize(
    "kind",
    ["pandas boolean", "pandas index", "pandas category", "polars", "arrow chunks", "arrow times", "arrow spans"],
)
def test_what_is_missing_does_not_decide_whether_a_column_is_refused(kind):
    """Packages make another array of a column in which a value is missing: one row told whether the question failed."""
    make, value = column(kind)
    said = set()
    for values in ([value, value], [value, None]):
        with pytest.raises(dps.ParameterError, match="values must be a one-dimensional array of numbers") as caught:
            dps.quantile(make(values), bounds=(0, 1), epsilon=1)
        said.add(str(caught.value))
    assert len(said) == 1


def test_what_is_missing_among_encoded_values_is_nobody_elses_value():
    """Arrow made it the last of the list of values: a user without one had that of whoever came last."""
    encoded = pyarrow.array([1, None, 7]).dictionary_encode()
    for values in (encoded, pyarrow.chunked_array([encoded])):
        assert sorted(Grid.parse((0, 10), 1).indices_of(values).tolist()) == [1, 7]
        with pytest.raises(dps.ParameterError, match="scores must be finite numbers"):
            dps.choose(values, epsilon=1)


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_what_is_masked_is_missing(dtype):
    masked = np.ma.array(np.array([1, 7, 3], dtype=dtype), mask=[False, True, False])
    assert sorted(Grid.parse((0, 10), 1).indices_of(masked).tolist()) == [1, 3]


@pytest.mark.parametrize("per_user", ["first", None])
def test_a_rule_that_nobody_knows_is_refused(per_user, people):
    with pytest.raises(dps.ParameterError, match="per_user must be one of random, min, max, mean"):
        people.median(bounds=(0, 1), epsilon=1, per_user=per_user)


def test_several_items_of_a_user_are_no_value():
    for name, value in (("max_items_per_user", 3), ("split", " ")):
        rows = {"user": [1], "item": ["1"]}
        with pytest.raises(dps.ParameterError, match=f"{name} must be left out for a quantile"):
            dataset_of(rows, user="user", item="item", **{name: value}).median(bounds=(0, 1), epsilon=1)


@pytest.mark.parametrize("kind", [Quantile, RecursiveQuantiles])
@pytest.mark.parametrize("step", [None, 1, "0.01"])
def test_the_rank_is_as_near_as_the_release_says(step, kind):
    """Fifty answers at three ranks, all within the bound that holds for one in 95 %, but for a few."""
    q = (0.1, 0.5, 0.95)
    mechanism = kind(q=q, bounds=(0, 120), step=step, epsilon=1)
    moved = np.floor((VALUES.clip(0, 120)) / float(mechanism.step) + 0.5) * float(mechanism.step)
    bound, far = mechanism.gap(0.05), 0
    for seed in range(50):
        found = mechanism(VALUES, draws=SeededDraws(seed))
        assert found == sorted(found)
        near = [
            misses(round(x / float(mechanism.step)), share, np.rint(moved / float(mechanism.step)))
            for x, share in zip(found, q, strict=True)
        ]
        far += max(near) > bound
    assert far <= 8  # more would come by chance less than once in 1,000 times, were 5 % the truth
    if kind is Quantile:
        return  # the question takes the other
    before = plan_of("quantile", q=list(q), bounds=(0, 120), step=step, epsilon=1, per_user=None)
    certain = before.mechanism.gap(0.05).__ceil__()
    assert f"at most {certain:,} users too many will lie below any of the values" in str(before)
    told = dps.quantile(VALUES, q, bounds=(0, 120), step=step, epsilon=1)
    most = [max(getattr(one.ranked, side) for one in told) for side in TOO_MANY]
    assert max(most) <= certain
    said = f"{format_at_most(most[0])} too many lie below any of"
    for text in (told.explain(), str(told)):
        assert said in " ".join(text.split())  # at any width of a terminal


def test_the_forms_of_an_array_agree():
    usual = {"q": 0.3, "bounds": (0, 120), "epsilon": 1, "step": "0.5"}
    forms = [VALUES, VALUES.tolist(), tuple(VALUES.tolist()), pandas.Series(VALUES), [Fraction(v) for v in VALUES]]
    forms += [[*map(Decimal, VALUES.tolist()), None, "x", float("nan")], np.append(VALUES, np.nan)]
    answers = [drawn(SeededDraws(3), lambda form=form: dps.quantile(form, **usual)).labels for form in forms]
    assert all(answer == answers[0] for answer in answers)


def test_a_dataset_and_an_array_agree(people):
    usual = {"q": [0.25, 0.5, 0.75], "bounds": (0, 120), "epsilon": 50}
    for found, other in zip(
        by_names(people).quantile(**usual).labels, dps.quantile(VALUES, **usual).labels, strict=True
    ):
        assert abs(found - other) < 0.05
    assert people.median(bounds=(0, 120), epsilon=50, step=1).labels == [40]


def test_nobody_is_an_outcome():
    for values in ([], [None], [float("nan")] * 3):
        release = dps.quantile(values, bounds=(3, 5), epsilon=1, step=1)
        assert release.complete
        assert release.labels[0] in (3, 4, 5)


def test_the_array_is_left_as_it_was():
    values = VALUES.copy()
    dps.quantile(values, bounds=(0, 120), epsilon=1)
    integers = np.arange(1000)[::-1].copy()
    dps.quantile(integers, bounds=(0, 999), step=1, epsilon=1)
    assert (values == VALUES).all()
    assert (np.diff(integers) == -1).all()


def test_bounds_far_out_and_fine_steps():
    for bounds, values in (((-1e299, 1e299), [1e298]), ((0, "1e-270"), [5e-271]), ((10**15, 10**15 + 1), [10**15])):
        found = dps.quantile(values * 500, bounds=bounds, epsilon=5).labels[0]
        assert float(bounds[0]) <= found <= float(bounds[1])
    assert dps.quantile([7] * 500, bounds=(0, 10), step=Fraction(1, 2**46), epsilon=5).labels == [7]


def test_the_release_says_it_all(people):
    release = people.quantile(["0.25", 0.5], bounds=(-5, "99.5"), step="0.5", epsilon=2, delta="1e-6", per_user="max")
    found = json.loads(release.to_json())
    names = ["items", "kind", "counted", "complete", "ended", "accuracy", "privacy", "secure", "question", "exact"]
    assert list(found) == names
    assert (found["kind"], found["counted"], found["ended"]) == ("values", False, "full")
    names = ["item", "rank", "too_many_below", "too_many_above", "users_below", "users_above", "q"]
    assert [list(item) for item in found["items"]] == [names] * 2
    assert found["accuracy"]["width_of_users"] > 0
    used = found["privacy"]["parameters"]
    assert used["q"] == [0.25, 0.5]
    assert used["bounds"] == [-5, 99.5]
    assert used["step"] == 0.5
    assert 0.9 < used["epsilon_per_pick"] < 1.8
    said = " ".join(release.privacy.sentences)
    assert "the largest counts" in said
    assert "Values below -5 count as -5 and values above 99.5 as 99.5" in said
    assert release.to_pandas().shape == (2, 4)


# ---- without bounds ---------------------------------------------------------------------------------------


def test_without_bounds_the_release_says_so(people):
    release = people.quantile([0.25, 0.5, 0.75], epsilon=50, per_user="max")
    used = release.privacy.parameters
    assert used["digits"] == 6
    assert "bounds" not in used
    said = " ".join(release.privacy.sentences)
    assert "A number is returned even if no row matches." in said
    assert (
        "No bounds were given. Every value is rounded to the nearest number of 6 digits that is a multiple of 1e-12"
        in said
    )
    plan = plan_of("quantile", q=[0.25, 0.5, 0.75], epsilon=50)
    assert "Where over 16 million users share one value, it may be more." in plan.accuracy.sentences[0]
    assert "million" not in release.accuracy.sentences[0]
    assert "million" not in people.median(epsilon=1).accuracy.sentences[0]
    assert dps.Release.from_json(release.to_json()) == release
    between = people.quantile([0.25, 0.5, 0.75], bounds=(0, 120), epsilon=50)
    assert np.allclose(release.labels, between.labels, atol=0.1)
    assert people.median(epsilon=50, step=1).labels == [40]


def test_values_of_any_size_are_an_outcome():
    """Whatever one value is, nothing fails, and the others' answer is the same."""
    for odd in (
        1e308,
        -1e308,
        float("inf"),
        10**400,
        -(10**400),
        5e-324,
        "x",
        None,
        Decimal("1e999"),
        Fraction(1, 10**500),
    ):
        assert drawn(SeededDraws(1), lambda odd=odd: dps.quantile([7] * 300 + [odd], epsilon=50)).labels == [7]
    assert abs(dps.quantile([10**400] * 300, epsilon=50).labels[0]) == 10**20


# ---- paid -------------------------------------------------------------------------------------------------


def test_a_column_that_holds_no_numbers_costs_nothing(ledger):
    rows = {"user": [1, 2], "item": np.array([True, False])}
    people = dps.Dataset(rows, user="user", item="item", budget=dps.Budget.open(ledger, analyst="ann"))
    with pytest.raises(dps.DataError, match="holds no numbers"):
        people.median(bounds=(0, 1), epsilon=1)
    assert ledger.standing(ANN).own.spent.epsilon == ledger.standing(ANN).own.reserved.epsilon == 0


class Listed:
    """Values one after the other, without a type of their own."""

    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, place):
        return self.values[place]


@pytest.mark.parametrize("form", [deque, Listed])
@pytest.mark.parametrize("odd", ["x", [1], None, {}, 10**400, "\ud83d"], ids=repr)
def test_no_value_speaks_for_the_others(form, odd):
    """NumPy chose one type for all of them: one text made texts of everybody's numbers, one list an error."""
    assert dps.quantile(form([1, 2] * 50 + [odd]), 0.5, bounds=(0, 9), step=1, epsilon=99).labels[0] in (1, 2)


class OnlyAnArray:
    """Values that declare no type and cannot be listed: NumPy chooses one type by all of them."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype)


def test_what_declares_no_type_and_no_values_is_refused_whatever_it_holds():
    said = set()
    for values in ([1, 2, 3], [1, 2, "x"], [1.5, 2, 3], [True, False, True]):
        with pytest.raises(dps.ParameterError, match=r"^values must") as refused:
            dps.quantile(OnlyAnArray(values), 0.5, bounds=(0, 9), step=1, epsilon=1)
        said.add(str(refused.value))
    assert len(said) == 1


# ---- several of one price -----------------------------------------------------------------------------------


def verdict(folder, text):
    (folder / "release.json").write_text(text)
    return check(folder / "release.json").verdict


def test_several_are_found_by_levels_and_the_release_is_checked(tmp_path):
    release = dps.quantile(VALUES, [0.1, 0.25, 0.5, 0.75, 0.9], bounds=(0, 120), step=1, epsilon=1, delta="1e-6")
    said = release.privacy
    assert said.mechanism == "RecursiveQuantiles"
    assert said.parameters["levels"] == 3
    assert "3 levels" in said.sentences[-3]
    text = release.to_json()
    assert verdict(tmp_path, text) == "follows"
    for mine, other in (('"levels": 3', '"levels": 2'), ('"q": 0.9', '"q": 0.8')):
        assert verdict(tmp_path, text.replace(mine, other)) != "follows"


def test_several_in_each_group_are_found_by_levels(tmp_path):
    rows = {**ROWS, "half": np.arange(20_000) % 2}
    people = dps.Dataset(rows, user="user", item="item")
    usual = {"by": "half", "groups": [0, 1], "max_groups_per_user": 1, "bounds": (0, 120), "step": 1, "epsilon": 3}
    release = by_names(people).quantile([0.1, 0.25, 0.5, 0.75, 0.9], **usual)
    assert release.privacy.parameters["levels"] == 3
    assert release.privacy.parameters["epsilon_per_pick"] == Fraction(9, 10)
    assert release.privacy.parameters["epsilon_of_cells"] == Fraction(3, 10)
    assert verdict(tmp_path, release.to_json()) == "follows"
    assert verdict(tmp_path, release.to_json().replace('"levels": 3', '"levels": 1')) != "follows"


def test_within_takes_what_promises_it_for_less():
    """Where many points share the promise levels have the better one, where there are few points single draws."""
    usual = {"bounds": (0, 120), "within": 400, "per_user": None}
    percents = [Fraction(i, 100) for i in range(1, 100)]
    assert isinstance(plan_of("quantile", q=percents, **usual).mechanism.quantiles, RecursiveQuantiles)
    quarters = plan_of("quantile", q=[Fraction(i, 4) for i in range(1, 4)], step=1, **usual)
    assert isinstance(quarters.mechanism.quantiles, Quantile)
    assert quarters.mechanism.gap(0.05) <= 400
