"""Questions as canonical text: what was asked of which data. Nothing in it depends on rows."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from dpselect._ground.domain import Column, Domain, Listed, Size, Span
from dpselect._ground.parameters import rounded_up
from dpselect._ground.periods import Periods
from dpselect.engines.address import Address
from dpselect.engines.identity import identify_source, is_fixed
from dpselect.release import typed
from dpselect.release.formatting import Json
from dpselect.release.release import Release
from dpselect.release.statement import PAID_AGAIN

STATED = "stated"  # as a verb: a price that somebody stated for another library's release
_MAX_NAMED_FILES = 2  # in the description of a question


@dataclass(frozen=True)
class Fingerprint:
    """Text that identifies a question.

    If it is `repeatable`, it identifies the data too, so a stored answer is an answer to it.
    """

    text: str
    repeatable: bool
    user: str | None = None  # the text of the column or columns of users
    periods: Periods | None = None  # that it is about

    def with_repeat_price(self, release: Release) -> Release:
        """Return the answer; its receipt says if the same question would be paid again."""
        receipt = release.charged
        if self.repeatable or receipt is None:
            return release
        return replace(release, charged=replace(receipt, sentence=f"{receipt.sentence}; {PAID_AGAIN}"))


def fingerprint(
    verb: str,
    parameters: Mapping[str, object],
    data: Mapping[str, object],
    has_fixed_data: bool,
    *,
    user: str | None = None,
    periods: Periods | None = None,
) -> Fingerprint:
    """Return the fingerprint of a question: keys in order, numbers as exact fractions."""
    has_fixed_columns = all(is_fixed(column.source) for column in parameters.values() if isinstance(column, Column))
    document = {"verb": verb, "asked": _to_canonical(parameters), "data": _to_canonical(data)}
    text = json.dumps(document, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return Fingerprint(text, has_fixed_data and has_fixed_columns, user, periods)


def _to_canonical(value: object) -> Json:
    if isinstance(value, Mapping):
        return {str(name): _to_canonical(inner) for name, inner in value.items()}
    if isinstance(value, (Listed, Column, Span, Size)):
        return _domain_to_json(value)
    if isinstance(value, Fraction):
        return str(value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_to_canonical(inner) for inner in value]
    return str(value)


def typed_name(item: object) -> str:
    """Return a text that differs for any two public items: the type and the value as JSON."""
    return f"{type(item).__name__} {json.dumps(typed.label_to_json(item))}"


def _domain_to_json(domain: Domain) -> Json:
    """Return a public domain as JSON: items as a digest, a file by its identity."""
    if isinstance(domain, Listed):
        names = sorted({typed_name(item) for item in domain.items if item is not None})
        return {"listed": hashlib.sha256(json.dumps(names).encode()).hexdigest()}
    if isinstance(domain, Column):
        return {"column": [identify_source(Address.parse(domain.source))[0], domain.column, domain.table]}
    if isinstance(domain, Span):
        return {"span": [domain.start, domain.stop]}
    return {"size": domain.items}


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
    """Describe groups, compared periods, domain and filter."""
    parts = [f"in every {_format_columns(parameters['by'])}"] if parameters.get("by") is not None else []
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
