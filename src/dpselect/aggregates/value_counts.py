"""Grid: the points that a quantile can be, and how many users have their value at each of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Number, hide_elements, positive, rational
from dpselect.errors import ParameterError, came

if TYPE_CHECKING:
    import numpy.typing as npt

MIN_DEFAULT_PARTS = 10**9  # without a step, the range is cut into at least so many, and less than ten times as many
MOST_POINTS = 2**50  # so that floats number the points, and a point beyond every draw's window stays rare
MAX_BOUND, MIN_RANGE = Fraction(10) ** 300, Fraction(10) ** -280  # floats hold the bounds, and their distance in steps

Floats: TypeAlias = "npt.NDArray[np.float64]"
Integers: TypeAlias = "npt.NDArray[np.int64]"
VALUES_PER_PART = 2**15

BOUNDS_REQUIREMENT = "be two finite numbers, the lower one first"
VALUES_REQUIREMENT = "be a one-dimensional array of numbers, one for each user"


@dataclass(frozen=True)
class Grid:
    """The points low, low + step, low + 2 step, ... that are not above high."""

    low: Fraction
    high: Fraction
    step: Fraction

    @classmethod
    def parse(cls, bounds: object, step: Number | None = None) -> Grid:
        """Return the grid of bounds and a step, checked. Without a step: the power of ten for 10^9 to 10^10 parts."""
        low, high = _bounds(bounds)
        size = high - low
        if step is None:
            return cls(low, high, _power_of_ten(size / MIN_DEFAULT_PARTS))
        width = positive("step", step, "be a positive, finite number, at most the distance of the bounds")
        if width > size:
            raise ParameterError("step", "be at most the distance of the bounds", came(step))
        if size / width >= MOST_POINTS:
            raise ParameterError("step", f"cut the bounds into less than 2^50 = {MOST_POINTS:.2g} parts", came(step))
        return cls(low, high, width)

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """The two bounds."""
        return self.low, self.high

    @property
    def points(self) -> int:
        """The number of points."""
        return ((self.high - self.low) / self.step).__floor__() + 1

    def value(self, index: int) -> int | float:
        """Return the point at an index: an integer on a grid of integers, else the nearest float."""
        exact = self.low + index * self.step
        is_integer = self.low.denominator == self.step.denominator == 1
        return int(exact) if is_integer else float(exact)

    def nearest_indices(self, values: Floats) -> Integers:
        """Return the index of the nearest point for every value; values beyond the bounds count as the bounds.

        In floats, each operation rounded alone, so a value has one index whatever stands beside it: nothing more is
        needed for the guarantee. Near the middle between two points it may be either of them. No NaN.
        """
        low, high, step, last = float(self.low), float(self.high), float(self.step), self.points - 1

        def indices_of_part(part: Floats) -> Floats:
            steps = part.clip(low, high)
            steps -= low
            steps /= step
            steps += 0.5
            np.floor(steps, out=steps)
            np.minimum(steps, last, out=steps)
            return steps

        return map_in_parts(values, indices_of_part)

    def indices_of(self, values: object) -> Integers:
        """Return the index of every user's one value, in no order, without missing ones (NaN, None, no number)."""
        floats = to_floats(values)
        missing = np.isnan(floats)
        return self.nearest_indices(floats[~missing] if missing.any() else floats)


def map_in_parts(values: Floats, indices_of_part: Callable[[Floats], Floats | Integers]) -> Integers:
    """Return the grid indices of all values, part by part: a part fits into a fast memory."""
    indices = np.empty(len(values), dtype=np.int64)
    for start in range(0, len(values), VALUES_PER_PART):
        indices[start : start + VALUES_PER_PART] = indices_of_part(values[start : start + VALUES_PER_PART])
    return indices


@dataclass(frozen=True, eq=False, repr=False)
class UsersAt:
    """The numbers of users by the grid index of their value: indices ascending, each once. The repr shows nothing."""

    indices: Integers
    users: Integers

    def __repr__(self) -> str:
        return "UsersAt(private)"

    @classmethod
    def counted(cls, ordered: Integers) -> UsersAt:
        """Return the counts of ascending indices, one for each user."""
        first = np.ones(len(ordered), dtype=bool)
        np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
        starts = np.flatnonzero(first)
        return cls(ordered[starts], np.diff(starts, append=len(ordered)))


