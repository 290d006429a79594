"""Places: a value of the file, the way to it, and how tables and lists are read into frozen values."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dpselect._ground.parameters import near
from dpselect.errors import ParameterError
from dpselect.gateway.settings.lines import Steps
from dpselect.gateway.settings.mistakes import Page, ToldError, of_parameter, shown

MISSING = object()


@dataclass(frozen=True)
class Place:
    """A value, and the way to it."""

    value: object
    steps: Steps
    page: Page

    def inside(self, step: str | int, value: object) -> Place:
        """What is one step further."""
        return Place(value, (*self.steps, step), self.page)

    def refuse(self, text: str, *inner: str | int, hint: str | None = None) -> None:
        """Write down what is wrong here, or with what is some steps further, and go on."""
        self.page.add((*self.steps, *inner), text, hint)

    def wrong(self, must: str, hint: str | None = None, came: str | None = None) -> ParameterError:
        """The error for this value."""
        return ParameterError("value", must, shown(self.value) if came is None else came, hint)


Reader = Callable[[Place], Any]
"""Makes a value of what stands in the file. ParameterError for one mistake, ToldError after several."""

Check = Callable[[Place, dict[str, Any]], None]


def attempt(place: Place, read: Reader) -> Any:
    """What is read, or MISSING after its mistakes were written down."""
    try:
        return read(place)
    except ParameterError as error:
        place.page.add(place.steps, of_parameter(error, place.value), error.hint)
    except ToldError:
        pass
    return MISSING


def entries(place: Place) -> Mapping[str, object]:
    """The names and values of a table."""
    if not isinstance(place.value, dict):
        raise place.wrong("be a table")
    return place.value


def fields(place: Place, readers: Mapping[str, Reader], required: frozenset[str]) -> dict[str, Any]:
    """What could be read of a table whose names are known; the rest is written down."""
    table = entries(place)
    found: dict[str, Any] = {}
    for name, value in table.items():
        if name not in readers:
            place.refuse("is not known here", name, hint=near(name, sorted(readers)))
            continue
        read = attempt(place.inside(name, value), readers[name])
        if read is not MISSING:
            found[name] = read
    for name in sorted(required - set(table)):
        place.refuse(f"must have {name}")
    return found


def required(kind: Any) -> frozenset[str]:
    """The fields of a dataclass that have no value unless one is given."""
    none = dataclasses.MISSING
    return frozenset(
        one.name for one in dataclasses.fields(kind) if one.default is none and one.default_factory is none
    )


def made(kind: Any, readers: Mapping[str, Reader], check: Check | None = None, optional: Iterable[str] = ()) -> Reader:
    """Reads a table into a dataclass. `check` sees what could be read, and writes down what does not go together.

    It also fills in what is `optional` and has no value of its own.
    """
    needed = (required(kind) & set(readers)) - set(optional)

    def read(place: Place) -> Any:
        before = len(place.page.found)
        found = fields(place, readers, needed)
        place.page.tables[place.steps] = found
        if check is not None:
            check(place, found)
        if len(place.page.found) > before:
            raise ToldError
        return kind(**found)

    return read


def listed(read: Reader, must: str) -> Reader:
    """Reads a list of at least one value into a tuple."""

    def reads(place: Place) -> tuple[Any, ...]:
        if not isinstance(place.value, list) or not place.value:
            raise place.wrong(must, came="an empty list" if place.value == [] else None)
        found = [attempt(place.inside(at, value), read) for at, value in enumerate(place.value)]
        if MISSING in found:
            raise ToldError
        return tuple(found)

    return reads


def by_name(read_name: Reader, read: Reader) -> Reader:
    """Reads a table whose names are the owner's own, such as columns."""

    def reads(place: Place) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in entries(place).items():
            inner = place.inside(name, value)
            clean = attempt(Place(name, inner.steps, place.page), read_name)
            one = attempt(inner, read)
            if clean in found:
                inner.refuse("is there twice: the names look the same")
            if clean is not MISSING:
                found[clean] = one
        return found

    return reads
