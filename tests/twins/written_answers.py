"""Broken ways to write an answer, in which a draw and a check differ; a test must refuse each."""

from __future__ import annotations

from dataclasses import replace

import dpselect as dps
from dpselect.engines import Engine
from dpselect.queries.plan import BoundPlan
from dpselect.release.answers.outcome import Outcome


def added_after_the_draw(plan: dps.Plan, engine: Engine) -> BoundPlan:
    """Twin of `Plan.bind`: the draw adds a sentence to the release, which its plan and outcome do not have."""
    draw = plan.bind_draw(engine)

    def answer(draws, progress):
        release = plan.answer(draw(draws, progress))
        said = release.privacy
        return replace(release, privacy=replace(said, sentences=(*said.sentences, "It was drawn today.")))

    return answer


def without_choices(plan: dps.Plan, release: dps.Release) -> Outcome:
    """Twin of `Plan.outcome_of`: the bounds that were chosen, and how many items were discovered, are not read."""
    outcome = Outcome.from_release(release, plan.selection.scale, candidates=None)
    return plan.selection.nearest_possible(replace(outcome, max_items_per_user=None, discovered=None))


def without_levels(plan: dps.Plan, release: dps.Release) -> Outcome:
    """Twin of `UnionPlan.outcome_of`: every count is read as one of the first level."""
    outcome = plan.outcome_of(release)
    return replace(outcome, items=tuple(item._replace(level=0) for item in outcome.items))
