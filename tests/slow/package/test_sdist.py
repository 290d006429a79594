"""The source distribution holds all that tests, documents and rebuilds the package, and no leavings; the wheel runs."""

from __future__ import annotations

import re
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from flit_core import buildapi

ROOT = Path(__file__).resolve().parents[3]
WHOLE = ("src", "tests", "docs", "benchmarks", "findings", "requirements", ".github", ".ci")
LEAVINGS = {"__pycache__", ".cache"}


def files(folder: str) -> set[str]:
    found = (path for path in (ROOT / folder).rglob("*") if path.is_file())
    return {path.relative_to(ROOT).as_posix() for path in found if not LEAVINGS & set(path.parts)}


def test_the_sdist_holds_tests_docs_changelog_and_pins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    with tarfile.open(tmp_path / buildapi.build_sdist(str(tmp_path))) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    root = {"CITATION.cff", "LICENSE", "dev", "pyproject.toml", *(path.name for path in ROOT.glob("*.md"))}
    wanted = root.union(*map(files, WHOLE))
    assert sorted(wanted - held) == []
    assert sorted(name for name in held if LEAVINGS & set(name.split("/"))) == []


def test_the_wheel_holds_every_file_of_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that are no Python: templates, style, examples."""
    monkeypatch.chdir(ROOT)
    with zipfile.ZipFile(tmp_path / buildapi.build_wheel(str(tmp_path))) as archive:
        held = set(archive.namelist())
    assert sorted({name.removeprefix("src/") for name in files("src")} - held) == []
    assert "dpselect/gateway/pages/templates/frame.html" in held


def test_the_version_is_one_and_the_changelog_has_what_comes_next() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (cited,) = re.findall(r'^version: "?([^"\n]+)', (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    assert cited == project["version"]
    headings = re.findall(r"^## .*", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert headings[0] == "## Unreleased"
