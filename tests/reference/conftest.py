"""Every release that is made here is judged; questions share a DuckDB, those that are paid a ledger."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import dpselect as dps
from tests.judge.every import judge

__all__ = ["judge"]


@pytest.fixture(autouse=True, scope="module")
def questions_share_a_duckdb(one_duckdb: None) -> None:
    """A new one takes longer than an answer."""


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[dps.Ledger]:
    """A ledger that lets ann use half of what is promised to fail, and all of epsilon."""
    with dps.Ledger.create(tmp_path / "budget.sqlite") as made:
        made.data("default", 10, "2e-4")
        made.grant(dps.Account("default", "ann"), 10, "1e-4")
        yield made
