"""Entries, and the chain of digests that binds each to all before it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from dpselect.ledger.account import Account
from dpselect.ledger.charge import Charge, decimal


class Kind(StrEnum):
    """What an entry says happened."""

    GRANT = "grant"
    RESERVE = "reserve"
    SETTLE = "settle"
    REFUSED = "refused"
    REPEAT = "repeat"


@dataclass(frozen=True)
class Entry:
    """One line of the ledger, never changed once it is written.

    `charge` is, by kind: grant, the account's total from now on; reserve and refused, the most the question may
    cost; settle, what it cost; repeat, nothing. A settle refers to its reserve and holds the release; a repeat
    refers to the settle whose release was given again. `at` is information only and decides nothing.
    """

    number: int
    kind: Kind
    account: Account
    charge: Charge
    question: str | None
    refers_to: int | None
    release: str | None
    at: str
    previous: str
    digest: str


@dataclass(frozen=True)
class Reservation:
    """A right to ask one question that costs at most `ceiling`: the number of its entry, and whose it is."""

    number: int
    account: Account
    ceiling: Charge


@dataclass(frozen=True)
class Draft:
    """What an entry says, before it has a place in the chain."""

    kind: Kind
    account: Account
    charge: Charge
    question: str | None = None
    refers_to: int | None = None
    release: str | None = None


def chained(draft: Draft, number: int, previous: str) -> Entry:
    """The draft as the entry of that number, now."""
    at = now()
    says = (draft.kind, draft.account, draft.charge, draft.question, draft.refers_to, draft.release)
    return Entry(number, *says, at, previous, _digest(number, *says, at, previous))


def digest_of(entry: Entry) -> str:
    """The digest that the entry must have for what it says."""
    says = (entry.kind, entry.account, entry.charge, entry.question, entry.refers_to, entry.release)
    return _digest(entry.number, *says, entry.at, entry.previous)


def first_digest(ledger: str, born: int) -> str:
    """What the first entry follows: the ledger's id and the schema version it was made with."""
    return _sha256(["dpselect ledger", ledger, born])


def hash_of(question: str) -> str:
    """By what a question is found again."""
    return hashlib.sha256(question.encode()).hexdigest()


def now() -> str:
    """The clock, in UTC."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _digest(
    number: int,
    kind: Kind,
    account: Account,
    charge: Charge,
    question: str | None,
    refers_to: int | None,
    release: str | None,
    at: str,
    previous: str,
) -> str:
    amounts = (decimal(charge.epsilon), decimal(charge.delta))
    says = (number, str(kind), account.dataset, account.analyst, *amounts, question, refers_to, release, at)
    return _sha256([previous, *says])


def _sha256(fields: list[str | int | None]) -> str:
    """The digest of a JSON array: every field has one form, and none can run into the next."""
    return hashlib.sha256(json.dumps(fields, ensure_ascii=True, separators=(",", ":")).encode()).hexdigest()
