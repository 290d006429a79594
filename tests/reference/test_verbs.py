"""The verbs as a user calls them: what is refused before data, what comes back, what it costs."""

from __future__ import annotations

from functools import partial

import pandas
import pytest

import dpselect as dps
from dpselect.asked_rows import AskedRows
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


@pytest.mark.parametrize("counts", [False, True])
def test_a_whole_set_of_a_known_domain(votes, counts):
    domain = ["dog", "cat", "bee", "ant"]
    release = by_names(votes).top_k(2, epsilon=4, domain=domain, method="canonical-set", counts=counts)
    assert sorted(release.labels) == ["ant", "bee"]
    assert release.labels == ["ant", "bee"]  # by noisy counts, or by name
    assert [item.rank for item in release] == [None, None]
    assert (release.privacy.epsilon, release.privacy.delta) == (4, 0)
    assert not release.ranked
    assert "rank" not in release.to_columns()
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


OF_PAPERS = """one-shot-laplace gamma noisy-histogram report-noisy-max joint-set joint-sequence chosen-k-bar
    limited-domain-laplace weighted-laplace policy-laplace policy-gaussian""".split()


@pytest.mark.parametrize("method", OF_PAPERS)
def test_what_only_papers_have_is_a_method_of_no_verb(votes, method):
    for verb, known in (
        (partial(votes.top_k, 2), "auto, limited-domain, limited-domain-sparse, discover"),
        (partial(votes.choose, domain=["dog", "cat"]), "exponential, permute-and-flip"),
        (votes.union, "auto, count-laplace, count-gaussian, weighted-gaussian, truncated-geometric, greedy-geometric"),
    ):
        with pytest.raises(dps.ParameterError, match=f"method must be one of {known}"):
            verb(epsilon=8, method=method)


KNOWN = {"domain": ["ant", "bee"]}
ALL = [
    ("top_k", {}), ("top_k", {"method": "discover"}), ("top_k", {"method": "limited-domain-sparse"}),
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
        "method must be one of auto, limited-domain, limited-domain-sparse, discover without a domain",
    ),
    (
        {"domain": ["ant"], "method": "limited-domain"},
        "method must be one of auto, peeling, canonical-set with a domain",
    ),
    ({"domain": ["ant"], "k": 2}, "k must be at most the number of items in the domain"),
    ({"domain": ["ant"], "k_bar": 5, "k": 1}, "k_bar must be left out if a domain is given"),
    ({"counts": 1}, "counts must be True or False"),
    ({"epsilon": "1,5"}, "epsilon must be a positive, finite number"),
]


@pytest.mark.parametrize(("settings", "message"), BAD, ids=[m for _, m in BAD])
def test_a_bad_parameter_is_refused_before_any_row_is_read(votes, settings, message, monkeypatch):
    monkeypatch.setattr(AskedRows, "open_engine", None)  # whoever asked for data now would fail otherwise
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
