"""Findings: what was looked at, and whether it is as the release says."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """Of a part of a release, and of all of it: the worst of its parts."""

    FOLLOWS = "follows"
    STATED = "stated, not recomputed"
    FAILS = "does not follow"


_WORST_LAST = tuple(Verdict)


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    verdict: Verdict
    sentence: str


def follows(sentence: str) -> Finding:
    """It was recomputed, and is so."""
    return Finding(Verdict.FOLLOWS, sentence)


def stated(sentence: str) -> Finding:
    """The release says it, and not from what it could be recomputed."""
    return Finding(Verdict.STATED, sentence)


def fails(sentence: str) -> Finding:
    """It was recomputed, and is not so."""
    return Finding(Verdict.FAILS, sentence)


def worst(findings: tuple[Finding, ...]) -> Verdict:
    """The verdict on all of them."""
    return max((one.verdict for one in findings), key=_WORST_LAST.index, default=Verdict.STATED)
