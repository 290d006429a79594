"""Questions as values: what somebody wants to know, without data and without a price. Import from here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpselect._ground.first_use import lazy_attributes

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpselect._ground.domain import Listed, Span
    from dpselect._ground.json_text import parse_json
    from dpselect._ground.keys import format_key, key_columns, parse_key, typed_label
    from dpselect.questions.kinds import LISTED, domain_from_json, items_to_json
    from dpselect.questions.parts import Payment
    from dpselect.questions.questions import QUESTIONS, Question
    from dpselect.questions.schemas import or_null, schema_of_shape

_HOMES = {
    "LISTED": "kinds",
    "Listed": "dpselect._ground.domain",
    "Payment": "parts",
    "QUESTIONS": "questions",
    "Question": "questions",
    "Span": "dpselect._ground.domain",
    "domain_from_json": "kinds",
    "format_key": "dpselect._ground.keys",
    "items_to_json": "kinds",
    "key_columns": "dpselect._ground.keys",
    "or_null": "schemas",
    "parse_json": "dpselect._ground.json_text",
    "parse_key": "dpselect._ground.keys",
    "schema_of_shape": "schemas",
    "typed_label": "dpselect._ground.keys",
}

__all__ = [
    "LISTED",
    "QUESTIONS",
    "Listed",
    "Payment",
    "Question",
    "Span",
    "domain_from_json",
    "format_key",
    "items_to_json",
    "key_columns",
    "or_null",
    "parse_json",
    "parse_key",
    "schema_of_shape",
    "typed_label",
]

__getattr__: Callable[[str], object] = lazy_attributes(__name__, _HOMES)
