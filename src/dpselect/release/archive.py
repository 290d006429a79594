"""Archive: a release as one line of text for a ledger, and the same release back from it."""

from __future__ import annotations

import json
from fractions import Fraction

from dpselect.privacy import Neighbors
from dpselect.release import typed
from dpselect.release.accuracy import Accuracy
from dpselect.release.release import Ended, Item, Kind, Release, Statement

FORM = 3  # 1 had neither accuracy nor intervals of counts, 2 did not say what kind of release it is


def archived(release: Release) -> str:
    """The release as one line of text. What a budget was charged is the ledger's own."""
    statement, accuracy = release.privacy, release.accuracy
    return json.dumps(
        {
            "form": FORM,
            "items": [[typed.label(i.item), i.rank, i.count, i.low, i.high] for i in release.items],
            "kind": str(release.kind),
            "counted": release.counted,
            "ended": str(release.ended),
            "secure": release.secure,
            "epsilon": str(statement.epsilon),
            "delta": str(statement.delta),
            "neighbors": str(statement.neighbors),
            "mechanism": statement.mechanism,
            "parameters": typed.named(statement.parameters),
            "bound": statement.bound,
            "sentences": list(statement.sentences),
            "unit": statement.unit,
            "accuracy": [list(accuracy.sentences), typed.named(accuracy.numbers)],
        },
        ensure_ascii=False,
        separators=(",", ":"),
        allow_nan=False,
    )


def restored(text: str) -> Release:
    """The release that `archived` wrote. Answers to questions of an older form are never asked for again."""
    found = json.loads(text)
    statement = Statement(
        epsilon=Fraction(found["epsilon"]),
        delta=Fraction(found["delta"]),
        neighbors=Neighbors(found["neighbors"]),
        mechanism=found["mechanism"],
        parameters=typed.names(found["parameters"]),
        bound=found["bound"],
        sentences=tuple(found["sentences"]),
        unit=found["unit"],
    )
    said, numbers = found["accuracy"]
    return Release(
        items=tuple(Item(typed.read(item), *rest) for item, *rest in found["items"]),
        kind=Kind(found["kind"]),
        counted=found["counted"],
        ended=Ended(found["ended"]),
        privacy=statement,
        secure=found["secure"],
        accuracy=Accuracy(tuple(said), typed.names(numbers)),
    )
