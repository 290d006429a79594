"""JSON that somebody else wrote, read without surprises."""

from __future__ import annotations

import json
import math
from typing import Any


def parse_json(text: str | bytes) -> Any:
    """Parse JSON as the standard has it.

    Raises: ValueError for all else, for a name that comes twice, and for a number that no float holds.
    """
    try:
        text = text if isinstance(text, str) else text.decode("utf-8")
        return json.loads(
            text, object_pairs_hook=_refuse_duplicates, parse_float=_parse_finite, parse_constant=_parse_finite
        )
    except RecursionError:
        raise ValueError("nested too deep") from None


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs as a dict. Readers differ in which of two equal names they take, so there may be none."""
    document = dict(pairs)
    if len(document) < len(pairs):
        raise ValueError("a name comes twice")
    return document


def _parse_finite(text: str) -> float:
    """Return the float of a number. Python itself would read NaN, and 1e999 as infinity."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number
