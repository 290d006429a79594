"""Questions of a ledger described for people, from the text by which it knows them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from fractions import Fraction

from dpselect._ground.parameters import rounded_up
from dpselect.ledger import STATED
from dpselect.release.formatting import Json

_MAX_NAMED_FILES = 2


def summarize(text: str) -> str:
    """Describe a question for a person: what was asked of which columns, at which price, of which source.

    A text that a caller of `Ledger.reserve` wrote stays as it is, up to its length.
    """
    try:
        document = json.loads(text)
        parameters, data, verb = dict(document["asked"]), dict(document["data"]), str(document["verb"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return _truncate(text)
    if verb == STATED:
        subject = f"price stated by {parameters.get('stated_by')}: {parameters.get('note')}"
    else:
        subject = _describe_subject(verb, parameters, data) + _describe_rows(parameters, data)
    price = [
        f"{name} {_format_number(parameters[name])}"
        for name in ("epsilon", "delta")
        if parameters.get(name) is not None
    ]
    source = _describe_source(data)
    return f"{subject}, at {' and '.join(price)}" + (f", from {source}" if source else "")


def _describe_subject(verb: str, parameters: Mapping[str, Json], data: Mapping[str, Json]) -> str:
    """Describe what is counted, chosen or measured."""
    item = _format_columns(data.get("item") or data.get("text") or "item")
    match verb:
        case "top_k":
            change = "users lost" if parameters.get("lost") is True else "users gained"
            measure = "number of users" if parameters.get("compared_with") is None else change
            order = measure if parameters.get("by_weight") is None else _format_columns(parameters["by_weight"])
            subject = f"top {_format_number(parameters.get('k'))} of {item} by {order}"
        case "union":
            subject = f"all of {item} that enough users share"
        case "choose":
            subject = f"the {item} with most users"
        case "histogram":
            subject = f"number of users of each {item}"
        case "users":
            subject = "number of users"
        case "quantile":
            q = parameters.get("q")
            subject = (
                f"quantile {', '.join(map(_format_number, q)) if isinstance(q, list) else _format_number(q)} of {item}"
            )
        case _:
            subject = _truncate(verb)
    return subject + (", with counts" if parameters.get("counts") is True else "")


def _describe_rows(parameters: Mapping[str, Json], data: Mapping[str, Json]) -> str:
    """Describe groups, periods, domain and filter."""
    parts = [f"in every {_format_columns(parameters['by'])}"] if parameters.get("by") is not None else []
    parts += [f"during {_truncate(str(data['during']))}"] if data.get("during") is not None else []
    parts += (
        [f"since {_format_columns(parameters['compared_with'])}"] if parameters.get("compared_with") is not None else []
    )
    parts += ["of a known domain"] if parameters.get("domain") is not None else []
    parts += [f"where {_truncate(_describe_filter(str(data['where'])))}"] if data.get("where") is not None else []
    return "".join(f", {part}" for part in parts)


def _describe_source(data: Mapping[str, Json]) -> str:
    """Describe the source: names of files without folders, or the kind of source, and the table."""
    source = data.get("source")
    files = [str(file[0]) for file in source if isinstance(file, list) and file] if isinstance(source, list) else []
    names = [os.path.basename(os.path.normpath(path)) for path in files[:_MAX_NAMED_FILES]]
    suffix = f" and {len(files) - _MAX_NAMED_FILES:,} more" if len(files) > _MAX_NAMED_FILES else ""
    description = (
        ", ".join(map(_truncate, names)) + suffix
        if files
        else _truncate(str(source))
        if isinstance(source, str)
        else ""
    )
    table, snapshot = data.get("table"), data.get("snapshot")
    description += "" if table is None else f" table {_truncate(str(table))}"
    description += "" if data.get("outside") is None else f" read by {_truncate(str(data['outside']))}"
    description += "" if data.get("user") is None else f" with users in {_format_columns(data['user'])}"
    return (description + ("" if snapshot is None else f" as of {_truncate(str(snapshot))}")).strip()


def _describe_filter(text: str) -> str:
    """Describe a filter, roughly, from its canonical text."""
    try:
        _, nodes = json.loads(text)
        descriptions: list[str] = []
        for node_kind, *rest in nodes:
            if node_kind == "column":
                descriptions.append(str(rest[0]))
            elif node_kind == "constant":
                kind, value = rest[0]
                descriptions.append(repr(value) if kind == "str" else str(value))
            else:
                parts = [_truncate(descriptions[index]) for index in rest[2]]
                infix = len(parts) == 2 and not rest[0].isalpha()
                descriptions.append(f" {rest[0]} ".join(parts) if infix else f"{rest[0]}({', '.join(parts)})")
        return descriptions[-1]
    except (ValueError, TypeError, IndexError):
        return text


def _format_columns(value: Json) -> str:
    """Format one column, or several."""
    return _truncate(",".join(map(str, value)) if isinstance(value, list) else str(value))


def _format_number(value: Json) -> str:
    try:
        return rounded_up(Fraction(str(value)))
    except ValueError:
        return _truncate(str(value))


def _truncate(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"
