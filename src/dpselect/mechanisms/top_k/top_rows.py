"""The k_bar + 1 items with the most users: all that limited domain ever looks at.

Proof: docs/mechanisms/limited-domain.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dpselect._ground.dataclass import dataclass
from dpselect.aggregates.count_groups import CountGroups
from dpselect.draws import Draws, Weights
from dpselect.draws.near import kth_largest
from dpselect.errors import ParameterError
from dpselect.mechanisms.candidates import CandidateNames, Input, exact_scores, label_order

if TYPE_CHECKING:
    import numpy.typing as npt

Indices: TypeAlias = "npt.NDArray[np.intp]"


@dataclass(frozen=True, eq=False, repr=False)
class TopRows:
    """Positive counts, largest first, ties in an order that does not depend on the data."""

    counts: npt.NDArray[np.int64]
    names: CandidateNames

    def inside(self, k_bar: int) -> npt.NDArray[np.int64]:
        """Return the counts of the k_bar best items, fewer where fewer have any user."""
        return self.counts[:k_bar]

    def after(self, k_bar: int) -> int:
        """Return h_(k_bar + 1): the first count beyond, 0 where there is none."""
        return int(self.counts[k_bar]) if len(self.counts) > k_bar else 0


def top_rows(counts: Input, rows: int) -> TopRows:
    """Return the `rows` largest positive counts: of an array (ties by index), a mapping (by label), or of groups."""
    if isinstance(counts, CountGroups):
        return _of_histogram(counts, rows)
    if isinstance(counts, Mapping):
        labels: list[Any] = list(counts)
        values = whole_counts(list(counts.values()))
        best_rows = _largest(
            values, rows, lambda indices: np.array(sorted(indices, key=lambda i: label_order(labels[i])), np.intp)
        )
        return TopRows(values[best_rows], lambda picks: [labels[best_rows[g]] for g, _ in picks])
    values = whole_counts(counts)
    best_rows = _largest(values, rows)
    return TopRows(values[best_rows], lambda picks: best_rows[[g for g, _ in picks]].astype(np.int64))


def whole_counts(counts: Any) -> npt.NDArray[np.int64]:
    """Parse counts of users as int64. No items at all is a count of nothing, not a mistake."""
    if getattr(counts, "ndim", 1) == 1 and isinstance(counts, Sized) and len(counts) == 0:
        return np.zeros(0, dtype=np.int64)
    values = exact_scores(counts)
    if values.dtype != np.int64:
        raise ParameterError("counts", "be whole numbers of users", f"values of type {values.dtype}")
    if int(values.min()) < 0:
        raise ParameterError("counts", "be at least 0", "a negative count")
    return values.astype(np.int64, copy=False)


def _largest(
    values: npt.NDArray[np.int64], rows: int, order: Callable[[Indices], Indices] = lambda indices: indices
) -> npt.NDArray[np.intp]:
    """Return indices of the largest positive values, descending; equal ones, also at the cut, by `order`."""
    least = 1
    if len(values) > rows:
        least = max(1, int(kth_largest(values, rows)))
    larger, equal = np.flatnonzero(values > least), np.flatnonzero(values == least)
    chosen = np.concatenate([order(larger), order(equal)[: max(0, rows - len(larger))]])
    return chosen[np.argsort(-values[chosen], kind="stable")]


def _of_histogram(histogram: CountGroups, rows: int) -> TopRows:
    groups = np.argsort(-histogram.counts, kind="stable")
    members = ((int(g), r) for g in groups if histogram.counts[g] > 0 for r in range(int(histogram.sizes[g])))
    chosen = list(islice(members, rows))
    counts = np.array([histogram.counts[g] for g, _ in chosen], dtype=np.int64)
    return TopRows(counts, lambda picks: [histogram.label(*chosen[p]) for p, _ in picks])


def largest(noisy: Sequence[int], k: int, draws: Draws) -> list[int]:
    """Return the positions of the k largest numbers (all if there are fewer), best first.

    Among equal numbers every order is equally likely, so the answer reveals nothing about the positions themselves,
    which are in the order of the true counts.
    """
    if not noisy:
        return []
    values = np.array(noisy, dtype=np.int64)
    least = np.partition(values, len(values) - k)[len(values) - k] if k < len(values) else values.min()
    at_least = np.flatnonzero(values >= least)
    alike = Weights(np.zeros(len(at_least), dtype=np.int64), Fraction(1))
    shuffled = at_least[[index for index, _ in draws.peel(alike, len(at_least))]]
    positions: list[int] = shuffled[np.argsort(-values[shuffled], kind="stable")][:k].tolist()
    return positions
