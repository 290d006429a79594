"""A release checked as a user checks it, and judged: neither confirms what the other refuses."""

from __future__ import annotations

import os
from contextlib import nullcontext

import dpselect as dps
from dpselect.checking.check import Check, read_release
from dpselect.checking.finding import Verdict, worst_verdict
from tests.judge.payment import paid
from tests.judge.promise import promised

FAILS = Verdict.FAILS


def judged(release: dps.Release) -> Verdict:
    """What the judge says of a release. What it refuses `check` refuses too."""
    verdict = worst_verdict(promised(release))
    assert verdict is not FAILS or refused(release)
    return verdict


def refused(release: dps.Release) -> bool:
    """Does `check` refuse it, as a file that holds no release or as one that is not as planned?"""
    try:
        return dps.check(release).verdict is FAILS
    except dps.DataError:
        return True


def check(
    release: dps.Release | str | os.PathLike[str], budget: str | os.PathLike[str] | dps.Ledger | None = None
) -> Check:
    """What `check` says of a release, and of its payment where a ledger is named; the judge says no less."""
    found, whole = dps.check(release, budget), read_release(release)[0]
    assert worst_verdict(promised(whole)) is not FAILS or found.verdict is FAILS, (found, promised(whole))
    if budget is not None:
        with nullcontext(budget) if isinstance(budget, dps.Ledger) else dps.Ledger(budget) as ledger:
            judge = paid(whole, ledger)
        assert worst_verdict(judge) is not FAILS or found.paid is FAILS, (found, judge)
    return found
