"""Where the rows of all pairs lie: made once for each file of tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engines.conftest import new_database
from tests.pairs.asking import Asking

__all__ = ["new_database"]


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Asking]:
    with Asking(tmp_path_factory.mktemp("pairs"), request) as found:
        yield found
