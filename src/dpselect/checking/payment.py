"""Find a release in a ledger: who paid for it, when, and whether the charge covers its cost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from dpselect._ground.parameters import rounded_up
from dpselect.checking.finding import Finding, fails, follows, stated
from dpselect.checking.planned import parse_question
from dpselect.ledger import Ceiling, EntryKind
from dpselect.release.archive import archive_release

if TYPE_CHECKING:
    from dpselect.ledger import Entry, Ledger
    from dpselect.release.release import Release


def check_payment(release: Release, ledger: Ledger, *, promise_follows: bool) -> tuple[Finding, ...]:
    """Check the ledger's chain and every charge for this release.

    The cost is planned only if `promise_follows`; otherwise the findings say that it was not.
    """
    problems = ledger.verify()
    if problems:
        suffix = f", and {len(problems) - 1:,} more" if len(problems) > 1 else ""
        return (fails(f"the ledger is not clean: {problems[0]}{suffix}"),)
    payments = list(_find_payments(release, ledger))
    if not payments:
        return (fails("the ledger is clean, and no question in it was answered with exactly this release"),)
    return (
        follows(f"the chain of {ledger.count:,} entries is whole; its head is {ledger.head}"),
        *(
            finding
            for hold, settlement in payments
            for finding in _check_charge(release, ledger, hold, settlement, can_plan_cost=promise_follows)
        ),
    )


def _find_payments(release: Release, ledger: Ledger) -> Iterator[tuple[Entry, Entry]]:
    """Yield the hold and the settlement of each question that was answered with exactly this release."""
    archived_release = archive_release(release)
    open_holds: dict[int, Entry] = {}
    for entry in ledger.entries():
        if entry.kind is EntryKind.HOLD:
            open_holds[entry.number] = entry
        elif entry.kind in (EntryKind.SETTLE, EntryKind.RETURN):
            hold = open_holds.pop(entry.refers_to or 0, None)
            if hold is not None and entry.release == archived_release:
                yield hold, entry


def _check_charge(
    release: Release, ledger: Ledger, hold: Entry, settlement: Entry, *, can_plan_cost: bool
) -> Iterator[Finding]:
    account = settlement.account
    payment = (
        f"entry {settlement.number:,}: {account.analyst} paid for it from the account of {account.dataset} on "
        f"{settlement.at}"
    )
    question = parse_question(release) if can_plan_cost else None
    if question is None:
        yield stated(f"{payment}; what it costs is not planned, since its promise does not follow")
        return
    plan, _ = question
    cost = Ceiling.from_price(plan.cost_at(release, ledger.data_account(account.dataset).promise.order))
    for period, charge in settlement.parts.items():
        amount = f"{payment}, {charge}{f' in {period}' if period else ''}"
        if cost.whole.fits(charge) or cost.without_composition.fits(charge):
            yield follows(f"{amount}: no less than it costs")
        elif charge.epsilon >= cost.without_composition.epsilon and charge.delta >= cost.without_composition.delta:
            yield fails(f"{amount}, and a divergence below what it costs")
        else:
            yield fails(f"{amount}, and it costs {cost.whole}")
    requested_epsilon = _parse_requested_epsilon(hold.question)
    if requested_epsilon is not None and requested_epsilon != release.privacy.epsilon:
        yield fails(f"the question of entry {hold.number:,} asked for epsilon {rounded_up(requested_epsilon)}")


def _parse_requested_epsilon(question: str | None) -> Fraction | None:
    """Return the epsilon that a ledger's question asked for, or None if it names none."""
    try:
        return Fraction(json.loads(question or "")["asked"]["epsilon"])
    except (ValueError, KeyError, TypeError, ZeroDivisionError):
        return None
