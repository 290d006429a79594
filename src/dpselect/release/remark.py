"""Why a table looks strange where it does: ranks and counts have noise of their own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from dpselect.release import formatting
from dpselect.release.groups import told_apart
from dpselect.release.statement import Item


def remark(items: Sequence[Item], count: str) -> str:
    """A sentence about the first item with a larger count than the one above it; empty where there is none."""
    for above, below in pairwise(items):
        if told_apart(above.group) != told_apart(below.group) or above.count is None or below.count is None:
            continue
        if above.count < below.count:
            group = f"In {', '.join(map(formatting.brief, above.group))}: rank" if above.group else "Rank"
            return (
                f"{group} {below.rank} ({formatting.brief(below.item)}) shows a larger {count} than rank {above.rank} "
                f"({formatting.brief(above.item)}). That is no mistake: ranks and {count}s were drawn apart, each with "
                "noise of its own."
            )
    return ""
