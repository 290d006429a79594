"""A stored answer is one to the question as the settings mean it now, not as they meant it before a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from dpselect.gateway.settings.reading import read_text
from dpselect.gateway.settings.tokens import digest
from dpselect.gateway.settings.values import Settings
from tests.gateway.served import TOKENS, running

TEXT = f"""
[server]
ledger = "ledger.sqlite"
folder = "state"
[data.plays]
source = "plays.duckdb"
table = "old"
user = "user"
items = ["artist"]
promise = {{ epsilon = 100, delta = "1e-3" }}
[people.ann]
role = "analyst"
quota = {{ epsilon = 100, delta = "1e-3" }}
token = "sha256:{digest(TOKENS["ann"])}"
[people.olga]
role = "owner"
"""


def answered(settings: Settings, folder: Path) -> tuple[list[Any], float]:
    """What a gateway of these settings answers, and for which share."""
    with running(settings, folder) as served:
        job = served.ann.ask({"verb": "top_k", "k": 1, "epsilon": 5})
        found = served.ann.get(job["answer"]).json()
        return [item["item"] for item in found["items"]], job["cost"]["share"]


@pytest.mark.parametrize("what", [{"table": "new"}, {"split": " "}])
def test_another_table_or_another_way_of_reading_it_is_another_question(tmp_path: Path, what: dict[str, str]) -> None:
    with duckdb.connect(str(tmp_path / "plays.duckdb")) as file:
        for name, artist in (("old", "a b"), ("new", "new")):
            file.execute(f"CREATE TABLE {name} AS SELECT i AS \"user\", '{artist}' AS artist FROM range(2000) t(i)")
    settings = read_text(TEXT, tmp_path)
    first, paid = answered(settings, tmp_path)
    assert (first, paid > 0) == (["a b"], True)
    changed = settings.model_copy(update={"data": {"plays": settings.data["plays"].model_copy(update=what)}})
    found, paid = answered(changed, tmp_path)
    assert found != first
    assert paid > 0
