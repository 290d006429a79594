"""The verbs as a user calls them: what is refused before data, what comes back, what it costs."""

from __future__ import annotations

import pandas
import pytest

import dpselect as dps
from dpselect.flat import dataset_of
from dpselect.testing import SeededDraws
from tests.by_names import by_names, drawn

ROWS = {
    "user": [*range(300), *range(200), *range(100)],
    "item": ["ant"] * 300 + ["bee"] * 200 + ["cat"] * 100,
}


@pytest.fixture
def votes() -> dps.Dataset:
    return dps.Dataset(ROWS, user="user", item="item")


@pytest.mark.parametrize("method", ["exponential", "permute-and-flip"])
def test_the_best_of_a_known_domain(votes, method):
    release = votes.choose(domain=["ant", "bee", "dog"], epsilon=2, method=method)
    assert release.labels == ["ant"]
    assert release.privacy.epsilon == 2
    assert release.privacy.delta == 0
    assert "factor 2" not in release.privacy.sentences[0]


@pytest.mark.parametrize("method", ["joint-set", "canonical-set", "joint-sequence"])
@pytest.mark.parametrize("counts", [False, True])
def test_a_whole_set_of_a_known_domain(votes, method, counts):
    ranked = method == "joint-sequence"
    domain = ["dog", "cat", "bee", "ant"]
    release = by_names(votes).top_k(2, epsilon=4, domain=domain, method=method, counts=counts)
    assert sorted(release.labels) == ["ant", "bee"]
    assert release.labels == ["ant", "bee"]  # by rank, by noisy counts, or by name
    assert [item.rank for item in release] == ([1, 2] if ranked else [None, None])
    assert (release.privacy.epsilon, release.privacy.delta) == (4, 0)
    assert release.ranked is ranked
    assert ("rank" in release.to_columns()) is ranked
    if counts:
        assert abs(release.items[0].count - 300) < 60
        assert release.privacy.parameters["epsilon_of_set"] == 2
        assert release.privacy.parameters["epsilon_per_count"] == 1
    else:
        assert release.privacy.parameters["epsilon_of_set"] == 4


def test_a_set_comes_by_its_counts_or_by_name():
    rows = {"user": [*range(300), *range(200)], "item": ["bee"] * 300 + ["ant"] * 200}
    data, domain = by_names(dps.Dataset(rows, user="user", item="item")), ["ant", "bee", "cat"]
    for counts, labels in ((True, ["bee", "ant"]), (False, ["ant", "bee"])):
        found = data.top_k(2, epsilon=400, domain=domain, method="canonical-set", counts=counts)
        assert found.labels == labels


def test_auto_takes_a_set_only_where_no_order_is_wanted_and_it_is_better():
    def by(k=3, **settings):
        return by_names(votes).top_k(k, domain=range(100), **settings).privacy.mechanism

    votes = dps.Dataset({"user": [1], "item": [5]}, user="user", item="item")
    assert by(epsilon=1) == by(epsilon=1, delta="1e-6") == "Peeling"
    assert by(epsilon=1, method="set") == by(epsilon=1, delta="1e-6", method="set") == "CanonicalSet"
    assert by(epsilon=1, k=2, method="set") == by(epsilon="0.29", method="set") == "Peeling"
    assert by(epsilon=1, k=31, method="set") == by(epsilon=1, k=30, delta="1e-6", method="set") == "CanonicalSet"
    assert by(epsilon=1, k=31, delta="1e-6", method="set") == "Peeling"
    assert by_names(votes).top_k(2, epsilon=4, delta="1e-6", method="set").privacy.mechanism == "LimitedDomain"


@pytest.mark.parametrize("method", ["one-shot-laplace", "gamma", "noisy-histogram", "joint", "canonical"])
def test_what_is_there_for_comparison_only_is_not_on_the_menu(votes, method):
    with pytest.raises(dps.ParameterError, match="method must be one of auto, limited-domain"):
        votes.top_k(2, epsilon=8, domain=["dog", "cat", "bee", "ant"], method=method)


def test_noise_on_an_unknown_domain_says_for_how_many_items_a_user_counts():
    few = dps.Dataset(ROWS, user="user", item="item", max_items_per_user=1)
    release = by_names(few).top_k(2, epsilon=8, delta="1e-6", method="limited-domain-laplace", k_bar=5)
    assert release.labels
    assert "at most 1 item" in release.privacy.sentences[1]


def test_noise_that_grows_with_the_items_of_a_user_needs_their_number(votes):
    with pytest.raises(dps.ParameterError, match=r"^max_items_per_user must be given for limited-domain-laplace"):
        votes.top_k(2, epsilon=1, delta="1e-6", method="limited-domain-laplace")


