"""A stored answer is one to the question as the settings mean it now, not as they meant it before a restart."""

from __future__ import annotations

import io
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dpselect.gateway.gateway import Gateway
from dpselect.gateway.log import Log
from dpselect.gateway.settings.reading import read_text
from dpselect.gateway.settings.values import Settings

TEXT = """
[server]
ledger = "ledger.sqlite"
folder = "state"
[data.plays]
source = "plays.duckdb"
table = "old"
user = "user"
items = ["artist"]
promise = { epsilon = 100, delta = "1e-3" }
tick = "0.1"
[people.ann]
role = "analyst"
quota = { epsilon = 100, delta = "1e-3" }
[people.olga]
role = "owner"
"""


def answered(settings: Settings) -> tuple[list[Any], float]:
    """What a gateway of these settings answers, and for which share."""
    gateway = Gateway(settings, Log(io.StringIO()))
    gateway.start()
    try:
        ann = settings.people["ann"]
        job: Any = gateway.ask(ann, {"verb": "top_k", "k": 1, "epsilon": 5})
        until = time.monotonic() + 60
        while job["answer"] is None and time.monotonic() < until:
            time.sleep(0.02)
            job = gateway.job(ann, job["id"])
        release = gateway.answer(ann, job["answer"].rpartition("/")[2]).release
        return [item.item for item in release.items], job["cost"]["share"]
    finally:
        gateway.stop()


@pytest.mark.parametrize("what", [{"table": "new"}, {"split": " "}])
def test_another_table_or_another_way_of_reading_it_is_another_question(tmp_path: Path, what: dict[str, str]) -> None:
    with duckdb.connect(str(tmp_path / "plays.duckdb")) as file:
        for name, artist in (("old", "a b"), ("new", "new")):
            file.execute(f"CREATE TABLE {name} AS SELECT i AS \"user\", '{artist}' AS artist FROM range(2000) t(i)")
    settings = read_text(TEXT, tmp_path)
    first, paid = answered(settings)
    assert (first, paid > 0) == (["a b"], True)
    changed = replace(settings, data={"plays": replace(settings.data["plays"], **what)})
    found, paid = answered(changed)
    assert found != first
    assert paid > 0
