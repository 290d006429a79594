"""Distinct rows of whole numbers that NumPy sorts are those of DISTINCT, whatever the numbers and their types are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import numpy as np
import pyarrow as pa
import pytest

from dpselect.engines.duckdb import distinct
from dpselect.engines.duckdb.workspace import Workspace
from tests.engines.opened import DuckDBEngine

LIMITS = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint8": (0, 2**8 - 1),
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
}
COLUMNS = ("u", "g", "i")


@pytest.fixture
def workspace() -> Iterator[Workspace]:
    """A workspace that is closed."""
    opened = Workspace()
    yield opened
    opened.close()


def make_column(random: np.random.Generator, kind: str, size: int, width: int) -> np.ndarray:
    """Numbers near one place, a few of which are the ends of the type."""
    low, high = LIMITS[kind]
    start = int(random.choice([0, low, high - width, (low + high) // 2])) if width < high - low else low
    values = [min(max(start + int(step), low), high) for step in random.integers(0, width, size)]
    for index in random.integers(0, size, size // 20):
        values[index] = int(random.choice(np.array([low, high, 0], dtype=object)))
    return np.array(values, dtype=kind)


def compare(workspace: Workspace, columns: dict[str, np.ndarray]) -> None:
    """Compare rows and types with those of DISTINCT."""
    with workspace.registered(pa.table(columns)) as source:
        work = lambda: distinct.store_distinct(workspace, lambda: nullcontext(source), COLUMNS, 2)  # noqa: E731
        for stored, names in zip(workspace.guarded(work), ("u, g, i", "u, g"), strict=True):
            right = workspace.fetch(f"SELECT DISTINCT {names} FROM {source}")
            types = workspace.fetch(f"DESCRIBE SELECT {names} FROM {source}")
            found = workspace.fetch(f"SELECT {names} FROM {stored}")
            assert len(found) == len(right)
            assert set(found) == set(right)
            assert [row[:2] for row in workspace.fetch(f"DESCRIBE {stored}")] == [row[:2] for row in types]


@pytest.mark.parametrize("many", [10**6, 0])
@pytest.mark.parametrize("seed", range(40))
def test_rows_are_those_of_distinct(monkeypatch, workspace, seed, many):
    monkeypatch.setattr(distinct, "MAX_ROWS_IN_MEMORY", many)
    monkeypatch.setattr(distinct, "ROWS_PER_INSERT", 100)
    random = np.random.default_rng(seed)
    size = int(random.choice([1, 2, 50, 3000]))
    kinds = random.choice([name for name in LIMITS if name != "uint64" or seed % 8 == 0], 3)
    widths = random.choice([1, 2, 30, 100, 2**20, 2**40], 3).tolist()
    columns = [make_column(random, str(kind), size, width) for kind, width in zip(kinds, widths, strict=True)]
    compare(workspace, dict(zip(COLUMNS, columns, strict=True)))


def test_no_rows_are_no_rows(workspace):
    compare(workspace, {name: np.zeros(0, dtype="int32") for name in COLUMNS})


def test_numbers_far_outside_are_distinct_too(workspace):
    """They are too few for the sample, or for its quantiles, and no number that holds a row holds theirs."""
    near = np.arange(5000) % 70
    ends = np.array([*LIMITS["int64"]] * 3)
    columns = {name: np.concatenate([near // divisor, ends]) for name, divisor in zip(COLUMNS, (1, 3, 7), strict=True)}
    compare(workspace, columns)


def test_one_users_rows_put_nobody_outside(workspace):
    """A user with few of the rows decides nothing about how those of others are read."""
    near = np.arange(40_000, dtype=np.int64) % 1009
    for last in (5, *LIMITS["int64"]):
        columns = {name: np.concatenate([near, np.full(100, last)]) for name in COLUMNS}
        with workspace.registered(pa.table(columns)) as source:
            workspace.fetch(f"CREATE OR REPLACE TEMP TABLE rows_of_all AS SELECT u, g, i FROM {source}")
        windows = distinct._choose_windows(workspace, "rows_of_all", len(near) + 100, COLUMNS)
        assert windows is not None
        assert [window.bits for window in windows] == [20, 20, 20]
        for window in windows:
            assert window.low <= 0
            assert window.low + 2**window.bits > 1009


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_whole_numbers_are_sorted_by_group(monkeypatch, kind):
    """Counts by group of whole numbers use it, and texts do not."""
    calls: list[int] = []
    numbers = distinct.read_numbers
    monkeypatch.setattr(distinct, "read_numbers", lambda *given: calls.append(1) or numbers(*given))
    rows = {name: np.arange(60, dtype=kind) % divisor for name, divisor in (("user", 20), ("item", 7), ("group", 3))}
    for columns, times in ((rows, 1), (rows | {"item": rows["item"].astype(str)}, 1)):
        with DuckDBEngine(columns, user="user", item="item", by=("group",), key=b"k") as engine:
            found = engine.top_by(10, 3)
        assert len(calls) == times
        assert found.sizes.tolist() == [7, 7, 7]


@pytest.mark.parametrize("share", [0.1, 1.0])
@pytest.mark.parametrize("column", COLUMNS)
def test_rows_with_a_missing_number_stay(workspace, column, share):
    """They are neither inside a window nor outside it; no row decides whether those of others stay."""
    random = np.random.default_rng(7)
    columns = {name: pa.array(random.integers(0, 30, 500)) for name in COLUMNS}
    columns[column] = pa.array(columns[column].to_pylist(), mask=random.random(500) < share)
    compare(workspace, columns)
