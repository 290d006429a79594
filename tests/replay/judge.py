"""The law: what one user more may change. The judge says what it found, or nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

from tests.replay.questions import OF_PARTS, PAIRED, Label, Noticed

Counts = list[tuple[Label, int]]


@dataclass(frozen=True)
class Allowed:
    """What the users that came may do: how many they are, how many items they have, and which of everybody's.

    With another column they are `pairs`.

    They have one item of everybody's that all of them may raise, and of `raised` those that one of them has; None:
    every item, since nobody can say how their rows are read.
    """

    users: int = 1
    items: int = 1
    raised: frozenset[Hashable] | None = None
    pairs: int = 0


def broken(before: Noticed, after: Noticed, allowed: Allowed, *, declared: bool = False) -> str | None:
    """In what way the rows that came spoke for others, or failed the question; None where they did neither.

    Where the type of a column is `declared`, its items have one type in Python, the one that came too.
    """
    if before.failed is not None:
        if before.failed == after.failed and before.ours:
            return None  # refused whatever rows there are
        return f"everybody else's rows fail: {before.failed}"
    if after.failed is not None:
        return f"fails: {after.failed}"
    for name in ("refused", "said"):
        if getattr(before, name) != getattr(after, name):
            return f"what is {name} differs: {getattr(before, name)} and {getattr(after, name)}"
    for name, counts in before.counts.items():
        these = replace(allowed, users=allowed.pairs) if name.startswith(PAIRED) else allowed
        found = _counts(counts, after.counts[name], these, parts=name.startswith(OF_PARTS))
        if found:
            return f"{name}: {found}"
        types = {label[0] for label, _ in counts}, {label[0] for label, _ in after.counts[name]}
        if declared and types[0] != types[1]:
            return f"{name}: items of type {' and '.join(sorted(types[1]))} in one column"
    for name, sets in before.sets.items():
        found = _sets(sets, after.sets[name], allowed)
        if found:
            return f"{name}: {found}"
    for name, points in before.points.items():
        found = _moved(points, after.points[name], allowed.users)
        if found:
            return f"{name}: {found}"
    return None


def _counts(before: Counts, after: Counts, allowed: Allowed, *, parts: bool) -> str | None:
    """Counts of others stay; of those that came, each adds 1 to their own items, which stand in order."""
    was, now = dict(before), dict(after)
    if len(was) != len(before) or len(now) != len(after):
        return "an item stands twice"
    lost = [label for label in was if label not in now]
    if lost:
        return f"{_shown(lost)} is gone or has another form"
    rose = {label: now[label] - was.get(label, 0) for label in now if now[label] != was.get(label, 0)}
    theirs = [label for label in rose if allowed.raised is None or (label in was and label[1] not in allowed.raised)]
    for label, change in rose.items():
        if not 0 < change <= (allowed.users if parts or label in theirs else 1):
            return f"{_shown([label])} changed by {change}"
    if allowed.raised is not None and not parts and len(theirs) > 1:
        return f"{_shown(theirs)} are not all theirs"
    if len(rose) > allowed.items and not parts:
        return f"{len(rose)} items changed with {allowed.items} of theirs"
    stayed = [label for label, _ in before if label not in rose]
    if stayed != [label for label, _ in after if label in was and label not in rose]:
        return "the others come in another order"
    return None


def _sets(before: Counter[Any], after: Counter[Any], allowed: Allowed) -> str | None:
    """Everybody else's sets are there; one that is not belongs to a user who was there and has more now."""
    gone, came = before - after, after - before
    if came.total() > allowed.users:
        return f"{came.total()} users are new or different"
    for old in gone.elements():
        if not any(old < new for new in came):
            return "somebody's items are gone or have another form"
    return None


def _moved(before: Counter[int], after: Counter[int], users: int) -> str | None:
    gone, came = (before - after).total(), (after - before).total()
    return f"{came} values came and {gone} went" if came > users or gone > users else None


def _shown(labels: list[Label]) -> str:
    """A few labels of invented rows, for whoever mends it."""
    shown = [repr(label[1])[:40] for label in labels[:3]]
    return ", ".join(shown) + ("" if len(labels) <= 3 else f" and {len(labels) - 3} more")
