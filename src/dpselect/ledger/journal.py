"""What one transaction reads and writes: the end of the chain, how accounts stand, the next entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from dpselect._ground.parameters import suggest
from dpselect.errors import LedgerError
from dpselect.ledger import sql
from dpselect.ledger.account import ALWAYS, EVERYBODY, Account, Balance
from dpselect.ledger.chains import Chain, chain_from
from dpselect.ledger.charge import Charge
from dpselect.ledger.entry import Draft, Entry, EntryKind, Pending, chained, hash_of
from dpselect.ledger.port import Row, Store
from dpselect.ledger.rows import (
    DamagedRowError,
    Meta,
    data_account_from,
    data_account_row,
    entry_from,
    entry_row,
    intact_entry_from,
    meta_from,
    quota_from,
    quota_row,
    used_from,
    used_row,
)
from dpselect.ledger.standing import DataAccount, Standing, Used

T = TypeVar("T")
_FOUND_OUT = "run `dpselect ledger verify`, then take it from a backup"


class Journal:
    """The tables of one store, in our own words."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def meta(self) -> Meta:
        """What the ledger says of itself."""
        rows = self._store.run(sql.META)
        return self._parsed("its header", meta_from, rows[0] if rows else ())

    def end(self) -> Meta:
        """The same, for a writer: its last entry must be the one that is really there, and another may follow."""
        rows = self._store.run(sql.END)
        meta = self._parsed("its header", meta_from, rows[0] if rows else ())
        if (rows[0][4:6] if rows[0][4] is not None else (0, meta.head)) != (meta.entries, meta.head):
            raise self._damaged("its last entries are missing or foreign")
        if rows[0][6] == EntryKind.CLOSED:
            other = self.continued_in(meta)
            whose = "another" if other is None else other.ledger
            raise LedgerError(
                f"the ledger at {self._store.place} is closed: ledger {whose} continues it",
                "name that ledger instead; this one can still be read",
            )
        return meta

    def open_end(self) -> Meta:
        """The same, of a ledger in whose form this program writes."""
        meta = self.end()
        if meta.version != sql.FORM:
            place, form = self._store.place, meta.version
            raise LedgerError(
                f"the ledger at {place} has format {form}, but this dpselect writes format {sql.FORM}", sql.UPGRADE
            )
        return meta

    def continued_in(self, meta: Meta) -> Chain | None:
        """The ledger that continues this one, as far as it went then; None where this one is open."""
        last = self.entry(meta.entries)
        return chain_from(last.terms) if last is not None and last.kind is EntryKind.CLOSED else None

    def continued_from(self) -> Chain | None:
        """The ledger that this one continues, as far as that went then; None where it continues none."""
        first = self.entry(1)
        return chain_from(first.terms) if first is not None and first.kind is EntryKind.CONTINUES else None

    def append(self, end: Meta, draft: Draft) -> Entry:
        """Write the next entry. What it leads to is for the caller to write, in the same transaction."""
        entry = chained(draft, end.entries + 1, end.head)
        self.write(entry)
        return entry

    def write(self, entry: Entry) -> None:
        """Write an entry that has its place, as the last one."""
        self._store.run(sql.NEW_ENTRY, entry_row(entry))
        self._store.run(sql.SET_HEAD, (entry.number, entry.digest))

    # ---- the data, and what is promised about them ----------------------------------------------------------

    def find_data(self, dataset: str) -> DataAccount | None:
        """What is promised about the data; None where nothing is."""
        rows = self._store.run(sql.ONE_DATA, (dataset,))
        return self._promised(dataset, rows[0]) if rows else None

    def _promised(self, dataset: str, row: Row) -> DataAccount:
        data = self._parsed(f"the account of {dataset!r}", data_account_from, row)
        if data.dataset != dataset:
            raise self._damaged(f"the account of {dataset!r} is that of other data")
        return data

    def data(self, dataset: str) -> DataAccount:
        """What is promised about the data; data without an account are unknown."""
        data = self.find_data(dataset)
        if data is None:
            known = [one.dataset for one in self.all_data()]
            raise LedgerError(
                f"there is no promise for the data {dataset!r}",
                suggest(dataset, known) if known else "the owner makes an account for them with `dpselect ledger data`",
            )
        return data

    def all_data(self) -> list[DataAccount]:
        """Every account, by the name of its data."""
        found = [self._parsed("an account of data", data_account_from, row) for row in self._store.run(sql.ALL_DATA)]
        return sorted(found, key=lambda data: data.dataset)

    def set_data(self, data: DataAccount) -> None:
        """Put it in the place of what was promised before."""
        self._store.run(sql.SET_DATA, data_account_row(data))

    def was_asked(self, dataset: str) -> bool:
        """Was any question of the data ever paid?"""
        return bool(self._store.run(sql.ASKED, (dataset,)))

    # ---- analysts, and what was used ------------------------------------------------------------------------

    def find_quota(self, account: Account) -> Charge | None:
        """What an analyst was granted in total; None for one without a right to the data."""
        rows = self._store.run(sql.ONE_QUOTA, (account.dataset, account.analyst))
        return self._granted(account, rows[0]) if rows else None

    def _granted(self, account: Account, row: Row) -> Charge:
        whose, granted = self._parsed(f"the quota of {account}", quota_from, row)
        if whose != account:
            raise self._damaged(f"the quota of {account} belongs to another account")
        return granted

    def quota(self, account: Account) -> Charge:
        """What an analyst was granted in total; one without any grant is unknown."""
        granted = self.find_quota(account)
        if granted is None:
            raise self._unknown(account)
        return granted

    def _unknown(self, account: Account) -> LedgerError:
        return LedgerError(
            f"analyst {account.analyst!r} has no budget for the data set {account.dataset!r}", self._hint(account)
        )

    def _hint(self, account: Account) -> str | None:
        """Who may be meant by an account that is not there."""
        known = sorted(one.analyst for one, _ in self.quotas() if one.dataset == account.dataset)
        return suggest(account.analyst, known) if known else "no analyst has: grant one with `dpselect ledger grant`"

    def quotas(self) -> list[tuple[Account, Charge]]:
        """Every analyst with what was granted, by data set and analyst."""
        found = [self._parsed("a quota", quota_from, row) for row in self._store.run(sql.QUOTAS)]
        return sorted(found, key=lambda one: (one[0].dataset, one[0].analyst))

    def set_quota(self, account: Account, granted: Charge) -> None:
        """Put it in the place of what was granted before."""
        self._store.run(sql.SET_QUOTA, quota_row(account, granted))

    def all_used(self) -> dict[tuple[Account, str], Used]:
        """What was used, by account and period; of all analysts of a data set too."""
        found = [self._parsed("what was used", used_from, row) for row in self._store.run(sql.ALL_USED)]
        return {(account, period): used for account, period, used in found}

    def used(self, account: Account, period: str) -> tuple[Used, Used]:
        """What the analyst used in the period, and what all did. Of no period both are kept from the beginning on."""
        found: dict[str, Used] = {}
        for row in self._store.run(sql.TWO_USED, (account.dataset, period, account.analyst, EVERYBODY)):
            whose, when, used = self._parsed(f"what {account} used", used_from, row)
            if whose.dataset != account.dataset or when != period or whose.analyst not in (EVERYBODY, account.analyst):
                raise self._damaged(f"the usage of {account} belongs to another account")
            found[whose.analyst] = used
        own, of_all = found.get(account.analyst), found.get(EVERYBODY)
        if (of_all is None and own is not None) or (period == ALWAYS and None in (own, of_all)):
            raise self._damaged(f"the usage of {account} is missing")
        return own or Used(), of_all or Used()

    def begin_used(self, account: Account) -> None:
        """Nothing was used yet; what is there stays."""
        self._store.run(sql.NEW_USED, used_row(account, ALWAYS, Used()))

    def standings(self, account: Account, periods: Callable[[DataAccount], Iterable[str]]) -> dict[str, Standing]:
        """How the analyst stands in the periods that are meant of the data."""
        rows = self._store.run(sql.QUOTA_AND_DATA, (account.dataset, account.analyst))
        if not rows:
            raise self._unknown(account)
        granted, of_data = self._granted(account, rows[0][:5]), rows[0][5:]
        data = self.data(account.dataset) if of_data[0] is None else self._promised(account.dataset, of_data)
        return {period: Standing(account, data, granted, *self.used(account, period)) for period in periods(data)}

    def change(self, account: Account, period: str, own: Used, of_all: Used) -> None:
        """What a question changes in one period: of the analyst, and of all."""
        everybody = Account.kept(account.dataset, EVERYBODY)
        self._store.run(sql.SET_TWO_USED, [*used_row(account, period, own), *used_row(everybody, period, of_all)])

    def balances(self) -> list[Balance]:
        """Every analyst, by data set, name and period."""
        used = self.all_used()
        found = []
        for account, granted in self.quotas():
            periods = sorted(period for one, period in used if one == account and period != ALWAYS) or [ALWAYS]
            for period in periods:
                own = used.get((account, period), Used())
                found.append(Balance(account, granted, own.spent, own.reserved, period))
        return found

    # ---- entries --------------------------------------------------------------------------------------------

    def entry(self, number: int) -> Entry | None:
        """The entry of that number, unchanged since it was written."""
        rows = self._store.run(sql.ONE_ENTRY, (number,))
        return self._parsed(f"entry {number}", intact_entry_from, rows[0]) if rows else None

    def after(self, entry: Entry) -> tuple[EntryKind | None, bool]:
        """How a reservation ended, None while it is open; and whether rows may have been read under it."""
        kinds = [EntryKind(str(row[0])) for row in self._store.run(sql.AFTER, (entry.number, entry.number))]
        closed = next((kind for kind in kinds if kind is not EntryKind.READ), None)
        return closed, EntryKind.READ in kinds

    def settle_of(self, hold: int) -> Entry | None:
        """The settle of a reservation; None where there is none."""
        rows = self._store.run(sql.SETTLE_OF, (hold,))
        number = rows[0][0] if rows else None
        return self.entry(number) if isinstance(number, int) else None

    def may_have_read(self, entry: Entry) -> bool:
        """May rows have been read under this reservation?"""
        return bool(self._store.run(sql.READ, (entry.number,)))

    def pending(self, after: int) -> list[Pending]:
        """The next reservations after that number that nobody closed."""
        entries = [self._parsed("an entry", intact_entry_from, row) for row in self._store.run(sql.PENDING, (after,))]
        return [Pending(entry, self.may_have_read(entry)) for entry in entries]

    def released(self, dataset: str, question: str) -> Entry | None:
        """The latest settle with a release of exactly this question of these data, whoever asked it."""
        rows = self._store.run(sql.RELEASED, (hash_of(question), dataset, question))
        number = rows[0][0] if rows else None
        return self.entry(number) if isinstance(number, int) else None

    def page(self, after: int, account: Account | None = None) -> list[Entry]:
        """The next entries after that number."""
        if account is None:
            rows = self._store.run(sql.ENTRIES, (after,))
        else:
            rows = self._store.run(sql.ENTRIES_OF, (after, account.dataset, account.analyst))
        return [self._parsed("an entry", entry_from, row) for row in rows]

    def _parsed(self, what: str, parse: Callable[[Row], T], row: Row) -> T:
        try:
            return parse(row)
        except (DamagedRowError, IndexError) as error:
            why = str(error) if isinstance(error, DamagedRowError) else "it is missing"
            raise self._damaged(f"{what} cannot be trusted: {why}") from None

    def _damaged(self, why: str) -> LedgerError:
        return LedgerError(f"the ledger at {self._store.place} is damaged: {why}", _FOUND_OUT)
