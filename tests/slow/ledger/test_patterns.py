"""Every pattern in which a budget is forked, shared, copied, killed or left, on each kind of ledger."""

from __future__ import annotations

import pytest

from dpselect.ledger import Ledger
from tests.ledger.test_patterns import check, lives, pytestmark

__all__ = ["pytestmark"]  # where there is no fork, there is nothing to test


@pytest.mark.parametrize("kind", ["path", "object"])
def test_budgets_in_a_ledger(where: str, kind: str) -> None:
    Ledger.create(where).close()
    check(lives(kind, where))


def test_budgets_without_a_ledger() -> None:
    check(lives("none", "-"))
