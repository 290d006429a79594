"""What a ledger knows a question by: verb, parameters and data as one canonical text. Nothing in it depends on rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from fractions import Fraction

from dpselect.domain import Column, Domain, Listed, Size, Span
from dpselect.engines.identity import is_fixed, source_of
from dpselect.ledger.question import Question
from dpselect.release import typed
from dpselect.release.formatting import Json

FORM = 3  # of what a question means: an answer to an older one is not an answer to it


def question(verb: str, asked: Mapping[str, object], data: Mapping[str, object], pinned: bool) -> Question:
    """The canonical text: keys in order, numbers as exact fractions."""
    domain = asked.get("domain")
    known = not isinstance(domain, Column) or is_fixed(domain.source)
    body = {"form": FORM, "verb": verb, "asked": _canonical(asked), "data": _canonical(data)}
    text = json.dumps(body, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return Question(text, pinned and known)


def _canonical(value: object) -> Json:
    if isinstance(value, Mapping):
        return {str(name): _canonical(inner) for name, inner in value.items()}
    if isinstance(value, (Listed, Column, Span, Size)):
        return _domain(value)
    if isinstance(value, Fraction):
        return str(value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_canonical(inner) for inner in value]
    return str(value)


def named(item: object) -> str:
    """What tells a public item from every other: its type and its value, in the form that JSON gives it."""
    return f"{type(item).__name__} {json.dumps(typed.label(item))}"


def _domain(domain: Domain) -> Json:
    """A domain is public: its items as a digest, a file by its stamp."""
    if isinstance(domain, Listed):
        names = sorted({named(item) for item in domain.items if item is not None})
        return {"listed": hashlib.sha256(json.dumps(names).encode()).hexdigest()}
    if isinstance(domain, Column):
        return {"column": [source_of(domain.source)[0], domain.column, domain.table]}
    if isinstance(domain, Span):
        return {"span": [domain.start, domain.stop]}
    return {"size": domain.items}
