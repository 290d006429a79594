"""A ledger goes on in another: every entry is carried over, and of the two never more than one is open.

The order is what keeps the promise. Nobody writes to the old ledger from the first step to the fourth:

1. The old ledger is locked, and all of it is verified.
2. The new one is made, marked as unfinished, so that nobody can open it; all entries are carried over.
3. The new one is opened anew and looked at: it is whole on its disk.
4. The old one is closed: its last entry names the new one, and the place itself refuses any other after it.
5. The new one is opened: an entry names how the old one was closed, and the mark is gone.

Whoever dies before the fourth step leaves the old ledger open and as it was. Whoever dies after it leaves it closed,
and a new one that the same command opens: the entry that closed the old one names which.
"""

from __future__ import annotations

from contextlib import closing as closed_after

from dpselect._ground.first_use import door
from dpselect.errors import LedgerError
from dpselect.ledger import sql
from dpselect.ledger.account import Account
from dpselect.ledger.chains import Chain, closing_entry, format_chain, opening_entry, parse_chain, shift_entry
from dpselect.ledger.charge import ZERO
from dpselect.ledger.entry import Draft, Entry, EntryKind, chain_entry
from dpselect.ledger.journal import Journal
from dpselect.ledger.places import LedgerPlace, create_store, is_empty, open_store
from dpselect.ledger.port import Store
from dpselect.ledger.rows import Meta, used_row


def upgrade(old: LedgerPlace, new: LedgerPlace) -> None:
    """Make or finish the new ledger, and close the old one."""
    with closed_after(open_store(old)) as source:
        sql.check_format(source)
        last = _last(source)
        if last is None or last.kind is not EntryKind.CLOSED:
            _check_place(new, source)
            last = _carried_over(source, new)
    _open(new, last)


def _last(store: Store) -> Entry | None:
    with store.snapshot():
        journal = Journal(store)
        return journal.entry(journal.meta().entries)


def _check_place(new: LedgerPlace, source: Store) -> None:
    """Before anything is locked: a place with a ledger that is in use may be that of the old one."""
    if is_empty(new):
        return
    with closed_after(open_store(new)) as target, target.snapshot():
        _check_unfinished(target, Journal(source).meta().ledger)


def _check_unfinished(target: Store, old: str) -> None:
    """What an interrupted upgrade of the same ledger left is made anew; anything else is never overwritten."""
    journal = Journal(target)
    if journal.meta().version == sql.UNFINISHED:
        of = journal.continued_from()
        if of is None or of.ledger == old:
            return
    raise LedgerError(f"{target.place} is already there", "a ledger is never overwritten: name another place")


def _carried_over(source: Store, new: LedgerPlace) -> Entry:
    """Steps 1 to 4; the entry that closed the old ledger."""
    with source.transaction():
        journal = Journal(source)
        end = journal.end()
        old = Chain(end.ledger, end.version, end.entries, end.head)
        problems = _problems(source)
        if problems:
            more = f", and {len(problems) - 1:,} more" if len(problems) > 1 else ""
            hint = "run `dpselect ledger verify`, then take it from a backup"
            raise LedgerError(f"the ledger at {source.place} is not clean: {problems[0]}{more}", hint)
        with closed_after(_made(new, old.ledger)) as target:
            made = _fill(journal, old, target)
        with closed_after(open_store(new)) as target:
            _check_whole(target, made)
        last = closing_entry(old, made)
        journal.write(last)
        source.run(sql.CLOSE[source.dialect])
    return last


def _problems(store: Store) -> list[str]:
    """What `verify` finds, in the transaction that is open."""
    found: list[str] = [*store.problems(), *door("audit.verification", "of_the_moment")(store)]
    return found


def _made(new: LedgerPlace, old: str) -> Store:
    """The tables of the new ledger, unfinished and without entries."""
    empty = is_empty(new)
    store = create_store(new, there=True) if empty else open_store(new)
    try:
        if empty:
            sql.build_tables(store, sql.UNFINISHED)
        else:
            sql.rebuild_tables(store, lambda: _check_unfinished(store, old))
    except BaseException:
        store.close()
        raise
    return store


def _fill(journal: Journal, old: Chain, target: Store) -> Chain:
    """Carry all entries over, with what they add up to; the new ledger as it then is."""
    copy = Journal(target)
    ledger = copy.meta().ledger
    with target.transaction():
        meta = copy.meta()
        if meta != Meta(sql.UNFINISHED, ledger, 0, meta.head):
            raise LedgerError(f"the ledger at {target.place} was made anew by another upgrade", sql.UPGRADE_AGAIN)
        draft = Draft(EntryKind.CONTINUES, Account.for_ledger(), ZERO, terms=format_chain(old))
        last = chain_entry(draft, 1, meta.head)
        copy.write(last)
        after = 0
        while page := journal.read_page(after):
            for entry in page:
                last = shift_entry(entry, 1, last.digest)
                copy.write(last)
            after = page[-1].number
        for data in journal.all_data():
            copy.set_data(data)
        for account, granted in journal.quotas():
            copy.set_quota(account, granted)
        for (account, period), used in journal.all_used().items():
            target.run(sql.NEW_USED, used_row(account, period, used))
    return Chain(ledger, sql.FORMAT, last.number, last.digest)


def _check_whole(target: Store, made: Chain) -> None:
    """Is it what was carried over, and nothing else?"""
    if Journal(target).meta() != Meta(sql.UNFINISHED, made.ledger, made.entries, made.head):
        raise LedgerError(f"the ledger at {target.place} was replaced while it was made", sql.UPGRADE_AGAIN)


def _open(new: LedgerPlace, last: Entry) -> None:
    """Step 5, once: the ledger that the entry names begins to be spent from."""
    made = parse_chain(last.terms)
    gone = LedgerError(
        f"the old ledger is closed: ledger {made.ledger} continues it, and is not at that place",
        "name the place of that ledger; a ledger that is closed is not continued again",
    )
    if is_empty(new):
        raise gone
    with closed_after(open_store(new)) as target, target.transaction():
        journal = Journal(target)
        meta, old = journal.meta(), journal.continued_from()
        if meta.ledger != made.ledger or old is None:
            raise gone
        if meta.version == sql.UNFINISHED:
            _check_whole(target, made)
            journal.write(opening_entry(old, made, last))
            target.run(sql.SET_VERSION, (sql.FORMAT,))
