"""What to check after an answer without items: from the question alone, whoever reads it and whatever the rows are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpselect.release import formatting

if TYPE_CHECKING:
    from dpselect.release.release import Release

INSPECT = "whoever has the rows sees what is in them by `dpselect inspect`"
SMALL_SUMS = "sums that are too small for the noise of at_most, whatever their number of users (a smaller at_most)"


def list_remedies(release: Release) -> list[str]:
    """Return what to check and what would help, in the order in which to try it."""
    question = release.question or {}
    rows: Any = question.get("rows")
    rows = rows if isinstance(rows, Mapping) else {}
    keys, time = rows.get("keys"), rows.get("time")
    parameters = release.privacy.parameters
    return [
        *([f"the keys {', '.join(map(formatting.brief, keys))}"] if isinstance(keys, list) and keys else []),
        "the filter",
        "the column of items",
        *([f"the column of times {formatting.brief(time)}"] if isinstance(time, str) else []),
        *([SMALL_SUMS] if release.weight is not None else []),
        "a larger epsilon or delta",
        *(["fewer k"] if parameters.get("k") is not None else []),
        *_list_public(question),
    ]


def _list_public(question: Mapping[str, Any]) -> list[str]:
    """Return which list, if it is public, may replace what is found."""
    verb = question.get("verb")
    if question.get("by"):
        return [] if question.get("groups") else ["a list of groups that is public (`groups`)"]
    if verb == "top_k":
        return ["a list of items that is public (`domain`), of which some are always returned"]
    return ["a `histogram` of a list of items that is public (`domain`)"] if verb == "union" else []
