"""Gateways for the tests that leave them as they are but for questions and charges."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gateway.served import Served, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("gateway")) as found:
        yield found


@pytest.fixture(scope="module")
def roomy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One that refuses nobody for asking much, and from which rex was taken out."""
    server = f"body = 500_000\nwaiting = {10**6}\nwaiting_each = {10**6}"
    folder = tmp_path_factory.mktemp("gateway")
    with serving(folder, rate=10**6, server=server, promise="1000", quota="100") as found:
        found.remove("rex")
        yield found


@pytest.fixture(scope="module")
def asked(roomy: Served) -> dict[str, str]:
    """A question of ann that was answered."""
    job = roomy.ann.ask({"data": "plays", "verb": "top_k", "k": 3, "epsilon": 1, "counts": True})
    assert job["state"] == "answered", job
    return {"asked": job["id"], "answer": job["answer"].rpartition("/")[2]}


@pytest.fixture(autouse=True, scope="module")
def questions_share_a_duckdb(one_duckdb: None) -> None:
    """A new one takes longer than an answer."""
