"""Hundreds of questions are planned as they were: the same method, the same text in a ledger, the same ceiling."""

from __future__ import annotations

import json

from tests.golden import planned


def test_every_question_is_planned_as_it_was() -> None:
    """After `python -m tests.golden.planned` the difference of the file says what changed."""
    kept, now = json.loads(planned.KEPT.read_text("utf-8")), planned.plans()
    assert {name: plan for name, plan in now.items() if kept.get(name) != plan} == {}
    assert kept.keys() == now.keys()
    assert len(kept) > 400
