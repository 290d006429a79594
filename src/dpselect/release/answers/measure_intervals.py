"""The intervals of the measures of a release, written from their noisy values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from dpselect.aggregates.measures import Measure
from dpselect.release.measures import accuracy_of_measures, to_plain_number
from dpselect.release.release import Release
from dpselect.release.statement import Measurement


def add_intervals(release: Release, measures: Sequence[Measure], widths: Sequence[Fraction | None]) -> Release:
    """Return the release with the interval of each measure that has a width, and how near its measures are."""
    items = tuple(
        replace(item, measures=tuple(map(_with_interval, measures, item.measures, widths))) for item in release.items
    )
    return replace(release, items=items, accuracy=release.accuracy + accuracy_of_measures(measures, widths))


def _with_interval(measure: Measure, noisy: Measurement, width: Fraction | None) -> Measurement:
    """Return a sum of whole steps with the ends of its interval; those of a mean depend on its users."""
    if width is None:
        return noisy
    exact = round(Fraction(noisy.value) / measure.step) * measure.step
    ends = [exact - width, exact + width]
    if Fraction(measure.low) >= 0:  # no user has a total of the other sign
        ends = [max(Fraction(0), end) for end in ends]
    elif Fraction(measure.high) <= 0:
        ends = [min(Fraction(0), end) for end in ends]
    return Measurement(measure.name, *(to_plain_number(measure, exact_value) for exact_value in (exact, *ends)))
