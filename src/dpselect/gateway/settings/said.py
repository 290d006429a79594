"""Settings in words, for the owner who looks them over before the gateway starts."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from dpselect._ground.parameters import shown
from dpselect.gateway.settings.kinds import ANY, is_address
from dpselect.gateway.settings.values import DataSettings, Person, Settings, Table

_WIDTH = 20
_LONG = 10  # values, of which only the number is said
_SECRET = {"token": "there is one"}


def said(settings: Settings) -> list[str]:
    """All that is declared, key by key; also what a key is that the file leaves out."""
    found: list[str] = []
    for data in settings.data.values():
        found += [f"data {data.name}", *_rows(data), ""]
    for person in settings.people.values():
        found += [f"person {person.name}", *_rows(person), ""]
    return [*found, "server", *_rows(settings.server)]


def _rows(table: Table) -> Iterator[str]:
    values = dict(table)
    if isinstance(table, DataSettings):
        values["unit"] = table.whom
    if isinstance(table, Person):
        values["data"] = table.data or "all"
    for name, value in values.items():
        if name != "name" and value not in (None, "", (), {}):
            lines = (_SECRET.get(name) or _text(value)).splitlines()
            yield f"  {name:<{_WIDTH}} {lines[0]}"
            yield from (f"  {'':<{_WIDTH}} {line}" for line in lines[1:])


def _text(value: Any) -> str:
    """A value; of an address no more than that it is one, since it may hold a password."""
    match value:
        case None:
            return ANY
        case bool():
            return "true" if value else "false"
        case Fraction():
            return f"{shown(value):.15g}"
        case str() if is_address(value):
            return "a database"
        case str() if not value.strip():
            return repr(value)
        case Table():
            return ", ".join(f"{name} {_text(inner)}" for name, inner in value if inner is not None)
        case dict():
            return ", ".join(f"{name} ({_text(inner)})" for name, inner in value.items())
        case tuple() if len(value) > _LONG:
            return f"{len(value)} values"
        case tuple():
            return ", ".join(f"({_text(one)})" if isinstance(one, tuple) else _text(one) for one in value)
        case _:
            return str(value)
