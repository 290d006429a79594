"""The tables [data.NAME]: what each key of a data set must be, alone and beside the others."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from dpselect._ground.keys import apart, names
from dpselect._ground.parameters import MOST_LISTED, near
from dpselect._ground.periods import SORTS, periods_of, zone_of
from dpselect.aggregates.totals import Totals
from dpselect.aggregates.value_counts import Grid
from dpselect.engines.postgres.address import is_postgres
from dpselect.engines.sources.files import kind_of, prepared_folder
from dpselect.engines.spark.source import is_spark
from dpselect.errors import ParameterError
from dpselect.gateway.settings import leaves
from dpselect.gateway.settings.mistakes import ToldError, of_parameter
from dpselect.gateway.settings.places import Place, Reader, by_name, listed, made
from dpselect.gateway.settings.values import LATEST, Amount, Bounds, DataSettings, Key, Scalar, Sizes, WeightColumn

ANY = "any"
MOST_USERS, MOST_ITEMS = 10**12, 10**7  # of imagined data
STEEPEST = 10
MOST_BYTES = 10**15


# ---- single keys ---------------------------------------------------------------------------------------------


def _is_address(source: object) -> bool:
    return isinstance(source, str) and (is_postgres(source) or is_spark(source))


def _source(place: Place) -> str | tuple[str, ...]:
    """Files, a folder, or a database."""
    if isinstance(place.value, list):
        paths: tuple[str, ...] = listed(_file, "be a path, an address, or a list of paths")(place)
        return paths[0] if len(paths) == 1 else paths
    return str(place.value) if _is_address(place.value) else _file(place)


def _file(place: Place) -> str:
    if _is_address(place.value) or (isinstance(place.value, str) and "://" in place.value):
        raise place.wrong("be a path on this machine, or one postgresql:// or spark: address")
    return leaves.path(place)


def _values(place: Place) -> tuple[Scalar, ...]:
    """Values of one column, each once."""
    found: tuple[Scalar, ...] = listed(leaves.scalar, "be a list of values")(place)
    seen: set[object] = set()
    for at, value in enumerate(found):
        if apart(value) in seen:
            place.refuse("must have each value once", at)
            raise ToldError
        seen.add(apart(value))
    return found


def _allowed(place: Place) -> tuple[Scalar, ...] | None:
    """Values that a filter may name, or None for any condition on the column."""
    if place.value == ANY:
        return None
    if not isinstance(place.value, list):
        raise place.wrong(f'be a list of values, or "{ANY}" for every condition on this column')
    return _values(place)


def _weight(place: Place, given: dict[str, Any]) -> None:
    """A cap of so many units."""
    if "at_most" in given and ("unit" in given or _raw(place, "unit") is None):
        try:
            Totals.of("column", _raw(place, "at_most"), _raw(place, "unit"))
        except ParameterError as error:
            inner = {"at_most": "at_most", "weight_unit": "unit"}[error.parameter]
            place.refuse(of_parameter(error, _raw(place, inner)), inner, hint=error.hint)


def _bounds(place: Place, given: dict[str, Any]) -> None:
    """A range that can be cut into steps."""
    if {"low", "high"} <= set(given):
        try:
            Grid.of((given["low"], given["high"]), given.get("step"))
        except ParameterError as error:
            inner = "step" if error.parameter == "step" else "high"
            must = error.must if given["low"] < given["high"] else "be above low"
            place.refuse(of_parameter(ParameterError(inner, must, _raw(place, inner)), _raw(place, inner)), inner)


def _raw(place: Place, name: str) -> object:
    """What the file says there."""
    return place.value.get(name) if isinstance(place.value, dict) else None


def _sizes(place: Place, given: dict[str, Any]) -> None:
    """Users have fewer items than there are."""
    items, each = given.get("items", Sizes.items), given.get("items_per_user")
    if each is None:
        given["items_per_user"] = min(Sizes.items_per_user, Fraction(items, 2))
    elif each > Fraction(9, 10) * items:
        place.refuse("must be at most nine tenths of items", "items_per_user")


AMOUNT = made(Amount, {"epsilon": leaves.epsilon, "delta": leaves.delta})
READERS: Mapping[str, Reader] = {
    "source": _source,
    "user": leaves.key,
    "items": listed(leaves.key, "be a list of columns, or of lists of columns"),
    "promise": AMOUNT,
    "title": leaves.text,
    "about": leaves.prose,
    "table": leaves.text,
    "unit": leaves.name,
    "keep": leaves.share,
    "groups": listed(leaves.column, "be a list of columns"),
    "filters": by_name(leaves.column, _allowed),
    "weights": by_name(leaves.column, made(WeightColumn, {"at_most": leaves.number, "unit": leaves.number}, _weight)),
    "values": by_name(
        leaves.column, made(Bounds, {"low": leaves.number, "high": leaves.number, "step": leaves.number}, _bounds)
    ),
    "domains": by_name(leaves.column, _values),
    "sizes": made(
        Sizes,
        {
            "users": leaves.whole(1, MOST_USERS),
            "items": leaves.whole(1, MOST_ITEMS),
            "items_per_user": leaves.between(0, MOST_ITEMS, above=True),
            "skew": leaves.between(0, STEEPEST),
            "groups": leaves.whole(1, MOST_ITEMS),
            "rows": leaves.whole(1, MOST_USERS),
            "bytes": leaves.whole(1, MOST_BYTES),
        },
        _sizes,
    ),
    "time": leaves.column,
    "period": leaves.one_of(SORTS),
    "timezone": lambda place: zone_of(place.value),
    "since": leaves.text,
    "max_k": leaves.whole(1, MOST_LISTED),
    "max_items_per_user": leaves.whole(1, 2**31),
    "split": leaves.separator,
    "tick": leaves.between(0, LATEST, above=True),
    "longest": leaves.between(0, LATEST, above=True),
    "approve": leaves.flag,
    "prepare": leaves.flag,
    "max_rows_per_user": leaves.whole(1, 2**31),
    "refresh": leaves.whole(1, 7 * 24 * 60),
    "snapshot": leaves.text,
}


# ---- keys beside each other ----------------------------------------------------------------------------------


def _together(place: Place, given: dict[str, Any]) -> None:
    given["name"] = unicodedata.normalize("NFC", str(place.steps[-1]))
    _check_user(place, given)
    _check_columns(place, given)
    _check_domains(place, given)
    _check_source(place, given)
    _check_periods(place, given)


def _check_user(place: Place, given: dict[str, Any]) -> None:
    """Only prepared data say themselves who their users are."""
    given.setdefault("user", None)
    source = given.get("source")
    absent = isinstance(place.value, dict) and "user" not in place.value
    if absent and source is not None and prepared_folder(source) is None:
        place.refuse("must have user", hint="only a folder of prepared data says itself who its users are")


def _check_columns(place: Place, given: dict[str, Any]) -> None:
    """No column that says who a user is can be asked about: each of its values would be of few users."""
    user = given.get("user")
    whose = set() if user is None else {name.lower() for name in names(user)}
    for steps, column in _columns(given):
        if column.lower() in whose:
            place.refuse(f"must not hold {column!r}, which says who a user is", *steps)
    for parameter in ("items", "groups"):
        seen: set[object] = set()
        for at, one in enumerate(given.get(parameter, ())):
            if one in seen:
                place.refuse("must have each once", parameter, at)
            seen.add(one)
    if "split" in given:
        for at, key in enumerate(given.get("items", ())):
            if not isinstance(key, str):
                place.refuse("must be single columns where split is given", "items", at)


def _columns(given: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every column that can be asked about, and where it is named."""
    keys: tuple[Key, ...] = given.get("items", ())
    for at, key in enumerate(keys):
        yield from ((("items", at), name) for name in names(key))
    for at, name in enumerate(given.get("groups", ())):
        yield ("groups", at), name
    for parameter in ("filters", "weights", "values"):
        for name in given.get(parameter, ()):
            yield (parameter, name), name


