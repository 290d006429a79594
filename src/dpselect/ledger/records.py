"""All records of a ledger that may be damaged: each as a value, or what is wrong with it. For checks of the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from dpselect._ground.dataclass import dataclass
from dpselect.ledger import sql
from dpselect.ledger.entry import Entry
from dpselect.ledger.port import Row, Store
from dpselect.ledger.rows import (
    DamagedRowError,
    check_intact,
    parse_data_account,
    parse_entry,
    parse_meta,
    parse_quota,
    parse_used,
)
from dpselect.ledger.terms import Chain


@dataclass(frozen=True)
class EntryRecord:
    """An entry as it lies in the store: None if it cannot be read, and what is wrong with it by itself."""

    number: int | None
    digest: str | None
    entry: Entry | None
    problem: str | None


@dataclass(frozen=True)
class CacheRecord:
    """A row of a table of sums: for whom and how much, or what is wrong with it."""

    name: object
    key: object = None
    value: object = None
    problem: str | None = None


class Records:
    """Reader of every record of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def store_problems(self) -> list[str]:
        """Return the damage that the store itself finds."""
        return self._store.problems()

    def snapshot(self) -> AbstractContextManager[None]:
        """Open a transaction that sees one moment."""
        return self._store.snapshot()

    def header(self) -> Chain | None:
        """Return the header of the ledger; None if it is damaged."""
        try:
            return parse_meta(self._store.run(sql.META)[0])
        except (DamagedRowError, IndexError):
            return None

    def entries(self) -> Iterator[EntryRecord]:
        """Yield every entry by number, up to one whose number is damaged."""
        last_number = 0
        while rows := self._store.run(sql.ENTRIES, (last_number,)):
            yield from map(_entry_record, rows)
            number = rows[-1][0]
            if not isinstance(number, int) or number <= last_number:
                return
            last_number = number

    def data_accounts(self) -> Iterator[CacheRecord]:
        """Yield the account of each data set, by its name."""
        return self._caches(sql.ALL_DATA, lambda row: ((data := parse_data_account(row)).dataset, data))

    def quotas(self) -> Iterator[CacheRecord]:
        """Yield what each analyst was granted, by account."""
        return self._caches(sql.QUOTAS, parse_quota)

    def usages(self) -> Iterator[CacheRecord]:
        """Yield what was used, by account and period."""
        return self._caches(sql.ALL_USED, lambda row: ((usage := parse_used(row))[:2], usage[2]))

    def _caches(self, statement: str, parse: Callable[[Row], tuple[object, object]]) -> Iterator[CacheRecord]:
        for row in self._store.run(statement):
            try:
                yield CacheRecord(row[0], *parse(row))
            except DamagedRowError as error:
                yield CacheRecord(row[0], problem=str(error))


def _entry_record(row: Row) -> EntryRecord:
    number, digest = (row[0] if isinstance(row[0], int) else None), (row[11] if isinstance(row[11], str) else None)
    try:
        entry = parse_entry(row)
    except DamagedRowError as error:
        return EntryRecord(number, digest, None, str(error))
    try:
        check_intact(entry, row)
    except DamagedRowError as error:
        return EntryRecord(number, digest, entry, str(error))
    return EntryRecord(number, digest, entry, None)
