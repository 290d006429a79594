"""Keys of several columns, from the data set to the release: what is refused, what is promised, what is written."""

from __future__ import annotations

import csv
import datetime
import io
import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import dpselect as dps
from dpselect._ground.domain import UNSEEN
from dpselect._ground.keys import key_from_text, key_to_text
from dpselect._ground.privacy import ApproxDP
from dpselect.accounting.groups import of_group
from dpselect.flat import dataset_of
from dpselect.ledger import Account, Ledger
from dpselect.release.item_columns import item_column_names
from dpselect.testing import SeededDraws
from tests.by_names import by_names

USERS = 300
ROWS: dict[str, object] = {
    "user": np.arange(2 * USERS) % USERS,
    "day": np.array(["2026-10-01", "2026-10-02"], dtype="M8[s]").repeat(USERS),
    "country": ["DE", "SE", "DE"] * (2 * USERS // 3),
    "count": np.tile(np.array([7, 7, 8]), 2 * USERS // 3),
    "plain": ["x"] * (2 * USERS),
}
ITEM = ("country", "count")
DOMAIN = [("DE", 7), ("DE", 8), ("SE", 7), ("NO", 9)]


def data(**more: Any) -> dps.Dataset:
    return dataset_of(more.pop("rows", ROWS), **({"user": ["user", "day"], "item": list(ITEM)} | more))


# ---- names ------------------------------------------------------------------------------------------------

BAD = {
    "no user": ({"user": []}, "user must be the name of a column, or a list of such names, 8 at most, got a list of 0"),
    "no item": ({"item": ()}, "item must be the name of a column, or a list of such names"),
    "nine": ({"item": list("abcdefghi")}, "8 at most, got a list of 9"),
    "twice": ({"user": ["user", "user"]}, "user must name each column once, got 'user' twice"),
    "shared": ({"user": ["user", "count"]}, "item must be a column other than user, got 'count'"),
    "user is an item": ({"user": "country"}, "item must be a column other than user, got 'country'"),
    "a number": ({"item": ["country", 3]}, "item must be the name of a column, got 3"),
    "blank": ({"user": ["user", " "]}, "user must be the name of a column, got ' '"),
    "a set": ({"user": {"user", "day"}}, "user must be the name of a column, or a list of such names"),
    "split": ({"split": " "}, "item must be one column of texts, whose parts are the items, got a value of type list"),
}


@pytest.mark.parametrize(("given", "says"), BAD.values(), ids=list(BAD))
def test_bad_names_are_refused_before_anything_is_opened(given: dict[str, object], says: str) -> None:
    with pytest.raises(dps.ParameterError) as caught:
        data(rows="no such file.parquet", **given)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("given", "says"),
    [({"user": ["user", "dya"]}, "user must be a column of the source, got 'dya'"),
     ({"item": ["country", "cuont"]}, "item must be a column of the source, got 'cuont'")],
)  # fmt: skip
def test_a_column_that_is_not_there_names_its_parameter(given: dict[str, object], says: str) -> None:
    with pytest.raises(dps.ParameterError, match=says):
        data(**given).top_k(1, epsilon=1)


def test_a_list_of_one_is_that_column() -> None:
    one = data(user=["user"], item=["country"])
    assert (one.user_columns, one.column) == ("user", "country")
    release = one.top_k(1, epsilon=9)
    assert release.labels == ["DE"]
    assert release.privacy.unit == "user"


def test_a_quantile_and_a_text_have_one_column() -> None:
    with pytest.raises(dps.ParameterError, match="item must be one column for a quantile, got 2 of them"):
        data().quantile(bounds=(0, 9), epsilon=1)
    assert data(item="count").quantile(bounds=(0, 10), step=1, epsilon=50).labels == [7]
    words = data(item=dps.Text("plain"), user=["user", "day"]).union(epsilon=9)
    assert words.labels == ["x"]
    assert words.privacy.unit == "(user, day) pair"


def test_one_text_of_a_key_is_that_of_no_other() -> None:
    keys = ["user", ("user", "day"), ("user,day", "x"), ("user", "day,x"), '["user", "day"]', '["user"]', '["', "[", ""]
    texts = [key_to_text(key) for key in keys]
    assert len(set(texts)) == len(keys)
    assert [key_from_text(text) for text in texts[:-1]] == keys[:-1]
    assert key_to_text("user") == "user"  # as ledgers have it
    for broken in ('["', '["a"', '["a", 1]', '["a", "a"]', '[["a"]]'):
        assert key_from_text(broken) == broken


# ---- releases ---------------------------------------------------------------------------------------------


def test_items_of_several_columns_alone_leave_the_promise_as_it_is() -> None:
    said = data(user="user").top_k(2, epsilon=30).privacy
    plain = data(user="user", item="country").top_k(2, epsilon=30).privacy
    assert (said.unit, said.sentences) == (plain.unit, plain.sentences)
    assert dict(said.parameters) == {**plain.parameters, "item": ITEM}


def test_three_columns_and_names_that_steer_a_terminal() -> None:
    rows = {"a\x1b": [1], "b": [1], "c": [1], "i": [1]}
    release = dps.Dataset(rows, user=["a\x1b", "b", "c"], item="i").top_k(1, epsilon=1)
    assert release.privacy.unit == "(a\\x1b, b, c) combination"


def test_the_sentence_is_what_groups_are_promised() -> None:
    """Its formula, worked out, is that of `of_group`."""
    one, m = ApproxDP(Fraction(1, 2), Fraction(1, 1000)), 3
    sum_ = sum(float(one.delta) * np.exp(0.5 * place) for place in range(m))
    found = of_group(one, m)
    assert found.epsilon == m * one.epsilon
    assert float(found.delta) == pytest.approx(sum_, rel=1e-12)


def test_tables_have_a_column_for_each(tmp_path: Path) -> None:
    release = data(user="user").top_k(3, epsilon=30, counts=True, domain=DOMAIN)
    columns = release.to_columns()
    assert list(columns) == ["rank", "country", "item_count", "count", "low", "high"]
    assert list(zip(columns["country"], columns["item_count"], strict=True)) == release.labels
    rows = list(csv.reader(io.StringIO(release.to_csv())))
    assert rows[0] == list(columns)
    assert [tuple(row[1:3]) for row in rows[1:]] == [(country, str(count)) for country, count in release.labels]
    release.to_parquet(tmp_path / "top.parquet")
    found = duckdb.sql(f"SELECT country, item_count FROM '{tmp_path / 'top.parquet'}' ORDER BY rank").fetchall()
    assert found == release.labels
    assert release.text.split("\n\n")[1].splitlines()[0].split() == list(columns)
    assert '">country</th><th scope="col" class="dps-name">item_<wbr>count</th>' in release._repr_html_()


def test_names_of_columns_are_free() -> None:
    assert item_column_names({}) == ("item",)
    assert item_column_names({"item": ("rank", "item_rank", "Rank", "x")}) == (
        "item_rank",
        "item_item_rank",
        "item_item_item_Rank",
        "x",
    )


def test_what_was_never_seen_is_unseen_in_every_column() -> None:
    release = data(user="user").top_k(4, epsilon=30, domain=4)
    assert release.labels[3] is UNSEEN
    columns = release.to_columns()
    assert (columns["country"][3], columns["item_count"][3]) == (None, None)
    assert dps.Release.from_json(release.to_json()) == release


STRANGE = [(datetime.date(2026, 1, 2), Decimal("1.50"), b"\x00", 2.5, True, 'a"],["b')]


def test_tuples_of_every_type_come_back_from_json() -> None:
    rows = pa.table({"u": range(50), **{f"c{place}": pa.array([value] * 50) for place, value in enumerate(STRANGE[0])}})
    asked = dps.Dataset(rows, user="u", item=rows.column_names[1:])
    release = asked.choose(domain=STRANGE, epsilon=9)
    again = dps.Release.from_json(release.to_json())
    assert again == release
    assert again.labels == STRANGE
    assert [type(value) for value in again.labels[0]] == [type(value) for value in STRANGE[0]]


@pytest.mark.parametrize("item", ["country", ["country"], ["country", 3], ["country", "count", "more"]], ids=str)
def test_a_damaged_file_is_refused(item: object) -> None:
    found = data(user="user").top_k(2, epsilon=30).to_dict()
    exact: Any = found["exact"]
    exact["parameters"]["item"] = ["tuple", item] if isinstance(item, list) else item
    with pytest.raises(dps.ParameterError, match="text must be the JSON of a release"):
        dps.Release.from_json(json.dumps(found))


def test_labels_that_look_alike_are_told_apart() -> None:
    pairs = [("a,b", "c"), ("a", "b,c"), ('a", "b', "c"), ("a", 'b", "c')]
    rows = {"user": range(400), "x": [x for x, _ in pairs] * 100, "y": [y for _, y in pairs] * 100}
    release = dps.Dataset(rows, user="user", item=["x", "y"]).union(epsilon=20)
    assert sorted(release.labels) == sorted(pairs)
    lines = {json.dumps(item["item"]) for item in json.loads(release.to_json())["items"]}
    assert len(lines) == len(pairs)


# ---- questions and ledgers ---------------------------------------------------------------------------------


def key(asked: dps.Dataset, **more: object) -> str:
    with asked.engine() as engine:
        return asked._rows.fingerprint("top_k", more, engine, "today").text


@pytest.fixture
def events(tmp_path: Path) -> Path:
    path = tmp_path / "events.csv"
    lines = [f"{n % 200},{n // 200},{'DE' if n % 3 else 'SE'},{n % 2}" for n in range(400)]
    path.write_text("\n".join(["user,day,country,kind", *lines]) + "\n")
    return path


@pytest.mark.parametrize(
    ("account", "user"),
    [("user", ["user", "day"]), (["user", "day"], "user"), (["user", "day"], ["day", "user"]), (None, ["user", "day"]),
     (["user", "day"], ["user", "kind"]), ('["user", "day"]', ["user", "day"])],
    ids=str,
)  # fmt: skip
def test_an_account_pays_for_its_own_unit_only(tmp_path: Path, events: Path, account: Any, user: Any) -> None:
    with Ledger.create(tmp_path / "ledger") as ledger:
        ledger.data("plays", 10, "1e-5", user=account)
        ledger.grant(Account("plays", "ann"), 9, "1e-5")
        before = ledger.count
    pay = dps.Budget.open(tmp_path / "ledger", data="plays", analyst="ann")
    with pytest.raises(dps.ParameterError, match=r"^user must be "):
        dps.Dataset(events, user=user, item="country", budget=pay).top_k(1, epsilon=1)
    with Ledger(tmp_path / "ledger") as ledger:
        assert ledger.count == before


def test_the_unit_of_an_account_cannot_change_once_it_was_asked(tmp_path: Path, events: Path) -> None:
    with Ledger.create(tmp_path / "ledger") as ledger:
        assert ledger.data("plays", 10, "1e-5", user="user").unit == "one user"
        assert ledger.data("plays", 10, "1e-5", user=["user", "day"], period="month", time="t").unit == (
            "one (user, day) pair in one month"
        )
        assert ledger.data("more", 10, "1e-5", user=["user", "day"], unit="one visit").unit == "one visit"
        ledger.grant(Account("more", "ann"), 9, "1e-5")
    pay = dps.Budget.open(tmp_path / "ledger", data="more", analyst="ann")
    dps.Dataset(events, user=["user", "day"], item="country", budget=pay).top_k(1, epsilon=1)
    with Ledger(tmp_path / "ledger") as ledger, pytest.raises(dps.ParameterError, match="user must stay"):
        ledger.data("more", 10, "1e-5", user="user")


def test_a_budget_in_memory_pays_for_one_unit() -> None:
    def asked(pays: object, user: object) -> dps.Release:
        return by_names(data(user=user, item="country", budget=pays)).top_k(1, epsilon=1, draws=SeededDraws(1))

    first = dps.Budget(epsilon=9, delta="1e-5")
    asked(first, "user")
    asked(first, "plain")  # another name may be another data set's of the same people
    says = r"user must be one column, as in the first question .* got \['user', 'day'\]"
    with pytest.raises(dps.ParameterError, match=says):
        asked(first, ["user", "day"])
    second = dps.Budget(epsilon=9, delta="1e-5")
    asked(second, ["user", "day"])
    asked(second, ["user", "day"])
    for other in ("user", ["day", "user"]):
        with pytest.raises(dps.ParameterError, match=r"user must be \['user', 'day'\], as in the first question"):
            asked(second, other)


def test_popular_items_may_be_tuples() -> None:
    release = by_names(data(user="user")).union(epsilon=30, popular=[("SE", 7), ("DE", 7)])
    assert set(release.labels) <= {("DE", 7), ("DE", 8), ("SE", 7)}
    again = by_names(data(user="user")).union(epsilon=30, popular=release)
    assert set(again.labels) <= set(DOMAIN)
