"""Measures of a top k: the second question, for other numbers of the items that came back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dpselect._ground.domain import Domain
from dpselect._ground.parameters import Progress
from dpselect.draws import Draws
from dpselect.queries.plan import BoundDraw
from dpselect.queries.top.selection import Selection
from dpselect.release.accuracy import BETA
from dpselect.release.answers.measure_intervals import add_intervals
from dpselect.release.answers.outcome import Outcome
from dpselect.release.measures import to_measurement
from dpselect.release.release import Release

if TYPE_CHECKING:
    from dpselect.engines import Engine


def bind_measures(draw_items: BoundDraw, selection: Selection, engine: Engine, domain: Domain | None) -> BoundDraw:
    """Return what draws items, and then their measures, for which their rows are read once more."""

    def draw(draws: Draws, progress: Progress | None) -> Outcome:
        outcome = draw_items(draws, progress)
        if not outcome.items:
            return outcome
        measurer, labels = selection.measurer_of(outcome), [item.label for item in outcome.items]
        rows = engine.measured(labels, domain, bounded=measurer.max_items_per_user is not None, progress=progress)
        items = tuple(
            item._replace(measures=tuple(map(to_measurement, measurer.measures, row)))
            for item, row in zip(outcome.items, measurer(rows, BETA, draws=draws), strict=True)
        )
        return replace(outcome, items=items)

    return draw


def add_measures(release: Release, selection: Selection, outcome: Outcome) -> Release:
    """Return the release with the intervals of its measures, and how near they are."""
    if not release.items:
        return release
    measurer = selection.measurer_of(outcome)
    return add_intervals(release, measurer.measures, [measurer.width(measure, BETA) for measure in measurer.measures])
