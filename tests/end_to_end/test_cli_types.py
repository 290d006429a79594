"""Types that a command declares."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dpselect as dps
from dpselect.command.main import main

ASKED = "quantile x.csv --user user --item age --bounds 0 120 --step 1 --epsilon 40".split()
PRICES = "quantile x.csv --user user --item price --bounds 0 500 --step 1 --epsilon 40".split()


@pytest.fixture(autouse=True)
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.csv").write_text("user,age,price\n" + "".join(f'u{n},{20 + n % 41}.0,"{n},5"\n' for n in range(410)))


def test_a_declared_column_is_read_as_its_type(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ASKED, "--type", "age=BIGINT", "--format", "json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["items"][0]["item"] in range(38, 43)
    assert main([*PRICES, "--type", "price=NUMBER(decimal=',')", "--format", "json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["items"][0]["item"] in range(195, 215)


def test_a_column_of_text_is_refused_with_the_options_to_give(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ASKED, "--quiet"]) == 2
    said = capsys.readouterr().err
    assert "declare column 'age', which is text" in said
    assert "--type age=..." in said
    assert "dpselect inspect FILE --user ... --item ..." in said
    whole = ["histogram", "x.csv", "--user", "user", "--item", "age", "--domain-range", "18..20", "--epsilon", "1"]
    assert main([*whole, "--quiet"]) == 2
    assert "--type age=BIGINT" in capsys.readouterr().err


@pytest.mark.parametrize("given", [["age"], ["=BIGINT"], ["age=BIGINT", "age=DOUBLE"], ["age=INTS"], ["Age=BIGINT"]])
def test_what_declares_nothing_is_refused(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ASKED, "--quiet", *(word for one in given for word in ("--type", one))]) == 2
    assert "type" in capsys.readouterr().err


def test_a_name_with_an_equals_sign_is_declared(capsys: pytest.CaptureFixture[str]) -> None:
    Path("y.csv").write_text("user,a=b\n" + "".join(f"u{n},2026=03=31\n" for n in range(40)))
    asked = ["top", "y.csv", "--user", "user", "--item", "a=b", "--epsilon", "400", "--format", "json", "--quiet"]
    assert main([*asked, "--type", "a=b=TIME(format='%Y=%m=%d')"]) == 0
    assert json.loads(capsys.readouterr().out)["items"][0]["item"] == "2026-03-31T00:00:00"
    assert main([*asked, "--type", "a=b=BIGINT"]) == 0
    assert json.loads(capsys.readouterr().out)["items"] == []
    assert main([*asked, "--type", "a=b=NUMBER(type='DECIMAL(18,2)', decimal=',')"]) == 0


def test_prepared_data_are_declared_once(capsys: pytest.CaptureFixture[str]) -> None:
    named = ["--user", "user", "--item", "age"]
    assert main(["prepare", "x.csv", *named, "--type", "age=BIGINT", "-o", "x.prepared", "--quiet"]) == 0
    assert main(["prepare", "--add", "x.csv", "-o", "x.prepared", "--quiet"]) == 2
    assert "contents were added before" in capsys.readouterr().err
    Path("y.csv").write_text("user,age,price\nv,30.0,1\n")
    assert main(["prepare", "--add", "y.csv", "--type", "age=DOUBLE", "-o", "x.prepared", "--quiet"]) == 2
    assert main(["prepare", "--add", "y.csv", "-o", "x.prepared", "--quiet"]) == 0
    with dps.Dataset("x.prepared").engine() as engine:
        found = engine.top(99)
        assert {found.label(place, 0): int(count) for place, count in enumerate(found.counts)}[30] == 11
