"""Entries of a ledger, and the chain of digests that binds each to all earlier ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import field
from datetime import UTC, datetime
from enum import StrEnum
from typing import NoReturn, SupportsIndex

from dpselect._ground.dataclass import dataclass
from dpselect._ground.processes import process_identity, refuse_copy
from dpselect.ledger.account import ALL_ANALYSTS, ALWAYS, Account
from dpselect.ledger.charge import Charge, format_decimal
from dpselect.ledger.standing import DataAccount
from dpselect.ledger.terms import Chain, parse_chain, parse_data_terms, parse_granter, parse_parts


class EntryKind(StrEnum):
    """The event that an entry records."""

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


LEDGER_KINDS = frozenset((EntryKind.CONTINUES, EntryKind.OPENED, EntryKind.CLOSED))


@dataclass(frozen=True)
class Entry:
    """A line of the ledger, never changed once it is written.

    `charge` is, by kind: data and grant, the total from now on; hold and refused, the most the question may cost;
    settle, what it cost; the others, nothing. A read records that rows may be read from now on, a return that none was;
    both refer to their hold, as does a settle, which has the release. A repeat refers to the settle whose release was
    given again. `terms` has the rest: of data the promise; of a grant who granted it; of a question its price in each
    period, if the data have periods, and who approved it. `at` is for information, and decides nothing.

    Three kinds are about the ledger itself, and their `terms` name another chain: continues, the first entry, names the
    ledger that the entries after it were carried over from; opened, how that ledger ended; closed, the last entry, the
    ledger that continues this one.
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
        """The charge of each period; data without periods have one, ALWAYS."""
        is_question = self.kind not in (EntryKind.DATA, EntryKind.GRANT, *LEDGER_KINDS)
        return parse_parts(self.terms) if is_question and self.terms is not None else {ALWAYS: self.charge}

    @property
    def by(self) -> str | None:
        """The person who granted a quota or approved a question, if named; nobody checked the name."""
        return None if self.terms is None or self.kind is EntryKind.DATA else parse_granter(self.terms)

    @property
    def data_account(self) -> DataAccount:
        """The account of data from now on, of an entry that promises it."""
        return parse_data_terms(self.account.dataset, self.charge, self.terms or "")

    @property
    def chain(self) -> Chain | None:
        """The other chain that an entry about the ledger itself names."""
        return parse_chain(self.terms) if self.kind in LEDGER_KINDS else None

    @property
    def is_intact(self) -> bool:
        """True if the contents are those of the digest."""
        return compute_digest(self) == self.digest

    def check_terms(self) -> None:
        """Raise ValueError if an entry of this kind is never written with these terms, or for this account."""
        if self.kind in LEDGER_KINDS:
            parse_chain(self.terms)
            return
        if self.kind is EntryKind.DATA:
            parse_data_terms(self.account.dataset, self.charge, self.terms or "")
            return
        if self.account.analyst == ALL_ANALYSTS:
            raise ValueError("nobody")
        if self.terms is not None:
            by = parse_granter(self.terms)
            if by is None if self.kind is EntryKind.GRANT else not parse_parts(self.terms):
                raise ValueError("no terms")


@dataclass(frozen=True)
class Reservation:
    """A right to ask one question that costs at most `parts` in each period: the hold and its account.

    It belongs to the process that made it: a forked child that settled it would free what its parent still spends.
    """

    number: int
    account: Account
    parts: Mapping[str, Charge]
    digest: str
    home: tuple[int, int] = field(default_factory=process_identity, init=False, repr=False, compare=False)

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        refuse_copy(self, protocol)

    @staticmethod
    def from_hold(entry: Entry) -> Reservation:
        """Return the reservation that a hold records."""
        return Reservation(entry.number, entry.account, entry.parts, entry.digest)

    @property
    def ceiling(self) -> Charge:
        """The highest cost in any period."""
        return largest_charge(self.parts.values())


@dataclass(frozen=True)
class Pending:
    """A reservation that is not settled: of a running question, or of one that died."""

    entry: Entry
    may_have_read: bool


@dataclass(frozen=True)
class ReservationOutcome:
    """The outcome of a reservation: settled, given back, or still open."""

    reservation: Pending
    settle: Entry | None
    given_back: bool


@dataclass(frozen=True)
class Draft:
    """The contents of an entry before it has a position in the chain."""

    kind: EntryKind
    account: Account
    charge: Charge
    question: str | None = None
    refers_to: int | None = None
    release: str | None = None
    terms: str | None = None


def chain_entry(draft: Draft | Entry, number: int, previous: str, time: str | None = None) -> Entry:
    """Return the draft as the entry of this number, at this time or now."""
    time = now() if time is None else time
    fields = (draft.kind, draft.account, draft.charge, draft.question, draft.refers_to, draft.release)
    return Entry(number, *fields, time, previous, _digest(number, draft, time, previous), draft.terms)


def compute_digest(entry: Entry) -> str:
    """Return the digest that an entry with these contents must have."""
    return _digest(entry.number, entry, entry.at, entry.previous)


def genesis_digest(ledger: str, version: int) -> str:
    """Return the digest that the first entry follows: of the ledger's id and the form of its tables."""
    return _sha256(["dpselect ledger", ledger, version])


def hash_question(question: str) -> str:
    """Return the hash by which a question is found again."""
    return hashlib.sha256(question.encode()).hexdigest()


def now() -> str:
    """Return the time in UTC."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _digest(number: int, entry: Draft | Entry, time: str, previous: str) -> str:
    account, charge = entry.account, entry.charge
    identity = (
        str(entry.kind),
        account.dataset,
        account.analyst,
        format_decimal(charge.epsilon),
        format_decimal(charge.delta),
    )
    contents = (entry.question, entry.refers_to, entry.release, format_decimal(charge.renyi), entry.terms)
    return _sha256([previous, number, *identity, *contents, time])


def largest_charge(charges: Iterable[Charge]) -> Charge:
    """Return the maximum of charges, in each currency."""
    amounts = list(charges)
    return Charge(max(c.epsilon for c in amounts), max(c.delta for c in amounts), max(c.renyi for c in amounts))


def _sha256(fields: list[str | int | None]) -> str:
    """Return the digest of a JSON array: each field has one form, and none can run into the next."""
    return hashlib.sha256(json.dumps(fields, ensure_ascii=True, separators=(",", ":")).encode()).hexdigest()
