"""Check the promise of a release and, given a ledger, its payment; the result prints as text and converts to JSON."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dpselect._ground import json_text
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import check_keywords
from dpselect.checking.finding import Finding, Verdict, worst_verdict
from dpselect.checking.planned import check_promise
from dpselect.errors import DataError, ParameterError, came

if TYPE_CHECKING:
    from dpselect.ledger import Ledger
    from dpselect.release.formatting import Json
    from dpselect.release.release import Release
    from dpselect.release.statement import Statement


MAX_BYTES = 2**26
_NO_RELEASE = "the file holds no release, or a damaged one"
_NO_RELEASE_HINT = "Release.to_json and --format json make it"
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


def read_release(source: Release | str | os.PathLike[str]) -> tuple[Release, dict[str, Json]]:
    """Return the release and its JSON document, which a caller must compare too.

    A file may show people other numbers than the ones that programs parse, so the parsed release alone is not enough.

    Raises: DataError if the source holds no release, ParameterError if it is neither a release nor a path.
    """
    from dpselect.release.release import Release

    try:
        text = source.to_json() if isinstance(source, Release) else _read_text(source)
        document = json_text.parse_json(text)
    except (ParameterError, DataError):
        raise
    except ValueError:
        raise DataError(_NO_RELEASE, _NO_RELEASE_HINT) from None
    if not isinstance(document, dict):  # `from_json` would take a text that is no object for a path
        raise DataError(_NO_RELEASE, _NO_RELEASE_HINT)
    try:
        release = Release.from_json(text)
        release.to_dict()
    except (ParameterError, ArithmeticError, ValueError, TypeError, RecursionError):
        raise DataError(_NO_RELEASE, _NO_RELEASE_HINT) from None
    return release, document


def _read_text(source: str | os.PathLike[str]) -> str:
    if not isinstance(source, (str, os.PathLike)):
        raise ParameterError(
            "release", "be a Release, or the path of a file", came(source), "to_json(path) writes a release to one"
        )
    path = Path(source)
    try:
        if not path.is_file():
            raise DataError("there is no such file" if not path.exists() else "the release must be a file")
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise DataError(
                f"a release that is checked must have at most {MAX_BYTES >> 20} MiB, and this file has more"
            )
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise DataError(_NO_RELEASE, _NO_RELEASE_HINT) from None
    except (OSError, ValueError) as error:  # a path with a NUL is a ValueError
        raise DataError(f"the release cannot be read: {getattr(error, 'strerror', None) or 'no path'}") from None
