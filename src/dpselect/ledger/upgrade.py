"""Upgrade of a ledger: a new one gets every entry, and of the two never more than one is open.

The order of the steps keeps the promise. Nobody writes to the old ledger from the first step to the fourth:

1. The old ledger is locked, and all of it is verified.
2. The new one is made, marked as unfinished, so that nobody can open it; all entries are carried over.
3. The new one is opened again and checked: it is whole on its disk.
4. The old one is closed: its last entry names the new one, and the store itself refuses any other after it.
5. The new one is opened: an entry names how the old one was closed, and the mark is removed.

A process that dies before the fourth step leaves the old ledger open and as it was. After that step the old one is
closed, and the same command opens the new one, which the last entry of the old one names.
"""

from __future__ import annotations

from contextlib import closing as closed_after
from dataclasses import replace

from dpselect._ground.first_use import door
from dpselect.errors import LedgerError
from dpselect.ledger import sql
from dpselect.ledger.account import Account
from dpselect.ledger.chains import closing_entry, opening_entry, shift_entry
from dpselect.ledger.charge import ZERO
from dpselect.ledger.entry import Draft, Entry, EntryKind, chain_entry
from dpselect.ledger.journal import Journal
from dpselect.ledger.locations import LedgerLocation, create_store, is_empty, open_store
from dpselect.ledger.port import VERIFY_HINT, Store
from dpselect.ledger.records import Records
from dpselect.ledger.rows import used_row
from dpselect.ledger.terms import Chain, format_chain, parse_chain


def upgrade(old: LedgerLocation, new: LedgerLocation) -> None:
    """Make or finish the new ledger, and close the old one."""
    with closed_after(open_store(old)) as source:
        sql.check_format(source)
        closing = _last_entry(source)
        if closing is None or closing.kind is not EntryKind.CLOSED:
            _check_location(new, source)
            closing = _carry_over(source, new)
    _open_new(new, closing)


def _last_entry(store: Store) -> Entry | None:
    with store.snapshot():
        journal = Journal(store)
        return journal.entry(journal.meta().entries)


def _check_location(new: LedgerLocation, source: Store) -> None:
    """Refuse a location with another ledger, before anything is locked: it may even be the old one."""
    if is_empty(new):
        return
    with closed_after(open_store(new)) as target, target.snapshot():
        _check_unfinished(target, Journal(source).meta().ledger)


def _check_unfinished(target: Store, old: str) -> None:
    """Refuse a ledger unless an interrupted upgrade of the same old ledger left it; it is made again."""
    journal = Journal(target)
    if journal.meta().form == sql.UNFINISHED:
        source_chain = journal.continued_from()
        if source_chain is None or source_chain.ledger == old:
            return
    raise LedgerError(f"{target.location} is already there", "a ledger is never overwritten: name another place")


def _carry_over(source: Store, new: LedgerLocation) -> Entry:
    """Carry out steps 1 to 4, and return the entry that closed the old ledger."""
    with source.transaction():
        journal = Journal(source)
        old = journal.end()
        problems = _problems(source)
        if problems:
            suffix = f", and {len(problems) - 1:,} more" if len(problems) > 1 else ""
            raise LedgerError(f"the ledger at {source.location} is not clean: {problems[0]}{suffix}", VERIFY_HINT)
        with closed_after(_make_tables(new, old.ledger)) as target:
            new_chain = _copy_entries(journal, old, target)
        with closed_after(open_store(new)) as target:
            _check_whole(target, new_chain)
        closing = closing_entry(old, new_chain)
        journal.write(closing)
        source.run(sql.CLOSE_TABLES[source.dialect])
    return closing


def _problems(store: Store) -> list[str]:
    """Return the problems that `verify` finds, in the open transaction."""
    problems: list[str] = [*store.problems(), *door("audit.verification", "find_problems")(Records(store))]
    return problems


def _make_tables(new: LedgerLocation, old: str) -> Store:
    """Make the tables of the new ledger, marked as unfinished and without entries."""
    empty = is_empty(new)
    store = create_store(new, may_exist=True) if empty else open_store(new)
    try:
        if empty:
            sql.build_tables(store, sql.UNFINISHED)
        else:
            sql.rebuild_tables(store, lambda: _check_unfinished(store, old))
    except BaseException:
        store.close()
        raise
    return store


def _copy_entries(journal: Journal, old: Chain, target: Store) -> Chain:
    """Copy all entries, and what they add up to; return the chain of the new ledger."""
    copy = Journal(target)
    ledger = copy.meta().ledger
    with target.transaction():
        meta = copy.meta()
        if meta != Chain(ledger, sql.UNFINISHED, 0, meta.head):
            raise LedgerError(f"the ledger at {target.location} was made anew by another upgrade", sql.UPGRADE_AGAIN)
        draft = Draft(EntryKind.CONTINUES, Account.for_ledger(), ZERO, terms=format_chain(old))
        last = chain_entry(draft, 1, meta.head)
        copy.write(last)
        last_number = 0
        while page := journal.read_page(last_number):
            for entry in page:
                last = shift_entry(entry, 1, last.digest)
                copy.write(last)
            last_number = page[-1].number
        for data in journal.all_data():
            copy.set_data(data)
        for account, granted in journal.quotas():
            copy.set_quota(account, granted)
        for (account, period), usage in journal.all_used().items():
            target.run(sql.NEW_USED, used_row(account, period, usage))
    return Chain(ledger, sql.FORMAT, last.number, last.digest)


def _check_whole(target: Store, new_chain: Chain) -> None:
    """Check that the new ledger is what was carried over, and nothing else."""
    if Journal(target).meta() != replace(new_chain, form=sql.UNFINISHED):
        raise LedgerError(f"the ledger at {target.location} was replaced while it was made", sql.UPGRADE_AGAIN)


def _open_new(new: LedgerLocation, closing: Entry) -> None:
    """Carry out step 5, once: open the ledger that the closing entry names."""
    new_chain = parse_chain(closing.terms)
    not_there = LedgerError(
        f"the old ledger is closed: ledger {new_chain.ledger} continues it, and is not at that place",
        "name the place of that ledger; a ledger that is closed is not continued again",
    )
    if is_empty(new):
        raise not_there
    with closed_after(open_store(new)) as target, target.transaction():
        journal = Journal(target)
        meta, old = journal.meta(), journal.continued_from()
        if meta.ledger != new_chain.ledger or old is None:
            raise not_there
        if meta.form == sql.UNFINISHED:
            _check_whole(target, new_chain)
            journal.write(opening_entry(old, new_chain, closing))
            target.run(sql.SET_VERSION, (sql.FORMAT,))
