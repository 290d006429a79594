"""Candidates: what a mechanism selects among, whatever form the scores came in."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from dpselect._ground.dataclass import dataclass
from dpselect.aggregates.count_groups import CountGroups
from dpselect.aggregates.value_counts import is_encoded
from dpselect.draws.weights import Scores, Weights
from dpselect.errors import ParameterError

if TYPE_CHECKING:
    import numpy.typing as npt

Picks = Sequence[tuple[int, int]]  # (group, member)
Input: TypeAlias = "CountGroups | Mapping[Any, Any] | npt.ArrayLike"
Answer: TypeAlias = "npt.NDArray[np.int64] | list[Any]"

MUST = "be finite numbers: integers, floats, Fractions or Decimals"
EXACT = 2**53  # the largest integer that floats hold with all before it
FLOAT = 8  # bytes of a float64
LARGEST = 5000  # decimal exponent of a score: more than any float has


class CandidateNames(Protocol):
    """The way from picks back to what the caller knows the candidates by."""

    def __call__(self, picks: Picks) -> Answer:
        """Return indices for an array, labels for a mapping or count groups."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class Candidates:
    """Scores by group, sizes of the groups (None: all 1), and the way back to names."""

    scores: Scores
    sizes: npt.NDArray[np.int64] | npt.NDArray[np.object_] | None
    names: CandidateNames

    def weights(self, rate: Fraction) -> Weights:
        """Return every candidate with weight exp(rate x score)."""
        return Weights(self.scores, rate, self.sizes)

    @property
    def count(self) -> int:
        """The number of candidates."""
        return len(self.scores) if self.sizes is None else int(self.sizes.sum())


def parse_candidates(scores: Input) -> Candidates:
    """Parse candidates from counts or scores: an array, a mapping or a pandas Series of labels, or count groups."""
    if isinstance(scores, CountGroups):
        label = scores.label
        return Candidates(scores.counts, whole_sizes(scores.sizes), lambda picks: [label(g, r) for g, r in picks])
    if isinstance(scores, Mapping):
        labels = list(scores)
        return Candidates(exact_scores(list(scores.values())), None, lambda picks: [labels[g] for g, _ in picks])
    array, index = exact_scores(scores), _index(scores)
    if index is not None:
        return Candidates(array, None, lambda picks: [index[g] for g, _ in picks])
    return Candidates(array, None, lambda picks: np.array([g for g, _ in picks], dtype=np.int64))


def _index(scores: Any) -> list[Any] | None:
    """Return the labels of a pandas Series; None where its index is the plain 0, 1, ... that an array has too."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(scores, pandas.Series) or isinstance(scores.index, pandas.RangeIndex):
        return None
    if not scores.index.is_unique:
        raise ParameterError("scores", "name every candidate once", "a label that occurs again")
    labels: list[Any] = scores.index.tolist()
    return labels


def parse_counts(counts: Input) -> Candidates:
    """Parse candidates whose scores must be counts of users, for noise that is made for whole numbers."""
    candidates = parse_candidates(counts)
    if candidates.scores.dtype != np.int64:
        raise ParameterError("counts", "be whole numbers of users", f"values of type {candidates.scores.dtype}")
    if int(candidates.scores.min()) < 0:
        raise ParameterError("counts", "be at least 0", "a negative count")
    return candidates


def refuse_too_few(k: int, candidates: Candidates) -> None:
    """Refuse a k above the number of candidates."""
    if k > candidates.count:
        hint = "lower k, or give a larger domain"
        raise ParameterError("k", "be at most the number of candidates in the domain", k, hint)


def label_order(label: object) -> tuple[str, str]:
    """Return what a label is ordered by: itself, since a position among the counts, or in a mapping, is private."""
    return type(label).__qualname__, repr(label)


def whole_sizes(sizes: Sequence[int]) -> npt.NDArray[np.int64] | npt.NDArray[np.object_] | None:
    """Return sizes as int64 where their sum fits, as Python integers beyond, None where all are 1."""
    if isinstance(sizes, tuple) and set(sizes) <= {1}:
        return None
    fits = sum(sizes) < 2**62
    return np.array(sizes, dtype=np.int64) if fits else np.array(list(sizes), dtype=object)


def exact_scores(scores: Any) -> Scores:
    """Return scores as int64, as float64 (each the rational it is), or as Python numbers where neither holds them."""
    if not isinstance(scores, (np.ndarray, list, tuple, range)) and hasattr(scores, "to_numpy"):
        scores = _column(scores)
    if "numpy.ma" in sys.modules and np.ma.is_masked(scores):  # a masked array has imported it
        raise ParameterError("scores", MUST, "a masked one among them")
    try:
        array = np.asarray(scores)
    except ValueError:
        array = np.asarray([], dtype=object).reshape(0, 0)
    if array.ndim != 1:
        raise ParameterError("scores", "be one-dimensional", "another shape", "write {label: score, ...} for labels")
    if not len(array):
        raise ParameterError("scores", "hold at least one candidate", "none")
    listed_scores = scores if isinstance(scores, (list, tuple)) else ()
    if not {bool, np.bool_}.isdisjoint(map(type, listed_scores)):
        raise ParameterError("scores", MUST, "True or False among them")  # which NumPy counts as 1 and 0 beside others
    # One float beside integers that no float holds would round them all: they stay what they are.
    rounded = array.dtype.kind == "f" and any(
        isinstance(s, (int, np.integer)) and abs(int(s)) > EXACT for s in listed_scores
    )
    if array.dtype.kind == "f" and array.dtype.itemsize <= FLOAT and not rounded:
        if not np.isfinite(array).all():
            raise ParameterError("scores", MUST, "NaN or infinity among them")
        return np.asarray(array, dtype=np.float64)
    if array.dtype.kind in "iu" and not (array.dtype == np.uint64 and int(array.max()) >= 2**63):
        return np.asarray(array, dtype=np.int64)
    if array.dtype.kind not in "ufO":  # a float of more than 64 bits, NumPy's longdouble, is the rational it is
        raise ParameterError("scores", MUST, f"values of type {array.dtype.type.__name__}")
    return np.array([_number(s) for s in (scores if isinstance(scores, (list, tuple)) else array)], dtype=object)


def _column(scores: Any) -> Any:
    """Return a column as an array, or as a list where its package makes no array of it."""
    with contextlib.suppress(Exception):
        if not is_encoded(scores):
            return scores.to_numpy()
    return scores.to_pylist() if hasattr(scores, "to_pylist") else list(scores)


def _number(score: object) -> Fraction:
    try:
        if isinstance(score, (bool, str)):
            raise TypeError
        if isinstance(score, np.floating):
            return Fraction(*score.as_integer_ratio())
        if isinstance(score, np.generic):
            score = score.item()
        if isinstance(score, Decimal) and score and score.is_finite() and abs(score.adjusted()) > LARGEST:
            raise OverflowError  # before it is a power of ten with as many digits
        number: Fraction = Fraction(score)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        raise ParameterError("scores", MUST, "something else among them") from None
    return number
