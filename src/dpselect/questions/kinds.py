"""Kinds of values that parameters have: how each is checked, written as JSON, read from it, and written in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.domain import Column, Domain, Listed, Size, Span, parse_domain
from dpselect._ground.keys import key_columns, parse_key
from dpselect.errors import ParameterError, came, naming_parameter
from dpselect.release.formatting import Json


def _unchanged(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class ParameterKind:
    """A kind of value. `read` takes the parameter's name and what came, and returns the value that is kept.

    `shape` names the schema of its JSON in schemas.py, which is imported where somebody asks for it.
    """

    read: Callable[[str, Any], Any]
    shape: str
    write: Callable[[Any], Json] = _unchanged
    from_json: Callable[[str, Json], Any] = lambda _, value: value
    python: Callable[[Any], str] = repr


def whole_number_kind(minimum: int = 1, maximum: int = parameters.MAX_INTEGER) -> ParameterKind:
    """Return the kind of whole numbers from `minimum` to `maximum`."""
    return ParameterKind(
        lambda name, value: parameters.whole_number(name, value, minimum=minimum, maximum=maximum), "WHOLE"
    )


@dataclass(frozen=True)
class OneOf(ParameterKind):
    """The kind of a word that is one of some."""

    words: tuple[str, ...] = ()


def one_of(*words: str) -> OneOf:
    """Return the kind of a word that is one of these."""
    return OneOf(lambda name, value: parameters.one_of(name, value, words), "TEXT", words=words)


def _number_in_python(number: Fraction) -> str:
    """Return a number as Python reads it again, exactly: a decimal where that is the number."""
    if number.denominator == 1:
        return str(number)
    decimal = repr(float(number))
    return decimal if Fraction(decimal) == number else repr(str(number))


def _parse_column(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ParameterError(name, "be the name of a column", came(value))
    return value


def _parse_columns(name: str, value: Any) -> tuple[str, ...]:
    return key_columns(parse_key(name, value))


def _list_in_python(values: tuple[Any, ...], element_in_python: Callable[[Any], str] = repr) -> str:
    return element_in_python(values[0]) if len(values) == 1 else f"[{', '.join(map(element_in_python, values))}]"


def _parse_periods(name: str, value: Any) -> tuple[str, ...]:
    period_names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Sequence) else ()
    if not period_names or not all(
        isinstance(period_name, str) and period_name.strip() for period_name in period_names
    ):
        requirement = "be the name of a period, a first and a last one, or a list of such"
        raise ParameterError(name, requirement, came(value), f'{name}="2026-09"')
    return period_names


def _parse_shares(name: str, value: Any) -> tuple[Fraction, ...]:
    values = [value] if isinstance(value, (str, int, float, Fraction)) or not isinstance(value, Sequence) else value
    shares = tuple(_parse_share(name, share, values) for share in values)
    if not shares or any(high <= low for low, high in pairwise(shares)):
        raise ParameterError(name, "be one number, or several in ascending order", came(value))
    return shares


def _parse_share(name: str, value: Any, all_values: Sequence[Any]) -> Fraction:
    try:
        return parameters.probability(name, value, hint="a share of users: 1/2 is the median")
    except ParameterError as error:
        from dpselect._ground.keywords import suggest_share

        suggestion = suggest_share(value, all_values)
        hint = error.hint if suggestion is None else f"write {suggestion}"
        raise ParameterError(name, error.must, error.came, hint) from None


def _format_share(value: Fraction) -> str:
    """Format a whole number of percent as such: so all of it is "100%", and never 1."""
    percent = 100 * value
    return f"{percent}%" if percent.denominator == 1 else str(value)


def _parse_bounds(name: str, value: Any) -> tuple[Fraction, Fraction]:
    requirement = "be two numbers, the lower one first"
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise ParameterError(name, requirement, came(value), "bounds=(0, 120), --bounds 0,120")
    low, high = (parameters.rational(name, bound, requirement) for bound in value)
    if low >= high:
        raise ParameterError(name, requirement, came(value))
    return low, high


def _numbers_to_json(values: tuple[Fraction, ...]) -> list[Json]:
    return [str(number) for number in values]


FLAG = ParameterKind(parameters.flag, "FLAG")
NUMBER = ParameterKind(parameters.positive, "NUMBER", str, python=_number_in_python)
EPSILON = ParameterKind(parameters.epsilon, "EPSILON", str, python=_number_in_python)
DELTA = ParameterKind(
    lambda name, value: parameters.probability(name, value, zero=True), "DELTA", str, python=_number_in_python
)
SHARE = ParameterKind(parameters.share, "SHARE", _format_share, python=lambda value: repr(_format_share(value)))
COLUMN = ParameterKind(_parse_column, "COLUMN")
COLUMNS = ParameterKind(_parse_columns, "COLUMNS", list, python=_list_in_python)
PERIODS = ParameterKind(_parse_periods, "PERIODS", list, python=_list_in_python)
SHARES = ParameterKind(
    _parse_shares, "NUMBERS", _numbers_to_json, python=lambda value: _list_in_python(value, _number_in_python)
)
BOUNDS = ParameterKind(
    _parse_bounds,
    "PAIR",
    _numbers_to_json,
    python=lambda value: f"({_number_in_python(value[0])}, {_number_in_python(value[1])})",
)


# ---- items ------------------------------------------------------------------------------------------------


def domain_to_json(value: Domain, name: str = "domain") -> Json:
    """Return a domain as JSON: items, an object of start and stop, or how many there are."""
    if isinstance(value, Span):
        return {"start": item_to_json(value.start), "stop": item_to_json(value.stop)}
    if isinstance(value, Size):
        return value.items
    if isinstance(value, Column):
        hint = "a column of another source may be any file: give its items"
        raise ParameterError(name, "be a list of items, a span or a number to be written as JSON", "a Column", hint)
    return items_to_json(value.items)


def items_to_json(items: Sequence[Any]) -> Json:
    """Return items as JSON: what that has no type for as [kind, text]."""
    return [item_to_json(item) for item in items]


def item_to_json(item: object) -> Json:
    """Return an item as JSON: what that has no type for, and integers that JavaScript would round, as [kind, text]."""
    from dpselect.release import typed

    return typed.label_to_json(item)


def domain_from_json(name: str, value: Json) -> Any:
    """Return what `domain_to_json` wrote, for a kind to read."""
    if isinstance(value, list):
        return [_item_from_json(name, item) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) != {"start", "stop"}:
        raise ParameterError(name, "be a list of items, an object of start and stop, or a number", "other names")
    start: Any = _item_from_json(name, value["start"])
    stop: Any = _item_from_json(name, value["stop"])
    return Span(start, stop)


def _item_from_json(name: str, value: Json) -> object:
    """Return an item: what JSON has no type for is [kind, text], a tuple ["tuple", values]."""
    try:
        if isinstance(value, list) and len(value) == 2 and value[0] == "tuple" and isinstance(value[1], list):
            if len(value[1]) < 2:
                raise ValueError("no tuple of a few columns")
            return tuple(map(_plain_from_json, value[1]))
        return _plain_from_json(value)
    except (ValueError, TypeError, KeyError, ArithmeticError):
        requirement = 'hold items in JSON types, [kind, text], or ["tuple", [value, ...]]'
        raise ParameterError(name, requirement, "something else") from None


def _plain_from_json(value: Json) -> object:
    from dpselect.release import typed

    if isinstance(value, list) and (len(value) != 2 or not all(isinstance(part, str) for part in value)):
        raise TypeError
    return typed.value_from_json(value)


def _domain_in_python(value: Domain) -> str:
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


def _parse_domain(name: str, value: Any) -> Domain:
    with naming_parameter(name):
        return parse_domain(value)


_LISTED_REQUIREMENT = "be a list of items, or a Column of a public source"


def _parse_listed(name: str, value: Any) -> Listed | Column:
    items = list(value) if isinstance(value, range) and len(value) <= parameters.MAX_LISTED_SIZE else value
    if isinstance(items, (str, bytes, dict)) or not isinstance(items, (Iterable, Listed, Column)):
        hint = "a list of one item is [ITEM]; Column(path, column) reads the items from a file"
        raise ParameterError(name, _LISTED_REQUIREMENT, came(value), hint if isinstance(value, (str, bytes)) else None)
    with naming_parameter(name):
        domain = parse_domain(items)
    if isinstance(domain, (Span, Size)):
        raise ParameterError(name, _LISTED_REQUIREMENT, came(value))
    return domain


DOMAIN = ParameterKind(_parse_domain, "DOMAIN", domain_to_json, domain_from_json, _domain_in_python)
LISTED = ParameterKind(_parse_listed, "ITEMS", domain_to_json, domain_from_json, _domain_in_python)


def _parse_measures(name: str, value: Any) -> tuple[Any, ...]:  # noqa: ARG001
    from dpselect.aggregates.measures import USERS_MEASURE, measures_of

    measures, users = measures_of(value)
    return (*([USERS_MEASURE] if users else []), *measures)


MEASURES = ParameterKind(
    _parse_measures,
    "MEASURES",
    lambda measures: [str(measure) for measure in measures],
    python=lambda measures: _list_in_python(tuple(str(measure) for measure in measures)),
)
