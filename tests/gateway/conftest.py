"""One gateway for the tests that leave it as it is but for questions and charges."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gateway.served import Served, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("gateway")) as found:
        yield found


@pytest.fixture(autouse=True, scope="module")
def questions_share_a_duckdb(one_duckdb: None) -> None:
    """A new one takes longer than an answer."""
