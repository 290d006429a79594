"""What a form sends, read without any package: fields by name, each with all its values."""

from __future__ import annotations

from urllib.parse import parse_qs

from starlette.requests import Request

MOST = 200  # fields


def from_text(text: str) -> dict[str, list[str]]:
    """The fields of a query, or none where there are too many."""
    try:
        return parse_qs(text, keep_blank_values=True, max_num_fields=MOST, errors="replace")
    except ValueError:
        return {}


async def posted(request: Request) -> dict[str, list[str]]:
    """The fields that a form has posted."""
    return from_text((await request.body()).decode("utf-8", "replace"))
