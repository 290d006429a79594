"""The k_bar + 1 items with the most users: all that limited domain ever looks at.

Proof: docs/mechanisms/limited-domain.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from dpselect.aggregates.count_groups import CountGroups
from dpselect.draws import Draws, Weights
from dpselect.draws.near import kth_largest
from dpselect.errors import ParameterError
from dpselect.mechanisms.candidates import CandidateNames, Input, exact, fixed

Places = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False, repr=False)
class TopRows:
    """Positive counts, largest first, ties in an order that does not depend on the data."""

    counts: npt.NDArray[np.int64]
    names: CandidateNames

    def inside(self, k_bar: int) -> npt.NDArray[np.int64]:
        """The counts of the k_bar best items, fewer where fewer have any user."""
        return self.counts[:k_bar]

    def after(self, k_bar: int) -> int:
        """h_(k_bar + 1): the first count beyond, 0 where there is none."""
        return int(self.counts[k_bar]) if len(self.counts) > k_bar else 0


def top_rows(counts: Input, rows: int) -> TopRows:
    """The `rows` largest positive counts: of an array (ties by index), a mapping (by label), or of groups."""
    if isinstance(counts, CountGroups):
        return _of_histogram(counts, rows)
    if isinstance(counts, Mapping):
        labels: list[Any] = list(counts)
        values = whole(list(counts.values()))
        best = _largest(values, rows, lambda places: np.array(sorted(places, key=lambda i: fixed(labels[i])), np.intp))
        return TopRows(values[best], lambda picks: [labels[best[g]] for g, _ in picks])
    values = whole(counts)
    best = _largest(values, rows)
    return TopRows(values[best], lambda picks: best[[g for g, _ in picks]].astype(np.int64))


def whole(counts: Any) -> npt.NDArray[np.int64]:
    """Counts of users as int64, or a clear error. No items at all is a count of nothing, not a mistake."""
    if getattr(counts, "ndim", 1) == 1 and isinstance(counts, Sized) and len(counts) == 0:
        return np.zeros(0, dtype=np.int64)
    values = exact(counts)
    if values.dtype != np.int64:
        raise ParameterError("counts", "be whole numbers of users", f"values of type {values.dtype}")
    if int(values.min()) < 0:
        raise ParameterError("counts", "be at least 0", "a negative count")
    return values.astype(np.int64, copy=False)


def _largest(
    values: npt.NDArray[np.int64], rows: int, ordered: Callable[[Places], Places] = lambda places: places
) -> npt.NDArray[np.intp]:
    """Indices of the largest positive values, descending; equal ones, also at the cut, as `ordered` puts indices."""
    least = 1
    if len(values) > rows:
        least = max(1, int(kth_largest(values, rows)))
    above, equal = np.flatnonzero(values > least), np.flatnonzero(values == least)
    chosen = np.concatenate([ordered(above), ordered(equal)[: max(0, rows - len(above))]])
    return chosen[np.argsort(-values[chosen], kind="stable")]


def _of_histogram(histogram: CountGroups, rows: int) -> TopRows:
    groups = np.argsort(-histogram.counts, kind="stable")
    members = ((int(g), r) for g in groups if histogram.counts[g] > 0 for r in range(int(histogram.sizes[g])))
    chosen = list(islice(members, rows))
    counts = np.array([histogram.counts[g] for g, _ in chosen], dtype=np.int64)
    return TopRows(counts, lambda picks: [histogram.label(*chosen[p]) for p, _ in picks])


def largest(noisy: Sequence[int], k: int, draws: Draws) -> list[int]:
    """The positions of the k largest numbers (all if there are fewer), best first.

    Among equal numbers every order is equally likely, so the answer reveals nothing about the positions themselves,
    which are in the order of the true counts.
    """
    if not noisy:
        return []
    values = np.array(noisy, dtype=np.int64)
    least = np.partition(values, len(values) - k)[len(values) - k] if k < len(values) else values.min()
    among = np.flatnonzero(values >= least)
    alike = Weights(np.zeros(len(among), dtype=np.int64), Fraction(1))
    shuffled = among[[place for place, _ in draws.peel(alike, len(among))]]
    found: list[int] = shuffled[np.argsort(-values[shuffled], kind="stable")][:k].tolist()
    return found
