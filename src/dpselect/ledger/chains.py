"""The chains of the ledgers that a ledger continues, recomputed from the entries that it carried over.

A ledger that continues another begins with an entry that names the other's id and head. All entries of the other
follow, one number later each, and then an entry that names how the other was closed. So the chain of the other follows
from this one alone: nothing can be left out, added or changed on the way, and a head of the other that was noted at any
time is still found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from dpselect._ground.dataclass import dataclass
from dpselect.ledger.account import Account
from dpselect.ledger.charge import ZERO
from dpselect.ledger.entry import Draft, Entry, EntryKind, chain_entry, compute_digest, genesis_digest
from dpselect.ledger.terms import Chain, format_chain, parse_chain


def closing_entry(old: Chain, new: Chain, time: str | None = None) -> Entry:
    """Return the last entry of a ledger that another continues."""
    draft = Draft(EntryKind.CLOSED, Account.for_ledger(), ZERO, terms=format_chain(new))
    return chain_entry(draft, old.entries + 1, old.head, time)


def opening_entry(old: Chain, new: Chain, closed: Entry) -> Entry:
    """Return the entry that opens the new ledger, at the time at which the old one was closed."""
    old_end = Chain(old.ledger, old.form, closed.number, closed.digest)
    draft = Draft(EntryKind.OPENED, Account.for_ledger(), ZERO, terms=format_chain(old_end))
    return chain_entry(draft, new.entries + 1, new.head, closed.at)


def shift_entry(entry: Entry, offset: int, previous: str) -> Entry:
    """Return an entry in a chain where all numbers are larger by `offset`."""
    refers_to = None if entry.refers_to is None else entry.refers_to + offset
    shifted = replace(entry, number=entry.number + offset, refers_to=refers_to, previous=previous)
    return replace(shifted, digest=compute_digest(shifted))


@dataclass
class _Level:
    """A chain that has the next entry: the ledger's own, or one that it continues."""

    chain: Chain  # of the ledger itself only id and form are known
    offset: int  # entries of the ledger before the chain's first
    head: str  # of its last entry so far


class Chains:
    """A walk along a ledger that finds the position of each entry in every chain that has it."""

    def __init__(self, header: Chain) -> None:
        first = genesis_digest(header.ledger, header.form)
        self._levels = [_Level(replace(header, entries=0, head=first), 0, first)]
        self._ended_chain: Chain | None = None  # the next entry must open the ledger after it
        self._closed = False
        self.former_positions: list[tuple[int, str]] = []  # number and digest of the last entry, in each former chain

    @property
    def head(self) -> str:
        """The head of the ledger itself so far."""
        return self._levels[0].head

    def problems(self, entry: Entry) -> Iterator[str]:
        """Add the next entry, and yield what is wrong with its position."""
        inner = self._levels[-1]
        if self._closed:
            yield "was written after the ledger was closed"
        if (entry.kind is EntryKind.OPENED) != (self._ended_chain is not None):
            problem = "does not open the ledger after the last entry that was carried over"
            yield problem if self._ended_chain else "opens a ledger that continues no other"
        elif self._ended_chain is not None and entry.terms != self._opening_terms(self._ended_chain, inner, entry.at):
            yield "does not name how the ledger ended that this one continues"
        self._ended_chain = None
        if entry.kind is EntryKind.CONTINUES and entry.number != inner.offset + 1:
            yield "continues another ledger, and is not the first"
        own_level, *former_levels = self._levels
        own_level.head = entry.digest
        for level in former_levels:
            level.head = shift_entry(entry, -level.offset, level.head).digest
        self._closed = entry.kind is EntryKind.CLOSED
        if entry.kind is EntryKind.CONTINUES:
            chain = parse_chain(entry.terms)
            self._levels.append(_Level(chain, entry.number, genesis_digest(chain.ledger, chain.form)))
        self.former_positions = [(entry.number - level.offset, level.head) for level in self._levels[1:]]
        yield from self._end_of_chain(entry)

    def _end_of_chain(self, entry: Entry) -> Iterator[str]:
        """Close the innermost chain if this was its last entry."""
        inner = self._levels[-1]
        if len(self._levels) == 1 or entry.number < inner.offset + inner.chain.entries:
            return
        if inner.head != inner.chain.head:
            yield f"is the last that was carried over from {inner.chain}, and they are not what that ledger has"
        self._levels.pop()
        self._ended_chain = inner.chain

    def _opening_terms(self, old: Chain, inner: _Level, time: str) -> str | None:
        new = Chain(inner.chain.ledger, inner.chain.form, old.entries + 1, inner.head)
        return opening_entry(old, new, closing_entry(old, new, time)).terms

    def is_former_head(self, head: str, entry: Entry) -> bool:
        """Return whether a former chain has this head, so far or when it was closed."""
        opened_from = [parse_chain(entry.terms).head] if entry.kind is EntryKind.OPENED else []
        return head in (*(digest for _, digest in self.former_positions), *opened_from)

    def problems_at_the_end(self) -> Iterator[str]:
        """Yield problems if entries were not carried over, or the ledger was not opened."""
        if len(self._levels) > 1:
            yield f"entries are missing that were to be carried over from {self._levels[-1].chain}"
        elif self._ended_chain is not None:
            yield f"the ledger was never opened, which continues {self._ended_chain}"


def former_entries(header: Chain, entries: Iterable[Entry]) -> Iterator[tuple[int, str, Entry]]:
    """Yield each entry that was carried over, with its number and digest in each ledger that had it before."""
    chains = Chains(header)
    for entry in entries:
        for _ in chains.problems(entry):
            pass  # `verify` reports them
        yield from ((number, digest, entry) for number, digest in chains.former_positions if number)
