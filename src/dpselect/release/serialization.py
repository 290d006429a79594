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

REQUIREMENT = "be the JSON of a release, or the path of a file with it"
HINT = "Release.to_json makes it"
WHOLE_SCORES = ("count", "gain", "loss")
RANKED_FIELDS = tuple(field.name for field in fields(Ranked))


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
    """Return the fields of a release in JSON types."""
    exact: dict[str, Json] = {
        "epsilon": str(privacy.epsilon),
        "delta": str(privacy.delta),
        "parameters": typed.mapping_to_json(privacy.parameters),
        "accuracy": typed.mapping_to_json(accuracy.numbers),
    }
    document: dict[str, Json] = {
        "items": [
            _item_to_json(item, q, groups, _score_name(privacy), place)
            for item, q, place in zip(
                items,
                _shares_of_items(kind, privacy, len(items), groups),
                _known_places(items, accuracy, privacy),
                strict=True,
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
        document["question"] = dict(question)
    if counted:
        bounds = formatting.plain(privacy.parameters.get(COUNTED))
        document["count_of"] = {
            "what": unit_of_counts(privacy.parameters),
            **(bounds if isinstance(bounds, dict) else {}),
        }
    if groups is not None:
        document |= {"by": list(groups.columns), "groups": groups.to_dict(), "users": groups.counted}
    if charged is not None:
        document["charged"] = charged.to_dict()
        exact["charged"] = [charged.sentence, typed.mapping_to_json(charged.numbers)]
    return {**document, "exact": exact}


def parse_release(text: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the fields of the release that `to_dict` wrote, from its text or the path of a file.

    Raises: ParameterError if it is none, DataError if the file cannot be read.
    """
    try:
        document = json.loads(_read_content(text))
        return _parse_fields(document)
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError):
        raise ParameterError("text", REQUIREMENT, "something else", HINT) from None


def _parse_fields(document: Mapping[str, Any]) -> dict[str, Any]:
    statement, exact, charged = document["privacy"], document["exact"], document["exact"].get("charged")
    kind, ended = Kind(document["kind"]), Ended(document["ended"])
    groups = _parse_groups(document)
    columns = () if groups is None else groups.columns
    if flag("complete", document["complete"]) is not (ended is Ended.FULL):
        raise ValueError("it says that it is complete and that it is not")
    privacy = Statement(
        epsilon=typed.rational(exact["epsilon"]),
        delta=typed.rational(exact["delta"]),
        neighbors=Neighbors(statement["neighbors"]),
        mechanism=_parse_text(statement["mechanism"]),
        parameters=typed.mapping_from_json(exact["parameters"]),
        bound=_parse_text(statement["bound"]),
        sentences=_parse_sentences(statement["statement"]),
        unit=_parse_text(statement["unit"]),
    )
    items = tuple(_item_from_json(row, columns, _score_name(privacy)) for row in document["items"])
    if groups is not None and not {typed_group(item.group) for item in items} <= {
        typed_group(group.values) for group in groups.shown
    }:
        raise ValueError("an item of a group that is not shown")
    if privacy.epsilon < 0 or not 0 <= privacy.delta < 1:
        raise ValueError("no promise")
    _shares_of_items(kind, privacy, len(items), groups)
    check_labels(privacy.parameters, [item.item for item in items])
    check_measures(items, privacy.parameters)
    return {
        "items": items,
        "kind": kind,
        "counted": flag("counted", document["counted"]),
        "ended": ended,
        "privacy": privacy,
        "secure": flag("secure", document["secure"]),
        "charged": None if charged is None else Receipt(_parse_text(charged[0]), typed.mapping_from_json(charged[1])),
        "accuracy": Accuracy(
            _parse_sentences(document["accuracy"]["statement"]), typed.mapping_from_json(exact["accuracy"])
        ),
        "groups": groups,
        "question": _parse_question(document.get("question")),
    }


def _parse_question(question: object) -> dict[str, Json] | None:
    """Return the question as it is there; a reader who plans it parses it."""
    if question is not None and not isinstance(question, dict):
        raise TypeError("no question")
    return question


def _parse_groups(document: Mapping[str, Any]) -> Groups | None:
    """Return the groups that are shown, or None for a question without groups."""
    if "by" not in document:
        return None
    return parsed_groups(
        document["groups"], _parse_sentences(document["by"]), _parse_whole, counted=flag("users", document["users"])
    )


def _read_content(text: str | os.PathLike[str]) -> str:
    if isinstance(text, str) and text.lstrip().startswith("{"):
        return text
    if not isinstance(text, (str, os.PathLike)):
        raise ParameterError("text", REQUIREMENT, type(text).__name__, HINT)
    try:
        return Path(text).read_text("utf-8")
    except UnicodeDecodeError:
        raise ParameterError("text", REQUIREMENT, "a file of something else", HINT) from None
    except OSError as error:
        raise DataError(f"the release cannot be read: {error.strerror}") from None


def _score_name(privacy: Statement) -> str:
    """Return the name of the noisy numbers of items."""
    return score_name(privacy.parameters)


def _known_places(items: Sequence[Item], accuracy: Accuracy, privacy: Statement) -> Sequence[tuple[int, int] | None]:
    """Return the places that items can have by their counts without noise, as far as they are known."""
    places = None
    if LEAD in accuracy.numbers:
        from dpselect.release.places import places_of

        places = places_of(items, accuracy.numbers[LEAD], privacy.parameters)
    return [None] * len(items) if places is None else places


def _item_to_json(
    item: Item, q: float | None, groups: Groups | None, score: str, certain_place: tuple[int, int] | None
) -> dict[str, Json]:
    row: dict[str, Json] = (
        {} if groups is None else {"group": groups.group_to_json(item.group), **exact_group_json(item.group)}
    )
    row |= {"item": formatting.plain(item.item), "rank": item.rank}
    label = item.item if item.item is UNSEEN else formatting.scalar(item.item)
    if not typed.plain_is_exact(label):
        row["exact"] = typed.label_to_json(label)
    for name, number in ((score, item.count), ("low", item.low), ("high", item.high)):
        if number is not None:
            row[name] = number
    if certain_place is not None:
        row["place"] = list(certain_place)
    if item.ranked is not None:
        row |= vars(item.ranked)
    if item.measures:
        row["measures"] = {
            measure.name: {"value": measure.value, "low": measure.low, "high": measure.high}
            for measure in item.measures
        }
    return row if q is None else {**row, "q": q}


def _item_from_json(row: Mapping[str, Any], columns: Sequence[str], score: str) -> Item:
    label = typed.value_from_json(row.get("exact", row["item"]))
    parse = _parse_whole if score in WHOLE_SCORES else _parse_number
    number, low, high = (parse(row.get(name)) for name in (score, "low", "high"))
    measures = tuple(
        Measurement(_parse_text(name), *(_parse_present_number(measure[field]) for field in ("value", "low", "high")))
        for name, measure in row.get("measures", {}).items()
    )
    group = parse_group_values(row, columns) if columns else ()
    return Item(label, _parse_whole(row.get("rank")), number, low, high, group, measures, _parse_ranked(row))


def _parse_ranked(row: Mapping[str, Any]) -> Ranked | None:
    """Return the distance of a quantile from its rank; None for another item."""
    if RANKED_FIELDS[0] not in row:
        return None
    if any(row[name] is None for name in RANKED_FIELDS):
        raise TypeError("no whole number")
    return Ranked(*(_parse_whole(row[name]) or 0 for name in RANKED_FIELDS))


def _parse_whole(number: object) -> int | None:
    if number is not None and (isinstance(number, bool) or not isinstance(number, int)):
        raise TypeError("no whole number")
    return number


def _parse_number(number: object) -> int | float | None:
    return number if isinstance(number, float) and math.isfinite(number) else _parse_whole(number)


def _parse_present_number(number: object) -> int | float:
    parsed_number = _parse_number(number)
    if parsed_number is None:
        raise TypeError("no number")
    return parsed_number


def _parse_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def _parse_sentences(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError("no sentences")
    return tuple(formatting.text(_parse_text(sentence)) for sentence in value)  # anybody may have written it


def _shares_of_items(kind: Kind, privacy: Statement, item_count: int, groups: Groups | None) -> Sequence[float | None]:
    """Return the q of every item of a quantile's release; by group, those of each group."""
    q = privacy.parameters.get("q") if kind is Kind.VALUES else None
    if not isinstance(q, tuple):
        return [None] * item_count
    group_count = 1 if groups is None else len(groups.shown)
    if len(q) * group_count != item_count:
        raise ValueError("there is another number of values than of quantiles")
    return [float(share) for share in q] * group_count
