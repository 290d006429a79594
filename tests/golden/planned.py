"""What each pair of parts of a question is planned as at an ordinary price: `python -m tests.golden.planned` writes it.

A plan reads no row. Kept of it are the text by which a ledger knows the question, with its method, and the ceiling:
whoever rebuilds questions or plans sees here whether anybody would be answered otherwise, pay twice, or pay more.
"""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import dpselect as dps
from dpselect.flat import dataset_of
from tests.by_names import asked
from tests.pairs.asking import Asking
from tests.pairs.crossing import Call, pairs
from tests.pairs.states import state
from tests.pairs.table import OF_QUESTIONS, file_of, ids

KEPT = Path(__file__).with_name("planned.json")
PRICE = {"epsilon": 1}  # the delta is the usual one where the call says none
Plans = Mapping[str, Mapping[str, object]]


class PlannedError(Exception):
    """Thrown where a budget would be charged."""


def calls() -> Iterator[tuple[str, Call]]:
    """By the name of their test, those that are answered and that a budget in memory may pay."""
    for pair in pairs():
        found = state(pair)
        if file_of(pair) == OF_QUESTIONS and found.answered and found.call is not None:
            yield ids(pair), Call(found.call.verb, found.call.given | PRICE)


def planned(call: Call, asking: Asking) -> dict[str, object]:
    """What a ledger would know the question by, and the most that it costs; or why it is refused at this price."""
    said = asking.dataset(call, budget=dps.Budget(epsilon=1, delta="1e-3"))
    try:
        asked(dataset_of(**said), call.verb, call.asked)
    except PlannedError as plan:
        query, question = plan.args
        known = json.loads(question.text)
        known["data"].pop("source")
        return {**known, "ceiling": [str(query.ceiling.epsilon), str(query.ceiling.delta)]}
    except dps.DpselectError as error:
        return {"refused": str(error).partition("\n")[0]}
    raise AssertionError(f"{call} was answered")


def plans() -> Plans:
    """All of them, by name."""

    def stopped(_budget: object, query: object, question: object, *_: object, **__: object) -> None:
        raise PlannedError(query, question)

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(dps.Budget, "pay", stopped)
        nothing: Any = None  # rows lie in memory, so no server is asked for
        with Asking(Path(folder), nothing) as asking:
            return {name: planned(call, asking) for name, call in calls()}


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dps.WeakPromiseWarning)
        lines = [f"{json.dumps(name)}: {json.dumps(plan, sort_keys=True)}" for name, plan in plans().items()]
        KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8", newline="\n")
