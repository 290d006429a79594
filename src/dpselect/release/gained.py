"""A release of the items that gained most users: from which periods to which others, and what came back, in words."""

from __future__ import annotations

from collections.abc import Mapping

from dpselect.release.accuracy import said_items


def between(parameters: Mapping[str, object]) -> str | None:
    """From which periods to which others; None where nothing is compared."""
    base, asked = parameters.get("compared_with"), parameters.get("during")
    return f"from {base} to {asked}" if isinstance(base, str) and isinstance(asked, str) else None


def said(found: int, between: str, *, wanted: object, complete: bool, ranked: bool) -> str:
    """What came back, in a sentence."""
    if not complete:
        return f"{found} of at most {wanted} items: no other gained enough users {between} to tell."
    how = ", best first" if ranked and found > 1 else ""
    return f"{said_items(found)} that gained most users {between}{how}."
