"""The record names who granted a quota and who approved a question, in the chain of the ledger."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpselect.command.main import main
from dpselect.ledger import Account, Ledger
from dpselect.ledger.entry import EntryKind
from tests.gateway.served import Served, serving

VISITS = {"data": "visits", "verb": "top_k", "k": 2, "epsilon": "1/4", "during": "2026-09"}


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Path]]:
    """Olga has granted something, and approved one question and rejected another."""
    folder = tmp_path_factory.mktemp("gateway")
    with serving(folder) as served:
        body = {"data": "plays", "analyst": "bob", "epsilon": "1/10", "delta": 0}
        assert served.olga.post("/v1/grants", body).status_code == 200
        for k, decision in ((2, "approve"), (3, "reject")):
            number = served.vera.asked({**VISITS, "k": k})
            assert served.olga.post(f"/v1/questions/{number}/{decision}", {}).status_code == 200
            served.vera.ended(number)
        assert served.ann.ask({"data": "plays", "verb": "top_k", "k": 2, "epsilon": "1/4"})["state"] == "answered"
        yield served, folder


def test_the_ledger_has_it_in_its_chain(decided: tuple[Served, Path]) -> None:
    with Ledger(decided[1] / "ledger.sqlite") as ledger:
        grants = {entry.by for entry in ledger.entries(Account("plays", "bob")) if entry.kind is EntryKind.GRANT}
        holds = {entry.account.dataset: entry.by for entry in ledger.entries() if entry.kind is EntryKind.HOLD}
        assert ledger.verify() == []
    assert grants == {"the settings", "olga"}
    assert holds == {"plays": None, "visits": "olga"}


def test_the_record_says_so(decided: tuple[Served, Path]) -> None:
    served, _ = decided
    plays, visits = (served.cleo.get(f"/v1/record/{name}").json() for name in ("plays", "visits"))
    said = {change["what"] for change in plays["changes"]}
    assert {"granted to bob by the settings", "granted to bob by olga"} <= said
    assert [one["approved_by"] for one in plays["questions"]] == [None]
    (question,) = visits["questions"]
    assert question["approved_by"] == "olga"
    assert question["question"].startswith(
        "top 2 of artist by number of users, during 2026-09, at epsilon 0.25 and delta "
    )
    assert question["question"].endswith(", from plays.parquet with users in user")
    page = served.http.get("/record/visits", headers={**served.headers("cleo"), "Accept": "text/html"}).text
    assert "approved by</th>" in page
    assert '<td data-head="approved by">olga</td>' in page


def test_the_history_says_so(decided: tuple[Served, Path], capsys: pytest.CaptureFixture[str]) -> None:
    ledger = str(decided[1] / "ledger.sqlite")
    assert main(["ledger", "history", ledger, "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["entries"]
    assert {row["by"] for row in rows if row["what"] == "hold" and row["dataset"] == "visits"} == {"olga"}
    assert {row["by"] for row in rows if row["what"] == "grant"} == {"the settings", "olga"}
    report = decided[1] / "visits.html"
    assert main(["ledger", "report", ledger, "--data", "visits", "-o", str(report)]) == 0
    assert "<td>olga</td>" in report.read_text()


def test_who_granted_cannot_be_swapped_unseen(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "ledger.sqlite") as ledger:
        ledger.data("plays", 1, "1e-6")
        ledger.grant(Account("plays", "ann"), 1, 0, by="olga")
    with contextlib.closing(sqlite3.connect(tmp_path / "ledger.sqlite", isolation_level=None)) as file:
        for (name,) in file.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            file.execute(f"DROP TRIGGER {name}")
        assert file.execute("UPDATE entry SET terms = replace(terms, 'olga', 'eve')").rowcount > 0
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        assert any("was changed" in problem for problem in ledger.verify())
