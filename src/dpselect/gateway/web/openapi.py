"""The OpenAPI document."""

from __future__ import annotations

from dpselect.release.formatting import Json


def document() -> dict[str, Json]:
    """Made from the routes and the parameters of queries."""
    return {"openapi": "3.1.0", "info": {"title": "dpselect", "version": "1"}, "paths": {}}
