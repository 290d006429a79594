"""Long values over the databases of Ibis that compare text of up to 1 MiB; MariaDB compares less."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engines.test_long_values import check
from tests.replay.cells import KINDS


@pytest.mark.parametrize("kind", ["Ibis over DataFusion", "Ibis over SQLite"])
def test_long_values(kind: str, tmp_path: Path) -> None:
    check(KINDS[kind], "text", tmp_path)
