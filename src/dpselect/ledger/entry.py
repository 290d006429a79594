"""Entries, and the chain of digests that binds each to all before it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import NoReturn, SupportsIndex

from dpselect._ground.processes import process_identity, refuse_copy
from dpselect.ledger.account import ALWAYS, Account
from dpselect.ledger.charge import Charge, decimal, undecimal


class EntryKind(StrEnum):
    """What an entry says happened."""

    DATA = "data"
    GRANT = "grant"
    HOLD = "hold"
    READ = "read"
    SETTLE = "settle"
    RETURN = "return"
    REFUSED = "refused"
    REPEAT = "repeat"
    CONTINUES = "continues"
    OPENED = "opened"
    CLOSED = "closed"


OF_THE_LEDGER = frozenset((EntryKind.CONTINUES, EntryKind.OPENED, EntryKind.CLOSED))


@dataclass(frozen=True)
class Entry:
    """One line of the ledger, never changed once it is written.

    `charge` is, by kind: data and grant, the total from now on; hold and refused, the most the question may cost;
    settle, what it cost; the others, nothing. A read says that rows may be read from now on, a return that none was;
    both refer to their hold, as does a settle, which has the release. A repeat refers to the settle whose release was
    given again. `terms` says the rest: of data what is promised; of a grant who granted it; of a question its price in
    each period where there are some, and who approved it. `at` is information only and decides nothing.

    Three are about the ledger itself, and `terms` names the other chain: continues, the first, which ledger the entries
    after it were carried over from; opened, how that one ended; closed, the last, in which ledger it goes on.
    """

    number: int
    kind: EntryKind
    account: Account
    charge: Charge
    question: str | None
    refers_to: int | None
    release: str | None
    at: str
    previous: str
    digest: str
    terms: str | None = None

    @property
    def parts(self) -> Mapping[str, Charge]:
        """What is charged in each period; data without periods have one that is always."""
        of_question = self.kind not in (EntryKind.DATA, EntryKind.GRANT, *OF_THE_LEDGER)
        return parts_from(self.terms) if of_question and self.terms is not None else {ALWAYS: self.charge}

    @property
    def by(self) -> str | None:
        """Who granted a quota, or approved a question, where that was said; nobody checked it."""
        return None if self.terms is None or self.kind is EntryKind.DATA else by_from(self.terms)


@dataclass(frozen=True)
class Reservation:
    """A right to ask one question that costs at most this in each period: the entry that holds it, and whose it is.

    It belongs to the process that made it. A forked child that settled it would free what its parent still spends.
    """

    number: int
    account: Account
    parts: Mapping[str, Charge]
    digest: str
    home: tuple[int, int] = field(default_factory=process_identity, init=False, repr=False, compare=False)

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        refuse_copy(self, protocol)

    @staticmethod
    def of(entry: Entry) -> Reservation:
        """What a hold sets aside."""
        return Reservation(entry.number, entry.account, entry.parts, entry.digest)

    @property
    def ceiling(self) -> Charge:
        """What it may cost at most in any period."""
        return largest(self.parts.values())


@dataclass(frozen=True)
class Pending:
    """A reservation that nobody has settled: of a question at work, or of one that died."""

    entry: Entry
    may_have_read: bool


@dataclass(frozen=True)
class Outcome:
    """What became of a reservation: settled, given back, or still open."""

    held: Pending
    settle: Entry | None
    given_back: bool


@dataclass(frozen=True)
class Draft:
    """What an entry says, before it has a place in the chain."""

    kind: EntryKind
    account: Account
    charge: Charge
    question: str | None = None
    refers_to: int | None = None
    release: str | None = None
    terms: str | None = None


def chained(draft: Draft | Entry, number: int, previous: str, at: str | None = None) -> Entry:
    """The draft as the entry of that number, now if no other time is given."""
    at = now() if at is None else at
    says = (draft.kind, draft.account, draft.charge, draft.question, draft.refers_to, draft.release)
    return Entry(number, *says, at, previous, _digest(number, draft, at, previous), draft.terms)


def digest_of(entry: Entry) -> str:
    """The digest that the entry must have for what it says."""
    return _digest(entry.number, entry, entry.at, entry.previous)


def first_digest(ledger: str, version: int) -> str:
    """What the first entry follows: the ledger's id and the form of its tables."""
    return _sha256(["dpselect ledger", ledger, version])


def hash_of(question: str) -> str:
    """By what a question is found again."""
    return hashlib.sha256(question.encode()).hexdigest()


def now() -> str:
    """The clock, in UTC."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _digest(number: int, said: Draft | Entry, at: str, previous: str) -> str:
    account, charge = said.account, said.charge
    says = (str(said.kind), account.dataset, account.analyst, decimal(charge.epsilon), decimal(charge.delta))
    asked = (said.question, said.refers_to, said.release, decimal(charge.renyi), said.terms)
    return _sha256([previous, number, *says, *asked, at])


def largest(charges: Iterable[Charge]) -> Charge:
    """In each currency."""
    found = list(charges)
    return Charge(max(c.epsilon for c in found), max(c.delta for c in found), max(c.renyi for c in found))


def parts_text(parts: Mapping[str, Charge], by: str | None = None) -> str | None:
    """The parts of a question in periods, and who approved it; None for data without periods if nobody did."""
    if list(parts) == [ALWAYS] and by is None:
        return None
    rows = [[period, *map(decimal, (c.epsilon, c.delta, c.renyi))] for period, c in sorted(parts.items())]
    return json.dumps({"parts": rows} | ({} if by is None else {"by": by}), separators=(",", ":"))


def by_text(by: str | None) -> str | None:
    """Return the terms of a grant."""
    return None if by is None else json.dumps({"by": by}, separators=(",", ":"))


def by_from(text: str) -> str | None:
    """Return who granted or approved by these terms; ValueError if they are none."""
    try:
        by = json.loads(text).get("by")
    except AttributeError:
        raise ValueError("no terms") from None
    if not isinstance(by, (str, type(None))):
        raise ValueError("nobody")
    return by


def parts_from(text: str) -> Mapping[str, Charge]:
    """What `parts_text` wrote; ValueError for anything else."""
    try:
        rows = json.loads(text)["parts"]
        return {period: Charge(*map(undecimal, (e, d, r))) for period, e, d, r in rows}
    except (TypeError, KeyError):
        raise ValueError("no parts") from None


def _sha256(fields: list[str | int | None]) -> str:
    """The digest of a JSON array: every field has one form, and none can run into the next."""
    return hashlib.sha256(json.dumps(fields, ensure_ascii=True, separators=(",", ":")).encode()).hexdigest()
