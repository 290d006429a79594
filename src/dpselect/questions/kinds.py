"""Kinds of values that parameters have: how each is checked, written as JSON, read from it, and said in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dpselect._ground import parameters
from dpselect._ground.domain import Column, Domain, Listed, Size, Span, parse_domain
from dpselect._ground.keys import key_columns, parse_key
from dpselect.errors import ParameterError, came, naming
from dpselect.release.formatting import Json


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Kind:
    """One kind. `read` takes the parameter's name and what came, and gives the value that is kept.

    `shape` names the schema of its JSON in schemas.py, which is imported where somebody asks for it.
    """

    read: Callable[[str, Any], Any]
    shape: str
    write: Callable[[Any], Json] = _same
    from_json: Callable[[str, Json], Any] = lambda _, value: value
    python: Callable[[Any], str] = repr


def whole_number_kind(least: int = 1, most: int = parameters.MAX_INTEGER) -> Kind:
    """A whole number."""
    return Kind(lambda name, value: parameters.whole_number(name, value, minimum=least, maximum=most), "WHOLE")


@dataclass(frozen=True)
class OneOf(Kind):
    """One of some words."""

    words: tuple[str, ...] = ()


def one_of(*known: str) -> OneOf:
    """One of some words."""
    return OneOf(lambda name, value: parameters.one_of(name, value, known), "TEXT", words=known)


def _said(number: Fraction) -> str:
    """As Python reads it again, exactly: a decimal where that is the number."""
    if number.denominator == 1:
        return str(number)
    decimal = repr(float(number))
    return decimal if Fraction(decimal) == number else repr(str(number))


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ParameterError(name, "be the name of a column", came(value))
    return value


def _columns(name: str, value: Any) -> tuple[str, ...]:
    return key_columns(parse_key(name, value))


def _several(values: tuple[Any, ...], said: Callable[[Any], str] = repr) -> str:
    return said(values[0]) if len(values) == 1 else f"[{', '.join(map(said, values))}]"


def _periods(name: str, value: Any) -> tuple[str, ...]:
    many = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Sequence) else ()
    if not many or not all(isinstance(one, str) and one.strip() for one in many):
        must = "be the name of a period, a first and a last one, or a list of such"
        raise ParameterError(name, must, came(value), f'{name}="2026-09"')
    return many


def _shares(name: str, value: Any) -> tuple[Fraction, ...]:
    many = [value] if isinstance(value, (str, int, float, Fraction)) or not isinstance(value, Sequence) else value
    found = tuple(_share(name, one, many) for one in many)
    if not found or any(high <= low for low, high in pairwise(found)):
        raise ParameterError(name, "be one number, or several in ascending order", came(value))
    return found


def _share(name: str, value: Any, values: Sequence[Any]) -> Fraction:
    try:
        return parameters.probability(name, value, hint="a share of users: 1/2 is the median")
    except ParameterError as error:
        from dpselect._ground.keywords import suggest_share

        meant = suggest_share(value, values)
        hint = error.hint if meant is None else f"write {meant}"
        raise ParameterError(name, error.must, error.came, hint) from None


def _share_written(value: Fraction) -> str:
    """A whole number of percent as such: so all of it is "100%", and never 1."""
    percent = 100 * value
    return f"{percent}%" if percent.denominator == 1 else str(value)


def _bounds(name: str, value: Any) -> tuple[Fraction, Fraction]:
    must = "be two numbers, the lower one first"
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise ParameterError(name, must, came(value), "bounds=(0, 120), --bounds 0,120")
    low, high = (parameters.rational(name, one, must) for one in value)
    if low >= high:
        raise ParameterError(name, must, came(value))
    return low, high


def _numbers(values: tuple[Fraction, ...]) -> list[Json]:
    return [str(one) for one in values]


FLAG = Kind(parameters.flag, "FLAG")
NUMBER = Kind(parameters.positive, "NUMBER", str, python=_said)
EPSILON = Kind(parameters.epsilon, "EPSILON", str, python=_said)
DELTA = Kind(lambda name, value: parameters.probability(name, value, zero=True), "DELTA", str, python=_said)
SHARE = Kind(parameters.share, "SHARE", _share_written, python=lambda value: repr(_share_written(value)))
COLUMN = Kind(_text, "COLUMN")
COLUMNS = Kind(_columns, "COLUMNS", list, python=_several)
PERIODS = Kind(_periods, "PERIODS", list, python=_several)
SHARES = Kind(_shares, "NUMBERS", _numbers, python=lambda value: _several(value, _said))
BOUNDS = Kind(_bounds, "PAIR", _numbers, python=lambda value: f"({_said(value[0])}, {_said(value[1])})")


# ---- items ------------------------------------------------------------------------------------------------


def domain_to_json(value: Domain, name: str = "domain") -> Json:
    """A domain as JSON: items, an object of start and stop, or how many there are."""
    if isinstance(value, Span):
        return {"start": item_to_json(value.start), "stop": item_to_json(value.stop)}
    if isinstance(value, Size):
        return value.items
    if isinstance(value, Column):
        hint = "a column of another source may be any file: give its items"
        raise ParameterError(name, "be a list of items, a span or a number to be written as JSON", "a Column", hint)
    return items_to_json(value.items)


def items_to_json(items: Sequence[Any]) -> Json:
    """Items as JSON: what that has no type for as [kind, text]."""
    return [item_to_json(item) for item in items]


def item_to_json(item: object) -> Json:
    """Return an item as JSON: what that has no type for, and integers that JavaScript would round, as [kind, text]."""
    from dpselect.release import typed

    return typed.label(item)


def domain_from_json(name: str, value: Json) -> Any:
    """What `items_written` wrote."""
    if isinstance(value, list):
        return [_item(name, one) for one in value]
    if not isinstance(value, dict):
        return value
    if set(value) != {"start", "stop"}:
        raise ParameterError(name, "be a list of items, an object of start and stop, or a number", "other names")
    start: Any = _item(name, value["start"])
    stop: Any = _item(name, value["stop"])
    return Span(start, stop)


def _item(name: str, value: Json) -> object:
    """An item: what JSON has no type for is [kind, text], a tuple ["tuple", values]."""
    try:
        if isinstance(value, list) and len(value) == 2 and value[0] == "tuple" and isinstance(value[1], list):
            if len(value[1]) < 2:
                raise ValueError("no tuple of a few columns")
            return tuple(map(_plain, value[1]))
        return _plain(value)
    except (ValueError, TypeError, KeyError, ArithmeticError):
        must = 'hold items in JSON types, [kind, text], or ["tuple", [value, ...]]'
        raise ParameterError(name, must, "something else") from None


def _plain(value: Json) -> object:
    from dpselect.release import typed

    if isinstance(value, list) and (len(value) != 2 or not all(isinstance(part, str) for part in value)):
        raise TypeError
    return typed.read(value)


def _in_python(value: Domain) -> str:
    if isinstance(value, Span):
        return f"range({value.start}, {value.stop})" if value.start else f"range({value.stop})"
    if isinstance(value, Size):
        return str(value.items)
    if isinstance(value, Column):
        table = "" if value.table is None else f", {value.table!r}"
        source = f"<{type(value.source).__name__}>"
        if isinstance(value.source, str):  # of an address its kind alone: the rest may hold a secret
            kind, address, _ = value.source.partition("://")
            source = repr(f"{kind}://..." if address else value.source)
        return f"Column({source}, {value.column!r}{table})"
    return repr(list(value.items))


def _domain(name: str, value: Any) -> Domain:
    with naming(name):
        return parse_domain(value)


_LISTED = "be a list of items, or a Column of a public source"


def _listed(name: str, value: Any) -> Listed | Column:
    items = list(value) if isinstance(value, range) and len(value) <= parameters.MAX_LISTED_SIZE else value
    if isinstance(items, (str, bytes, dict)) or not isinstance(items, (Iterable, Listed, Column)):
        hint = "a list of one item is [ITEM]; Column(path, column) reads the items from a file"
        raise ParameterError(name, _LISTED, came(value), hint if isinstance(value, (str, bytes)) else None)
    with naming(name):
        found = parse_domain(items)
    if isinstance(found, (Span, Size)):
        raise ParameterError(name, _LISTED, came(value))
    return found


DOMAIN = Kind(_domain, "DOMAIN", domain_to_json, domain_from_json, _in_python)
LISTED = Kind(_listed, "ITEMS", domain_to_json, domain_from_json, _in_python)


def _measures(name: str, value: Any) -> tuple[Any, ...]:  # noqa: ARG001
    from dpselect.aggregates.measures import USERS, measures_of

    found, users = measures_of(value)
    return (*([USERS] if users else []), *found)


MEASURES = Kind(
    _measures,
    "MEASURES",
    lambda value: [str(one) for one in value],
    python=lambda value: _several(tuple(str(one) for one in value)),
)
