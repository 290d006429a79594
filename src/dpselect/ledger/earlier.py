"""What ledgers of earlier versions hold becomes accounts of data with quotas in them.

They promised every analyst the sum of the grants. So the promise about data is the sum over all analysts, which adds
up as before; what was spent counts in both currencies by its epsilon (docs/composing.md, Corollary 3). Entries stay as
they are; an entry for each data set says what was made of them.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

from dpselect.accounting.promise import Promise
from dpselect.errors import LedgerError
from dpselect.ledger.account import ALWAYS, Account
from dpselect.ledger.charge import ZERO, Charge
from dpselect.ledger.entry import Draft, Kind
from dpselect.ledger.journal import Journal
from dpselect.ledger.port import Row, Store
from dpselect.ledger.rows import DamagedRowError, early_balance_from
from dpselect.ledger.standing import DataAccount, Used
from dpselect.ledger.terms import data_text, total_of

_BALANCES = (
    "SELECT dataset, analyst, granted_epsilon, granted_delta, spent_epsilon, spent_delta, "
    "reserved_epsilon, reserved_delta, seal FROM balance"
)


def move_balances(store: Store) -> None:
    """Every balance becomes a quota and what was used of it; then the table is dropped."""
    journal = Journal(store)
    granted: defaultdict[str, Charge] = defaultdict(lambda: ZERO)
    used: defaultdict[str, Used] = defaultdict(Used)
    for row in store.run(_BALANCES):
        account, total, own = _balance(store, row)
        journal.set_quota(account, total)
        journal.set_used(account, ALWAYS, own)
        granted[account.dataset] += total
        of_all = used[account.dataset]
        used[account.dataset] = Used(of_all.spent + own.spent, of_all.reserved + own.reserved)
    for dataset, total in sorted(granted.items()):
        data = DataAccount(dataset, Promise(total.epsilon, total.delta, None, Fraction(0)))
        everybody = Account.kept(dataset, "")
        journal.set_used(everybody, ALWAYS, used[dataset])
        journal.set_data(data)
        journal.append(journal.end(), Draft(Kind.DATA, everybody, total_of(data), terms=data_text(data)))
    store.run("DROP TABLE balance")


def _balance(store: Store, row: Row) -> tuple[Account, Charge, Used]:
    try:
        return early_balance_from(row)
    except DamagedRowError as error:
        raise LedgerError(
            f"the ledger at {store.place} is damaged: a balance cannot be trusted: {error}", "take it from a backup"
        ) from None
