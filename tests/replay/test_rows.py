"""No row speaks for another: kinds of source, read with awkward rows among everybody else's (docs/replay.md).

Here are those whose code differs most. The others: tests/slow/replay and tests/slow/spark.
"""

from __future__ import annotations

import pytest

from tests.replay.cells import KINDS, Bench, Cell, line_cells, value_cells
from tests.replay.kinds import QUICK

VALUES = [cell for cell in value_cells() if cell.kind.name in QUICK]
LINES = [cell for name in sorted(QUICK) for cell in line_cells(KINDS[name])]
pytestmark = pytest.mark.usefixtures("one_duckdb")


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


@pytest.mark.parametrize("cell", [*VALUES, *LINES], ids=str)
def test_awkward_rows(bench: Bench, cell: Cell):
    assert bench.run(cell) is None
    assert bench.before(cell).failed is None
