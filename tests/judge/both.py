"""A release checked as a user checks it, and judged: neither confirms what the other refuses."""

from __future__ import annotations

import os

import dpselect as dps
from dpselect.checking.check import Check
from dpselect.checking.finding import Verdict, worst
from dpselect.checking.reading import read
from tests.judge.payment import paid
from tests.judge.promise import promised

FAILS = Verdict.FAILS


def judged(release: dps.Release) -> Verdict:
    """What the judge says of a release. What it refuses `check` refuses too."""
    verdict = worst(promised(release))
    assert verdict is not FAILS or refused(release)
    return verdict


def refused(release: dps.Release) -> bool:
    """Does `check` refuse it, as a file that holds no release or as one that is not as planned?"""
    try:
        return dps.check(release).verdict is FAILS
    except dps.DataError:
        return True


def check(release: dps.Release | str | os.PathLike[str], ledger: str | os.PathLike[str] | None = None) -> Check:
    """What `check` says of a release, and of its payment where a ledger is named; the judge says no less."""
    found, whole = dps.check(release, ledger), read(release)[0]
    assert (worst(promised(whole)) is FAILS) is (found.verdict is FAILS), (found, promised(whole))
    if ledger is not None:
        with dps.Ledger(ledger) as opened:
            judge = paid(whole, opened)
        assert (worst(judge) is FAILS) is (found.paid is FAILS), (found, judge)
    return found
