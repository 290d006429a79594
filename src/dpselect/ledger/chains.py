"""The chains that a ledger was continued from, computed again from the entries that it carried over.

A ledger that continues another begins with an entry that names the other's id and head. All entries of the other
follow, one number later each, and then an entry that names how the other was closed. So the chain of the other follows
from this one alone: nothing can be left out, added or changed on the way, and a head of the other that was noted at any
time is still met.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

from dpselect.ledger.account import Account
from dpselect.ledger.charge import ZERO
from dpselect.ledger.entry import Draft, Entry, EntryKind, chain_entry, compute_digest, genesis_digest


@dataclass(frozen=True)
class Chain:
    """A ledger as it ended, or as far as it went: its id, the form of its tables, its entries and its head."""

    ledger: str
    form: int
    entries: int
    head: str

    def __str__(self) -> str:
        return f"ledger {self.ledger} of {self.entries:,} {'entry' if self.entries == 1 else 'entries'}"


def format_chain(chain: Chain) -> str:
    """The terms of an entry that names another chain."""
    return json.dumps(vars(chain), separators=(",", ":"))


def parse_chain(text: str | None) -> Chain:
    """What `chain_text` wrote; ValueError for anything else."""
    try:
        chain = Chain(**json.loads(text or ""))
    except TypeError:
        raise ValueError("no chain") from None
    texts, numbers = (chain.ledger, chain.head), (chain.form, chain.entries)
    if not all(isinstance(one, str) for one in texts) or not all(type(one) is int and one >= 0 for one in numbers):
        raise ValueError("no chain")
    return chain


def closing_entry(old: Chain, new: Chain, at: str | None = None) -> Entry:
    """The last entry of a ledger that goes on in another."""
    draft = Draft(EntryKind.CLOSED, Account.for_ledger(), ZERO, terms=format_chain(new))
    return chain_entry(draft, old.entries + 1, old.head, at)


def opening_entry(old: Chain, new: Chain, closed: Entry) -> Entry:
    """The entry with which a ledger begins to be spent from, at the moment at which the other was closed."""
    ended = Chain(old.ledger, old.form, closed.number, closed.digest)
    draft = Draft(EntryKind.OPENED, Account.for_ledger(), ZERO, terms=format_chain(ended))
    return chain_entry(draft, new.entries + 1, new.head, closed.at)


def shift_entry(entry: Entry, by: int, previous: str) -> Entry:
    """An entry in a chain where all of its numbers are larger by that."""
    refers_to = None if entry.refers_to is None else entry.refers_to + by
    moved = replace(entry, number=entry.number + by, refers_to=refers_to, previous=previous)
    return replace(moved, digest=compute_digest(moved))


@dataclass
class _Level:
    """A chain in which the next entry has a place: the ledger's own, or one that it was continued from."""

    chain: Chain  # of the ledger itself, only id and form are known
    before: int  # entries of the ledger that stand before it
    head: str  # of its last entry so far


class Chains:
    """Along a ledger: what each entry is in every chain in which it has a place."""

    def __init__(self, ledger: str, form: int) -> None:
        first = genesis_digest(ledger, form)
        self._levels = [_Level(Chain(ledger, form, 0, first), 0, first)]
        self._ended: Chain | None = None  # which the next entry must open
        self._closed = False
        self.places: list[tuple[int, str]] = []  # of the last entry in former chains: its number and digest there

    def problems(self, entry: Entry) -> Iterator[str]:
        """Add the next entry; what is wrong with its place."""
        inner = self._levels[-1]
        if self._closed:
            yield "was written after the ledger was closed"
        if (entry.kind is EntryKind.OPENED) != (self._ended is not None):
            ends = "does not open the ledger after the last entry that was carried over"
            yield ends if self._ended else "opens a ledger that continues no other"
        elif self._ended is not None and entry.terms != self._opened(self._ended, inner, entry.at):
            yield "does not name how the ledger ended that this one continues"
        self._ended = None
        if entry.kind is EntryKind.CONTINUES and entry.number != inner.before + 1:
            yield "continues another ledger, and is not the first"
        own, *former = self._levels
        own.head = entry.digest
        for level in former:
            level.head = shift_entry(entry, -level.before, level.head).digest
        self._closed = entry.kind is EntryKind.CLOSED
        if entry.kind is EntryKind.CONTINUES:
            chain = parse_chain(entry.terms)
            self._levels.append(_Level(chain, entry.number, genesis_digest(chain.ledger, chain.form)))
        self.places = [(entry.number - level.before, level.head) for level in self._levels[1:]]
        yield from self._ends(entry)

    def _ends(self, entry: Entry) -> Iterator[str]:
        """All entries of the innermost chain are there."""
        inner = self._levels[-1]
        if len(self._levels) == 1 or entry.number < inner.before + inner.chain.entries:
            return
        if inner.head != inner.chain.head:
            yield f"is the last that was carried over from {inner.chain}, and they are not what that ledger has"
        self._levels.pop()
        self._ended = inner.chain

    def _opened(self, old: Chain, inner: _Level, at: str) -> str | None:
        new = Chain(inner.chain.ledger, inner.chain.form, old.entries + 1, inner.head)
        return opening_entry(old, new, closing_entry(old, new, at)).terms

    def is_former_head(self, head: str, entry: Entry) -> bool:
        """Is it what a former chain ended with, so far or when it was closed?"""
        closed = [parse_chain(entry.terms).head] if entry.kind is EntryKind.OPENED else []
        return head in (*(digest for _, digest in self.places), *closed)

    def problems_at_the_end(self) -> Iterator[str]:
        """Were all entries carried over, and was the ledger opened?"""
        if len(self._levels) > 1:
            yield f"entries are missing that were to be carried over from {self._levels[-1].chain}"
        elif self._ended is not None:
            yield f"the ledger was never opened, which continues {self._ended}"
