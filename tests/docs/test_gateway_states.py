"""The states of a job, and what follows on what, are on the page as they are in the code."""

from __future__ import annotations

import re
from collections import Counter

from dpselect.gateway.jobs import NEXT, JobState
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "gateway.md").read_text("utf-8").partition("\n## Inside\n")[2]


def test_what_follows_on_what_is_on_the_page() -> None:
    told = Counter(re.findall(r"^\| `(\w+)` \| `(\w+)` \|", PAGE, re.MULTILINE))
    assert told == Counter((str(state), str(after)) for state, follow in NEXT.items() for after in follow)


def test_every_state_is_drawn_once() -> None:
    drawing = next(block for block in re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL) if "approval" in block)
    assert Counter(re.findall(r"[a-z]+", drawing)) == Counter(map(str, JobState))


def test_every_file_of_the_page_is_there() -> None:
    files = re.findall(r"[a-z_/]+\.py", PAGE)
    assert len(files) > 15
    assert [one for one in files if not (ROOT / "src" / "dpselect" / "gateway" / one).exists()] == []
