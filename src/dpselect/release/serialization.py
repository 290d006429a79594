"""A release as JSON that every parser takes, and back with the types that its values had.

Dates, decimals and bytes are text in JSON, and numbers are floats, for whoever reads it; what they were exactly stands
beside, under `exact`, as [kind, text].
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from dpselect._ground.domain import UNSEEN
from dpselect._ground.parameters import flag
from dpselect._ground.privacy import Neighbors
from dpselect.errors import DataError, ParameterError
from dpselect.release import formatting, typed
from dpselect.release.accuracy import LEAD, Accuracy
from dpselect.release.formatting import Json
from dpselect.release.groups import Groups, exact_group_json, parse_group_values, typed_group
from dpselect.release.groups import parse_groups as parsed_groups
from dpselect.release.item_columns import check_labels
from dpselect.release.measures import check_measures
from dpselect.release.scale import COUNTED, score_name, unit_of_counts
from dpselect.release.statement import Ended, Item, Kind, Measurement, Ranked, Receipt, Statement

MUST = "be the JSON of a release, or the path of a file with it"
HINT = "Release.to_json makes it"
OF_USERS = ("count", "gain", "loss")
RANKED = tuple(one.name for one in fields(Ranked))


def to_dict(
    *,
    items: Sequence[Item],
    privacy: Statement,
    secure: bool,
    kind: Kind,
    counted: bool,
    ended: Ended,
    charged: Receipt | None,
    accuracy: Accuracy,
    groups: Groups | None,
    question: Mapping[str, Json] | None,
) -> dict[str, Json]:
    """The fields of a release in JSON types only."""
    exact: dict[str, Json] = {
        "epsilon": str(privacy.epsilon),
        "delta": str(privacy.delta),
        "parameters": typed.mapping_to_json(privacy.parameters),
        "accuracy": typed.mapping_to_json(accuracy.numbers),
    }
    found: dict[str, Json] = {
        "items": [
            _row(item, q, groups, _counted(privacy), place)
            for item, q, place in zip(
                items, _shares(kind, privacy, len(items), groups), _places(items, accuracy, privacy), strict=True
            )
        ],
        "kind": str(kind),
        "counted": counted,
        "complete": ended is Ended.FULL,
        "ended": str(ended),
        "accuracy": accuracy.to_dict(),
        "privacy": privacy.to_dict(),
        "secure": secure,
    }
    if question is not None:
        found["question"] = dict(question)
    if counted:
        bounds = formatting.plain(privacy.parameters.get(COUNTED))
        found["count_of"] = {"what": unit_of_counts(privacy.parameters), **(bounds if isinstance(bounds, dict) else {})}
    if groups is not None:
        found |= {"by": list(groups.columns), "groups": groups.to_dict(), "users": groups.counted}
    if charged is not None:
        found["charged"] = charged.to_dict()
        exact["charged"] = [charged.sentence, typed.mapping_to_json(charged.numbers)]
    return {**found, "exact": exact}


def parse_release(text: str | os.PathLike[str]) -> dict[str, Any]:
    """The fields of the release that `to_dict` wrote, from its text or the path of a file."""
    try:
        found = json.loads(_content(text))
        return _fields(found)
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError):
        raise ParameterError("text", MUST, "something else", HINT) from None


def _fields(found: Mapping[str, Any]) -> dict[str, Any]:
    said, exact, charged = found["privacy"], found["exact"], found["exact"].get("charged")
    kind, ended = Kind(found["kind"]), Ended(found["ended"])
    groups = _groups(found)
    columns = () if groups is None else groups.columns
    if flag("complete", found["complete"]) is not (ended is Ended.FULL):
        raise ValueError("it says that it is complete and that it is not")
    privacy = Statement(
        epsilon=typed.rational(exact["epsilon"]),
        delta=typed.rational(exact["delta"]),
        neighbors=Neighbors(said["neighbors"]),
        mechanism=_text(said["mechanism"]),
        parameters=typed.mapping_from_json(exact["parameters"]),
        bound=_text(said["bound"]),
        sentences=_sentences(said["statement"]),
        unit=_text(said["unit"]),
    )
    items = tuple(_item(row, columns, _counted(privacy)) for row in found["items"])
    if groups is not None and not {typed_group(item.group) for item in items} <= {
        typed_group(group.values) for group in groups.shown
    }:
        raise ValueError("an item of a group that is not shown")
    if privacy.epsilon < 0 or not 0 <= privacy.delta < 1:
        raise ValueError("no promise")
    _shares(kind, privacy, len(items), groups)
    check_labels(privacy.parameters, [item.item for item in items])
    check_measures(items, privacy.parameters)
    return {
        "items": items,
        "kind": kind,
        "counted": flag("counted", found["counted"]),
        "ended": ended,
        "privacy": privacy,
        "secure": flag("secure", found["secure"]),
        "charged": None if charged is None else Receipt(_text(charged[0]), typed.mapping_from_json(charged[1])),
        "accuracy": Accuracy(_sentences(found["accuracy"]["statement"]), typed.mapping_from_json(exact["accuracy"])),
        "groups": groups,
        "question": _question(found.get("question")),
    }


def _question(asked: object) -> dict[str, Json] | None:
    """What was asked, as it stands there: whoever plans it reads it."""
    if asked is not None and not isinstance(asked, dict):
        raise TypeError("no question")
    return asked


def _groups(found: Mapping[str, Any]) -> Groups | None:
    """The groups that are shown, where the question was asked by group."""
    if "by" not in found:
        return None
    return parsed_groups(found["groups"], _sentences(found["by"]), _whole, counted=flag("users", found["users"]))


def _content(text: str | os.PathLike[str]) -> str:
    if isinstance(text, str) and text.lstrip().startswith("{"):
        return text
    if not isinstance(text, (str, os.PathLike)):
        raise ParameterError("text", MUST, type(text).__name__, HINT)
    try:
        return Path(text).read_text("utf-8")
    except UnicodeDecodeError:
        raise ParameterError("text", MUST, "a file of something else", HINT) from None
    except OSError as error:
        raise DataError(f"the release cannot be read: {error.strerror}") from None


def _counted(privacy: Statement) -> str:
    """What the noisy numbers of items are called."""
    return score_name(privacy.parameters)


def _places(items: Sequence[Item], accuracy: Accuracy, privacy: Statement) -> Sequence[tuple[int, int] | None]:
    """The places that items can have by their counts without noise, as far as they are known."""
    found = None
    if LEAD in accuracy.numbers:
        from dpselect.release.places import places_of

        found = places_of(items, accuracy.numbers[LEAD], privacy.parameters)
    return [None] * len(items) if found is None else found


def _row(
    item: Item, q: float | None, groups: Groups | None, counted: str, place: tuple[int, int] | None
) -> dict[str, Json]:
    row: dict[str, Json] = (
        {} if groups is None else {"group": groups.group_to_json(item.group), **exact_group_json(item.group)}
    )
    row |= {"item": formatting.plain(item.item), "rank": item.rank}
    label = item.item if item.item is UNSEEN else formatting.scalar(item.item)
    if not typed.plain_is_exact(label):
        row["exact"] = typed.label_to_json(label)
    for name, number in ((counted, item.count), ("low", item.low), ("high", item.high)):
        if number is not None:
            row[name] = number
    if place is not None:
        row["place"] = list(place)
    if item.ranked is not None:
        row |= vars(item.ranked)
    if item.measures:
        row["measures"] = {one.name: {"value": one.value, "low": one.low, "high": one.high} for one in item.measures}
    return row if q is None else {**row, "q": q}


def _item(row: Mapping[str, Any], columns: Sequence[str], counted: str) -> Item:
    label = typed.value_from_json(row.get("exact", row["item"]))
    read = _whole if counted in OF_USERS else _number
    number, low, high = (read(row.get(name)) for name in (counted, "low", "high"))
    measures = tuple(
        Measurement(_text(name), *(_there(one[which]) for which in ("value", "low", "high")))
        for name, one in row.get("measures", {}).items()
    )
    group = parse_group_values(row, columns) if columns else ()
    return Item(label, _whole(row.get("rank")), number, low, high, group, measures, _ranked(row))


def _ranked(row: Mapping[str, Any]) -> Ranked | None:
    """How far a quantile is from its rank; none of another item."""
    if RANKED[0] not in row:
        return None
    if any(row[name] is None for name in RANKED):
        raise TypeError("no whole number")
    return Ranked(*(_whole(row[name]) or 0 for name in RANKED))


def _whole(number: object) -> int | None:
    if number is not None and (isinstance(number, bool) or not isinstance(number, int)):
        raise TypeError("no whole number")
    return number


def _number(number: object) -> int | float | None:
    return number if isinstance(number, float) and math.isfinite(number) else _whole(number)


def _there(number: object) -> int | float:
    found = _number(number)
    if found is None:
        raise TypeError("no number")
    return found


def _text(said: object) -> str:
    if not isinstance(said, str):
        raise TypeError("no text")
    return said


def _sentences(said: object) -> tuple[str, ...]:
    if not isinstance(said, list):
        raise TypeError("no sentences")
    return tuple(formatting.text(_text(one)) for one in said)  # anybody may have written it


def _shares(kind: Kind, privacy: Statement, items: int, groups: Groups | None) -> Sequence[float | None]:
    """The q of every item of a quantile's release; by group, those of each."""
    q = privacy.parameters.get("q") if kind is Kind.VALUES else None
    if not isinstance(q, tuple):
        return [None] * items
    each = 1 if groups is None else len(groups.shown)
    if len(q) * each != items:
        raise ValueError("there is another number of values than of quantiles")
    return [float(one) for one in q] * each
