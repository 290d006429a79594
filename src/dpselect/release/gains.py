"""A release of items by the users they gained, or lost: from which periods to which others, in words."""

from __future__ import annotations

from collections.abc import Mapping

from dpselect.release import formatting
from dpselect.release.accuracy import NO_OTHER
from dpselect.release.scale import format_items


def compared_periods(parameters: Mapping[str, object]) -> str | None:
    """From which periods to which others; None where nothing is compared."""
    base, asked = parameters.get("compared_with"), parameters.get("during")
    return f"from {base} to {asked}" if isinstance(base, str) and isinstance(asked, str) else None


def describe_gains(found: int, between: str, *, lost: bool, wanted: object, complete: bool, ranked: bool) -> str:
    """What came back, in a sentence."""
    items = format_items(found) if complete else f"{found:,} of at most {formatting.format_count(wanted)} items"
    how = (", best first" if ranked and found > 1 else "") if complete else f": {NO_OTHER}"
    did, other = ("lost", "gained") if lost else ("gained", "lost")
    zero = f"; an item that {did} nothing or {other} users may be listed (it counts as 0)" if found else ""
    return f"{items} by {did} users {between}{how}{zero}."
