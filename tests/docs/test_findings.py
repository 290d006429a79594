"""findings/ shows what other tools do: each script is in the table, pins what it installs, and says why it matters."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT

SCRIPTS = sorted((ROOT / "findings").glob("*.sh"))
SAYS = ("# What one would guess: ", "# What happens: ", "# Version: ", "# Why it matters: ")


def test_the_table_lists_every_script_once() -> None:
    rows = (ROOT / "findings" / "README.md").read_text("utf-8").splitlines()
    assert sorted(re.findall(r"\| `(\w+)` \|$", "\n".join(rows), re.MULTILINE)) == [path.stem for path in SCRIPTS]
    assert len(SCRIPTS) >= 15


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_says_what_it_shows_of_pinned_packages(path: Path) -> None:
    text = path.read_text("utf-8")
    assert text.startswith("#!/usr/bin/env bash\n# What one would guess: ")
    assert [text.count(f"\n{one}") for one in SAYS] == [1, 1, 1, 1]
    assert "\nset -euo pipefail\n" in text
    assert "dpselect" not in text
    assert "trap 'rm -rf \"$here\"' EXIT\n" in text
    [packages] = re.findall(r"--no-compile \\\n    (.+)\n", text)
    pin = r"'?[\w\[\],-]+(==[\w.]+|>=[\w.]+,<[\w.]+)'?"  # a range stays where a workflow takes the newest of others
    assert all(re.fullmatch(pin, one) for one in packages.split()), packages
