"""What is said of a keyword that is no parameter: which one was meant, and the line that mends it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches

from dpselect.errors import UnknownKeyword, came

MEANT = {
    "k": ("n", "top", "limit", "top_n", "num", "size", "number"),
    "epsilon": ("eps", "e", "privacy_loss", "privacy_budget"),
    "by": ("group_by", "groupby", "group", "partition_by", "over"),
    "bounds": ("range", "clip", "lower", "upper", "low", "high", "minimum", "maximum"),
    "q": ("quantile", "quantiles", "percentile", "percentiles", "p"),
    "score": ("weight", "weights", "by_weight", "order_by", "rank_by", "sort_by"),
    "domain": ("candidates", "options", "categories", "values", "items", "keys", "choices"),
    "user": ("users", "user_id", "uid", "privacy_id", "privacy_key", "privacy_unit", "id_column"),
    "item": ("items", "column", "value", "partition", "partition_key"),
    "where": ("filter", "query", "condition"),
    "measures": ("measure", "agg", "aggregate", "aggregates"),
    "max_items_per_user": ("max_partitions_contributed", "max_contributions", "max_items", "l0"),
    "max_groups_per_user": ("max_groups", "max_partitions_contributed"),
    "groups": ("values", "keys", "public_partitions"),
    "types": ("dtype", "dtypes", "schema"),
    "time": ("time_column", "timestamp", "date"),
    "at_most": ("cap", "clip", "maximum", "max_value", "upper"),
    "low": ("minimum", "lower"),
    "high": ("maximum", "upper"),
}
"""Parameters, and what strangers and other tools call them; of two with one name here the callable has one."""

_OF_QUESTIONS = frozenset({"by", "domain", "method", "q", "question"})  # each verb and each question has one of these
HOMES: Mapping[str, tuple[Collection[str], str]] = {
    **dict.fromkeys(("groups", "max_groups_per_user", "sizes"), ({"by"}, 'by=dps.By("country", {given})')),
    **dict.fromkeys(("at_most", "unit"), ({"score"}, 'score=dps.Total("amount", {given})')),
    **dict.fromkeys(("over", "lost"), ({"score"}, 'score=dps.Gain("2026-09", {given})')),
    **dict.fromkeys(("k_bar", "in_engine", "popular"), ({"method"}, "method=dps.Method({given})")),
    **dict.fromkeys(
        ("user", "item", "time", "types", "max_items_per_user", "budget"), (_OF_QUESTIONS, "Dataset(..., {given})")
    ),
    **dict.fromkeys(
        ("epsilon", "delta", "share", "within", "threshold", "fresh", "progress"),
        (_OF_QUESTIONS, "data.ask(question, {given})"),
    ),
    **{name: (_OF_QUESTIONS, f"data.{name}({{value}})") for name in ("where", "during", "exclude")},
}
"""The line for a parameter that something else has, for a callable with one of some parameters."""


def unknown_keyword(called: str, parameters: Collection[str], given: Mapping[str, object]) -> UnknownKeyword:
    """Return the error of the first keyword that is no parameter.

    >>> print(unknown_keyword("top_k", ["k", "epsilon"], {"eps": 1}))
    eps must be a parameter of top_k, got another
    hint: did you mean epsilon? top_k(epsilon=1)
    """
    name = next(one for one in given if one not in parameters)
    value = given[name]
    plain = came(value) if isinstance(value, (bool, int, float)) else "..."  # a text may be a token
    return UnknownKeyword(name, f"be a parameter of {called}", "another", _hint(called, parameters, name, plain))


def _hint(called: str, parameters: Collection[str], name: str, value: str) -> str:
    needed, line = HOMES.get(name, ((), ""))
    if not set(parameters).isdisjoint(needed):
        return line.format(given=f"{name}={value}", value=value)
    meant = [one for one in parameters if name.lower() in MEANT.get(one, ())]
    meant = meant or get_close_matches(name.lower(), parameters, n=1, cutoff=0.5)
    return f"did you mean {meant[0]}? {called}({meant[0]}={value})" if meant else f"there is {', '.join(parameters)}"


def also_called(name: str) -> str | None:
    """The parameter that other tools call so, if there is one."""
    return next((one for one, others in MEANT.items() if name in others), None)
