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
    """Return the release as one line of text. What a budget was charged is recorded by the ledger itself."""
    statement, accuracy = release.privacy, release.accuracy
    return json.dumps(
        {
            "items": [_item_to_json(item) for item in release.items],
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
            **({} if release.groups is None else {"groups": _groups_to_json(release.groups)}),
            **({} if release.question is None else {"question": dict(release.question)}),
        },
        ensure_ascii=False,
        separators=(",", ":"),
        allow_nan=False,
    )


def restore_release(text: str) -> Release:
    """Return the release that `archive_release` wrote."""
    document = json.loads(text)
    statement = Statement(
        epsilon=Fraction(document["epsilon"]),
        delta=Fraction(document["delta"]),
        neighbors=Neighbors(document["neighbors"]),
        mechanism=document["mechanism"],
        parameters=typed.mapping_from_json(document["parameters"]),
        bound=document["bound"],
        sentences=tuple(document["sentences"]),
        unit=document["unit"],
    )
    sentences, numbers = document["accuracy"]
    return Release(
        items=tuple(_item_from_json(row) for row in document["items"]),
        kind=Kind(document["kind"]),
        counted=document["counted"],
        ended=Ended(document["ended"]),
        privacy=statement,
        secure=document["secure"],
        accuracy=Accuracy(tuple(sentences), typed.mapping_from_json(numbers)),
        groups=_groups_from_json(document["groups"]) if "groups" in document else None,
        question=document.get("question"),
    )


def _item_to_json(item: Item) -> list[Json]:
    row: list[Json] = [typed.label_to_json(item.item), item.rank, item.count, item.low, item.high]
    optional: list[Json] = [
        [typed.label_to_json(value) for value in item.group],
        [[measure.name, measure.value, measure.low, measure.high] for measure in item.measures],
        [] if item.ranked is None else list(vars(item.ranked).values()),
    ]
    while optional and not optional[-1]:
        optional.pop()
    return [*row, *optional]


def _item_from_json(row: list[Any]) -> Item:
    label, rank, count, low, high, *optional = row
    group = tuple(map(typed.value_from_json, optional[0])) if optional else ()
    measures = tuple(Measurement(*fields) for fields in optional[1]) if len(optional) > 1 else ()
    ranked = Ranked(*optional[2]) if len(optional) > 2 else None
    return Item(typed.value_from_json(label), rank, count, low, high, group, measures, ranked)


def _groups_to_json(groups: Groups) -> dict[str, Json]:
    rows: list[Json] = [
        [[typed.label_to_json(value) for value in group.values], str(group.ended), group.users, group.low, group.high]
        for group in groups.shown
    ]
    return {"columns": list(groups.columns), "shown": rows, "counted": groups.counted}


def _groups_from_json(document: dict[str, Any]) -> Groups:
    groups = (
        Group(tuple(map(typed.value_from_json, values)), Ended(ended), *numbers)
        for values, ended, *numbers in document["shown"]
    )
    return Groups(tuple(document["columns"]), tuple(groups), document["counted"])
