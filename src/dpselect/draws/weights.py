"""Weights: groups of candidates, each of weight factor * exp(rate * score), all three rational and exact.

How they are drawn from: docs/exact-draws.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dpselect._ground.dataclass import dataclass
from dpselect._ground.reals import Exp
from dpselect.errors import ParameterError

if TYPE_CHECKING:
    import numpy.typing as npt

Scores: TypeAlias = "npt.NDArray[np.int64] | npt.NDArray[np.float64] | npt.NDArray[np.object_]"
Floats: TypeAlias = "npt.NDArray[np.float64]"

MIN_RATE, MAX_RATE = Fraction(1, 2**900), Fraction(2**900)  # floats stay normal numbers (float_exp.py)


@dataclass(frozen=True, eq=False, repr=False)
class Weights:
    """Group g holds sizes[g] candidates of weight factors[g] * exp(rate * scores[g]) each.

    Scores are int64, finite float64 (taken as exact rationals) or objects (ints or Fractions). sizes and factors
    are 1 where not given. Only ratios of weights matter, so a score may be shifted freely.
    """

    scores: Scores
    rate: Fraction
    sizes: npt.NDArray[np.int64] | npt.NDArray[np.object_] | None = None
    factors: Sequence[Fraction] | None = None

    def __post_init__(self) -> None:
        if not MIN_RATE < self.rate < MAX_RATE:
            raise ParameterError("epsilon / sensitivity", "be between 2^-900 and 2^900", "a value outside")
        if self.factors is not None and not all(MIN_RATE < f < MAX_RATE for f in _distinct_factors(self.factors)):
            raise ParameterError("factors", "be between 2^-900 and 2^900", "a value outside")

    def __len__(self) -> int:
        return len(self.scores)

    def size(self, group: int) -> int:
        """Count the candidates of a group."""
        return 1 if self.sizes is None else int(self.sizes[group])

    @property
    def candidate_count(self) -> int:
        """Count the candidates of all groups."""
        return len(self.scores) if self.sizes is None else int(self.sizes.sum())

    def score(self, group: int) -> int | Fraction:
        """Return a group's exact score."""
        value = self.scores[group]
        return Fraction(value) if isinstance(value, (float, Fraction)) else int(value)

    def log_factors(self, log: Callable[[Fraction], float]) -> Floats | None:
        """Compute the logarithm of every factor, of one that stands for many once."""
        if self.factors is None:
            return None
        log_by_factor = {id(factor): log(factor) for factor in _distinct_factors(self.factors)}
        return np.array([log_by_factor[id(factor)] for factor in self.factors], dtype=np.float64)

    def subset(self, groups: npt.NDArray[np.intp]) -> Weights:
        """Keep some groups, in this order."""
        sizes = None if self.sizes is None else self.sizes[groups]
        factors = None if self.factors is None else [self.factors[g] for g in groups]
        return Weights(self.scores[groups], self.rate, sizes, factors)

    def ratio(self, group: int, reference: int | Fraction) -> Exp:
        """Return a candidate's exact weight in units of exp(rate * reference)."""
        factor = Fraction(1) if self.factors is None else self.factors[group]
        return Exp(self.rate * (self.score(group) - reference), factor)

    def log_gap(self, group: int, reference: int | Fraction) -> float:
        """Compute rate * (reference - score) as a float; infinite where no float holds it."""
        return _nearest_float(self.rate * (reference - self.score(group)))

    def log_gaps(self, groups: slice, reference: int | Fraction) -> Floats:
        """Compute rate * (reference - score) in floats, three roundings away from exact: difference, rate and product.

        The relative error is below 2^-51, but of a product that is no normal number: that is below 2^-1021 and so is
        its error, where `float_exp.decay` allows 2^-39. No score may be above the reference.
        """
        scores, rate = self.scores[groups], float(self.rate)
        if scores.dtype == np.int64:  # modulo 2^64 the difference is exact, whatever its size
            gaps = np.array(int(reference) & (2**64 - 1), dtype=np.uint64) - scores.view(np.uint64)
            return gaps.astype(np.float64) * rate
        if scores.dtype == np.float64:
            with np.errstate(over="ignore"):  # infinite means beyond every window
                return np.asarray((float(reference) - scores) * rate, dtype=np.float64)
        return np.array([_nearest_float(self.rate * (reference - s)) for s in scores], dtype=np.float64)


def _distinct_factors(factors: Sequence[Fraction]) -> Iterable[Fraction]:
    """Return the factors, one that stands for many candidates once."""
    return {id(factor): factor for factor in factors}.values()


def _nearest_float(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf")