def _check_domains(place: Place, given: dict[str, Any]) -> None:
    """A list of items is of a column that can be asked about."""
    asked = [name for key in given.get("items", ()) for name in names(key)] + list(given.get("groups", ()))
    for column in given.get("domains", ()):
        if column not in asked and "items" in given:
            place.refuse("must be a column of items or of groups", "domains", column, hint=near(column, asked))


def _check_source(place: Place, given: dict[str, Any]) -> None:
    """What goes only with files, or only with what is none."""
    source = given.get("source")
    if source is None:
        return
    kind = "address" if _is_address(source) else _kind(source)
    if kind in ("address", "duckdb") and "table" not in (place.value if isinstance(place.value, dict) else ()):
        place.refuse("must have table, which of the database is meant")
    if kind not in ("address", "duckdb", "folder") and "table" in given:
        place.refuse("must be left out where the source is files", "table")
    if kind not in ("address", "duckdb") and "snapshot" in given:
        hint = "files say themselves when they were written"
        place.refuse("must be left out where the source is files", "snapshot", hint=hint)
    if given.get("prepare") and (kind == "address" or prepared_folder(source) is not None):
        place.refuse("must be left out where the source is a database, or prepared data", "prepare")
    for name in ("refresh", "max_rows_per_user"):
        if name in given and not given.get("prepare"):
            place.refuse("must be left out without prepare = true", name)


def _kind(source: str | tuple[str, ...]) -> str:
    """What a name says that a file is; a folder where it says nothing that is known."""
    try:
        return kind_of(source if isinstance(source, str) else source[0])
    except ParameterError:
        return "folder"


def _check_periods(place: Place, given: dict[str, Any]) -> None:
    """A time and a period go together; all else of time goes with them."""
    there = place.value if isinstance(place.value, dict) else {}
    for one, other in (("time", "period"), ("period", "time"), ("timezone", "period"), ("since", "period")):
        if one in there and other not in there:
            place.refuse(f"must be given with {other}", one)
    user = given.get("user")
    if user is not None and given.get("time") in names(user):
        place.refuse("must not say who a user is", "time")
    if {"time", "period", "since"} <= set(given):
        since = given["since"]
        try:
            found = periods_of("time", given["period"], since, given.get("timezone", "UTC"))
        except ParameterError as error:
            place.refuse(of_parameter(error, since), "since", hint=error.hint)
            return
        if len(found.all) > 1:
            place.refuse(f"must name one {given['period']}", "since")


READ: Reader = made(DataSettings, READERS, _together, optional=["user"])
