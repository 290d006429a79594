"""Reads and writes of one transaction: the end of the chain, standings, the next entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from dpselect._ground.parameters import suggest
from dpselect._ground.periods import Periods
from dpselect.errors import LedgerError
from dpselect.ledger import sql
from dpselect.ledger.account import ALL_ANALYSTS, ALWAYS, Account
from dpselect.ledger.charge import Charge
from dpselect.ledger.entry import Draft, Entry, EntryKind, Pending, chain_entry, hash_question
from dpselect.ledger.port import VERIFY_HINT, Row, Store
from dpselect.ledger.rows import (
    DamagedRowError,
    data_account_row,
    entry_row,
    parse_data_account,
    parse_entry,
    parse_intact_entry,
    parse_meta,
    parse_quota,
    parse_used,
    quota_row,
    used_row,
)
from dpselect.ledger.standing import DataAccount, Standing, Usage, charged_periods
from dpselect.ledger.terms import Chain

T = TypeVar("T")


class Journal:
    """The tables of one store as values of this package."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def meta(self) -> Chain:
        """Return the header of the ledger."""
        rows = self._store.run(sql.META)
        return self._parse("its header", parse_meta, rows[0] if rows else ())

    def end(self) -> Chain:
        """Return the header for a writer, after checking that its last entry is there and another may follow."""
        rows = self._store.run(sql.CHAIN_END)
        meta = self._parse("its header", parse_meta, rows[0] if rows else ())
        if (rows[0][4:6] if rows[0][4] is not None else (0, meta.head)) != (meta.entries, meta.head):
            raise self._damage_error("its last entries are missing or foreign")
        if rows[0][6] == EntryKind.CLOSED:
            successor = self.continued_in(meta)
            successor_id = "another" if successor is None else successor.ledger
            raise LedgerError(
                f"the ledger at {self._store.location} is closed: ledger {successor_id} continues it",
                "name that ledger instead; this one can still be read",
            )
        return meta

    def open_end(self) -> Chain:
        """Return the header for a writer, of a ledger in today's format."""
        meta = self.end()
        if meta.form != sql.FORMAT:
            location, form = self._store.location, meta.form
            raise LedgerError(
                f"the ledger at {location} has format {form}, but this dpselect writes format {sql.FORMAT}", sql.UPGRADE
            )
        return meta

    def continued_in(self, meta: Chain) -> Chain | None:
        """Return the ledger that continues this one, as it was then; None if this one is open."""
        last = self.entry(meta.entries)
        return last.chain if last is not None and last.kind is EntryKind.CLOSED else None

    def continued_from(self) -> Chain | None:
        """Return the ledger that this one continues, as it was then; None if it continues none."""
        first = self.entry(1)
        return first.chain if first is not None and first.kind is EntryKind.CONTINUES else None

    def append(self, end: Chain, draft: Draft) -> Entry:
        """Write the next entry. The caller writes its consequences in the same transaction."""
        entry = chain_entry(draft, end.entries + 1, end.head)
        self.write(entry)
        return entry

    def write(self, entry: Entry) -> None:
        """Write an entry that has its position, as the last one."""
        self._store.run(sql.NEW_ENTRY, entry_row(entry))
        self._store.run(sql.SET_HEAD, (entry.number, entry.digest))

    # ---- data and promises -----------------------------------------------------------------------------------

    def find_data(self, dataset: str) -> DataAccount | None:
        """Return the promise about data; None if there is none."""
        rows = self._store.run(sql.ONE_DATA, (dataset,))
        return self._parse_promise(dataset, rows[0]) if rows else None

    def _parse_promise(self, dataset: str, row: Row) -> DataAccount:
        data = self._parse(f"the account of {dataset!r}", parse_data_account, row)
        if data.dataset != dataset:
            raise self._damage_error(f"the account of {dataset!r} is that of other data")
        return data

    def data(self, dataset: str) -> DataAccount:
        """Return the promise about data; LedgerError if there is none."""
        data = self.find_data(dataset)
        if data is None:
            names = [account.dataset for account in self.all_data()]
            raise LedgerError(
                f"there is no promise for the data {dataset!r}",
                suggest(dataset, names) if names else "the owner makes an account for them with `dpselect ledger data`",
            )
        return data

    def all_data(self) -> list[DataAccount]:
        """Return every account, by the name of its data."""
        accounts = [self._parse("an account of data", parse_data_account, row) for row in self._store.run(sql.ALL_DATA)]
        return sorted(accounts, key=lambda data: data.dataset)

    def data_accounts(self) -> list[tuple[DataAccount, dict[str, Usage]]]:
        """Return every account, and what was used of it in each period with questions; without any, in ALWAYS."""
        usages = sorted(self.all_used().items(), key=lambda item: item[0][1])
        accounts: list[tuple[DataAccount, dict[str, Usage]]] = []
        for data in self.all_data():
            everybody = Account.for_everybody(data.dataset)
            used = {period: usage for (owner, period), usage in usages if owner == everybody}
            accounts.append((data, {period: usage for period, usage in used.items() if period or len(used) == 1}))
        return accounts

    def set_data(self, data: DataAccount) -> None:
        """Replace the promise about data."""
        self._store.run(sql.SET_DATA, data_account_row(data))

    def was_asked(self, dataset: str) -> bool:
        """Return whether any question of the data was paid."""
        return bool(self._store.run(sql.ANY_HOLD, (dataset,)))

    # ---- analysts and usage ---------------------------------------------------------------------------------

    def find_quota(self, account: Account) -> Charge | None:
        """Return what an analyst was granted in total; None for one without a right to the data."""
        rows = self._store.run(sql.ONE_QUOTA, (account.dataset, account.analyst))
        return self._parse_grant(account, rows[0]) if rows else None

    def _parse_grant(self, account: Account, row: Row) -> Charge:
        owner, granted = self._parse(f"the quota of {account}", parse_quota, row)
        if owner != account:
            raise self._damage_error(f"the quota of {account} belongs to another account")
        return granted

    def quota(self, account: Account) -> Charge:
        """Return what an analyst was granted in total; LedgerError if nothing."""
        granted = self.find_quota(account)
        if granted is None:
            raise self._unknown_analyst(account)
        return granted

    def _unknown_analyst(self, account: Account) -> LedgerError:
        return LedgerError(
            f"analyst {account.analyst!r} has no budget for the data set {account.dataset!r}",
            self._suggest_analyst(account),
        )

    def _suggest_analyst(self, account: Account) -> str | None:
        """Return a hint at the analysts that may be meant."""
        names = sorted(owner.analyst for owner, _ in self.quotas() if owner.dataset == account.dataset)
        return suggest(account.analyst, names) if names else "no analyst has: grant one with `dpselect ledger grant`"

    def quotas(self) -> list[tuple[Account, Charge]]:
        """Return each analyst with what was granted, by data set and analyst."""
        quotas = [self._parse("a quota", parse_quota, row) for row in self._store.run(sql.QUOTAS)]
        return sorted(quotas, key=lambda quota: (quota[0].dataset, quota[0].analyst))

    def set_quota(self, account: Account, granted: Charge) -> None:
        """Replace what was granted to an analyst."""
        self._store.run(sql.SET_QUOTA, quota_row(account, granted))

    def all_used(self) -> dict[tuple[Account, str], Usage]:
        """Return what was used, by account and period, for all analysts of a data set together too."""
        usages = [self._parse("what was used", parse_used, row) for row in self._store.run(sql.ALL_USED)]
        return {(account, period): usage for account, period, usage in usages}

    def used(self, account: Account, period: str) -> tuple[Usage, Usage]:
        """Return what the analyst used in the period, and what all did. Both have a row for ALWAYS from the start."""
        used_by_analyst: dict[str, Usage] = {}
        for row in self._store.run(sql.TWO_USED, (account.dataset, period, account.analyst, ALL_ANALYSTS)):
            owner, row_period, usage = self._parse(f"what {account} used", parse_used, row)
            if (
                owner.dataset != account.dataset
                or row_period != period
                or owner.analyst not in (ALL_ANALYSTS, account.analyst)
            ):
                raise self._damage_error(f"the usage of {account} belongs to another account")
            used_by_analyst[owner.analyst] = usage
        own_usage, all_usage = used_by_analyst.get(account.analyst), used_by_analyst.get(ALL_ANALYSTS)
        if (all_usage is None and own_usage is not None) or (period == ALWAYS and None in (own_usage, all_usage)):
            raise self._damage_error(f"the usage of {account} is missing")
        return own_usage or Usage(), all_usage or Usage()

    def begin_used(self, account: Account) -> None:
        """Write that nothing was used yet, unless there is a row."""
        self._store.run(sql.NEW_USED, used_row(account, ALWAYS, Usage()))

    def standings(self, account: Account, periods: Callable[[DataAccount], Iterable[str]]) -> list[Standing]:
        """Return the analyst's standing in each period that `periods` returns for the data."""
        rows = self._store.run(sql.QUOTA_AND_DATA, (account.dataset, account.analyst))
        if not rows:
            raise self._unknown_analyst(account)
        granted, data_row = self._parse_grant(account, rows[0][:5]), rows[0][5:]
        data = self.data(account.dataset) if data_row[0] is None else self._parse_promise(account.dataset, data_row)
        return [Standing(account, data, granted, *self.used(account, period), period) for period in periods(data)]

    def set_used(self, standing: Standing) -> None:
        """Write what the analyst, and what all, used in the period of a standing."""
        own_row = used_row(standing.account, standing.period, standing.own)
        self._store.run(
            sql.SET_TWO_USED, [*own_row, *used_row(standing.account.everybody, standing.period, standing.all)]
        )

    def periods(self, data: DataAccount, during: Periods | None) -> Sequence[str]:
        """Return the periods that pay for a question; without a question those with questions, or else a new one."""
        if data.period is None or during is not None:
            return charged_periods(data, during)
        used_periods = {period for owner, period in self.all_used() if owner.dataset == data.dataset}
        return sorted(used_periods - {ALWAYS}) or [ALWAYS]

    def all_standings(self) -> list[Standing]:
        """Return the standing of every analyst in each period with questions, by data set, name and period."""
        usages, promises = self.all_used(), {data.dataset: data for data in self.all_data()}
        standings = []
        for account, granted in self.quotas():
            data = promises.get(account.dataset) or self.data(account.dataset)
            periods = sorted(period for owner, period in usages if owner == account and period != ALWAYS) or [ALWAYS]
            for period in periods:
                own_usage, all_usage = (usages.get((who, period), Usage()) for who in (account, account.everybody))
                standings.append(Standing(account, data, granted, own_usage, all_usage, period))
        return standings

    # ---- entries --------------------------------------------------------------------------------------------

    def entry(self, number: int) -> Entry | None:
        """Return an entry by its number, unchanged since it was written."""
        rows = self._store.run(sql.ONE_ENTRY, (number,))
        return self._parse(f"entry {number}", parse_intact_entry, rows[0]) if rows else None

    def followers(self, hold: int) -> Mapping[EntryKind, int]:
        """Return the numbers of the entries that mark the read of a reservation or close it, by their kinds."""
        rows = self._store.run(sql.FOLLOWERS, (hold, hold))
        return {EntryKind(str(kind)): number for kind, number in rows if isinstance(number, int)}

    def pending(self, after_number: int) -> list[Pending]:
        """Return the next open reservations after an entry number."""
        entries = [
            self._parse("an entry", parse_intact_entry, row) for row in self._store.run(sql.PENDING, (after_number,))
        ]
        return [Pending(entry, EntryKind.READ in self.followers(entry.number)) for entry in entries]

    def find_release(self, dataset: str, question: str) -> Entry | None:
        """Return the latest settlement with a release of exactly this question of these data, whoever asked it."""
        rows = self._store.run(sql.RELEASED, (hash_question(question), dataset, question))
        number = rows[0][0] if rows else None
        return self.entry(number) if isinstance(number, int) else None

    def read_page(self, after_number: int, account: Account | None = None) -> list[Entry]:
        """Return the next entries after a number."""
        if account is None:
            rows = self._store.run(sql.ENTRIES, (after_number,))
        else:
            rows = self._store.run(sql.ENTRIES_OF, (after_number, account.dataset, account.analyst))
        return [self._parse("an entry", parse_entry, row) for row in rows]

    def _parse(self, subject: str, parse: Callable[[Row], T], row: Row) -> T:
        try:
            return parse(row)
        except (DamagedRowError, IndexError) as error:
            reason = str(error) if isinstance(error, DamagedRowError) else "it is missing"
            raise self._damage_error(f"{subject} cannot be trusted: {reason}") from None

    def _damage_error(self, reason: str) -> LedgerError:
        return LedgerError(f"the ledger at {self._store.location} is damaged: {reason}", VERIFY_HINT)
