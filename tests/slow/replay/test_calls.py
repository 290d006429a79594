"""Whole calls replayed on neighbours in PostgreSQL: every verb, and the lines of the log."""

from __future__ import annotations

import pytest

from tests.replay.kinds import KINDS
from tests.replay.server_kinds import Servers
from tests.replay.test_calls import check
from tests.replay.test_log import both
from tests.replay.verbs import VERBS


@pytest.fixture(autouse=True)
def _running(request: pytest.FixtureRequest) -> None:
    Servers.run(KINDS["PostgreSQL"], request)


@pytest.mark.parametrize("verb", VERBS)
def test_a_call_on_a_neighbour(verb: str):
    check(KINDS["PostgreSQL"], verb)


def test_a_neighbour_leaves_the_same_lines(postgres_server: str):
    first, second = both(KINDS["PostgreSQL"], "top k, bound")
    assert first == second
    assert "DEBUG dpselect: engine: Postgres" in first
    assert postgres_server.partition("=")[2] not in str(first)
