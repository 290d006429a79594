"""Every way to hand over scores, and every way to get a parameter wrong."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import dpselect as dps
from dpselect import accounting
from dpselect._ground.privacy import ZCDP, AnySteps, Neighbors, PureDP, Steps
from dpselect.aggregates.count_groups import CountGroups
from dpselect.draws.weights import Weights
from dpselect.errors import ParameterError
from dpselect.mechanisms import ExponentialMechanism, LimitedDomain, NoisyCounts, Peeling, PermuteAndFlip
from dpselect.mechanisms.candidates import exact_scores
from dpselect.mechanisms.top_k.top_rows import top_rows
from dpselect.papers import ChosenKBar, NoisyHistogram, ReportNoisyMax
from dpselect.testing import SeededDraws
from tests.by_names import by_names

CHOOSERS = [ExponentialMechanism, PermuteAndFlip, ReportNoisyMax, NoisyHistogram]

FORMS = {
    "list": [3, 900, 5],
    "tuple": (3, 900, 5),
    "int8": np.array([3, 100, 5], dtype=np.int8),
    "uint64": np.array([3, 900, 5], dtype=np.uint64),
    "beyond int64": np.array([3, 2**64 - 1, 5], dtype=np.uint64),
    "floats": [0.5, 900.25, -1.0],
    "float32": np.array([0.5, 900.25, -1.0], dtype=np.float32),
    "Fractions": [Fraction(1, 3), Fraction(900), Fraction(5)],
    "Decimals": [Decimal("0.1"), Decimal("900"), Decimal("5")],
    "big ints": [3, 10**40, 5],
    "pandas": pandas.Series([3, 900, 5], index=["a", "b", "c"]),
    "polars": polars.Series([3, 900, 5]),
    "range": range(0, 2000, 800),
}


@pytest.mark.parametrize("make", CHOOSERS)
@pytest.mark.parametrize("scores", FORMS.values(), ids=FORMS.keys())
def test_every_form_of_scores_gives_an_index(make, scores):
    found = make(epsilon=2)(scores)
    if isinstance(scores, pandas.Series):
        assert found == ["b"]  # its labels
    else:
        assert found.dtype == np.int64
        assert found.tolist() == [2 if isinstance(scores, range) else 1]


@pytest.mark.parametrize("make", CHOOSERS)
def test_a_mapping_and_a_histogram_give_labels(make):
    assert make(epsilon=2)({"left": 3, ("any", "hashable"): 900}) == [("any", "hashable")]
    histogram = CountGroups(counts=np.array([900, 3]), sizes=[1, 10**15], label=lambda g, r: f"group {g} member {r}")
    assert make(epsilon=2)(histogram)[0].startswith("group 0") or make is NoisyHistogram
    assert repr(histogram) == "CountGroups(private)"


def test_top_k_gives_indices_or_labels_best_first():
    assert Peeling(k=2, epsilon=9)([3, 900, 5, 600]).tolist() == [1, 3]
    assert Peeling(k=2, epsilon=9)({"a": 3, "b": 900, "c": 600}) == ["b", "c"]
    assert LimitedDomain(k=2, epsilon=9, delta="1e-6")({"a": 3, "b": 900, "c": 600}) == ["b", "c"]
    assert ChosenKBar(k=2, epsilon=9, delta="1e-6", k_bar=3)([3, 900, 5, 600]).tolist() == [1, 3]
    # Bottom ended it. By its exact law it does not with probability 1.7e-10.
    assert LimitedDomain(k=3, epsilon=9, delta="1e-12")([3, 900, 5, 600]).tolist() == [1, 3]


@pytest.mark.parametrize("make", [LimitedDomain, ChosenKBar])
@pytest.mark.parametrize("nothing", [[], {}, CountGroups.from_items([], [])], ids=["array", "mapping", "histogram"])
def test_no_data_is_an_outcome(make, nothing):
    assert len(make(k=3, epsilon=1, delta="1e-6")(nothing)) == 0


def test_a_domain_of_a_million_million():
    unseen = CountGroups(counts=np.array([5, 0]), sizes=[10, 10**12 - 10], label=lambda g, r: (g, r))
    found = Peeling(k=5, epsilon=1)(unseen)
    assert len(set(found)) == 5
    assert all(0 <= r < (10, 10**12 - 10)[g] for g, r in found)


def test_everybody_can_be_ranked():
    counts = np.arange(500)
    assert sorted(Peeling(k=500, epsilon=1)(counts).tolist()) == list(range(500))
    assert sorted(Peeling(k=300, epsilon=1)(np.zeros(300, dtype=int)).tolist()) == list(range(300))


@pytest.mark.parametrize("rows", [1, 2, 5, 7, 100])
def test_top_rows_are_what_a_stable_sort_gives(rows):
    counts = np.random.default_rng(5).integers(0, 6, 60)
    order = sorted((i for i, c in enumerate(counts) if c > 0), key=lambda i: (-counts[i], i))[:rows]
    found = top_rows(counts, rows)
    assert found.counts.tolist() == [int(counts[i]) for i in order]
    assert found.names([(g, 0) for g in range(len(order))]).tolist() == order
    assert found.after(rows) == 0
    values = sorted(set(counts.tolist()), reverse=True)
    members = [[i for i, c in enumerate(counts) if c == v] for v in values]
    grouped = CountGroups(counts=np.array(values), sizes=[len(m) for m in members], label=lambda g, r: members[g][r])
    again = top_rows(grouped, rows)
    assert again.counts.tolist() == found.counts.tolist()
    assert again.names([(g, 0) for g in range(len(order))]) == order


def test_draws_that_repeat_give_the_same_answer():
    counts = np.random.default_rng(6).integers(0, 50, 1000)
    for mechanism in (
        Peeling(k=5, epsilon="0.1"),
        LimitedDomain(k=5, epsilon=1, delta="1e-6"),
        PermuteAndFlip(epsilon="0.1"),
    ):
        answers = [mechanism(counts, draws=SeededDraws(3)).tolist() for _ in range(2)]
        assert answers[0] == answers[1]


# ---- bad input ------------------------------------------------------------------------------------------------

NOT_POSITIVE = [0, -1, float("nan"), float("inf"), float("-inf"), "much", "0,5", None, True, [1], 1j, "1/0"]


@pytest.mark.parametrize("epsilon", [e for e in NOT_POSITIVE if e is not None])
def test_epsilon_must_be_positive_and_finite(epsilon):
    for make in (*CHOOSERS, lambda epsilon: Peeling(k=1, epsilon=epsilon)):
        with pytest.raises(ParameterError, match=r"^epsilon must be a positive, finite number, got"):
            make(epsilon=epsilon)
    with pytest.raises(ParameterError, match=r"^epsilon must be a positive"):
        LimitedDomain(k=1, epsilon=epsilon, delta="1e-6")
    with pytest.raises(ParameterError, match=r"^epsilon_per_pick must be a positive"):
        Peeling(k=1, epsilon_per_pick=epsilon)


@pytest.mark.parametrize("delta", [0, 1, -0.1, 2, float("nan"), "x", True])
def test_delta_must_lie_between_0_and_1(delta):
    with pytest.raises(ParameterError, match=r"^delta must be between 0 and 1"):
        LimitedDomain(k=1, epsilon=1, delta=delta)
    if delta != 0:
        with pytest.raises(ParameterError, match=r"^delta must be at least 0 and less than 1"):
            Peeling(k=1, epsilon=1, delta=delta)


@pytest.mark.parametrize("k", [0, -3, 1.0, "3", True, None])
def test_k_must_be_a_whole_number(k):
    for make in (Peeling, LimitedDomain, ChosenKBar):
        with pytest.raises(ParameterError, match=r"^k must be a whole number of at least 1, got"):
            make(k=k, epsilon=1, delta="1e-6")
    with pytest.raises(ParameterError, match=r"^k must be a whole number"):
        NoisyCounts(k=k, epsilon_per_count=1)


BAD = [
    (lambda: ExponentialMechanism(epsilon=1, k=2), "k must be 1"),
    (lambda: ExponentialMechanism(epsilon=1, sensitivity=0), "sensitivity must be a positive"),
    (lambda: ExponentialMechanism(epsilon=1, monotonic=1), "monotonic must be True or False"),
    (lambda: ExponentialMechanism(epsilon=1, neighbors="rows"), "neighbors must be one of add-remove, replace-one"),
    (lambda: PermuteAndFlip(epsilon=1, monotonic=True, neighbors="replace-one"), "monotonic must be False"),
    (lambda: ReportNoisyMax(epsilon=1, noise="gauss"), "noise must be one of laplace, exponential"),
    (lambda: NoisyHistogram(epsilon=1, max_items_per_user=0), "max_items_per_user must be"),
    (lambda: LimitedDomain(k=5, k_bar=4, epsilon=1, delta="1e-6"), "k_bar must be at least k = 5, got 4"),
    (lambda: ChosenKBar(k=5, k_bar=4, epsilon=1, delta="1e-6"), "k_bar must be at least k = 5, got 4"),
    (lambda: LimitedDomain(k=5, delta="1e-6"), "epsilon must be given"),
    (lambda: LimitedDomain(k=5, epsilon=1, epsilon_per_pick=1, delta="1e-6"), "epsilon must be given"),
    (lambda: LimitedDomain(k=5, epsilon=1, delta="1e-6", delta_threshold="1e-3"), "delta_threshold must be at most"),
    (lambda: LimitedDomain(k=5, epsilon=1, delta="1e-6", max_items_per_user=0), "max_items_per_user must be"),
    (lambda: Peeling(k=3, epsilon=1)([1, 2]), "k must be at most the number of candidates"),
    (lambda: Peeling(k=1, epsilon=Fraction(1, 2**950)), "epsilon must be between"),
    (lambda: Weights(np.array([1, 2]), Fraction(1, 2**950)), "epsilon / sensitivity must be between"),
    (lambda: NoisyCounts(k=1, epsilon_per_count=0), "epsilon_per_count must be a positive"),
    (lambda: ExponentialMechanism(epsilon=1)([]), "scores must hold at least one candidate"),
    (lambda: ExponentialMechanism(epsilon=1)([[1, 2], [3, 4]]), "scores must be one-dimensional"),
    (lambda: ExponentialMechanism(epsilon=1)([[1, 2], [3]]), "scores must be one-dimensional"),
    (lambda: ExponentialMechanism(epsilon=1)([1.0, float("nan")]), "scores must be finite numbers"),
    (lambda: ExponentialMechanism(epsilon=1)({"a": float("inf")}), "scores must be finite numbers"),
    (lambda: ExponentialMechanism(epsilon=1)(["1", "2"]), "scores must be finite numbers"),
    (lambda: ExponentialMechanism(epsilon=1)([True, False]), "scores must be finite numbers"),
    (lambda: ExponentialMechanism(epsilon=1)([1, None]), "scores must be finite numbers"),
    (lambda: ExponentialMechanism(epsilon=1)([Decimal("nan"), 1]), "scores must be finite numbers"),
    (lambda: LimitedDomain(k=1, epsilon=1, delta="1e-6")([1.5, 2.5]), "counts must be whole numbers"),
    (lambda: LimitedDomain(k=1, epsilon=1, delta="1e-6")([-1, 2]), "counts must be at least 0"),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[m for _, m in BAD])
def test_bad_input_is_named(call, message):
    with pytest.raises(ParameterError, match=f"^{message}"):
        call()


def test_no_message_shows_a_score():
    for call in (
        lambda: ExponentialMechanism(epsilon=1)([87654321.5, float("nan")]),
        lambda: LimitedDomain(k=1, epsilon=1, delta="1e-6")([-87654321, 5]),
        lambda: ExponentialMechanism(epsilon=1)(["87654321"]),
        lambda: Peeling(k=9, epsilon=1)({"87654321": 87654321}),
    ):
        with pytest.raises(ParameterError) as caught:
            call()
        assert "8765" not in str(caught.value)


def test_strings_and_decimals_are_exact():
    assert ExponentialMechanism(epsilon="0.1").epsilon == Fraction(1, 10)
    assert ExponentialMechanism(epsilon=Decimal("0.1")).epsilon == Fraction(1, 10)
    assert ExponentialMechanism(epsilon=0.1).epsilon == Fraction(1, 10)
    assert ExponentialMechanism(epsilon=np.float64(0.1)).epsilon == Fraction(1, 10)
    assert Peeling(k=np.int64(3), epsilon=1).k == 3
    assert ExponentialMechanism(epsilon=1, neighbors="replace-one").neighbors is Neighbors.REPLACE_ONE


@pytest.mark.parametrize("big", [2**53 + 1, -(2**53) - 1, np.int64(2**60 + 1)], ids=repr)
def test_one_float_among_scores_rounds_no_other(big):
    """A score that moves by more than the user who moved it would be another sensitivity than the stated one."""
    assert exact_scores([big, 0.5]).tolist() == [Fraction(int(big)), Fraction(1, 2)]
    assert exact_scores([2**53, 0.5]).dtype == np.float64


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="a longdouble is an ordinary float here")
@pytest.mark.parametrize("form", [list, np.array], ids=["list", "array"])
def test_floats_of_more_than_64_bits_are_what_they_are(form):
    """Rounded to 64 bits, two scores a user apart could be two apart; and a large one was infinite."""
    tenth, large = np.longdouble("0.1"), np.longdouble("1e400")
    found = exact_scores(form([tenth, large, np.longdouble(3)])).tolist()
    assert found == [Fraction(*tenth.as_integer_ratio()), Fraction(*large.as_integer_ratio()), 3]
    assert found[0] != Fraction(0.1)
    for strange in ("nan", "inf"):
        with pytest.raises(ParameterError, match="scores must be finite numbers"):
            exact_scores(form([tenth, np.longdouble(strange)]))


@pytest.mark.parametrize("others", [[], [5], [0.5], [Fraction(1, 2)]], ids=repr)
@pytest.mark.parametrize("flag", [True, np.True_])
def test_true_and_false_are_no_scores_whatever_stands_beside_them(flag, others):
    with pytest.raises(ParameterError, match="scores must be finite numbers"):
        exact_scores([flag, *others])


def test_what_is_masked_is_no_score():
    """NumPy forgets the mask, and the number under it took part."""
    with pytest.raises(ParameterError, match="scores must be finite numbers"):
        exact_scores(np.ma.array([1, 900], mask=[False, True]))
    assert exact_scores(np.ma.array([1, 900])).tolist() == [1, 900]


@pytest.mark.parametrize("exponent", [10**8, -(10**8)])
def test_a_score_that_nobody_could_write_out_is_refused(exponent):
    """As a rational it has a hundred million digits, and took minutes."""
    with pytest.raises(ParameterError, match="scores must be finite numbers"):
        exact_scores([Decimal(f"1e{exponent}"), 1])
    assert exact_scores([Decimal("0e999999"), 1]).tolist() == [0, 1]


def test_columns_of_which_a_package_makes_no_array():
    """Arrow said how many were missing, in words of its own."""
    assert exact_scores(pyarrow.array([Decimal("0.1"), Decimal("2.0")])).tolist() == [Fraction(1, 10), 2]
    assert exact_scores(polars.Series([2**100, 1], dtype=polars.Int128)).tolist() == [2**100, 1]
    for missing in (
        pyarrow.array([1, None]),
        pyarrow.array([True, None]),
        polars.Series([2**100, None], dtype=polars.Int128),
    ):
        with pytest.raises(ParameterError, match="scores must be finite numbers"):
            exact_scores(missing)


def test_the_largest_k_bar_is_answered_and_a_larger_one_is_refused_before_rows_are_read() -> None:
    """One more item is looked at, and that is a number of rows too."""
    data = dps.Dataset({"user": [*range(90)], "item": ["a", "b", "c"] * 30}, user="user", item="item")
    assert by_names(data).top_k(2, epsilon=30, k_bar=2**53 - 1).privacy.parameters["k_bar"] == 2**53 - 1
    with pytest.raises(dps.ParameterError, match="k_bar must be a whole number from 1 to 9007199254740991"):
        dps.Plan.from_dict({"verb": "top_k", "k": 2, "epsilon": 30, "k_bar": 2**53})


@pytest.mark.parametrize("counts", [5, None, 2.5], ids=str)
def test_a_number_in_the_place_of_all_counts_is_refused(counts):
    with pytest.raises(ParameterError, match="must be one-dimensional"):
        LimitedDomain(k=1, epsilon=1, delta="1e-6")(counts)


PLANS = {
    "no function": 3,
    "no steps": lambda pick: [],  # noqa: ARG005
    "steps that cost nothing": lambda pick: [Steps(PureDP(0 * pick), 1)],
    "concentrated steps": lambda pick: [AnySteps(ZCDP(pick), 1)],
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=list(PLANS))
def test_picks_are_planned_by_a_function_to_steps_with_an_epsilon(plan):
    with pytest.raises(ParameterError, match="plan must be a function from the epsilon of one pick to Steps"):
        accounting.largest_epsilon(plan, 1, "1e-6")
