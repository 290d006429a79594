"""Archive: a release as one line of text for a ledger, and the same release back from it."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from dpselect._ground.privacy import Neighbors
from dpselect.release import typed
from dpselect.release.accuracy import Accuracy
from dpselect.release.formatting import Json
from dpselect.release.groups import Group, Groups
from dpselect.release.release import Ended, Item, Kind, Measurement, Release, Statement
from dpselect.release.statement import Ranked


def archive_release(release: Release) -> str:
    """The release as one line of text. What a budget was charged is the ledger's own."""
    statement, accuracy = release.privacy, release.accuracy
    return json.dumps(
        {
            "items": [_row(item) for item in release.items],
            "kind": str(release.kind),
            "counted": release.counted,
            "ended": str(release.ended),
            "secure": release.secure,
            "epsilon": str(statement.epsilon),
            "delta": str(statement.delta),
            "neighbors": str(statement.neighbors),
            "mechanism": statement.mechanism,
            "parameters": typed.mapping_to_json(statement.parameters),
            "bound": statement.bound,
            "sentences": list(statement.sentences),
            "unit": statement.unit,
            "accuracy": [list(accuracy.sentences), typed.mapping_to_json(accuracy.numbers)],
            **({} if release.groups is None else {"groups": _groups(release.groups)}),
            **({} if release.question is None else {"question": dict(release.question)}),
        },
        ensure_ascii=False,
        separators=(",", ":"),
        allow_nan=False,
    )


def restore_release(text: str) -> Release:
    """The release that `archived` wrote."""
    found = json.loads(text)
    statement = Statement(
        epsilon=Fraction(found["epsilon"]),
        delta=Fraction(found["delta"]),
        neighbors=Neighbors(found["neighbors"]),
        mechanism=found["mechanism"],
        parameters=typed.mapping_from_json(found["parameters"]),
        bound=found["bound"],
        sentences=tuple(found["sentences"]),
        unit=found["unit"],
    )
    said, numbers = found["accuracy"]
    return Release(
        items=tuple(_item(row) for row in found["items"]),
        kind=Kind(found["kind"]),
        counted=found["counted"],
        ended=Ended(found["ended"]),
        privacy=statement,
        secure=found["secure"],
        accuracy=Accuracy(tuple(said), typed.mapping_from_json(numbers)),
        groups=_read_groups(found["groups"]) if "groups" in found else None,
        question=found.get("question"),
    )


def _row(item: Item) -> list[Json]:
    row: list[Json] = [typed.label_to_json(item.item), item.rank, item.count, item.low, item.high]
    more: list[Json] = [
        [typed.label_to_json(one) for one in item.group],
        [[one.name, one.value, one.low, one.high] for one in item.measures],
        [] if item.ranked is None else list(vars(item.ranked).values()),
    ]
    while more and not more[-1]:
        more.pop()
    return [*row, *more]


def _item(row: list[Any]) -> Item:
    label, rank, count, low, high, *more = row
    group = tuple(map(typed.value_from_json, more[0])) if more else ()
    measures = tuple(Measurement(*one) for one in more[1]) if len(more) > 1 else ()
    ranked = Ranked(*more[2]) if len(more) > 2 else None
    return Item(typed.value_from_json(label), rank, count, low, high, group, measures, ranked)


def _groups(groups: Groups) -> dict[str, Json]:
    shown: list[Json] = [
        [[typed.label_to_json(one) for one in group.values], str(group.ended), group.users, group.low, group.high]
        for group in groups.shown
    ]
    return {"columns": list(groups.columns), "shown": shown, "counted": groups.counted}


def _read_groups(found: dict[str, Any]) -> Groups:
    shown = (
        Group(tuple(map(typed.value_from_json, values)), Ended(ended), *numbers)
        for values, ended, *numbers in found["shown"]
    )
    return Groups(tuple(found["columns"]), tuple(shown), found["counted"])