def to_floats(values: Any) -> Floats:
    """Return values as floats. An array has the type that it declares; in a list each value is read by itself.

    What is no number is missing, so no value makes a question fail; an error speaks of declared types only.
    """
    declared = _with_declared_type(values)
    if isinstance(declared, np.ndarray):
        if declared.ndim != 1:
            raise ParameterError("values", VALUES_REQUIREMENT, "another shape")
        _refuse_no_numbers(declared.dtype)
        if declared.dtype != object:
            return declared.astype(np.float64, copy=False)
        declared = declared.tolist()
    if set(map(type, declared)) <= {int, float}:
        with contextlib.suppress(OverflowError):
            return np.array(declared, dtype=np.float64)
    return np.fromiter((_number(value) for value in declared), dtype=np.float64, count=len(declared))


def _with_declared_type(values: Any) -> npt.NDArray[Any] | Sequence[object]:
    """Return an array where one is given, else a list of values without a type of their own."""
    if isinstance(values, np.ma.MaskedArray):
        hidden: npt.NDArray[Any] = np.array(values.data, dtype=object)
        hidden[np.ma.getmaskarray(values)] = None
        return hidden
    if isinstance(values, (list, tuple, range, np.ndarray)):
        return values
    if is_encoded(values):
        python_values: list[object] = values.to_pylist()
        return python_values
    _refuse_no_numbers(_dtype(values))
    for method in ("to_numpy", "to_pylist"):  # the first of PyArrow refuses what holds nulls
        if hasattr(values, method):
            with contextlib.suppress(Exception):
                converted: npt.NDArray[Any] | list[object] = getattr(values, method)()
                return converted
    has_dtype = isinstance(getattr(values, "dtype", None), np.dtype)
    if not has_dtype and _is_listable(values):
        return list(values)
    # What declares no type is refused: NumPy would choose one for all of its values, and by them.
    array = np.asarray(values) if has_dtype else np.array(None)
    if array.ndim == 0:
        raise ParameterError("values", VALUES_REQUIREMENT, f"a value of type {type(values).__name__}")
    return array


def is_encoded(values: Any) -> bool:
    """Return whether values are indices into a list, as Arrow encodes them, also in its array of chunks."""
    return hasattr(getattr(values, "type", None), "index_type") and hasattr(values, "to_pylist")


def _dtype(values: Any) -> np.dtype[Any]:
    """Return the type of array that a column makes where nothing is missing: what is missing may change it."""
    with contextlib.suppress(Exception):
        empty = getattr(values, "iloc", values)[:0]  # the first 0, whatever pandas calls its rows
        return np.asarray(empty.to_numpy()).dtype
    return np.dtype(object)


def _refuse_no_numbers(dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "iufO":
        raise ParameterError("values", VALUES_REQUIREMENT, f"values of type {dtype.type.__name__}")


def _is_listable(values: Any) -> bool:
    """Return whether it is values one after the other, and no set or mapping, which lose users of one value."""
    is_sequence = hasattr(values, "__len__") and hasattr(values, "__getitem__")
    return is_sequence and not isinstance(values, (str, bytes, bytearray, Mapping))


def _number(value: Any) -> float:
    try:
        if isinstance(value, (bool, np.bool_, str, bytes, np.ndarray)):
            return float("nan")
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    except Exception:  # whatever it is, it is no number
        return float("nan")


@hide_elements("bounds", BOUNDS_REQUIREMENT)
def _bounds(bounds: Any) -> tuple[Fraction, Fraction]:
    try:
        low, high = bounds
    except (TypeError, ValueError):
        raise ParameterError("bounds", BOUNDS_REQUIREMENT, came(bounds)) from None
    hint = "choose them without looking at the data, for example 0 and 120 for an age"
    ends = rational("bounds", low, BOUNDS_REQUIREMENT), rational("bounds", high, BOUNDS_REQUIREMENT)
    if not ends[0] < ends[1]:
        raise ParameterError("bounds", BOUNDS_REQUIREMENT, f"{came(low)}, {came(high)}", hint)
    if max(map(abs, ends)) > MAX_BOUND or ends[1] - ends[0] < MIN_RANGE:
        raise ParameterError(
            "bounds", "be between -1e300 and 1e300, and 1e-280 or more apart", f"{came(low)}, {came(high)}"
        )
    return ends


def _power_of_ten(limit: Fraction) -> Fraction:
    """Return the largest power of ten that is not above the limit."""
    guess = len(str(limit.numerator)) - len(str(limit.denominator))
    return Fraction(10) ** (guess if Fraction(10) ** guess <= limit else guess - 1)
