"""No row speaks for another: every kind of source, read with an awkward row among everybody else's.

Every day one user has all awkward values at once, in the kinds of source whose code is their own; with SLOW=1 in all
kinds. Each value by itself is a cell of the table that tests/replay/table.py prints (docs/replay.md).
"""

from __future__ import annotations

import pytest

from tests.replay.cells import BROAD, Bench, Cell, every_kind, huge_cells, joint_cells, line_cells
from tests.replay.kinds import Kind
from tests.replay.odd_lines import LINES
from tests.replay.odd_values import HUGE as HUGE_LENGTH
from tests.replay.server_kinds import Servers

# The other kinds go through the same code but for a few lines.
EVERY_DAY = {
    "dict of lists", "dict of arrays", "objects that only narwhals reads", "polars", "pyarrow", "Parquet", "CSV",
    "JSON lines", "DuckDB table", "PostgreSQL",
}  # fmt: skip
EVERY_DAY_SORTS = {"text", "half", "day", "any of numbers"}
LINES_IN = {"CSV", "JSON lines"}
# The kinds whose code differs most: here every sort of column is also that of users, and that of a filter and of times.
EVERY_ROLE = EVERY_DAY | {
    "dict of arrays of moments", "what only narwhals reads", "pandas, nullable",
}  # fmt: skip
# Once a column is read, what becomes of it as users, in a filter and as times goes by its type alone: pyarrow and the
# DuckDB table have every type, so of these kinds one sort in three is tried in those roles.
ROLES_AS_OTHERS = {
    "Parquet", "polars", "what only narwhals reads", "pandas, nullable", "dict of arrays", "dict of arrays of moments",
}  # fmt: skip
# Read as another kind of EVERY_DAY is, once they are open: of the sorts that are not broad, one in three is tried.
READ_AS_OTHERS = {
    "DuckDB file": 0,
    "stream of Arrow data": 0,
    "pandas over Arrow": 1,
    "polars, lazy": 2,
    "Ibis over DuckDB": 0,
    "Ibis over polars": 1,
    "Ibis over PostgreSQL": 2,
}
# What may be refused whatever rows it holds: DuckDB reads no float16 of Arrow, and a JSON array is one syntax of all.
MAY_BE_REFUSED = {("JSON array", "any of numbers"), ("JSON array", "any of texts")} | {
    (kind, "half") for kind in ("pyarrow", "pandas over Arrow", "stream of Arrow data", "dict of arrays", "Parquet")
}


def _marks(cell: Cell, number: int) -> list[pytest.MarkDecorator]:
    if cell.line is not None:  # of three places in a row the first, then the second, then the third
        often = cell.kind.name in LINES_IN and number % 3 == number // 3 % 3 and len(cell.line.line) < HUGE_LENGTH
    else:
        often = cell.kind.name in EVERY_DAY and cell.sort in EVERY_DAY_SORTS
        often = often and (cell.role == "item" or cell.sort in BROAD)
    return [] if often else [pytest.mark.slow]


def _parameters(cells: list[Cell]) -> list[object]:
    return [pytest.param(cell, id=str(cell), marks=_marks(cell, number)) for number, cell in enumerate(cells)]


KIND_LIST = every_kind(servers=True)


def _worth(cell: Cell) -> bool:
    """Is it tried here? All items are in `python -m tests.replay.table --spark`; a cluster takes seconds for each."""
    if cell.kind.needs == "spark":
        return cell.kind.name == "spark frame" and cell.role == "item" and cell.sort in {"text", "real", "day"}
    if cell.sort in BROAD:
        return True
    third = READ_AS_OTHERS.get(cell.kind.name)
    if third is not None and cell.kind.sorts.index(cell.sort) % 3 != third:
        return False
    if cell.kind.name in ROLES_AS_OTHERS and cell.kind.sorts.index(cell.sort) % 3:
        return cell.role == "item"
    return cell.role == "item" or cell.kind.name in EVERY_ROLE


JOINT = _parameters([cell for kind in KIND_LIST for cell in joint_cells(kind) if _worth(cell)])


def _lines(kind: Kind) -> list[Cell]:
    """Awkward lines at each place; in the midst only of other kinds, and a third of them where a file is unpacked."""
    if kind.name in LINES_IN:
        return list(line_cells(kind, LINES))
    return [cell for cell in line_cells(kind, LINES) if cell.place == "middle"][:: 3 if "gz" in kind.name else 1]


LINE = _parameters([cell for kind in KIND_LIST for cell in _lines(kind)])
HUGE = _parameters([cell for kind in KIND_LIST for cell in huge_cells(kind) if "gz" not in kind.name])


@pytest.fixture(scope="session")
def bench() -> Bench:
    return Bench()


@pytest.fixture
def served(request: pytest.FixtureRequest, cell: Cell) -> Cell:
    """The cell, with the server that it needs running."""
    if cell.kind.needs == "postgres":
        Servers.postgres = request.getfixturevalue("postgres_server").format(name="postgres")
    elif cell.kind.needs == "spark":
        Servers.spark = request.getfixturevalue("spark")
    return cell


@pytest.mark.parametrize("cell", JOINT)
def test_awkward_values(bench: Bench, served: Cell):
    assert bench.run(served) is None
    if bench.before(served).failed is not None:
        assert (served.kind.name, served.sort) in MAY_BE_REFUSED


@pytest.mark.parametrize("cell", [*LINE, *HUGE])
def test_awkward_lines(bench: Bench, served: Cell):
    assert bench.run(served) is None
