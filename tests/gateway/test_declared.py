"""Promises and quotas of the settings, beside those of the ledger: told where they differ, changed by one command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpselect.command.main import main
from dpselect.gateway.settings.reading import read
from dpselect.ledger import Account, Ledger
from dpselect.ledger.entry import EntryKind
from tests.gateway.served import running, serving, settings_in

Captured = pytest.CaptureFixture[str]
TOP = {"verb": "top_k", "data": "plays", "k": 3, "epsilon": "1/2"}
CHANGES = {
    "a promise that is raised": (
        'epsilon = 3, delta = "1e-5"',
        'epsilon = 5, delta = "1e-5"',
        "the promise of plays: the settings have epsilon 5 and delta 0.00001, "
        "but the ledger keeps epsilon 3 and delta 0.00001",
    ),
    "a promise that is lowered": (
        'epsilon = 3, delta = "1e-5"',
        'epsilon = 2, delta = "1e-5"',
        "the promise of plays: the settings have epsilon 2 and delta 0.00001, "
        "but the ledger keeps epsilon 3 and delta 0.00001",
    ),
    "a quota that is lowered": (
        'data = ["plays"]\nquota = { epsilon = 2,',
        'data = ["plays"]\nquota = { epsilon = 1,',
        "the quota of ann for plays: the settings have epsilon 1 and delta 0.000005, "
        "but the ledger keeps epsilon 2 and delta 0.000005",
    ),
    "a share that is kept": (
        "max_k = 50",
        'max_k = 50\nkeep = "20%"',
        "the keep of plays: the settings have 20 %, but the ledger keeps 0 %",
    ),
    "another unit": (
        "max_k = 50",
        'max_k = 50\nunit = "one patient"',
        "the unit of plays: the settings have 'one patient', but the ledger keeps 'one user'",
    ),
}


def change(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The settings of a gateway that has begun, so that its ledger has what they declare."""
    with serving(tmp_path):
        return tmp_path / "gateway.toml"


@pytest.mark.parametrize("name", CHANGES)
def test_a_difference_is_told_and_applied(path: Path, name: str, capsys: Captured) -> None:
    before, after, sentence = CHANGES[name]
    assert main(["gateway", "check", str(path)]) == 0
    assert "the ledger keeps" not in capsys.readouterr().out
    change(path, before, after)
    assert main(["gateway", "check", str(path)]) == 0
    assert f"mind: {sentence}\n" in capsys.readouterr().out
    with running(read(path), path.parent) as served:
        lines = [json.loads(line) for line in served.log.getvalue().splitlines()]
        assert [line["said"] for line in lines if line["what"] == "differs"] == [sentence]
    with Ledger(path.parent / "ledger.sqlite") as ledger:
        entries = ledger.count
    assert main(["gateway", "apply", str(path)]) == 0
    place, _, values = sentence.partition(": the settings have ")
    declared, _, kept = values.partition(", but the ledger keeps ")
    assert capsys.readouterr().out == f"{place} is now {declared}, and was {kept}\n"
    with Ledger(path.parent / "ledger.sqlite") as ledger:
        assert ledger.count == entries + 1  # the record has the change
        assert ledger.verify() == []
    assert main(["gateway", "check", str(path)]) == 0
    assert "the ledger keeps" not in capsys.readouterr().out
    assert main(["gateway", "apply", str(path)]) == 0
    assert capsys.readouterr().out == "the ledger is as the settings say\n"


def test_a_promise_is_raised_after_answers_and_not_lowered_below_them(path: Path, capsys: Captured) -> None:
    with running(read(path), path.parent) as served:
        assert served.ann.ask(TOP)["state"] == "answered"
    for epsilon, status in (("5", 0), ("0.1", 2)):
        change(
            path,
            path.read_text().partition("promise = ")[2].partition("\n")[0],
            f'{{ epsilon = {epsilon}, delta = "1e-5" }}',
        )
        assert main(["gateway", "apply", str(path)]) == status
    assert "[data.plays] epsilon must cover what is used" in capsys.readouterr().err
    with Ledger(path.parent / "ledger.sqlite") as ledger:
        assert ledger.data_account("plays").promise.epsilon == 5
        made = [entry for entry in ledger.entries(Account.for_everybody("plays")) if entry.kind is EntryKind.DATA]
        assert [int(entry.charge.epsilon) for entry in made] == [3, 5]


def test_a_quota_below_what_is_used_leaves_nothing(path: Path) -> None:
    with running(read(path), path.parent) as served:
        assert served.ann.ask(TOP)["state"] == "answered"
    change(path, 'data = ["plays"]\nquota = { epsilon = 2,', 'data = ["plays"]\nquota = { epsilon = "1e-3",')
    assert main(["gateway", "apply", str(path)]) == 0
    with running(read(path), path.parent) as served:
        assert served.ann.get("/v1/budget").json()["budgets"][0]["left"] == 0
        assert served.ann.post("/v1/questions", {**TOP, "k": 2}).status_code == 409


def test_what_was_asked_under_is_not_changed(path: Path, capsys: Captured) -> None:
    with running(read(path), path.parent) as served:
        assert served.ann.ask(TOP)["state"] == "answered"
    change(path, "max_k = 50", 'max_k = 50\nunit = "one patient"')
    assert main(["gateway", "apply", str(path)]) == 2
    assert "[data.plays] unit must stay 'one user', because questions were asked under it" in capsys.readouterr().err


def test_a_quota_that_left_the_settings_is_told(path: Path, capsys: Captured) -> None:
    quota = 'quota = { epsilon = 2, delta = "5e-6" }\n'
    change(path, quota, "")
    assert main(["gateway", "check", str(path)]) == 0
    said = "the quota of ann for plays: the settings have none, but the ledger keeps epsilon 2 and delta 0.000005"
    assert f"mind: {said}\n" in capsys.readouterr().out
    assert main(["gateway", "apply", str(path)]) == 2
    assert said in capsys.readouterr().err


def test_pages_show_the_promise_that_the_ledger_keeps(path: Path) -> None:
    change(path, 'epsilon = 3, delta = "1e-5"', 'epsilon = 5, delta = "1e-5"')
    with running(read(path), path.parent) as served:
        described = next(one for one in served.ann.get("/v1/data").json()["data"] if one["name"] == "plays")
        assert described["promise"] == {"epsilon": 3, "delta": 1e-5}


def test_other_settings_that_change_meanwhile_are_told(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        change(tmp_path / "gateway.toml", "max_k = 50", "max_k = 60")
        served.until(lambda: '"unread"' in served.log.getvalue())


def test_a_ledger_that_is_not_there_yet_has_no_differences(tmp_path: Path, capsys: Captured) -> None:
    path = settings_in(tmp_path)
    assert main(["gateway", "check", str(path)]) == 0
    assert "ledger keeps" not in capsys.readouterr().out
    assert not (tmp_path / "ledger.sqlite").exists()
    assert main(["gateway", "apply", str(path)]) == 0
    assert "made the ledger\npromised plays to its users\n" in capsys.readouterr().out


def test_a_ledger_that_cannot_be_opened_is_told(tmp_path: Path, capsys: Captured) -> None:
    path = settings_in(tmp_path)
    (tmp_path / "ledger.sqlite").write_text("no ledger")
    (tmp_path / "ledger.sqlite").chmod(0o600)
    assert main(["gateway", "check", str(path)]) == 0
    assert "mind: promises and quotas were not compared with the ledger: " in capsys.readouterr().out
