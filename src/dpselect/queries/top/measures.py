"""Measures of a top k: the second question, for other numbers of the items that came back."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpselect._ground.domain import Domain
from dpselect._ground.parameters import Progress
from dpselect.aggregates.measures import Measure
from dpselect.draws import Draws
from dpselect.engines.port import Engine
from dpselect.mechanisms.top_k.noisy_measures import NoisyMeasures
from dpselect.queries.plan import Ready
from dpselect.release.accuracy import BETA
from dpselect.release.measures import PRICE, accuracy_of, number, told
from dpselect.release.release import Measurement, Release


def measured(
    ready: Ready, measures: tuple[Measure, ...], engine: Engine, domain: Domain | None, most: int | None
) -> Ready:
    """The answer with measures of its items, for which their rows are read once more.

    `most` is how many items one user counts for. Which items are measured, and at what price, is said by the release.
    """

    def answer(draws: Draws, progress: Progress | None) -> Release:
        release = ready(draws, progress)
        if not release.items:
            return release
        noisy = _noisy(release, measures, most)
        found = engine.measured(release.labels, domain, bounded=most is not None, progress=progress)
        items = tuple(
            replace(item, measures=tuple(told(*one) for one in zip(measures, row, strict=True)))
            for item, row in zip(release.items, noisy(found, BETA, draws=draws), strict=True)
        )
        return near_measures(replace(release, items=items), measures, most)

    return answer


def near_measures(release: Release, measures: tuple[Measure, ...], most: int | None) -> Release:
    """The answer, which says how near the measures of its items are."""
    if not release.items:
        return release
    noisy = _noisy(release, measures, most)
    widths = [noisy.width(one, BETA) for one in measures]
    items = tuple(
        replace(item, measures=tuple(map(_with_ends, measures, item.measures, widths))) for item in release.items
    )
    return replace(release, items=items, accuracy=release.accuracy + accuracy_of(measures, widths))


def _with_ends(measure: Measure, one: Measurement, width: Fraction | None) -> Measurement:
    """A sum of whole steps between the ends of its interval; those of a mean hang on its users."""
    if width is None:
        return one
    exact = round(Fraction(one.value) / measure.step) * measure.step
    ends = [exact - width, exact + width]
    if Fraction(measure.low) >= 0:  # no user has a total of the other sign
        ends = [max(Fraction(0), end) for end in ends]
    elif Fraction(measure.high) <= 0:
        ends = [min(Fraction(0), end) for end in ends]
    return Measurement(measure.name, *(number(measure, each) for each in (exact, *ends)))


def _noisy(release: Release, measures: tuple[Measure, ...], most: int | None) -> NoisyMeasures:
    each: Any = release.privacy.parameters[PRICE]
    return NoisyMeasures(
        measures=measures, k=len(release.items), epsilon_per_noise=Fraction(each), max_items_per_user=most
    )
