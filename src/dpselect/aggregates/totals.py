"""Totals: what a user's rows of an item come to, in whole units and no more than a cap. A score is their sum."""

from __future__ import annotations

from fractions import Fraction

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect.aggregates.value_counts import Grid
from dpselect.errors import ParameterError, came

PARTS_PER_UNIT = 10**6  # of a unit, which every row is read in: decimals of six digits add up as they are written
MAX_CAP_UNITS = 10**6  # units of a cap: so the scores of 9 * 10^9 users stay below 2^53


@dataclass(frozen=True)
class Totals:
    """The column of weights, the most that one user gives to an item, and the unit in which that is counted.

    Every row by itself is moved to [0, at_most] and read in millionths of a unit, so that a total is a sum of integers:
    it depends on the user's own rows alone, and not on their order. What is no number, NaN, null or below 0 is 0. A
    total is then rounded to whole units, halves up, and is at most `max_units`.
    """

    column: str
    at_most: Fraction
    unit: Fraction

    @classmethod
    def parse(cls, column: object, at_most: object, unit: object = None) -> Totals:
        """Return the totals of a column, with cap and unit checked: 1 without a unit, if the cap is whole."""
        if not isinstance(column, str) or not column.strip():
            raise ParameterError("by_weight", "be the name of a column of numbers", came(column))
        if at_most is None:
            hint = "choose it without looking at the data, for example 60 for minutes"
            raise ParameterError(
                "at_most", "be given with by_weight: the most that one user gives to an item", "nothing", hint
            )
        cap = parameters.sensitivity("at_most", at_most)
        if unit is None and cap.denominator != 1:
            hint = "for example a tenth; noise and rounding are in this unit"
            raise ParameterError("weight_unit", "be given if at_most is not a whole number", "nothing", hint)
        step = Fraction(1) if unit is None else parameters.sensitivity("weight_unit", unit)
        if (cap / step).denominator != 1 or not 1 <= cap / step <= MAX_CAP_UNITS:
            requirement = f"be a whole number of units, from 1 to {MAX_CAP_UNITS:,} of them"
            hint = "the unit is 1 unless weight_unit is given"
            raise ParameterError("at_most", requirement, came(at_most), hint)
        return cls(column, cap, step)

    @property
    def question_parameters(self) -> dict[str, object]:
        """The parameters of a question that ask for these totals."""
        return {"by_weight": self.column, "at_most": self.at_most, "weight_unit": self.unit}

    @property
    def max_units(self) -> int:
        """The most units that one user gives to an item: the sensitivity of a score."""
        return int(self.at_most / self.unit)

    @property
    def grid(self) -> Grid:
        """The points to which a row moves: millionths of a unit from 0 to the cap."""
        return Grid(Fraction(0), self.at_most, self.unit / PARTS_PER_UNIT)

    @property
    def min_counted_value(self) -> Fraction:
        """A row of less than this is at index 0 of the grid, and gives nothing."""
        return self.grid.step / 2
