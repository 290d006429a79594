"""JSON that somebody else wrote, read without surprises."""

from __future__ import annotations

import json
import math
from typing import Any


def read(text: str | bytes) -> Any:
    """JSON as the standard has it; ValueError for all else, for a name that comes twice and for what no float holds."""
    try:
        text = text if isinstance(text, str) else text.decode("utf-8")
        return json.loads(text, object_pairs_hook=_once, parse_float=_finite, parse_constant=_finite)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Which of two would count differs from reader to reader."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name comes twice")
    return found


def _finite(text: str) -> float:
    """Python would read NaN, and 1e999 as infinity."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number
