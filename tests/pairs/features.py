"""All features of a question, one a line: what each says to a data set, to a verb, or to whoever carries the question.

Whoever adds a line sees which pairs it makes: `python -m tests.pairs` lists them, and a pair that is
refused must be declared in `states.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.pairs.rows import MAKERS

VERBS = ("top_k", "union", "choose", "quantile", "histogram", "users")
# What is taken from the rows once it is known what an item is.
DOMAIN, LEFT_OUT, GROUPS = "the domain", "an item to leave out", "listed groups"
ALL = 20  # more items than any user has


@dataclass(frozen=True, eq=False)
class Feature:
    """What it says, which another feature may not say otherwise; and what is usual with it, which another may."""

    kind: str
    name: str
    says: Mapping[str, Any] = field(default_factory=dict)
    usual: Mapping[str, Any] = field(default_factory=dict)
    verbs: tuple[str, ...] = VERBS  # of which it is a feature; the first is asked where nobody says which

    def __str__(self) -> str:
        return f"{self.kind}: {self.name}"


def _kind(kind: str, rows: Mapping[str, Mapping[str, Any]], *verbs: str, **usual: Any) -> list[Feature]:
    """Features of a kind that are parameters and nothing else."""
    return [Feature(kind, name, says, usual, verbs or VERBS) for name, says in rows.items()]


BY = {"by": "country"}
MONTHS = {"time": "at", "period": "month"}
NOVEMBER = {**MONTHS, "during": "2026-11"}
WEEKS = {"time": "at", "period": "week", "during": "2026-W44..2026-W46", "timezone": "Asia/Tokyo"}
IN_BOUNDS = {"bounds": (-5, 110), "step": "0.25"}

FEATURES: tuple[Feature, ...] = (
    *_kind("source", {name: {"source": name} for name in (*MAKERS, "PostgreSQL", "spark")}),
    # ---- what is asked
    *_kind(
        "question",
        {
            "top k": {},
            "top k, sparse": {"method": "limited-domain-sparse"},
            "top k, discovered": {"method": "discover"},
            "top k, in the engine": {"method": "discover", "in_engine": True},
            "top k of a domain": {"domain": DOMAIN},
            "top k, a set": {"domain": DOMAIN, "method": "canonical-set"},
        },
        "top_k",
    ),
    *_kind("question", {"union": {}}, "union", max_items_per_user=ALL),
    *_kind("question", {"union, in the engine": {"in_engine": True}}, "union", max_items_per_user=ALL),
    *_kind("question", {"union, greedy": {"method": "greedy-geometric"}}, "union"),
    *_kind("question", {"choice": {"domain": DOMAIN}}, "choose"),
    *_kind("question", {"histogram": {"domain": DOMAIN}}, "histogram"),
    *_kind("question", {"users": {}}, "users"),
    *_kind("question", {"median": {}}, "quantile"),
    *_kind("question", {"quantiles": {"q": (0.2, 0.5, 0.9), "per_user": "max"}}, "quantile", **IN_BOUNDS),
    *_kind("question", {"median of means": {"per_user": "mean"}}, "quantile", **IN_BOUNDS),
    # ---- by which score, and what else is told of an item
    *_kind("score", {"weights": {"by_weight": "minutes", "at_most": 4, "weight_unit": "0.5"}}, "top_k"),
    *_kind("score", {"what rose most": {"compared_with": "2026-10", **NOVEMBER}}, "top_k"),
    *_kind("told", {"counts": {"counts": True}}, "top_k", "union"),
    *_kind("told", {"sums": {"measures": "sum(minutes, 0, 4, unit=0.5)"}}, "top_k"),
    *_kind("told", {"means": {"measures": "mean(minutes, 0, 4)"}}, "top_k"),
    # ---- of whom, of what, of which rows
    *_kind("user", {"number": {"user": "number"}, "day": {"user": "born"}}),
    *_kind("user", {"two columns": {"user": ("user", "device")}}),
    *_kind("item", {name: {"item": name} for name in ("whole", "real", "price", "day", "moment")}),
    *_kind("item", {"flag": {"item": "flag"}}, k=2),
    *_kind("item", {"two columns": {"item": ("name", "level")}, "parts of texts": {"item": "tags", "split": " "}}),
    *_kind("item", {"words": {"item": "words"}}, "union", "top_k", "choose", "quantile", "histogram", "users"),
    *_kind(
        "groups",
        {
            "groups": BY,
            "groups, bounded": {**BY, "max_groups_per_user": 2},
            "groups of two columns": {"by": ("country", "flag"), "max_groups_per_user": 3},
        },
        "top_k", "choose", "quantile", "union",
    ),
    *_kind(
        "groups", {"groups, listed": {**BY, "groups": GROUPS}}, "top_k", "choose", "quantile", "union", "users"
    ),
    *_kind("groups", {"groups and their users": {**BY, "users": True}}, "top_k"),
    *_kind(
        "periods",
        {
            "a month": NOVEMBER,
            "two months": {**MONTHS, "during": "2026-10..2026-11"},
            "weeks elsewhere": WEEKS,
        },
    ),
    *_kind("filter", {"filter": {"where": "level::INT > 1 AND name <> 'b'"}}),
    *_kind("exclude", {"left out": {"exclude": LEFT_OUT}}, "top_k", "union"),
    *_kind("bound", {"bound": {"max_items_per_user": 2}}),
    *_kind("bound", {"chosen bound": {"max_items_per_user": None}}, "union"),
    # ---- what it costs, and who pays
    *_kind("price", {"delta": {"delta": "1e-9"}}),
    *_kind("price", {"share": {"epsilon": None, "share": "30%"}}, budget="memory"),
    *_kind("price", {"within": {"epsilon": None, "within": 2}}, "top_k", "quantile", "users"),
    *_kind("price", {"threshold": {"epsilon": None, "threshold": 4}}, "union", max_items_per_user=ALL),
    *_kind("budget", {"in memory": {"budget": "memory"}, "ledger": {"budget": "ledger"}}),
    # ---- how it is asked, and how the answer is written
    *_kind("surface", {"frame": {"surface": "frame", "source": "pandas"}}),
    *_kind("surface", {"a question as JSON": {"surface": "JSON"}}),
    *_kind("surface", {name: {"surface": name} for name in ("command", "gateway")}, source="parquet"),
    *_kind("form", {name: {"form": name} for name in ("words", "JSON", "CSV", "Parquet", "HTML", "picture")}),
)  # fmt: skip
