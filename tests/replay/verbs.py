"""Every verb in every form, as calls that a recording can repeat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dpselect as dps
from dpselect.draws import Draws
from dpselect.release.release import Release
from tests.by_names import by_names
from tests.replay.record import Ask, Tell

LONE = "lone"  # held by one user, and never a part of an awkward value: with two users it might come out
Data = Callable[..., dps.Dataset]
LIKELY: dict[str, Any] = {"epsilon": 40, "delta": "1e-6"}
WORDS = ["a", "b", "c", LONE, "zz"]


def _call(verb: str, more: dict[str, object] | None = None, /, **asked: object) -> Ask:
    def ask(data: Data, draws: Draws, tell: Tell) -> Release:
        release: Release = getattr(by_names(data(**(more or {}))), verb)(**asked, draws=draws, progress=tell)
        return release

    return ask


def _twice(data: Data, draws: Draws, tell: Tell) -> Release:
    """The same question again: the second answer comes from the ledger."""
    first = by_names(data()).top_k(2, **LIKELY, draws=draws, progress=tell)
    second = by_names(data()).top_k(2, **LIKELY, draws=draws, progress=tell)
    return first if first.labels == second.labels else second


FILTER = {"where": f"other <> '8' AND NOT item IN ('{LONE}', 'zz')"}
VERBS: dict[str, Ask] = {
    "top k": _call("top_k", k=3, **LIKELY),
    "top k, counts": _call("top_k", k=3, counts=True, **LIKELY),
    "top k, bound": _call("top_k", {"max_items_per_user": 50}, k=3, **LIKELY),
    "top k, filter": _call("top_k", FILTER, k=3, **LIKELY),
    "top k, split": _call("top_k", {"split": " "}, k=3, **LIKELY),
    "top k, few rows": _call("top_k", k=2, k_bar=3, method="limited-domain", **LIKELY),
    "top k, sparse": _call("top_k", k=3, counts=True, method="limited-domain-sparse", **LIKELY),
    "top k, discover": _call("top_k", {"max_items_per_user": 50}, k=3, method="discover", **LIKELY),
    "top k, weights": _call("top_k", k=3, by_weight="number", at_most=4, weight_unit="0.5", **LIKELY),
    "top k, measures": _call("top_k", k=3, measures=["sum(number, -2, 4)", "mean(number, 0, 1)"], **LIKELY),
    "top k, domain": _call("top_k", k=3, domain=WORDS, epsilon=40),
    "top k, domain size": _call("top_k", k=3, domain=100, epsilon=40),
    "top k, set": _call("top_k", k=3, domain=WORDS, epsilon=40, method="set"),
    "top k by group": _call("top_k", {"item": "other"}, k=2, by="item", **LIKELY),
    "top k by group, pairs": _call("top_k", {"item": "other"}, k=60, by="item", epsilon=40, delta="1e-6"),
    "union": _call("union", max_items_per_user=50, method="weighted-gaussian", **LIKELY),
    "union, counts": _call("union", max_items_per_user=50, method="count-laplace", counts=True, epsilon=4000),
    "union, a policy": _call("union", max_items_per_user=50, method="greedy-geometric", **LIKELY),
    "union, many rounds": _call("union", max_items_per_user=50, method="renyi-shaped", **LIKELY),
    "union in the engine": _call("union", max_items_per_user=50, method="weighted-gaussian", in_engine=True, **LIKELY),
    "union, chosen bound": _call("union", **LIKELY),
    "union of a text": _call("union", {"item": dps.Text("item")}, max_items_per_user=50, **LIKELY),
    "union of n-grams": _call(
        "union", {"item": dps.Text("item", ngrams=2)}, max_items_per_user=50, epsilon=80, delta="1e-6"
    ),
    "choose": _call("choose", domain=WORDS, epsilon=40),
    "choose, permute and flip": _call("choose", domain=WORDS, epsilon=40, method="permute-and-flip"),
    "histogram": _call("histogram", {"max_items_per_user": 50}, domain=WORDS, epsilon=4000),
    "users": _call("users", epsilon=1),
    "users by group": _call("users", by="item", groups=["a", "zz"], max_groups_per_user=2, epsilon=4000),
    "quantile": _call("quantile", {"item": "number"}, q=[0.25, 0.5], bounds=(0, 10), step=1, epsilon=40),
    "quantile, mean": _call("quantile", {"item": "number"}, bounds=(0, 10), step=1, per_user="mean", epsilon=40),
    "quantile by group": _call(
        "quantile", {"item": "number"}, by="item", groups=["a", "zz"], bounds=(0, 10), step=1, epsilon=40
    ),
    "choose by group": _call("choose", {"item": "other"}, by="item", domain=["3", "8"], epsilon=4000),
    "the same again": _twice,
}
OF_NUMBERS = {verb for verb in VERBS if verb.startswith("quantile")} | {"top k, weights", "top k, measures"}
