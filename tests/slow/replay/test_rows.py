"""No row speaks for another: the kinds of source that tests/replay does not have, and lines that are huge."""

from __future__ import annotations

import pytest

from tests.replay.cells import KINDS, Bench, Cell, Lines, line_cells, value_cells
from tests.replay.kinds import QUICK
from tests.replay.odd_lines import HUGE_LINES
from tests.replay.server_kinds import Servers

VALUES = [cell for cell in value_cells() if cell.kind.name not in QUICK and cell.kind.needs != "spark"]
LINES = [cell for kind in KINDS.values() if kind.name not in QUICK for cell in line_cells(kind)]
REFUSED = {"JSON array"}  # whatever rows it has: it is one syntax of all
pytestmark = pytest.mark.usefixtures("one_duckdb")


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


@pytest.mark.parametrize("cell", [*VALUES, *LINES], ids=str)
def test_awkward_rows(bench: Bench, cell: Cell, request: pytest.FixtureRequest):
    Servers.run(cell.kind, request)
    assert bench.run(cell) is None
    assert (bench.before(cell).failed is None) == (cell.kind.name not in REFUSED)


@pytest.mark.parametrize("kind", HUGE_LINES)
def test_a_huge_line(bench: Bench, kind: str, request: pytest.FixtureRequest):
    test_awkward_rows(bench, Lines(KINDS[kind], {"middle": HUGE_LINES[kind]()}), request)
