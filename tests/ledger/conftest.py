"""Places for ledgers: a new file of SQLite, or a new database of a PostgreSQL server of our own."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dpselect.ledger import Account, Ledger

_names = itertools.count(1)
MEMORY, ENOUGH = Path("/dev/shm"), 2**30


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """In memory, where there is room: every commit waits for its disk, and what a dead process leaves is the same."""
    if not os.access(MEMORY, os.W_OK) or shutil.disk_usage(MEMORY).free < ENOUGH:
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="test_", dir=MEMORY, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
def new_database(postgres_server: str) -> Callable[[], str]:
    """Makes an empty database; its address."""
    import psycopg

    def make() -> str:
        name = f"budget{next(_names)}"
        with psycopg.connect(postgres_server.format(name="postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return postgres_server.format(name=name)

    return make


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place without a ledger."""
    if request.param == "sqlite":
        return str(tmp_path / "budget.ledger")
    new: Callable[[], str] = request.getfixturevalue("new_database")
    return new()


@pytest.fixture
def ledger(where: str) -> Iterator[Ledger]:
    """A new ledger."""
    with Ledger.create(where) as made:
        yield made


@pytest.fixture
def ann() -> Account:
    return Account("plays", "ann")
