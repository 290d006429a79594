"""Check the promise of a release and, given a ledger, its payment; the result prints as text and converts to JSON."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpselect._ground.parameters import check_keywords
from dpselect.checking.finding import Finding, Verdict, worst_verdict
from dpselect.checking.planned import check_promise
from dpselect.checking.reading import read_release

if TYPE_CHECKING:
    from dpselect.ledger import Ledger
    from dpselect.release.formatting import Json
    from dpselect.release.release import Release
    from dpselect.release.statement import Statement

_MAX_UNIT_LENGTH = 60  # characters of a unit of privacy, which an untrusted file may make any length
_PROMISE_LINES = {
    Verdict.FOLLOWS: "The promise {} follows from the question, which was planned again.",
    Verdict.STATED: "NOT CONFIRMED: the promise {} is stated, but the release does not contain its question.",
    Verdict.FAILS: "DOES NOT FOLLOW: the promise {}, or another field, differs from the plan of its question.",
}
_PAYMENT_LINES = {
    Verdict.FOLLOWS: "The ledger paid for it.",
    Verdict.STATED: "The ledger has it, but whether the charge is large enough is not known.",
    Verdict.FAILS: "THE LEDGER DOES NOT CONFIRM IT.",
}
_NOT_CHECKED = (
    "not checked: the names of its items, its receipt, whether the data and the code were what they should be, and "
    "who wrote this file"
)


@dataclass(frozen=True)
class Check:
    """The result of `check`: findings on the promise, and on the payment if a ledger was given."""

    promise: str
    findings: tuple[Finding, ...]
    payment: tuple[Finding, ...] | None = None

    @property
    def verdict(self) -> Verdict:
        """Verdict on the promise: does the release match the plan of its question?"""
        return worst_verdict(self.findings)

    @property
    def paid(self) -> Verdict | None:
        """Verdict on the payment: did the ledger charge enough for exactly this release? None without a ledger."""
        return None if self.payment is None else worst_verdict(self.payment)

    def __str__(self) -> str:
        lines = [_PROMISE_LINES[self.verdict].format(self.promise), *_format_findings(self.findings)]
        if self.payment is not None:
            lines += [_PAYMENT_LINES[worst_verdict(self.payment)], *_format_findings(self.payment)]
        return "\n".join([*lines, _NOT_CHECKED])

    def to_dict(self) -> dict[str, Json]:
        """Return the verdicts and all findings as a JSON-serializable dict."""
        document: dict[str, Json] = {"promise": self.promise, "verdict": str(self.verdict)}
        document["findings"] = _findings_to_json(self.findings)
        if self.payment is not None:
            document |= {"paid": str(worst_verdict(self.payment)), "payment": _findings_to_json(self.payment)}
        return document | {"not_checked": _NOT_CHECKED}


@check_keywords
def check(release: Release | str | os.PathLike[str], budget: str | os.PathLike[str] | Ledger | None = None) -> Check:
    """Check whether a release matches the plan of its question, and whether a ledger paid for it.

    The question in the release is planned again, at its price and without data, and compared with the release: price,
    parameters, accuracy, statement and form.

    Args:
        release: A release, or the path of a file that `to_json` wrote.
        budget: A ledger that should contain the release. Its chain is verified, and the charge must cover the cost;
            the findings name who paid and when.

    Raises: DataError if the file holds no release, LedgerError if the ledger cannot be read.
    """
    parsed_release, document = read_release(release)
    findings = check_promise(parsed_release, document)
    promise_only = Check(_format_promise(parsed_release.privacy), findings)
    if budget is None:
        return promise_only
    from dpselect.checking.payment import check_payment
    from dpselect.ledger import Ledger

    promise_follows = promise_only.verdict is Verdict.FOLLOWS
    if isinstance(budget, Ledger):
        return replace(promise_only, payment=check_payment(parsed_release, budget, promise_follows=promise_follows))
    with Ledger(budget) as ledger:
        return replace(promise_only, payment=check_payment(parsed_release, ledger, promise_follows=promise_follows))


def _format_promise(statement: Statement) -> str:
    """Format epsilon, delta, and the unit and neighbours where they differ from the defaults.

    The statement may come from an untrusted file.
    """
    from dpselect.release import formatting

    amounts = ", ".join(formatting.price(amount) for amount in (statement.epsilon, statement.delta))
    unit, neighbors = formatting.text(statement.unit)[:_MAX_UNIT_LENGTH], str(statement.neighbors)
    per_unit = "" if unit == "user" else f" per {unit}"
    against = "" if neighbors == "add-remove" else f" against {neighbors} neighbours"
    return f"({amounts}){per_unit}{against}"


def _format_findings(findings: tuple[Finding, ...]) -> list[str]:
    return [
        f"  {'' if finding.verdict is Verdict.FOLLOWS else f'{finding.verdict}: '}{finding.sentence}"
        for finding in findings
    ]


def _findings_to_json(findings: tuple[Finding, ...]) -> list[Json]:
    return [{"verdict": str(finding.verdict), "sentence": finding.sentence} for finding in findings]
