"""Every verb from afar: the same parameters, errors and releases as where the data are here."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable
from decimal import Decimal

import pytest

import dpselect as dps
from tests.by_names import by_names
from tests.remote.small_gateway import COST, ROWS, TOKEN, SmallGateway

HERE = dps.Dataset(ROWS, user="user", item="artist")
BAD = {
    "epsilon": lambda data: data.top_k(epsilon=-1),
    "k": lambda data: data.top_k(0, epsilon=1),
    "k_bar": lambda data: by_names(data).top_k(5, k_bar=4, epsilon=1),
    "method": lambda data: data.top_k(method="noisy", epsilon=1),
    "no price": lambda data: data.top_k(),
    "counts": lambda data: data.top_k(counts=1, epsilon=1),
    "share": lambda data: data.top_k(share="1%", epsilon=1),
    "users": lambda data: by_names(data).top_k(users=True, epsilon=1),
    "at_most": lambda data: by_names(data).top_k(by_weight="age", at_most=-1, epsilon=1),
    "measures": lambda data: data.top_k(measures="median(age)", epsilon=1),
    "delta": lambda data: data.union(epsilon=1, delta=1),
    "popular": lambda data: by_names(data).union(epsilon=1, popular=3),
    "domain": lambda data: data.choose(domain=[], epsilon=1),
    "histogram": lambda data: data.histogram(domain=3, epsilon=1),
    "q": lambda data: data.quantile(2, bounds=(0, 9), epsilon=1),
    "bounds": lambda data: data.median(bounds=(9, 0), epsilon=1),
    "step": lambda data: data.median(bounds=(0, 9), step=0, epsilon=1),
    "query": lambda data: data.ask({"verb": "top_k"}),
    "fresh": lambda data: by_names(data).top_k(epsilon=1, fresh=1),
    "progress": lambda data: by_names(data).top_k(epsilon=1, progress=3),
}


def test_answers_are_those_of_the_data(remote: dps.Remote, gateway: SmallGateway) -> None:
    data = remote.data("listening", item="artist")
    top = data.top_k(3, epsilon=5, domain=["ABBA", "Bach", "Cher", "Dion"], counts=True)
    assert set(top.labels) == {"ABBA", "Bach", "Cher"}
    assert (top.counted, top.privacy.epsilon, top.secure) == (True, 5, True)
    assert set(by_names(data).union(epsilon=5, max_items_per_user=1).labels) == {"ABBA", "Bach", "Cher"}
    assert data.choose(domain=["Bach", "Dion"], epsilon=5).labels == ["Bach"]
    assert [item.item for item in data.histogram(domain=["Cher", "ABBA"], epsilon=5)] == ["Cher", "ABBA"]
    ages = remote.data("listening", item="age").where("age >= 18")
    assert 30 < ages.quantile(0.5, bounds=(0, 120), step=1, epsilon=5).labels[0] < 80
    assert 30 < ages.median(bounds=(0, 120), step=1, epsilon=5).labels[0] < 80
    query = dps.Plan.from_dict({"verb": "top_k", "k": 1, "epsilon": "5"})
    assert data.ask(query).labels[0] in ROWS["artist"]
    assert all(one.body["data"] == "listening" for one in gateway.seen if one.method == "POST")
    assert [one.body["item"] for one in gateway.seen if one.method == "POST"][-3:] == ["age", "age", "artist"]


def test_a_release_says_what_the_gateway_charged(remote: dps.Remote) -> None:
    release = remote.data("listening").top_k(1, epsilon=5)
    assert release.charged is not None
    assert release.charged.sentence == COST["sentence"]
    assert release.charged.numbers == {name: value for name, value in COST.items() if name != "sentence"}
    assert "charged: 25 % of the budget of ann" in str(release)
    assert dps.Release.from_json(release.to_json()) == release


@pytest.mark.parametrize("case", BAD)
def test_a_mistake_is_the_same_error_and_costs_no_round_trip(
    case: str, remote: dps.Remote, gateway: SmallGateway
) -> None:
    said = []
    for data in (HERE, remote.data("listening", item="artist")):
        with pytest.raises(dps.ParameterError) as found:
            BAD[case](data)
        said.append((found.value.parameter, found.value.must, found.value.came))
    assert said[0] == said[1]
    assert gateway.seen == []


def test_what_was_left_out_is_left_to_the_gateway(remote: dps.Remote, gateway: SmallGateway) -> None:
    data = remote.data("listening", item="artist")
    for ask, left_out in (
        (lambda: data.top_k(3, epsilon="1/3"), {"delta", "domain", "k_bar", "max_items_per_user"}),
        (lambda: data.top_k(3, share="1%"), {"epsilon", "delta"}),
        (lambda: by_names(data).top_k(3, within=400), {"epsilon", "delta"}),
        (lambda: data.choose(epsilon=1), {"domain", "delta"}),
        (lambda: remote.data("listening", item="age").median(epsilon=1), {"bounds", "step", "delta"}),
        (lambda: by_names(data).top_k(by_weight="age", epsilon=1), {"at_most", "weight_unit"}),
    ):
        with contextlib.suppress(dps.ParameterError):  # this small gateway declares nothing
            ask()
        assert not left_out & set(gateway.seen[-1].body if gateway.seen[-1].body else gateway.seen[-2].body)
    bodies = [one.body for one in gateway.seen if one.method == "POST"]
    assert bodies[0]["epsilon"] == "1/3"
    assert bodies[1]["share"] == "1%"
    assert bodies[2]["within"] == 400


def test_items_keep_their_types_on_the_way(remote: dps.Remote, gateway: SmallGateway) -> None:
    day = datetime.date(2026, 10, 1)
    remote.data("listening", item=["artist", "age"]).histogram(domain=[("ABBA", 3), ("Bach", 1)], epsilon=1)
    remote.data("listening").choose(epsilon=1, domain=[day])
    with contextlib.suppress(dps.ParameterError):  # which the column does not hold
        by_names(remote.data("listening")).top_k(1, epsilon=1, exclude=[Decimal("1.5")])
    bodies = [one.body for one in gateway.seen if one.method == "POST"]
    assert bodies[0]["item"] == ["artist", "age"]
    assert bodies[0]["domain"] == [["tuple", ["ABBA", 3]], ["tuple", ["Bach", 1]]]
    assert [bodies[1]["domain"], bodies[2]["exclude"]] == [[["date", "2026-10-01"]], [["decimal", "1.5"]]]


def test_items_that_are_excluded_are_sent_however_it_is_asked(remote: dps.Remote, gateway: SmallGateway) -> None:
    data = remote.data("listening").exclude(["Cher"])
    for ask in (
        lambda: data.top_k(1, epsilon=1),
        lambda: data.ask(dps.Plan.from_dict({"verb": "top_k", "epsilon": 1})),
        lambda: data.ask(dps.Union(), epsilon=1),
        lambda: remote.price(dps.TopK(1), data=data, epsilon=1),
    ):
        ask()
    assert [one.body["exclude"] for one in gateway.seen if one.method == "POST"] == [["Cher"]] * 4
    assert ".exclude(['Cher']) at " in repr(data)
    with pytest.raises(dps.ParameterError, match="exclude must be left out for choose"):
        data.choose(["ABBA"], epsilon=1)


def test_a_column_of_another_source_is_not_sent(remote: dps.Remote, gateway: SmallGateway) -> None:
    with pytest.raises(dps.ParameterError, match="column of another source may be any file"):
        remote.data().top_k(epsilon=1, domain=dps.Column("public.csv", "item"))
    assert gateway.seen == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"item": dps.Text("body")}, "item must be the name of a column"),
        ({"item": []}, "item must be"),
        ({"max_items_per_user": 0}, "max_items_per_user must be"),
        ({"name": ""}, "data must be the name"),
    ],
)
def test_data_are_named_soundly(given: dict[str, object], said: str, remote: dps.Remote) -> None:
    with pytest.raises(dps.ParameterError, match=said):
        remote.data(**given)


@pytest.mark.parametrize(
    ("narrow", "said"),
    [
        (lambda data: data.where("age >"), "where must be one condition on one row"),
        (lambda data: data.where("read_csv('x') = 1"), "where must be one condition on one row"),
        (lambda data: data.where("age > 1) OR (age < 2"), "where must be one condition on one row"),
        (lambda data: data.during(["2026-10", 3]), "during must be the name of a period"),
        (lambda data: data.during("2026-10").during("2026-11"), "during must be given once only"),
    ],
)
def test_rows_are_left_out_soundly(
    narrow: Callable[[dps.RemoteDataset], object], said: str, remote: dps.Remote, gateway: SmallGateway
) -> None:
    with pytest.raises(dps.ParameterError, match=said):
        narrow(remote.data("listening"))
    assert gateway.seen == []


def test_plans_prices_and_what_was_asked(remote: dps.Remote, gateway: SmallGateway) -> None:
    data = remote.data("listening", item="artist", max_items_per_user=3).where("age > 17").during("2026-10")
    assert remote.plan(dps.TopK(5), data="listening", epsilon=0.5)["sentences"] == ["ten items"]
    query = dps.Plan.from_dict({"verb": "top_k", "k": 5, "epsilon": "1/2"})
    asked = remote.price(query, data=data)["asked"]
    assert asked == {
        "verb": "top_k",
        "data": "listening",
        "item": "artist",
        "where": "age > 17",
        "during": ["2026-10"],
    } | {
        **query.to_dict(),
        "max_items_per_user": 3,
    }
    assert remote.price(dps.Quantile(bounds=(0, 9)), share="2%")["asked"]["share"] == "2%"
    assert remote.me()["role"] == "analyst"
    assert remote.budget() == [{"data": "listening", "left": 1}]
    release = remote.data().top_k(1, epsilon=5)
    assert remote.answers() == [{"id": "aq1"}]
    assert remote.answer("aq1").items == release.items
    assert remote.question("q1")["state"] == "answered"
    assert remote.wait("q1") == release
    before = len(gateway.seen)
    for ask in (
        lambda: remote.plan("top", k=5, epsilon=1),
        lambda: remote.price("top_k", kay=5, epsilon=1),
        lambda: remote.price(query, k=5),
        lambda: remote.price("top_k", data=3, epsilon=1),
        lambda: remote.question("../../etc"),
        lambda: remote.answer("a?b"),
        lambda: remote.cancel("q1/approve"),
    ):
        with pytest.raises(dps.ParameterError):
            ask()
    assert len(gateway.seen) == before


def test_a_log_names_the_gateway_and_no_token(
    remote: dps.Remote, gateway: SmallGateway, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("DEBUG", logger="dpselect"):
        remote.data("listening", item="artist").choose(domain=["Bach", "Dion"], epsilon=5)
    here = [one.getMessage() for one in caplog.records if "asked of" in one.getMessage()]
    assert here == [f"choose, asked of {gateway.url}"]
    assert TOKEN not in caplog.text
    assert "Bach" not in caplog.text
