"""Measures: sums and means of a column over the users of an item, which can be told of items that came back.

Every row is read by itself, every user's rows of an item by themselves, and all that is added up after that are
integers: so a user moves few numbers, by no more than is said here, and the order of rows changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, field
from fractions import Fraction

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Number, check_keywords
from dpselect.aggregates.totals import PARTS_PER_UNIT
from dpselect.aggregates.value_counts import Grid
from dpselect.errors import ParameterError, came

MAX_BOUND_UNITS = 10**6  # units of a bound: so the sums of 9 * 10^9 users stay below 2^53
MAX_ROW_UNITS = 10**8  # units, to which a row of a sum is moved: what a user's total is cut from
HALF_OF_MEAN_STEPS = 10**6  # steps of a mean's grid from the middle to either bound
BOUND_REQUIREMENT = "be a finite number"
USERS_MEASURE = "users"
MEASURE_REQUIREMENT = "be users, sum(column, low, high) or mean(column, low, high)"
MEASURE_HINT = 'in Python also dps.Sum("minutes", 0, 60) and dps.Mean("rating", 1, 5)'


@check_keywords
@dataclass(frozen=True)
class Sum:
    """The sum over users of each user's own total of a column in the rows of an item, clipped to [low, high].

    Rows without a number add nothing. A row is clipped to 10^8 units from 0 and read in millionths of a unit. A user's
    total is rounded to whole units, halves up. A user who has the item counts even without a number.

    Args:
        column: The column of numbers.
        low: The least that one user adds.
        high: The most that one user adds.
        unit: The unit of rounding and noise; 1 if left out, which requires whole bounds.
    """

    column: str
    low: Number
    high: Number
    _: KW_ONLY
    unit: Number | None = None
    least: int = field(init=False, repr=False, compare=False)
    most: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        low, high = _bounds("Sum", self.column, self.low, self.high)
        if self.unit is None and not low.denominator == high.denominator == 1:
            hint = "for example a tenth; noise and rounding are in this unit"
            raise ParameterError("unit", "be given if low or high is not a whole number", "nothing", hint)
        unit = Fraction(1) if self.unit is None else parameters.sensitivity("unit", self.unit)
        for name, bound in (("low", low), ("high", high)):
            if (bound / unit).denominator != 1 or abs(bound / unit) > MAX_BOUND_UNITS:
                requirement = f"be a whole number of units, at most {MAX_BOUND_UNITS:,} of them from 0"
                hint = "the unit is 1 unless unit is given"
                raise ParameterError(name, requirement, came(getattr(self, name)), hint)
        _set_fields(self, low=low, high=high, unit=unit, least=int(low / unit), most=int(high / unit))

    @property
    def name(self) -> str:
        """The name of the measure in a table."""
        return f"sum({self.column})"

    @property
    def noises(self) -> int:
        """The number of noisy numbers that it takes."""
        return 1

    @property
    def sensitivity(self) -> int:
        """The most units by which a user who has the item moves the sum."""
        return max(abs(self.least), abs(self.most))

    @property
    def has_one_sign(self) -> bool:
        """True if every user moves the sum in the same direction."""
        return self.least >= 0 or self.most <= 0

    @property
    def step(self) -> Fraction:
        """The unit of rounding and of noise, exactly."""
        return Fraction(self.unit)  # type: ignore[arg-type] # __post_init__ has read it

    @property
    def grid(self) -> Grid:
        """The points to which a row moves: millionths of a unit."""
        return Grid(-MAX_ROW_UNITS * self.step, MAX_ROW_UNITS * self.step, self.step / PARTS_PER_UNIT)

    def __str__(self) -> str:
        unit = "" if self.step == 1 else f", unit={_format_number(self.step)}"
        return f"sum({_quoted(self.column)}, {_format_number(self.low)}, {_format_number(self.high)}{unit})"


@check_keywords
@dataclass(frozen=True)
class Mean:
    """The mean over users of each user's own mean of a column in the rows of an item.

    Users without a number do not count. Each row is clipped to [low, high] and rounded to a grid of two million steps,
    and so is each user's mean.

    Args:
        column: The column of numbers.
        low: Smaller numbers count as this.
        high: Larger numbers count as this.
    """

    column: str
    low: Number
    high: Number

    def __post_init__(self) -> None:
        low, high = _bounds("Mean", self.column, self.low, self.high)
        _set_fields(self, low=low, high=high)

    @property
    def name(self) -> str:
        """The name of the measure in a table."""
        return f"mean({self.column})"

    @property
    def noises(self) -> int:
        """The number of noisy numbers that it takes: a sum of distances from the middle, and the number of users."""
        return 2

    @property
    def sensitivity(self) -> int:
        """The most steps by which a user moves the sum of distances from the middle."""
        return HALF_OF_MEAN_STEPS

    @property
    def step(self) -> Fraction:
        """The step of the grid between the bounds."""
        return (Fraction(self.high) - Fraction(self.low)) / (2 * HALF_OF_MEAN_STEPS)

    @property
    def grid(self) -> Grid:
        """The points to which a row moves."""
        return Grid(Fraction(self.low), Fraction(self.high), self.step)

    def __str__(self) -> str:
        return f"mean({_quoted(self.column)}, {_format_number(self.low)}, {_format_number(self.high)})"


Measure = Sum | Mean


@dataclass(frozen=True, eq=False, repr=False)
class Measured:
    """The measured values of one item: the sum over users, in steps, and the number of users. The repr shows nothing.

    Of a `Sum`, steps are its units; of a `Mean`, they are counted from the middle of its bounds.
    """

    total: int
    users: int

    @classmethod
    def from_minimum(cls, measure: Measure, steps_above_minimum: int, users: int) -> Measured:
        """Return the value of a sum of steps that were counted from the lower bound, as engines add them up."""
        lowest = measure.least if isinstance(measure, Sum) else -HALF_OF_MEAN_STEPS
        return cls(steps_above_minimum + lowest * users, users)

    def __repr__(self) -> str:
        return "Measured(private)"


MEASURED_OF_NOBODY = Measured(0, 0)


def noises(measures: Sequence[Measure]) -> int:
    """Return the number of noisy numbers of each item that the measures take."""
    return sum(measure.noises for measure in measures)


def measures_of(value: object) -> tuple[tuple[Measure, ...], bool]:
    """Parse the measures of a caller; return them, and whether the number of users is one of them."""
    if isinstance(value, (str, Sum, Mean)):
        value = [value]
    if not isinstance(value, (list, tuple)):  # of a column the first value would be quoted
        raise ParameterError(
            "measures",
            f"be a list, each to {MEASURE_REQUIREMENT}",
            f"a value of type {type(value).__name__}",
            MEASURE_HINT,
        )
    parsed = [
        _parse_measure(measure)
        for measure in parameters.as_list("measures", value, f"be a list, each to {MEASURE_REQUIREMENT}")
    ]
    measures = tuple(measure for measure in parsed if measure is not None)
    names = [measure.name.casefold() for measure in measures] + [USERS_MEASURE] * parsed.count(None)
    if not parsed or len(set(names)) < len(names):
        hint = "for two columns whose names differ only in letter case, ask two questions"
        raise ParameterError(
            "measures", "be one or more, each of another kind or column", "one twice" if parsed else "none", hint
        )
    return measures, None in parsed


def _parse_measure(value: object) -> Measure | None:
    """Parse a measure, also from its text; None for the number of users."""
    if isinstance(value, (Sum, Mean)):
        return value
    if not isinstance(value, str):
        raise ParameterError("measures", MEASURE_REQUIREMENT, came(value), MEASURE_HINT)
    text = value.strip()
    if text == USERS_MEASURE:
        return None
    kind, _, inside = text.partition("(")
    parts = inside.removesuffix(")").rsplit(",", 3)
    unit = None
    if kind.strip() == "sum" and parts[-1].strip().startswith("unit="):
        unit = parts.pop().strip().removeprefix("unit=")
    if kind.strip() not in ("sum", "mean") or not inside.endswith(")") or len(parts) < 3:
        raise ParameterError("measures", MEASURE_REQUIREMENT, came(value), MEASURE_HINT)
    column, low, high = _unquoted(",".join(parts[:-2]).strip()), parts[-2].strip(), parts[-1].strip()
    return Sum(column, low, high, unit=unit) if kind.strip() == "sum" else Mean(column, low, high)


def _quoted(column: str) -> str:
    """Return a column as it is in a text: in quotes where it would not be read as it is."""
    plain = column == column.strip() and not column.startswith('"')
    return column if plain else '"' + column.replace('"', '""') + '"'


def _unquoted(text: str) -> str:
    if len(text) > 1 and text.startswith('"') and text.endswith('"'):
        return text[1:-1].replace('""', '"')
    return text


def _format_number(number: Number) -> str:
    """Return a number exactly: as a decimal where it is one of a few digits."""
    exact = Fraction(number)
    plain = repr(float(exact)).removesuffix(".0")
    return plain if Fraction(plain) == exact else str(exact)


def _bounds(kind: str, column: object, low: object, high: object) -> tuple[Fraction, Fraction]:
    """Return the bounds, exact; refuse those that are not in order."""
    if not isinstance(column, str) or not column.strip():
        raise ParameterError("measures", f"name a column of numbers in {kind}", came(column))
    ends = parameters.rational("low", low, BOUND_REQUIREMENT), parameters.rational("high", high, BOUND_REQUIREMENT)
    if not ends[0] < ends[1]:
        hint = "choose them without looking at the data, for example 0 and 60 for minutes"
        raise ParameterError("low", "be below high", f"{came(low)} and {came(high)}", hint)
    Grid.parse(ends)  # refuses what floats cannot hold
    return ends


def _set_fields(frozen: object, **values: object) -> None:
    for name, value in values.items():
        object.__setattr__(frozen, name, value)
