"""Findings: the result of each single check of a release."""

from __future__ import annotations

from enum import StrEnum

from dpselect._ground.dataclass import dataclass


class Verdict(StrEnum):
    """Result of checking one part of a release. A whole release has the worst verdict of its parts."""

    FOLLOWS = "follows"
    STATED = "stated, not recomputed"
    FAILS = "does not follow"


_BEST_TO_WORST = tuple(Verdict)


@dataclass(frozen=True)
class Finding:
    """Verdict on one part of a release, and the sentence that reports it."""

    verdict: Verdict
    sentence: str


def follows(sentence: str) -> Finding:
    """Return a finding that a value of the release was recomputed and is the same."""
    return Finding(Verdict.FOLLOWS, sentence)


def stated(sentence: str) -> Finding:
    """Return a finding that the release states a value but lacks what is needed to recompute it."""
    return Finding(Verdict.STATED, sentence)


def fails(sentence: str) -> Finding:
    """Return a finding that a value of the release was recomputed and differs."""
    return Finding(Verdict.FAILS, sentence)


def worst_verdict(findings: tuple[Finding, ...]) -> Verdict:
    """Return the worst verdict among the findings, or STATED if there are none."""
    return max((finding.verdict for finding in findings), key=_BEST_TO_WORST.index, default=Verdict.STATED)
