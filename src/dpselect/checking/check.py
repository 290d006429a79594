"""Check a release: its promise, and where a ledger is given its payment, in words and as JSON."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpselect._ground.parameters import check_keywords
from dpselect.checking.finding import Finding, Verdict, worst
from dpselect.checking.planned import promised
from dpselect.checking.reading import read

if TYPE_CHECKING:
    from dpselect.ledger import Ledger
    from dpselect.release.formatting import Json
    from dpselect.release.release import Release
    from dpselect.release.statement import Statement

LONGEST = 60  # characters of a unit
WORDS = {
    Verdict.FOLLOWS: "The promise {} follows from the question, which was planned again.",
    Verdict.STATED: "NOT CONFIRMED: the promise {} is stated, but the release does not contain its question.",
    Verdict.FAILS: "DOES NOT FOLLOW: the promise {}, or another field, differs from the plan of its question.",
}
PAID = {
    Verdict.FOLLOWS: "The ledger paid for it.",
    Verdict.STATED: "The ledger has it, but whether the charge is large enough is not known.",
    Verdict.FAILS: "THE LEDGER DOES NOT CONFIRM IT.",
}
NOT_CHECKED = (
    "not checked: the names of its items, its receipt, whether the data and the code were what they should be, and "
    "who wrote this file"
)


@dataclass(frozen=True)
class Check:
    """The result of `check`: of the promise, and of the payment if a ledger was given."""

    promise: str
    findings: tuple[Finding, ...]
    payment: tuple[Finding, ...] | None = None

    @property
    def verdict(self) -> Verdict:
        """Whether the release matches the plan of its question."""
        return worst(self.findings)

    @property
    def paid(self) -> Verdict | None:
        """Whether the ledger was charged enough for exactly this release. None if no ledger was given."""
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


@check_keywords
def check(release: Release | str | os.PathLike[str], budget: str | os.PathLike[str] | Ledger | None = None) -> Check:
    """Check whether a release is what the plan of its question says, and whether a ledger paid for it.

    The question in the release is planned again, at its price and without data, and compared with the release: price,
    parameters, accuracy, statement and form.

    Args:
        release: A release, or the path of the file that `to_json` wrote.
        budget: A ledger in which the release must be: the chain is unchanged, who paid for it and when, and that the
            charge is at least its cost.

    Raises: DataError if the file holds no release, LedgerError if the ledger cannot be read.
    """
    found, text = read(release)
    findings = promised(found, text)
    unpaid = Check(_promise(found.privacy), findings)
    if budget is None:
        return unpaid
    from dpselect.checking.payment import paid
    from dpselect.ledger import Ledger

    known = unpaid.verdict is Verdict.FOLLOWS
    if isinstance(budget, Ledger):
        return Check(unpaid.promise, findings, paid(found, budget, follows_from_it=known))
    with Ledger(budget) as ledger:
        return Check(unpaid.promise, findings, paid(found, ledger, follows_from_it=known))


def _promise(statement: Statement) -> str:
    """Its numbers, and whom it is about where that is not one user coming or going. The file may say anything there."""
    from dpselect.release import formatting

    price = ", ".join(formatting.price(one) for one in (statement.epsilon, statement.delta))
    unit, neighbors = formatting.text(statement.unit)[:LONGEST], str(statement.neighbors)
    whom = "" if unit == "user" else f" per {unit}"
    against = "" if neighbors == "add-remove" else f" against {neighbors} neighbours"
    return f"({price}){whom}{against}"


def _said(findings: tuple[Finding, ...]) -> list[str]:
    return [f"  {'' if one.verdict is Verdict.FOLLOWS else f'{one.verdict}: '}{one.sentence}" for one in findings]


def _rows(findings: tuple[Finding, ...]) -> list[Json]:
    return [{"verdict": str(one.verdict), "sentence": one.sentence} for one in findings]
