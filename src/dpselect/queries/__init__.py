"""A question: its parameters checked once, its price, how it is run, what it may return. Import from here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpselect._ground.first_use import lazy_attributes

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpselect.queries.facts import Facts
    from dpselect.queries.parameters import Parameter, list_parameters, schemas, with_integers
    from dpselect.queries.plan import Plan
    from dpselect.queries.planning import PLANS, Paying, parse_parts, plan_class, plan_question

_HOMES = {
    "Facts": "facts",
    "PLANS": "planning",
    "Parameter": "parameters",
    "Paying": "planning",
    "Plan": "plan",
    "list_parameters": "parameters",
    "parse_parts": "planning",
    "plan_class": "planning",
    "plan_question": "planning",
    "schemas": "parameters",
    "with_integers": "parameters",
}

__all__ = [
    "PLANS",
    "Facts",
    "Parameter",
    "Paying",
    "Plan",
    "list_parameters",
    "parse_parts",
    "plan_class",
    "plan_question",
    "schemas",
    "with_integers",
]

__getattr__: Callable[[str], object] = lazy_attributes(__name__, _HOMES)
