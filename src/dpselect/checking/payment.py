"""A release's place in a ledger: who paid for it, when, and whether that was enough."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from dpselect._ground.parameters import rounded_up
from dpselect.checking.finding import Finding, fails, follows, stated
from dpselect.checking.planned import question_of
from dpselect.ledger.charge import Ceiling
from dpselect.ledger.entry import EntryKind
from dpselect.release.archive import archive_release

if TYPE_CHECKING:
    from dpselect.ledger import Ledger
    from dpselect.ledger.entry import Entry
    from dpselect.release.release import Release


def paid(release: Release, ledger: Ledger, *, follows_from_it: bool) -> tuple[Finding, ...]:
    """Everything that was looked at in the ledger; what an answer costs is planned where its promise follows."""
    problems = ledger.verify()
    if problems:
        more = f", and {len(problems) - 1:,} more" if len(problems) > 1 else ""
        return (fails(f"the ledger is not clean: {problems[0]}{more}"),)
    places = list(_places(release, ledger))
    if not places:
        return (fails("the ledger is clean, and no question in it was answered with exactly this release"),)
    return (
        follows(f"the chain of {ledger.count:,} entries is whole; its head is {ledger.head}"),
        *(one for place in places for one in _payment(release, ledger, *place, priced=follows_from_it)),
    )


def _places(release: Release, ledger: Ledger) -> Iterator[tuple[Entry, Entry]]:
    """The question and its answer, wherever this release is the answer."""
    text, asked = archive_release(release), dict[int, "Entry"]()
    for entry in ledger.entries():
        if entry.kind is EntryKind.HOLD:
            asked[entry.number] = entry
        elif entry.kind in (EntryKind.SETTLE, EntryKind.RETURN):
            hold = asked.pop(entry.refers_to or 0, None)
            if hold is not None and entry.release == text:
                yield hold, entry


def _payment(release: Release, ledger: Ledger, hold: Entry, settle: Entry, *, priced: bool) -> Iterator[Finding]:
    whose = settle.account
    by = f"entry {settle.number:,}: {whose.analyst} paid for it from the account of {whose.dataset} on {settle.at}"
    question = question_of(release) if priced else None
    if question is None:
        yield stated(f"{by}; what it costs is not planned, since its promise does not follow")
        return
    cost = Ceiling.of(question[0].cost_at(release, ledger.data_account(whose.dataset).promise.order))
    for period, charge in settle.parts.items():
        amount = f"{by}, {charge}{f' in {period}' if period else ''}"
        if cost.whole.fits(charge) or cost.without_composition.fits(charge):
            yield follows(f"{amount}: no less than it costs")
        elif charge.epsilon >= cost.without_composition.epsilon and charge.delta >= cost.without_composition.delta:
            yield fails(f"{amount}, and a divergence below what it costs")
        else:
            yield fails(f"{amount}, and it costs {cost.whole}")
    asked = _asked(hold.question)
    if asked is not None and asked != release.privacy.epsilon:
        yield fails(f"the question of entry {hold.number:,} asked for epsilon {rounded_up(asked)}")


def _asked(question: str | None) -> Fraction | None:
    """The epsilon that a question names, where it does."""
    try:
        return Fraction(json.loads(question or "")["asked"]["epsilon"])
    except (ValueError, KeyError, TypeError, ZeroDivisionError):
        return None
