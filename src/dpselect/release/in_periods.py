"""Releases about users in one period: what their statement says of the unit, and of a whole user."""

from __future__ import annotations

import datetime
from dataclasses import replace

from dpselect._ground.parameters import rounded_up
from dpselect._ground.periods import Periods
from dpselect._ground.privacy import ApproxDP
from dpselect.accounting.groups import of_group
from dpselect.release import formatting
from dpselect.release.release import Release
from dpselect.release.statement import Statement


def in_periods(release: Release, periods: Periods, now: datetime.datetime | None = None) -> Release:
    """The release with a statement per user in one period. The clock decides nothing but what is said of it."""
    now = datetime.datetime.now(datetime.UTC) if now is None else now
    said = release.privacy
    sentences = (*said.sentences, *_gains(periods), *_whose(said, periods), *_open(periods, now))
    used = {**said.parameters, "during": periods.asked.text, "compared_with": periods.base.text}
    used = used if periods.compared else dict(said.parameters)
    unit = f"{said.unit} in one {periods.sort}"
    return replace(release, privacy=replace(said, unit=unit, parameters=used, sentences=sentences))


def _gains(periods: Periods) -> tuple[str, ...]:
    """What an item gained, where periods are compared."""
    if not periods.compared:
        return ()
    return (
        f"The gain of an item is its number of distinct users in {periods.asked.text} less that in "
        f"{periods.base.text}, or 0 where that is below 0.",
    )


def _whose(said: Statement, periods: Periods) -> tuple[str, ...]:
    """Which rows count, and what a user of several periods is promised."""
    column = formatting.text(periods.column)
    rows = f"Rows of {periods.text} count, by the time in their column {column} ({periods.timezone})"
    times = len(periods.all)
    if times == 1:
        return (f"{rows}; what a user did in any other {periods.sort} has no part in this answer.",)
    whole = of_group(ApproxDP(said.epsilon, said.delta), times)
    price = f"({rounded_up(whole.epsilon)}, {rounded_up(whole.delta)})-DP" if whole.delta < 1 else "nothing"
    return (
        f"{rows}, and a user is one user in one {periods.sort}: who is in several counts once in each, in every bound "
        "and every number of users.",
        f"A whole user who is in m of these {times} {periods.sort}s is promised (m epsilon, delta (1 + e^epsilon + ... "
        f"+ e^((m-1) epsilon)))-DP, which for all {times} is {price}.",
    )


def _open(periods: Periods, now: datetime.datetime) -> tuple[str, ...]:
    """Which periods have not ended."""
    names = periods.open(now)
    if not names:
        return ()
    those = replace(periods, all=tuple(one for one in periods.all if one.name in names))
    have = "has" if len(names) == 1 else "have"
    return (f"{those.text} {have} not ended: rows that come later are not counted.",)


def not_ended(periods: Periods) -> set[str]:
    """Every sentence about periods that have not ended, whatever the clock shows."""
    moments = (periods.midnight(one.start, in_utc=True).replace(tzinfo=datetime.UTC) for one in periods.all)
    return {said for moment in moments for said in _open(periods, moment)}
