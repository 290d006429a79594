"""Verification of a ledger from its first entry to its last, against itself and against a digest noted elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dpselect.audit.sums import Sums
from dpselect.errors import LedgerError
from dpselect.ledger import (
    Account,
    CacheRecord,
    Chain,
    Chains,
    DataAccount,
    Entry,
    EntryRecord,
    Ledger,
    Records,
    Usage,
    format_data_terms,
)

_MAX_LISTED_PROBLEMS = 100  # the others are only counted


def verify(ledger: Ledger, head: str | None) -> list[str]:
    """Return the problems of a ledger, one sentence each. A damaged ledger is never an error here."""
    problems: list[str] = []
    with ledger.records() as records:
        for part in (_store_problems(records), _table_problems(records, head)):
            try:
                for problem in part:
                    problems.append(problem)
            except LedgerError as error:
                problems.append(str(error).partition("\n")[0])
    unlisted = len(problems) - _MAX_LISTED_PROBLEMS
    return problems if unlisted <= 0 else [*problems[:_MAX_LISTED_PROBLEMS], f"and {unlisted} more problems"]


def _store_problems(records: Records) -> Iterator[str]:
    yield from records.store_problems()


def _table_problems(records: Records, head: str | None) -> Iterator[str]:
    with records.snapshot():
        yield from find_problems(records, head)


def find_problems(records: Records, head: str | None = None) -> Iterator[str]:
    """Yield the problems of all entries, in a transaction of the caller."""
    header = records.header()
    if header is None:
        yield "the ledger cannot be identified: its id, its version and its last entry are damaged"
    sums = Sums()
    walk = _ChainWalk(header, head)
    for record in records.entries():
        yield from walk.problems(record, sums)
    yield from walk.problems_at_the_end()
    yield from _cache_problems("the account", records.data_accounts(), sums.data)
    yield from _cache_problems("the quota", records.quotas(), sums.granted)
    yield from _cache_problems("what is used", records.usages(), sums.used)


class _ChainWalk:
    """A walk along the chain, which knows what the next entry must be numbered and follow."""

    def __init__(self, header: Chain | None, head: str | None) -> None:
        self._header = header
        self._number = 0
        self._chains = None if header is None else Chains(header)
        self._digest = None if self._chains is None else self._chains.head
        self._noted_head = head
        self._is_noted_head_found = head is None or head == self._digest

    def problems(self, record: EntryRecord, sums: Sums) -> Iterator[str]:
        """Yield what is wrong with the next entry, by itself and after the earlier ones."""
        number = self._number + 1 if record.number is None else record.number
        if number != self._number + 1:
            yield f"entries are missing: {number} follows {self._number}"
        self._number = number
        if record.entry is None:
            yield f"entry {number} is damaged: {record.problem}"
            self._digest, self._chains = record.digest, None
            return
        yield from self._problems_of_the_chain(record.entry, record.problem)
        yield from (f"entry {number} {problem}" for problem in sums.problems(record.entry))

    def _problems_of_the_chain(self, entry: Entry, own_problem: str | None) -> Iterator[str]:
        if self._digest is not None and entry.previous != self._digest:
            yield f"entry {entry.number} does not follow the entry before it: its previous digest is another"
        if own_problem is not None:
            yield f"entry {entry.number} was changed: {own_problem}"
        self._digest = entry.digest
        if self._noted_head == entry.digest and entry.is_intact:
            self._is_noted_head_found = True
        if self._chains is not None:
            yield from (f"entry {entry.number} {problem}" for problem in self._chains.problems(entry))
            if self._noted_head is not None and self._chains.is_former_head(self._noted_head, entry):
                self._is_noted_head_found = True

    def problems_at_the_end(self) -> Iterator[str]:
        """Check that the last entry is the one on record, and that the noted head was found."""
        header = self._header
        if header is not None and (header.entries, header.head) != (self._number, self._digest):
            yield (
                f"the last entry is not the one on record: "
                f"it has {self._number} entries and the record says {header.entries}"
                + ("" if header.entries != self._number else " too, but the digests differ")
            )
        if self._chains is not None:
            yield from self._chains.problems_at_the_end()
        if not self._is_noted_head_found:
            yield "no entry has the digest that was noted: the ledger was rewritten or restored from an earlier copy"


def _cache_problems(subject: str, records: Iterable[CacheRecord], expected: Mapping[Any, object]) -> Iterator[str]:
    """Compare a table, which is a cache, with what the entries add up to."""
    found_keys = set()
    for record in records:
        if record.problem is not None:
            yield f"{subject} of {record.name!r} is damaged: {record.problem}"
            continue
        found_keys.add(record.key)
        if record.value != expected.get(record.key):
            value, sums_to = _format_value(record.value), _format_value(expected.get(record.key))
            yield f"{subject} of {_format_key(record.key)} is {value}, its entries add up to {sums_to}"
    yield from (f"{subject} of {_format_key(key)} is missing or damaged" for key in expected if key not in found_keys)


def _format_key(key: object) -> str:
    match key:
        case (Account() as account, str(period)):
            return f"{account} in {period}" if period else str(account)
        case _:
            return str(key) if isinstance(key, Account) else repr(key)


def _format_value(value: object) -> str:
    match value:
        case Usage():
            return f"{value.spent} spent and {value.reserved} reserved"
        case DataAccount():
            return f"{value.total}, {format_data_terms(value)}"
        case _:
            return "nothing" if value is None else str(value)
