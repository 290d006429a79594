"""Check a release: its promise, and where a ledger is given its payment, in words and as JSON."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpselect.checking.balls import told
from dpselect.checking.finding import Finding, Verdict, worst
from dpselect.checking.numbers import UnfitError
from dpselect.checking.promise import promised
from dpselect.checking.reading import read

if TYPE_CHECKING:
    from dpselect.ledger import Ledger
    from dpselect.release.formatting import Json
    from dpselect.release.statement import Statement

LONGEST = 60  # characters of a unit
WORDS = {
    Verdict.FOLLOWS: "The promise {} follows from what the release says.",
    Verdict.STATED: "NOT CONFIRMED: the promise {} is stated, and the release does not say enough to recompute it.",
    Verdict.FAILS: "DOES NOT FOLLOW: the promise {} is more than the release bears out.",
}
PAID = {
    Verdict.FOLLOWS: "The ledger paid for it.",
    Verdict.STATED: "The ledger has it; what it cost cannot be recomputed in full.",
    Verdict.FAILS: "THE LEDGER DOES NOT BEAR IT OUT.",
}
NOT_CHECKED = (
    "not checked: how good the release says it is, its sentences, whether the data and the code were what they should "
    "be, and who wrote this file"
)


@dataclass(frozen=True)
class Check:
    """What was found: of the promise, and of the payment where a ledger was given."""

    promise: str
    findings: tuple[Finding, ...]
    payment: tuple[Finding, ...] | None = None

    @property
    def verdict(self) -> Verdict:
        """Does the promise follow from the parameters?"""
        return worst(self.findings)

    @property
    def paid(self) -> Verdict | None:
        """Did the ledger pay for exactly this release, and enough? None where no ledger was given."""
        return None if self.payment is None else worst(self.payment)

    def __str__(self) -> str:
        lines = [WORDS[self.verdict].format(self.promise), *_said(self.findings)]
        if self.payment is not None:
            lines += [PAID[worst(self.payment)], *_said(self.payment)]
        return "\n".join([*lines, NOT_CHECKED])

    def to_dict(self) -> dict[str, Json]:
        """JSON types only."""
        found: dict[str, Json] = {"promise": self.promise, "verdict": str(self.verdict)}
        found["findings"] = _rows(self.findings)
        if self.payment is not None:
            found |= {"paid": str(worst(self.payment)), "payment": _rows(self.payment)}
        return found | {"not_checked": NOT_CHECKED}


def check(release: str | os.PathLike[str], budget: str | os.PathLike[str] | Ledger | None = None) -> Check:
    """Check the file of a release, as `to_json` writes it: does its promise follow from the parameters that it states?

    The price is recomputed from the file alone, by code that shares nothing with what planned the answer. With a ledger
    as `budget` the release is looked for among its answers: that nothing in the chain was changed, who paid for it and
    when, and that it was charged no less than it costs. Raises DataError for a file that holds no release, LedgerError
    for a ledger that cannot be read.
    """
    found, findings = read(release)
    promise = _promise(found.privacy)
    findings += promised(found)
    if budget is None:
        return Check(promise, findings)
    from dpselect.checking.finding import fails
    from dpselect.checking.payment import paid
    from dpselect.ledger import Ledger

    try:
        if isinstance(budget, Ledger):
            return Check(promise, findings, paid(found, budget))
        with Ledger(budget) as ledger:
            return Check(promise, findings, paid(found, ledger))
    except UnfitError as error:
        return Check(promise, findings, (fails(f"{error}, so its cost cannot be recomputed"),))


def _promise(statement: Statement) -> str:
    """Its numbers, and whom it is about where that is not one user coming or going. The file may say anything there."""
    from dpselect.release import formatting

    unit, neighbors = formatting.text(statement.unit)[:LONGEST], str(statement.neighbors)
    whom = "" if unit == "user" else f" per {unit}"
    against = "" if neighbors == "add-remove" else f" against {neighbors} neighbours"
    return f"({told(statement.epsilon)}, {told(statement.delta)}){whom}{against}"


def _said(findings: tuple[Finding, ...]) -> list[str]:
    return [f"  {'' if one.verdict is Verdict.FOLLOWS else f'{one.verdict}: '}{one.sentence}" for one in findings]


def _rows(findings: tuple[Finding, ...]) -> list[Json]:
    return [{"verdict": str(one.verdict), "sentence": one.sentence} for one in findings]
