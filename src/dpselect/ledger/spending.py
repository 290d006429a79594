"""The spending of a ledger as a picture: the part of each budget that is used after every entry."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from dpselect.ledger.audit import Sums
from dpselect.release.line_plots import Spent, spending
from dpselect.release.picture import themed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpselect.ledger.entry import Entry
    from dpselect.ledger.standing import Standing


def plot(
    entries: Iterable[Entry],
    path: str | os.PathLike[str] | None,
    *,
    analyst: str | None,
    data: str | None,
    theme: str,
) -> Figure:
    """A line for the data and one for every analyst; in each period, where the data have periods."""
    look = themed(theme)

    def meant(entry: Entry) -> bool:
        return analyst in (None, entry.account.analyst) and data in (None, entry.account.dataset)

    lines: dict[str, list[Spent]] = {}
    for entry, when, standing in _standings(entries):
        if standing is None or not meant(entry):
            continue
        everybody = standing.data.promise.limits.part(standing.all.total.sums)
        whose = {f"everybody on {standing.data.dataset!r}": everybody, str(entry.account): 1 - standing.left}
        for name, used in whose.items():
            lines.setdefault(f"{name}{when}", []).append(Spent(entry.number, entry.at[:10], float(used)))
    return spending(lines, path, look)


def _standings(entries: Iterable[Entry]) -> Iterator[tuple[Entry, str, Standing | None]]:
    """Each entry of a question, in which period, and how its account stands after it there."""
    sums = Sums()
    parts: dict[int, Sequence[str]] = {}
    for entry in entries:
        for _ in sums.problems(entry):
            pass  # verify tells of them
        parts[entry.number] = parts.get(entry.refers_to or 0) or list(entry.parts)
        for period in parts[entry.number] if entry.question or entry.refers_to else []:
            yield entry, f" in {period}" if period else "", sums.standing(entry.account, period)
