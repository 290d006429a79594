"""Measures of a top k: the second question, for other numbers of the items that came back."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dpselect._ground.domain import Domain
from dpselect._ground.parameters import Progress
from dpselect.aggregates.measures import Measure
from dpselect.draws import Draws
from dpselect.engines.port import Engine
from dpselect.queries.plan import BoundDraw
from dpselect.queries.top.selection import Selection
from dpselect.release.accuracy import BETA
from dpselect.release.answers.measure_intervals import add_intervals
from dpselect.release.answers.outcome import Outcome
from dpselect.release.measures import to_measurement
from dpselect.release.release import Release


@dataclass(frozen=True, kw_only=True)
class MeasuredItems:
    """The measures of the items that a selection returns; a user counts for `max_items_per_user` of them."""

    selection: Selection
    measures: tuple[Measure, ...]
    max_items_per_user: int | None

    def bind_draw(self, draw_items: BoundDraw, engine: Engine, domain: Domain | None) -> BoundDraw:
        """Return what draws items, and then their measures, for which their rows are read once more."""

        def draw(draws: Draws, progress: Progress | None) -> Outcome:
            outcome = draw_items(draws, progress)
            if not outcome.items:
                return outcome
            labels = [item.label for item in outcome.items]
            bounded = self.max_items_per_user is not None
            rows = engine.measured(labels, domain, bounded=bounded, progress=progress)
            noisy = self.selection.measurer_of(outcome)(rows, BETA, draws=draws)
            items = tuple(
                item._replace(measures=tuple(map(to_measurement, self.measures, row)))
                for item, row in zip(outcome.items, noisy, strict=True)
            )
            return replace(outcome, items=items)

        return draw

    def add_to(self, release: Release, outcome: Outcome) -> Release:
        """Return the release with the intervals of its measures, and how near they are."""
        if not release.items:
            return release
        noise = self.selection.measurer_of(outcome)
        return add_intervals(release, self.measures, [noise.width(measure, BETA) for measure in self.measures])
