"""Every pattern in which a budget is forked, shared, copied, killed or left, on each kind of ledger.

A path is tried on PostgreSQL and an object on SQLite; some patterns of a path on SQLite are among the quick tests.
"""

from __future__ import annotations

from dpselect.engines.address import Address, SourceKind
from dpselect.ledger import Ledger
from tests.ledger.test_patterns import check, lives, pytestmark

__all__ = ["pytestmark"]  # where there is no fork, there is nothing to test


def test_budgets_in_a_ledger(where: str) -> None:
    Ledger.create(where).close()
    check(lives("path" if Address.parse(where).kind is SourceKind.POSTGRES else "object", where))


def test_budgets_without_a_ledger() -> None:
    check(lives("none", "-"))
