"""`dpselect gateway`: check, token, example."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import polars
import pytest

from dpselect.command.main import main
from dpselect.gateway.settings.reading import read, read_text
from dpselect.gateway.settings.tokens import digest, example
from tests.gateway.wrong_settings import FEWEST

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of settings without mistakes, beside its source."""
    polars.DataFrame({"user": ["u"], "artist": ["canary"]}).write_parquet(tmp_path / "plays.parquet")
    file = tmp_path / "gateway.toml"
    file.write_text(FEWEST)
    file.chmod(0o600)
    return file


def test_check(path: Path, capsys: Captured) -> None:
    assert main(["gateway", "check", str(path)]) == 0
    ended = capsys.readouterr()
    assert ended.err == ""
    assert ended.out == (
        f"{path} has no mistakes\n"
        "mind: nobody is an owner: while the gateway runs, no quota can be granted and no question approved\n"
    )


def test_check_names_every_mistake(path: Path, capsys: Captured) -> None:
    path.write_text(FEWEST.replace("user =", "usr =").replace("epsilon = 3", "epsilon = 0"))
    assert main(["gateway", "check", str(path)]) == 2
    ended = capsys.readouterr()
    assert ended.out == ""
    assert ended.err == (
        f"dpselect: 3 mistakes in {path}\n"
        f"{path}: [data.plays] user must be given\n"
        "  hint: only a file of prepared data says itself who its users are\n"
        f"{path}: [data.plays] promise.epsilon must be a positive, finite number, got 0\n"
        f"{path}: [data.plays] usr is not known here\n  hint: did you mean user?\n"
    )


def test_check_says_what_must_be_installed(path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pydantic" else found(name))
    assert main(["gateway", "check", str(path)]) == 2
    assert capsys.readouterr().err == (
        "dpselect: gateway check must have pydantic installed, got an installation without\n"
        "hint: pip install starlette uvicorn jinja2 pydantic typing-extensions\n"
    )


def test_check_of_sources(path: Path, capsys: Captured) -> None:
    assert main(["gateway", "check", str(path), "--sources"]) == 0
    assert capsys.readouterr().out.endswith("\nevery source has the columns that are declared\n")
    path.write_text(FEWEST.replace("[data.plays]", '[data.plays]\ntypes = { artist = "BIGINT" }'))
    assert main(["gateway", "check", str(path), "--sources"]) == 0
    said = "[data.plays] types.artist: leaves 1 of 1 values missing (the first in row 1)"
    assert capsys.readouterr().out.splitlines()[-1] == said
    path.write_text(FEWEST.replace('["artist"]', '["artst"]'))
    assert main(["gateway", "check", str(path), "--sources"]) == 2
    ended = capsys.readouterr()
    said = f"{path}: [data.plays] items: item must be a column of the source, got 'artst'\nhint: did you mean artist?\n"
    assert ended.err == f"dpselect: a mistake in {path}\n{said}"
    assert "every source" not in ended.out


def test_a_token_and_its_line_go_together(path: Path, capsys: Captured) -> None:
    tokens = set()
    for name, heading in ((), "NAME"), (("--name", "ann"), "ann"), (("--name", 'Ann "A" é'), '"Ann \\"A\\" é"'):
        assert main(["gateway", "token", *name]) == 0
        ended = capsys.readouterr()
        token, line = ended.out.splitlines()
        assert token not in ended.err
        assert f"[people.{heading}]" in ended.err
        path.write_text(
            f'{FEWEST}[people.{heading}]\nrole = "owner"\n{line}\n'.replace("[people.ann]", "[people.eve]", 1)
        )
        assert read(path).people[name[1] if name else "NAME"].token == digest(token)
        tokens.add(token)
    assert len(tokens) == 3
    assert main(["gateway", "token", "--name", "a\u200bnn"]) == 2


def test_the_example_is_what_is_printed(tmp_path: Path, capsys: Captured) -> None:
    assert main(["gateway", "example"]) == 0
    printed = capsys.readouterr().out
    assert printed == example()
    assert read_text(printed, tmp_path).data["listening"].groups == ("country",)


def test_tokens_and_examples_load_nothing_heavy() -> None:
    code = "import sys; from dpselect.command.main import main; main(['gateway', 'example']); print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(ended.stdout.splitlines()[-1].split())
    assert not {"numpy", "duckdb", "starlette", "uvicorn", "jinja2", "pydantic", "psycopg"} & loaded
