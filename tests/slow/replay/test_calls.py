"""Whole calls replayed on neighbours: every verb in PostgreSQL, and on each kind of source."""

from __future__ import annotations

import pytest

from dpselect.engines.duckdb import pairs, text
from dpselect.mechanisms.set_union import user_loop
from tests.replay.calls import cases, makers
from tests.replay.kinds import KINDS
from tests.replay.record import recorded
from tests.replay.server_kinds import Servers
from tests.replay.test_calls import GRANT, check
from tests.replay.verbs import VERBS


@pytest.mark.parametrize(("kind", "verb"), [*(("PostgreSQL", verb) for verb in VERBS), *cases()])
def test_a_call_on_a_neighbour(kind: str, verb: str, request: pytest.FixtureRequest):
    Servers.run(KINDS[kind], request)
    check(KINDS[kind], verb)


def test_no_line_of_the_log_names_a_server(postgres_server: str, request: pytest.FixtureRequest):
    Servers.run(KINDS["PostgreSQL"], request)
    lines = recorded(makers(KINDS["PostgreSQL"])[0], VERBS["top k, bound"], 0, GRANT).log
    assert "DEBUG dpselect: engine: Postgres" in lines
    assert postgres_server.partition("=")[2] not in str(lines)


@pytest.mark.parametrize("verb", ["union, a policy", "top k, discover"])
def test_progress_of_long_loops(monkeypatch: pytest.MonkeyPatch, verb: str):
    """As with millions of users: loops tell how far they are."""
    monkeypatch.setattr(user_loop, "USERS", 8)
    check(KINDS["DuckDB table"], verb)


@pytest.mark.parametrize("verb", ["union, a policy", "union of n-grams"])
def test_sets_and_tokens_on_disk(monkeypatch: pytest.MonkeyPatch, verb: str):
    """As with millions of rows: they are in files."""
    monkeypatch.setattr(pairs, "MAX_ROWS_IN_MEMORY", 0)
    monkeypatch.setattr(text, "MAX_TOKENS_IN_MEMORY", 0)
    check(KINDS["DuckDB table"], verb)
