"""Every release that a test makes is judged when the test has ended, and checked as a user would."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

import dpselect as dps
from dpselect import asked_rows
from dpselect.checking.finding import Verdict, worst_verdict
from dpselect.queries import values
from tests.judge.promise import promised

MADE: list[dps.Release] = []
JUDGED: set[str] = set()  # statements that were judged before, and need not be again
UNJUDGED = "unjudged"  # marks tests of what the judge has too little to confirm, with the reason


def kept(outline: Mapping[str, object], release: dps.Release) -> dps.Release:
    """What marks an answer with its question; here it is kept, too."""
    found = replace(release, question=outline)
    MADE.append(found)
    return found


@pytest.fixture(autouse=True)
def judge(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Judges what was released meanwhile, as if its draws had been secure."""
    MADE.clear()
    for module in (asked_rows, values):
        monkeypatch.setattr(module, "with_question", kept)
    yield
    releases = [] if request.node.get_closest_marker(UNJUDGED) else list(MADE)
    MADE.clear()
    for release in releases:
        refuse_wrong(replace(release, secure=True, charged=None))


def refuse_wrong(release: dps.Release) -> None:
    """AssertionError where the judge or `check` refuses a release."""
    said = f"{release.question} {release.privacy} {release.accuracy} {release.found} {release.counted}"
    if said not in JUDGED:
        assert worst_verdict(promised(release)) is not Verdict.FAILS, promised(release)
        found = dps.check(release)
        assert found.verdict is Verdict.FOLLOWS, found
        JUDGED.add(said)
