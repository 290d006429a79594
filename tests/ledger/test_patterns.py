"""However a budget is forked, shared, copied, killed or left: never more comes out than what was granted."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpselect.ledger import Ledger
from tests.ledger import patterns

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork")


def lives(kind: str, where: str, words: str = "") -> list[dict[str, Any]]:
    """What every pattern with those words in its name left behind."""
    script = [sys.executable, patterns.__file__, kind, where, words]
    done = subprocess.run(script, check=True, stdout=subprocess.PIPE, text=True, timeout=3600)
    return [json.loads(line) for line in done.stdout.splitlines()]


def wrong(life: dict[str, Any]) -> list[str]:
    """What must not be: a budget that gave too many answers, answers that nobody paid, a ledger that is not sound."""
    found = list(life["errors"])
    if life["status"]:
        found.append(f"ended with status {life['status']}: it hung, or was killed")
    if max(life["answers"].values(), default=0) > patterns.QUESTIONS:
        found.append("a budget gave more answers than it can pay")
    if "used" in life:
        price = sum(life["answers"].values()) * patterns.PRICE
        if price > patterns.TOTAL:
            found.append(f"answers for {price} came out of a grant of {patterns.TOTAL}")
        if price > Fraction(life["used"]):
            found.append(f"answers for {price} came out, and the ledger knows of {life['used']}")
        found += life["problems"]
    return found


def check(found: list[dict[str, Any]], words: str = "") -> None:
    assert [life["name"] for life in found] == [name for name in patterns.PATTERNS if words in name]
    assert {life["name"]: wrong(life) for life in found if wrong(life)} == {}
    assert all(life["answers"] for life in found if "fresh" in life["name"])  # nothing was read, so nothing is lost


@pytest.mark.parametrize("words", ["the child asks, the child first", "given back", "generator"])
def test_a_few_of_them(tmp_path: Path, words: str) -> None:
    Ledger.create(tmp_path / "x").close()
    check(lives("path", str(tmp_path / "x"), words), words)
