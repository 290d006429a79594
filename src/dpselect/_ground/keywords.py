"""What other tools call parameters and choices, and the line that mends a keyword that is no parameter."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from difflib import get_close_matches

from dpselect.errors import UnknownKeyword, came

PARAMETER_ALIASES = {
    "k": ("n", "top", "limit", "top_n", "num", "size", "number"),
    "epsilon": ("eps", "e", "privacy_loss", "privacy_budget"),
    "by": ("group_by", "groupby", "group", "partition_by", "over"),
    "bounds": ("range", "clip", "lower", "upper", "low", "high", "minimum", "maximum"),
    "q": ("quantile", "quantiles", "percentile", "percentiles", "p"),
    "score": ("weight", "weights", "by_weight", "order_by", "rank_by", "sort_by"),
    "domain": ("candidates", "options", "categories", "values", "items", "keys", "choices"),
    "source": ("data", "file", "path", "csv", "df", "frame", "dataframe"),
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

CHOICE_ALIASES = {
    "top": ("topk", "top_k", "topn", "most_common", "rank"),
    "top_k": ("topk", "top", "top-k", "topn", "most_common", "rank"),
    "union": ("set_union", "vocabulary", "distinct", "keys"),
    "choose": ("select", "best", "argmax"),
    "quantile": ("median", "percentile", "percentiles"),
    "histogram": ("counts", "value_counts", "bars"),
    "users": ("count", "count_distinct", "count_users", "size"),
    "init": ("create", "new"),
    "day": ("days", "daily", "d"),
    "week": ("weeks", "weekly", "w"),
    "month": ("months", "monthly", "m"),
    "quarter": ("quarters", "quarterly", "q"),
    "year": ("years", "yearly", "annual", "annually", "y"),
    "random": ("any", "one", "first", "last", "sample"),
    "min": ("minimum", "lowest", "smallest", "least"),
    "max": ("maximum", "highest", "largest", "most"),
    "mean": ("average", "avg"),
    "add-remove": ("add_remove", "add/remove", "unbounded"),
    "replace-one": ("replace_one", "replace", "swap", "substitute", "substitution", "change-one", "bounded"),
    "exponential": ("em", "gumbel", "exponential-mechanism"),
    "peeling": ("em", "gumbel", "exponential"),
    "permute-and-flip": ("pf", "permute_and_flip"),
    "count-laplace": ("laplace",),
    "count-gaussian": ("gaussian", "gauss"),
    "weighted-gaussian": ("gaussian", "gauss"),
    "auto": ("default", "automatic"),
    "table": ("text", "txt", "pretty", "plain"),
    "text": ("table", "txt", "pretty", "plain"),
    "markdown": ("md",),
    "csv": ("excel", "xlsx", "tsv"),
    "owner": ("admin", "administrator"),
    "analyst": ("user", "member", "researcher"),
    "auditor": ("reader", "viewer"),
}
"""Choices, and what other tools call them. Where two have one name here, a list has one of them, or both are meant."""
_QUARTILES = {"q1": "0.25", "lower quartile": "0.25", "q2": "0.5", "q3": "0.75", "upper quartile": "0.75"}
_SHARES = {"median": "0.5", "middle": "0.5", "quartiles": "0.25,0.5,0.75", **_QUARTILES}
_PERCENTAGE = re.compile(r"\s*p?\s*(\d{1,2}(?:\.\d+)?)\s*(?:%|[a-z]{2}|percent)?\s*", re.IGNORECASE)
MIN_PERCENTILE = 5  # 1 or 2 may mean anything
_QUESTION_PARAMETERS = frozenset(
    {"by", "domain", "method", "q", "question"}
)  # each verb and each question has one of these
CALLS_WITH_PARAMETER: Mapping[str, tuple[Collection[str], str]] = {
    **dict.fromkeys(("groups", "max_groups_per_user", "sizes"), ({"by"}, 'by=dps.By("country", {given})')),
    **dict.fromkeys(("at_most", "unit"), ({"score"}, 'score=dps.Total("amount", {given})')),
    **dict.fromkeys(("over", "lost"), ({"score"}, 'score=dps.Gain("2026-09", {given})')),
    **dict.fromkeys(("k_bar", "in_engine", "popular"), ({"method"}, "method=dps.Method({given})")),
    **dict.fromkeys(
        ("user", "item", "time", "types", "max_items_per_user", "budget"),
        (_QUESTION_PARAMETERS, "Dataset(..., {given})"),
    ),
    **dict.fromkeys(
        ("epsilon", "delta", "share", "within", "threshold", "fresh", "progress"),
        (_QUESTION_PARAMETERS, "data.ask(question, {given})"),
    ),
    **{name: (_QUESTION_PARAMETERS, f"data.{name}({{value}})") for name in ("where", "during", "exclude")},
}
"""The line for a parameter that something else has, for a callable with one of some parameters."""
QUESTION_CALLS: Mapping[str, str] = {
    **dict.fromkeys(("epsilon", "delta", "share"), "data.top_k(10, {given})"),
    **dict.fromkeys(("k", "by", "score", "counts", "measures", "domain", "method"), "data.top_k(..., {given})"),
    **dict.fromkeys(("q", "bounds"), "data.quantile(..., {given})"),
}
"""The same for what data are made of: a question says it."""
_MIN_SIMILARITY = 0.6  # of a name and the one that may be meant; short ones that are less alike have nothing in common


def unknown_keyword(function_name: str, parameters: Collection[str], keywords: Mapping[str, object]) -> UnknownKeyword:
    """Return the error of the first keyword that is no parameter.

    >>> print(unknown_keyword("top_k", ["k", "epsilon"], {"eps": 1}))
    top_k() has no parameter 'eps'
    hint: did you mean epsilon? top_k(epsilon=1)
    """
    unknown = next(keyword for keyword in keywords if keyword not in parameters)
    value = keywords[unknown]
    shown_value = came(value) if isinstance(value, (bool, int, float)) else "..."  # a text may be a token
    return UnknownKeyword(unknown, function_name, _hint(function_name, parameters, unknown, shown_value))


def _hint(function_name: str, parameters: Collection[str], name: str, value: str) -> str:
    aliased = [candidate for candidate in parameters if name.lower() in PARAMETER_ALIASES.get(candidate, ())]
    for candidate in () if aliased else (name, *parameters_with_alias(name.lower())):
        needed_parameters, template = CALLS_WITH_PARAMETER.get(candidate, ((), ""))
        if "source" in parameters and "budget" in parameters:
            needed_parameters, template = parameters, QUESTION_CALLS.get(candidate, "")
        if template and not set(parameters).isdisjoint(needed_parameters):
            return template.format(given=f"{candidate}={value}", value=value)
    aliased = aliased or get_close_matches(name.lower(), parameters, n=1, cutoff=_MIN_SIMILARITY)
    return (
        f"did you mean {aliased[0]}? {function_name}({aliased[0]}={value})"
        if aliased
        else f"there is {', '.join(parameters)}"
    )


def suggest_share(value: object, all_values: Sequence[object] = ()) -> str | None:
    """Return how the share is written that a word or a percentage means. `all_values` are all that came with it.

    >>> [suggest_share(value) for value in ("median", "50%", "p95", 99.9, "half")]
    ['0.5', '0.5', '0.95', '0.999', None]
    """
    text = _short_text(value)
    if text in ("0", "") and len(all_values) == 2 and _short_text(all_values[1]).isdigit():  # a decimal comma
        return f"0.{all_values[1]}, with a point"
    if several_shares := re.fullmatch(r"(0?\.\d+)(?:\s*[;\s]\s*0?\.\d+)+", text):
        return ",".join(re.findall(r"0?\.\d+", several_shares[0])) + ", with commas"
    percentage = _PERCENTAGE.fullmatch(text)
    if percentage is None:
        return _SHARES.get(text)
    number, is_bare = Decimal(percentage[1]), percentage[1] == text
    if not number or (is_bare and number < MIN_PERCENTILE):
        return None
    return format((number / 100).normalize(), "f")


def _short_text(value: object) -> str:
    """Return a text or a number as a person writes a share, or "" if it is too long for one."""
    if isinstance(value, int) and abs(value) > 10**9:
        return ""
    text = str(value).strip().lower() if isinstance(value, (str, int, float)) else ""
    return text if len(text) < 100 else ""


def choices_with_alias(word: str, choices: Iterable[str]) -> list[str]:
    """Return the choices that other tools call by this word."""
    return [choice for choice in choices if word.lower() in CHOICE_ALIASES.get(choice, ())]


def parameters_with_alias(name: str) -> list[str]:
    """Return the parameters that other tools call by this name."""
    return [parameter for parameter, aliases in PARAMETER_ALIASES.items() if name in aliases]
