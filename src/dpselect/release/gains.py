"""A release of items by the users they gained, or lost: the compared periods and the headline."""

from __future__ import annotations

from collections.abc import Mapping

from dpselect.release import formatting
from dpselect.release.accuracy import NO_OTHER
from dpselect.release.scale import format_items


def compared_periods(parameters: Mapping[str, object]) -> str | None:
    """Return the compared periods in words, or None if nothing is compared."""
    baseline, current = parameters.get("compared_with"), parameters.get("during")
    return f"from {baseline} to {current}" if isinstance(baseline, str) and isinstance(current, str) else None


def describe_gains(item_count: int, periods: str, *, lost: bool, k: object, complete: bool, ranked: bool) -> str:
    """Describe how many items were returned, by which users."""
    items = format_items(item_count) if complete else f"{item_count:,} of at most {formatting.format_count(k)} items"
    suffix = (", best first" if ranked and item_count > 1 else "") if complete else f": {NO_OTHER}"
    verb, opposite_verb = ("lost", "gained") if lost else ("gained", "lost")
    zero_note = (
        f"; an item that {verb} nothing or {opposite_verb} users may be listed (it counts as 0)" if item_count else ""
    )
    return f"{items} by {verb} users {periods}{suffix}{zero_note}."