KNOWN = {"domain": ["ant", "bee"]}
ALL = [
    ("top_k", {}), ("top_k", {"method": "discover"}), ("top_k", {"method": "limited-domain-laplace"}),
    ("top_k", {"method": "set", "k": 1, **KNOWN}), ("union", {}),
    ("choose", KNOWN), ("histogram", KNOWN), ("users", {}),
]  # fmt: skip


@pytest.mark.parametrize(("verb", "more"), ALL, ids=str)
def test_draws_for_tests_are_told(verb, more):
    ask = getattr(by_names(dps.Dataset(ROWS, user="user", item="item", max_items_per_user=1)), verb)
    assert [ask(epsilon=8, **more, **draws).secure for draws in ({"draws": SeededDraws(1)}, {})] == [False, True]


def test_draws_for_tests_are_told_of_values_too():
    assert drawn(SeededDraws(1), lambda: dps.choose([1, 900], epsilon=1)).secure is False
    assert drawn(SeededDraws(1), lambda: dps.quantile([1, 2], bounds=(0, 9), epsilon=1)).secure is False


BAD = [
    ({"delta": 0}, "delta must be between 0 and 1, both excluded"),
    (
        {"method": "peeling"},
        "method must be one of auto, limited-domain, limited-domain-sparse, discover, limited-domain-laplace "
        "without a domain",
    ),
    (
        {"domain": ["ant"], "method": "limited-domain"},
        "method must be one of auto, peeling, joint-sequence, joint-set, canonical-set with a domain",
    ),
    ({"domain": ["ant"], "k": 2}, "k must be at most the number of items in the domain"),
    ({"domain": ["ant"], "k_bar": 5, "k": 1}, "k_bar must be left out if a domain is given"),
    ({"counts": 1}, "counts must be True or False"),
    ({"epsilon": "1,5"}, "epsilon must be a positive, finite number"),
]


@pytest.mark.parametrize(("settings", "message"), BAD, ids=[m for _, m in BAD])
def test_a_bad_parameter_is_refused_before_any_row_is_read(votes, settings, message, monkeypatch):
    monkeypatch.setattr(dps.Dataset, "engine", None)  # whoever asked for data now would fail otherwise
    with pytest.raises(dps.ParameterError, match=f"^{message}"):
        by_names(votes).top_k(**{"k": 1, "epsilon": 1, "delta": "1e-6"} | settings)
    with pytest.raises(dps.ParameterError, match=r"^method must be one of exponential"):
        votes.choose(domain=["ant"], epsilon=1, method="best")


@pytest.mark.parametrize(
    "settings",
    [{"user": " "}, {"item": 5}, {"item": "user"}, {"where": ""}, {"table": ""}, {"max_items_per_user": 0}],
    ids=str,
)
def test_a_data_set_says_which_parameter_is_wrong(settings):
    with pytest.raises(dps.ParameterError, match=f"^{next(iter(settings))} must"):
        dataset_of(ROWS, **{"user": "user", "item": "item"} | settings)


def test_a_data_set_shows_no_rows(votes):
    assert repr(votes) == "Dataset(<builtins dict>, user='user', item='item')"
    assert "ant" not in repr(dps.Dataset(ROWS, user="user", item="item", where="item <> 'x'", max_items_per_user=2))


def test_a_series_is_chosen_from_by_its_labels():
    scores = pandas.Series([3, 90, 5], index=["left", "right", "straight on"])
    assert dps.choose(scores, epsilon=50, monotonic=True).labels == ["right"]
    assert dps.choose(pandas.Series([3, 90, 5]), epsilon=50, monotonic=True).labels == [1]
    with pytest.raises(dps.ParameterError, match="scores must name every candidate once"):
        dps.choose(pandas.Series([3, 90], index=["a", "a"]), epsilon=1)


@pytest.mark.parametrize(
    "scores", [[("left", 3), ("right", 90)], pandas.DataFrame({"a": [1], "b": [2]}), [[1], [2, 3]]]
)
def test_pairs_and_frames_are_refused_with_what_to_write(scores):
    with pytest.raises(dps.ParameterError, match=r"scores must be one-dimensional.*\nhint: write {label: score"):
        dps.choose(scores, epsilon=1)


def test_the_length_of_a_text_is_not_shown():
    with pytest.raises(dps.ParameterError, match=r"got values of type str_$"):
        dps.choose(["x" * 672, "y"], epsilon=1)
