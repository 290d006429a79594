"""What type checkers must say of answers: mypy and basedpyright read this file, and nobody runs it."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np

import dpselect as dps
from dpselect import accounting
from dpselect.release.release import Item

data = dps.Dataset("plays.parquet", user="user", item="artist")

assert_type(data.top_k(3, epsilon=1).labels, list[Any])
assert_type(data.top_k(3, epsilon=1), dps.Release[Any])
assert_type(data.quantile(0.5, bounds=(0, 1), epsilon=1).labels, list[int | float])
assert_type(data.median(bounds=(0, 1), epsilon=1)[0].item, int | float)

one = dps.choose({"left": 3, "right": 90}, epsilon=1)
assert_type(one, dps.Release[str])
assert_type(one[0], Item[str])
assert_type([item.item for item in one], list[str])
assert_type(one[:1], tuple[Item[str], ...])
assert_type(dps.choose(np.arange(3), epsilon=1), dps.Release[Any])
assert_type(dps.choose([1, 2, 3], epsilon=1).labels, list[Any])
assert_type(dps.quantile([1, 2], bounds=(0, 9), epsilon=1), dps.Release[int | float])
assert_type(dps.quantile([1, 2], bounds=(0, 9), epsilon=1).labels[0], int | float)
assert_type(dps.Release.from_json("{}"), dps.Release[Any])
assert_type(one.to_json(), str)


def words(release: dps.Release[str]) -> list[str]:
    """A release of texts is one of objects, but not the other way round."""
    anything: dps.Release[object] = release
    return [str(label) for label in anything.labels]


def plain(release: dps.Release) -> int:
    """Without the type of its labels, as written before there was one."""
    return len(release.labels)


accounting.compose([], "1e-6")  # a number as its text, as everywhere
plain(one)
words(data.top_k(3, epsilon=1))

# ---- questions: what fits is taken ------------------------------------------------------------------------

RIGHT: list[dps.Question] = [
    dps.TopK(),
    dps.TopK(10, by="country"),
    dps.TopK(10, by=["country", "city"], counts=True),
    dps.TopK(10, by=dps.By("country", groups=["DE"], max_groups_per_user=2, sizes=True)),
    dps.TopK(10, score=dps.Total("minutes", at_most="1/2", unit=0.5)),
    dps.TopK(10, score=dps.Gain(["2026-09"])),
    dps.TopK(10, measures=dps.Mean("stars", 1, 5)),
    dps.TopK(10, measures=["users", dps.Sum("n", 0, 9)]),
    dps.TopK(10, domain=range(9), method="set"),
    dps.TopK(10, method=dps.Method("limited-domain", k_bar=500)),
    dps.Union(),
    dps.Union(by="country", counts=True, method=dps.Method(popular=["a"])),
    dps.Choose(["a", "b"]),
    dps.Choose(["a"], by="country", method="permute-and-flip"),
    dps.Quantile(),
    dps.Quantile([0.25, "1/2"], bounds=(0, 9), step=1, per_user="max"),
    dps.Histogram(["a"]),
    dps.Users(by=dps.By("country", groups=["DE"])),
    dps.Question.from_dict({"verb": "top_k"}),
]
DATA: list[dps.Dataset] = [
    dps.Dataset(dps.Table("postgresql://ann@db/shop", "events"), user="customer", item=["shop", "product"]),
    dps.Dataset(dps.CSV(["a.csv", "b.csv"], newlines_in_values=True), user="user", item=dps.Split("tags", ";")),
    dps.Dataset("m.csv", user=["user", "day"], item=dps.Text("body"), where="age > 3", max_items_per_user=3),
    dps.Dataset("m.csv", user="u", item="i", time=dps.Time("at", period="month")).during(["2026-10"]),
    dps.Dataset("m.csv", user="u", item="i", time=dps.Time("at", period="day", timezone="Asia/Tokyo")),
    data.where("country = 'DE'").during("2026-10").exclude(["spam"]),
    data.prepare("rows.prepared", keep="country", weights=["minutes"], add=True),
]
assert_type(data.where("age > 3"), dps.Dataset)
assert_type(dps.connect("https://x.example").data("plays").where("age > 3").during("2026-10"), dps.RemoteDataset)
data.inspect()

assert_type(data.ask(RIGHT[0], epsilon=1), dps.Release[Any])
data.ask(dps.TopK(), within=50)
data.exclude(["spam"]).ask(dps.Union(), threshold=50)
people = dps.Population(5_000, items=300, items_per_user="4.5", groups=[3_000, 500])
assert_type(dps.TopK(10, by="country").forecast(people, epsilon=[0.1, "1"]), dps.Forecast)
dps.Union().forecast(data.union(epsilon=1, counts=True), threshold=50, methods="count-laplace")
dps.TopK().forecast([812, 640, 377], within=50)

# ---- and what does not fit is refused: without its error, the comment beside it would be one --------------

dps.TopK("10")  # type: ignore[arg-type]
dps.TopK(10, 5)  # type: ignore[call-arg, arg-type]
dps.TopK(10, at_most=60)  # type: ignore[call-arg]
dps.TopK(10, by=dps.By(groups=["DE"]))  # type: ignore[call-arg]
dps.TopK(10, by=dps.Gain("2026-09"))  # type: ignore[arg-type]
dps.TopK(10, score="minutes")  # type: ignore[arg-type]
dps.TopK(10, score=[dps.Total("n"), dps.Gain("2026-09")])  # type: ignore[arg-type]
dps.Union(popular=["a"])  # type: ignore[call-arg]
dps.Union(by=dps.By("country"))  # type: ignore[arg-type]
dps.Quantile(0.5, within=5)  # type: ignore[call-arg]
dps.Quantile(bounds=5)  # type: ignore[arg-type]
dps.Population(5_000, 300)  # type: ignore[call-arg]
dps.Population(users="many")  # type: ignore[arg-type]
dps.TopK().forecast(users=5_000)  # type: ignore[call-arg]
dps.TopK().forecast("release.json")  # type: ignore[arg-type]
dps.Union().forecast(least=50)  # type: ignore[call-arg]
dps.Time("at")  # type: ignore[call-arg]
dps.Time("at", period="hour")  # type: ignore[arg-type]
dps.Time("at", "month")  # type: ignore[call-arg]
dps.Time(["at"], period="month")  # type: ignore[arg-type]
dps.Split("tags")  # type: ignore[call-arg]
dps.Split(["tags", "more"], ";")  # type: ignore[arg-type]
dps.Table("rows.duckdb")  # type: ignore[call-arg]
dps.Table("rows.duckdb", ["events"])  # type: ignore[arg-type]
dps.CSV({"user": [1]})  # type: ignore[arg-type]
dps.CSV("a.csv", True)  # type: ignore[call-arg]
dps.Dataset("a.csv", user="u", item="i", time="at")  # type: ignore[arg-type]
dps.Dataset("a.csv", user="u", item="i", period="month")  # type: ignore[call-arg]
dps.connect("https://x.example").data("plays", where="age > 3")  # type: ignore[call-arg]
data.prepare("rows.prepared", where="age > 3")  # type: ignore[call-arg]
dps.prepare("a.csv", to="rows.prepared")  # type: ignore[operator]
dps.inspect("a.csv")  # type: ignore[operator]
data.top_k(10, epsilon=1, by_weight="minutes")  # type: ignore[call-arg]
data.union(epsilon=1, max_items_per_user=5)  # type: ignore[call-arg]
data.ask("top_k", epsilon=1)  # type: ignore[arg-type]
