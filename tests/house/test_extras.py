"""Hints and pages install what pyproject declares for an extra, by the packages' own names or from a checkout."""

from __future__ import annotations

import ast
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from dpselect.errors import install_hint, requirements
from tests.house.rules import ROOT, sources

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = {
    extra: [re.split("[<>=]", requirement)[0] for requirement in listed]
    for extra, listed in PROJECT["optional-dependencies"].items()
    if extra != "all"
}
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
# For what the user brings: a frame of another library, a system without time zones, a spreadsheet.
NO_EXTRA = {"narwhals", "tzdata", "openpyxl", "xlsxwriter"}


@pytest.mark.parametrize("extra", EXTRAS)
def test_a_hint_names_the_packages_of_the_extra(extra: str) -> None:
    assert shlex.split(install_hint(extra)) == ["pip", "install", *EXTRAS[extra]]


def test_what_is_always_needed_belongs_to_no_extra() -> None:
    always = [re.split("[<>=]", requirement)[0] for requirement in PROJECT["dependencies"]]
    assert [package for package, extra in requirements() if not extra] == always


def test_all_is_all() -> None:
    (line,) = PROJECT["optional-dependencies"]["all"]
    assert line == f"dpselect[{','.join(EXTRAS)}]"


def test_every_hint_in_the_code_is_of_an_extra() -> None:
    calls = [node for tree in sources().values() for node in ast.walk(ast.parse(tree)) if isinstance(node, ast.Call)]
    named = {ast.unparse(call.args[0]) for call in calls if ast.unparse(call.func).endswith("install_hint")}
    assert named == {"extra", *map(repr, {"completion", "gateway", "oidc", "pandas", "polars", "postgres", "spark"})}


def commands(text: str) -> list[list[str]]:
    """Return the arguments of each `pip install` of a page."""
    lines = re.findall(r"(?:^|`|# )pip install ([^`\n#]+)", text, re.MULTILINE)
    return [shlex.split(line) for line in lines]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "pip install" in page.read_text("utf-8")], ids=lambda p: p.name
)
def test_a_page_installs_extras_of_a_checkout_or_their_packages(page: Path) -> None:
    known = NO_EXTRA.union(*EXTRAS.values())
    found = commands(page.read_text("utf-8"))
    assert found
    for arguments in found:
        checkout = re.fullmatch(r"\.(?:\[(.+)\])?", " ".join(arguments))
        if checkout:
            assert set((checkout[1] or "all").split(",")) <= {"all", *EXTRAS}
        else:
            assert set(arguments) <= known


def test_readme_lists_the_extras() -> None:
    (listed,) = re.findall("# or some of: (.+)", (ROOT / "README.md").read_text("utf-8"))
    assert listed.split() == [extra for extra in EXTRAS if extra != "completion"]
