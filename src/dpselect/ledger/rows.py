"""Conversion of rows to entries and accounts, and back. Every cell is checked: a disk may have changed it."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from functools import lru_cache

from dpselect.ledger.account import ALL_ANALYSTS, Account
from dpselect.ledger.charge import Charge, format_decimal, parse_decimal
from dpselect.ledger.entry import LEDGER_KINDS, Entry, EntryKind, hash_question
from dpselect.ledger.port import Cell, Row
from dpselect.ledger.standing import DataAccount, Usage
from dpselect.ledger.terms import Chain, format_data_terms, parse_data_terms


class DamagedRowError(ValueError):
    """Error for a row that could never have been written."""


def parse_meta(row: Row) -> Chain:
    """Parse the one row of the table meta."""
    return Chain(_parse_text(row[1]), _parse_int(row[0]), _parse_int(row[2]), _parse_text(row[3]))


def parse_entry(row: Row) -> Entry:
    """Parse a row of the table entry, without checking its digest."""
    kind = _parse_kind(row[1])
    entry = Entry(
        number=_parse_int(row[0]),
        kind=kind,
        account=_parse_ledger_account(row[2], row[3]) if kind in LEDGER_KINDS else _parse_account(row[2], row[3]),
        charge=_parse_charge(row[4], row[5], row[13]),
        question=None if row[6] is None else _parse_text(row[6]),
        refers_to=None if row[7] is None else _parse_int(row[7]),
        release=None if row[8] is None else _parse_text(row[8]),
        at=_parse_text(row[9]),
        previous=_parse_text(row[10]),
        digest=_parse_text(row[11]),
        terms=None if row[14] is None else _parse_text(row[14]),
    )
    try:
        entry.check_terms()
    except ValueError:
        raise DamagedRowError("its terms are none") from None
    return entry


def parse_intact_entry(row: Row) -> Entry:
    """Parse a row of the table entry, and check its digest and the hash of its question."""
    entry = parse_entry(row)
    check_intact(entry, row)
    return entry


def check_intact(entry: Entry, row: Row) -> None:
    """Check the digest of an entry and the hash of its question, after `parse_entry` has parsed this row."""
    if not entry.is_intact:
        raise DamagedRowError("its contents do not match its digest")
    if row[12] != _question_hash(entry):
        raise DamagedRowError("the hash of its question does not match the question")


def entry_row(entry: Entry) -> list[Cell]:
    """Return the cells of an entry, in the order of `sql.ENTRY`."""
    names = (entry.account.dataset, entry.account.analyst)
    cells: list[Cell] = [entry.number, str(entry.kind), *names, *_format_amounts(entry.charge)[:2], entry.question]
    cells += [entry.refers_to, entry.release, entry.at, entry.previous, entry.digest, _question_hash(entry)]
    return [*cells, format_decimal(entry.charge.renyi), entry.terms]


@lru_cache(maxsize=256)  # a promise takes a while to compute
def parse_data_account(row: Row) -> DataAccount:
    """Parse a row of the table data."""
    _check_seal(row)
    try:
        return parse_data_terms(
            _parse_account(row[0], ALL_ANALYSTS).dataset, _parse_charge(row[1], row[2]), _parse_text(row[3])
        )
    except DamagedRowError:
        raise
    except ValueError:
        raise DamagedRowError("its terms are none") from None


def data_account_row(data: DataAccount) -> list[Cell]:
    """Return the cells of an account, in the order of `sql.DATA`."""
    return _with_seal(data.dataset, *_format_amounts(data.total)[:2], format_data_terms(data))


@lru_cache(maxsize=256)
def parse_quota(row: Row) -> tuple[Account, Charge]:
    """Parse a row of the table quota: the account, and what was granted in total."""
    _check_seal(row)
    return _parse_account(row[0], row[1]), _parse_charge(row[2], row[3])


def quota_row(account: Account, granted: Charge) -> list[Cell]:
    """Return the cells of a quota, in the order of `sql.QUOTA`."""
    return _with_seal(account.dataset, account.analyst, *_format_amounts(granted)[:2])


def parse_used(row: Row) -> tuple[Account, str, Usage]:
    """Parse a row of the table used: by whom, in which period, how much."""
    _check_seal(row)
    return (
        _parse_account(row[0], row[2]),
        _parse_text(row[1]),
        Usage(_parse_charge(*row[3:6]), _parse_charge(*row[6:9])),
    )


def used_row(account: Account, period: str, usage: Usage) -> list[Cell]:
    """Return the cells of a usage, in the order of `sql.USED`."""
    return _with_seal(
        account.dataset, period, account.analyst, *_format_amounts(usage.spent), *_format_amounts(usage.reserved)
    )


def _question_hash(entry: Entry) -> str | None:
    return None if entry.question is None else hash_question(entry.question)


def _with_seal(*cells: str) -> list[Cell]:
    return [*cells, _checksum(cells)]


def _check_seal(row: Row) -> None:
    if row[-1] != _checksum(row[:-1]):
        raise DamagedRowError("its contents do not match its seal")


def _checksum(cells: Row) -> str:
    """Return a checksum against a failing disk; against people there is the chain of entries."""
    return hashlib.sha256(json.dumps([str(cell) for cell in cells]).encode()).hexdigest()


def _format_amounts(charge: Charge) -> tuple[str, str, str]:
    return format_decimal(charge.epsilon), format_decimal(charge.delta), format_decimal(charge.renyi)


def _parse_int(cell: object) -> int:
    if type(cell) is not int:
        raise DamagedRowError("a number is not a number")
    return cell


def _parse_text(cell: object) -> str:
    if not isinstance(cell, str):
        raise DamagedRowError("a text is not a text")
    try:
        cell.encode()
    except UnicodeEncodeError:
        raise DamagedRowError("a text contains bytes that are not text") from None
    return cell


def _parse_kind(cell: object) -> EntryKind:
    try:
        return EntryKind(_parse_text(cell))
    except ValueError:
        raise DamagedRowError("its kind is unknown") from None


def _parse_account(dataset: object, analyst: object) -> Account:
    try:
        return Account.from_stored(_parse_text(dataset), _parse_text(analyst))
    except DamagedRowError:
        raise
    except ValueError:
        raise DamagedRowError("the name of its data set or analyst is not a name") from None


def _parse_ledger_account(dataset: object, analyst: object) -> Account:
    account = Account.for_ledger()
    if (dataset, analyst) != (account.dataset, account.analyst):
        raise DamagedRowError("it is about the ledger, and names a data set or an analyst")
    return account


def _parse_charge(epsilon: object, delta: object, renyi: object = None) -> Charge:
    return Charge(_parse_amount(epsilon), _parse_amount(delta), _parse_amount(epsilon if renyi is None else renyi))


def _parse_amount(cell: object) -> Fraction:
    try:
        return parse_decimal(_parse_text(cell))
    except ValueError:
        raise DamagedRowError("an amount is not an amount") from None
