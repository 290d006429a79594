"""What to check after an answer without items: from the question alone, whoever reads it and whatever the rows are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpselect.release import formatting

INSPECT = "whoever has the rows: `dpselect inspect`"


def list_remedies(question: Mapping[str, Any], parameters: Mapping[str, object]) -> list[str]:
    """Return what to check and what would help, in the order in which to try it.

    `question` is that of a release, and `parameters` are those of its statement.
    """
    rows: Any = question.get("rows")
    rows = rows if isinstance(rows, Mapping) else {}
    keys, time = rows.get("keys"), rows.get("time")
    return [
        *([f"the keys {', '.join(map(formatting.brief, keys))}"] if isinstance(keys, list) and keys else []),
        "the filter",
        "the column of items",
        *([f"that of times {formatting.brief(time)}"] if isinstance(time, str) else []),
        *(["a smaller at_most (less noise)"] if parameters.get("by_weight") else []),
        "a larger epsilon or delta",
        *(["fewer k"] if parameters.get("k") is not None else []),
        *_list_public(question),
    ]


def _list_public(question: Mapping[str, Any]) -> list[str]:
    """Return which list, if it is public, may replace what is found."""
    verb = question.get("verb")
    if question.get("by") and verb == "union":
        return ["a `top_k` in a public list of `groups`"]
    if question.get("by"):
        return [] if question.get("groups") else ["a public list of `groups`"]
    if verb == "top_k":
        return ["a public list of items (`domain`)"]
    return ["a `histogram` of a public list of items"] if verb == "union" else []
