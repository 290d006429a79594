"""Every verb in its forms, asked of a few rows."""

from __future__ import annotations

import datetime
from typing import Any

import dpselect as dps

LIKELY: dict[str, Any] = {"epsilon": 40, "delta": "1e-6"}
WORDS = ["a", "b", "c", "never"]


def rows() -> dict[str, list[Any]]:
    """Sixty users with two rows each: items, numbers, groups, days and texts."""
    users = [user for user in range(60) for _ in range(2)]
    places = range(len(users))
    return {
        "user": [f"u{user}" for user in users],
        "item": [("a", "bbbccd"[user // 2 % 6])[place % 2] for place, user in zip(places, users, strict=True)],
        "number": [user % 7 + place % 2 for place, user in zip(places, users, strict=True)],
        "country": ["DE" if user % 2 else "FR" for user in users],
        "day": [datetime.date(2026, 10 + place % 2, 1 + user % 20) for place, user in zip(places, users, strict=True)],
        "text": [("tea and cake", "tea")[user % 2] for user in users],
    }


# By name: what the data set says beside its rows, and the question as JSON.
QUESTIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "top_k": ({}, {"verb": "top_k", "k": 3, "counts": True, **LIKELY}),
    "top_k, bound": ({"max_items_per_user": 2}, {"verb": "top_k", "k": 2, "counts": True, **LIKELY}),
    "top_k, domain": ({}, {"verb": "top_k", "k": 2, "domain": WORDS, "epsilon": "40"}),
    "top_k, set": (
        {},
        {"verb": "top_k", "k": 2, "domain": WORDS, "method": "canonical-set", "epsilon": 40},
    ),
    "top_k, discover": (
        {"max_items_per_user": 2},
        {"verb": "top_k", "k": 2, "method": "discover", "counts": True, "max_items_per_user": 2, **LIKELY},
    ),
    "top_k, by group": (
        {},
        {
            "verb": "top_k",
            "k": 2,
            "by": ["country"],
            "groups": ["DE", "FR"],
            "max_groups_per_user": 1,
            "users": True,
            "counts": True,
            **LIKELY,
        },
    ),
    "top_k, weights": (
        {},
        {"verb": "top_k", "k": 2, "by_weight": "number", "at_most": 8, "weight_unit": "1/2", **LIKELY},
    ),
    "top_k, measures": (
        {},
        {"verb": "top_k", "k": 2, "measures": ["sum(number, 0, 8)", "mean(number, 0, 8)"], **LIKELY},
    ),
    "top_k, dates": (
        {"item": "day", "max_items_per_user": 2},
        {"verb": "top_k", "k": 2, "method": "limited-domain", "max_items_per_user": 2, **LIKELY},
    ),
    "top_k, pairs": (
        {"item": ["country", "item"]},
        {"verb": "top_k", "k": 2, "exclude": [["tuple", ["DE", "d"]]], **LIKELY},
    ),
    "top_k, periods": (
        {"time": dps.Time("day", period="month"), "during": "2026-10..2026-11"},
        {"verb": "top_k", "k": 2, **LIKELY},
    ),
    "top_k, nothing": ({"where": "item = 'nobody'"}, {"verb": "top_k", "k": 2, **LIKELY}),
    "top_k, within": ({}, {"verb": "top_k", "k": 2, "within": 25, "delta": "1e-6"}),
    "union": ({}, {"verb": "union", "max_items_per_user": 2, "method": "weighted-gaussian", "counts": True, **LIKELY}),
    "union, greedy": ({}, {"verb": "union", "max_items_per_user": 2, "method": "greedy-geometric", **LIKELY}),
    "union, shaped": ({}, {"verb": "union", "max_items_per_user": 2, "method": "renyi-shaped", **LIKELY}),
    "union, text": (
        {"item": dps.Text("text", ngrams=(1, 2))},
        {"verb": "union", "max_items_per_user": 3, "ngrams": [1, 2], "epsilon": 80, "delta": "1e-6"},
    ),
    "choose": ({}, {"verb": "choose", "domain": WORDS, "epsilon": 40, "method": "permute-and-flip"}),
    "choose, by group": (
        {},
        {"verb": "choose", "domain": WORDS, "by": ["country"], "groups": ["DE", "FR"], "epsilon": 80},
    ),
    "histogram": ({"max_items_per_user": 2}, {"verb": "histogram", "domain": WORDS, "epsilon": 40}),
    "users": ({"where": "country <> 'FR'"}, {"verb": "users", "epsilon": 40}),
    "users, by group": ({}, {"verb": "users", "by": ["country"], "groups": ["DE", "NO"], "epsilon": 40}),
    "quantile": (
        {"item": "number"},
        {"verb": "quantile", "q": ["1/4", "1/2"], "bounds": [0, 10], "step": "1/2", "epsilon": 40},
    ),
    "quantile, by group": (
        {"item": "number"},
        {"verb": "quantile", "bounds": [0, 10], "by": ["country"], "per_user": "max", "epsilon": 400, "delta": "1e-6"},
    ),
}


def data_set(more: dict[str, Any], budget: Any = None) -> dps.Dataset:
    """The rows as a source."""
    during = more.get("during")
    given = {name: value for name, value in more.items() if name != "during"}
    made = dps.Dataset(rows(), **{"user": "user", "item": "item", "budget": budget, **given})
    return made if during is None else made.during(during)
