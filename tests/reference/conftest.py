"""Every release that is made here is judged; questions share a DuckDB."""

from __future__ import annotations

import pytest

from tests.judge.every import judge

__all__ = ["judge"]


@pytest.fixture(autouse=True, scope="module")
def questions_share_a_duckdb(one_duckdb: None) -> None:
    """A new one takes longer than an answer."""
