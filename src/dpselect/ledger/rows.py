"""Rows of the tables become entries and balances, and back. Every cell is checked: a disk may have changed it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction

from dpselect.ledger.account import Account, Balance
from dpselect.ledger.charge import Charge, decimal, undecimal
from dpselect.ledger.entry import Entry, Kind, digest_of, hash_of
from dpselect.ledger.port import Cell, Row


class DamagedRowError(ValueError):
    """A row does not say what a row of its table can say."""


@dataclass(frozen=True)
class Meta:
    """What the ledger says of itself: schema versions now and at its birth, its id, and its last entry."""

    version: int
    born: int
    ledger: str
    entries: int
    head: str


def meta_from(row: Row) -> Meta:
    """The one row of the table meta."""
    return Meta(_whole(row[0]), _whole(row[1]), _text(row[2]), _whole(row[3]), _text(row[4]))


def entry_from(row: Row) -> Entry:
    """A row of the table entry; its digest is not looked at."""
    return Entry(
        number=_whole(row[0]),
        kind=_kind(row[1]),
        account=_account(row[2], row[3]),
        charge=_charge(row[4], row[5]),
        question=None if row[6] is None else _text(row[6]),
        refers_to=None if row[7] is None else _whole(row[7]),
        release=None if row[8] is None else _text(row[8]),
        at=_text(row[9]),
        previous=_text(row[10]),
        digest=_text(row[11]),
    )


def intact_entry_from(row: Row) -> Entry:
    """A row of the table entry whose digest and question hash are those of what it says."""
    entry = entry_from(row)
    if digest_of(entry) != entry.digest:
        raise DamagedRowError("what it says does not match its digest")
    if row[12] != _question_hash(entry):
        raise DamagedRowError("the hash of its question does not match the question")
    return entry


def entry_row(entry: Entry) -> list[Cell]:
    """The cells of an entry, in the order of `sql.ENTRY`."""
    whose = (entry.account.dataset, entry.account.analyst)
    says: list[Cell] = [entry.number, str(entry.kind), *whose, *_amounts(entry.charge), entry.question]
    return [*says, entry.refers_to, entry.release, entry.at, entry.previous, entry.digest, _question_hash(entry)]


def balance_from(row: Row) -> Balance:
    """A row of the table balance whose seal is that of what it says."""
    if row[8] != _seal(row[:8]):
        raise DamagedRowError("its amounts do not match their seal")
    charges = (_charge(row[2], row[3]), _charge(row[4], row[5]), _charge(row[6], row[7]))
    return Balance(_account(row[0], row[1]), *charges)


def balance_row(balance: Balance) -> list[Cell]:
    """The cells of a balance, in the order of `sql.BALANCE`."""
    amounts = (*_amounts(balance.granted), *_amounts(balance.spent), *_amounts(balance.reserved))
    cells = (balance.account.dataset, balance.account.analyst, *amounts)
    return [*cells, _seal(cells)]


def _question_hash(entry: Entry) -> str | None:
    return None if entry.question is None else hash_of(entry.question)


def _seal(cells: Row) -> str:
    """A checksum against a failing disk; against a person there is the chain of entries."""
    return hashlib.sha256(json.dumps([str(cell) for cell in cells]).encode()).hexdigest()


def _amounts(charge: Charge) -> tuple[str, str]:
    return decimal(charge.epsilon), decimal(charge.delta)


def _whole(cell: object) -> int:
    if type(cell) is not int:
        raise DamagedRowError("a number is no number")
    return cell


def _text(cell: object) -> str:
    if not isinstance(cell, str):
        raise DamagedRowError("a text is no text")
    try:
        cell.encode()
    except UnicodeEncodeError:
        raise DamagedRowError("a text holds bytes that are no text") from None
    return cell


def _kind(cell: object) -> Kind:
    try:
        return Kind(_text(cell))
    except ValueError:
        raise DamagedRowError("its kind is none that is known") from None


def _account(dataset: object, analyst: object) -> Account:
    try:
        return Account.kept(_text(dataset), _text(analyst))
    except DamagedRowError:
        raise
    except ValueError:
        raise DamagedRowError("the name of its data set or analyst is no name") from None


def _charge(epsilon: object, delta: object) -> Charge:
    return Charge(_amount(epsilon), _amount(delta))


def _amount(cell: object) -> Fraction:
    try:
        return undecimal(_text(cell))
    except ValueError:
        raise DamagedRowError("an amount is no amount") from None
