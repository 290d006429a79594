"""Domain: the items that can be chosen, known before any row is read. Small frozen values; no engine here."""

from __future__ import annotations

import datetime
import decimal
import enum
from collections.abc import Iterable

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import MAX_BITS, as_list, check_keywords, whole_number
from dpselect.errors import ParameterError, came

_PLAIN_TYPES = (bool, int, float, str, bytes, decimal.Decimal, datetime.date, datetime.time)
MAX_DOMAIN_SIZE = 2**128  # the longest identifiers in use; every mechanism answers in bounded time up to here
MAX_COUNTED_ITEMS = 10**6  # items that are shown one by one
_REQUIREMENT = "be a list of items, a range, a number of items, or a Column of another source"


class Unseen(enum.Enum):
    """The type of UNSEEN, the label of an item that has no row and, in a domain that is only a size, no name."""

    UNSEEN = "(unseen item)"

    def __str__(self) -> str:
        return self.value

    __repr__ = __str__


UNSEEN = Unseen.UNSEEN


@dataclass(frozen=True, eq=False, repr=False)
class Listed:
    """Items that the caller lists. A value that comes twice counts once, None is dropped; the order does not matter.

    Items of several columns are tuples of values, one for each column; a tuple with None in it is dropped too.
    """

    items: tuple[object, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.items, (list, tuple)):
            raise ParameterError("domain", "be a list or a tuple of items", came(self.items))
        items = tuple(_parse_item(item) for item in self.items)
        for item in items:
            for value in item if isinstance(item, tuple) else (item,):
                _check_plain(value)
        present_items = [item for item in items if item is not None]
        if not present_items:
            raise ParameterError("domain", "hold at least one item", "none")
        if len({len(item) if isinstance(item, tuple) else 1 for item in present_items}) > 1:
            raise ParameterError("domain", "hold items of the same number of columns", "tuples of different lengths")
        object.__setattr__(self, "items", items)

    @property
    def width(self) -> int:
        """Number of columns of an item: as many as a tuple has values, one for any other item."""
        first = next(item for item in self.items if item is not None)
        return len(first) if isinstance(first, tuple) else 1

    def __repr__(self) -> str:
        return f"Listed({len(self.items)} items)"


def _check_plain(value: object) -> None:
    """Refuse a value that no column holds."""
    requirement = "hold plain values such as text, numbers or dates"
    if value is not None and not isinstance(value, _PLAIN_TYPES):
        raise ParameterError("domain", requirement, came(value))
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise ParameterError("domain", "hold integers of a thousand digits at most", came(value))
    if isinstance(value, decimal.Decimal) and value.is_snan():
        raise ParameterError("domain", requirement, "a signaling NaN")


@check_keywords
@dataclass(frozen=True, eq=False, repr=False)
class Column:
    """A column of a public source, such as the catalogue of a shop.

    Args:
        source: A source that Dataset accepts.
        column: The name of the column.
        table: The name of the table, if the source is a database.
    """

    source: object
    column: str
    table: str | None = None

    def __post_init__(self) -> None:
        for name, value in (("column", self.column), ("table", self.table)):
            if not (isinstance(value, str) and value.strip()) and (name == "column" or value is not None):
                raise ParameterError(f"domain {name}", f"be the name of a {name}", came(value))

    def __repr__(self) -> str:
        return f"Column({self.column!r})"


@dataclass(frozen=True)
class Span:
    """The whole numbers from `start` up to, but not including, `stop`."""

    start: int
    stop: int

    def __post_init__(self) -> None:
        start = whole_number("domain start", self.start, minimum=-(2**63), maximum=2**63)
        stop = whole_number("domain stop", self.stop, minimum=start + 1, maximum=2**63)
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "stop", stop)


@dataclass(frozen=True)
class Size:
    """Only the number of items. The caller promises that no more than `items` different ones can ever occur.

    An item without a row has no name here: its label is UNSEEN. Where the data break the promise and hold more
    items than that, nothing fails (a failure would depend on the data): there is just no unseen item.
    """

    items: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", whole_number("domain", self.items, minimum=1, maximum=MAX_DOMAIN_SIZE))


NamedDomain = Listed | Column | Span
"""A domain whose items have names."""
Domain = NamedDomain | Size


def parse_domain(value: object) -> Domain:
    """Return the domain that a caller means: 10**6 is a Size, range(24) a Span, a list or an array a Listed."""
    if isinstance(value, (Listed, Column, Span, Size)):
        return value
    if isinstance(value, range):
        if value.step != 1:
            raise ParameterError("domain", "be a range of step 1", came(value), "write list(range(...)) instead")
        return Span(value.start, value.stop)
    if isinstance(value, (str, bytes)):
        hint = "a list of one item is [ITEM]; Column(path, column) reads the items from a file"
        raise ParameterError("domain", _REQUIREMENT, came(value), hint)
    if isinstance(value, Iterable) and not isinstance(value, dict):
        return Listed(tuple(as_list("domain", value, _REQUIREMENT)))
    if isinstance(value, (bool, float)) or not hasattr(value, "__index__"):
        raise ParameterError("domain", _REQUIREMENT, came(value))
    return Size(whole_number("domain", value, minimum=1, maximum=MAX_DOMAIN_SIZE))


def max_domain_size(domain: Domain) -> int | None:
    """Return the largest number of items that the domain can hold, or None if only reading it can tell.

    A price may rest on it, so two items are the same only if they are written alike: Python takes 1 and True for
    equal, and 0.1 for the decimal that it is, which a column without a declared type holds apart.
    """
    if isinstance(domain, Listed):
        return len({(type(item), repr(item)) for item in domain.items if item is not None})
    if isinstance(domain, Span):
        return domain.stop - domain.start
    return domain.items if isinstance(domain, Size) else None


def refuse_k_above_size(k: int, domain_size: int) -> None:
    """Refuse k items of a domain that has fewer; a domain is public."""
    if k > domain_size:
        raise ParameterError("k", "be at most the number of items in the domain", k)


def refuse_large_domain(domain_size: int, maximum: int | None) -> None:
    """Refuse a domain of more items than can be returned one by one."""
    if maximum is not None and domain_size > maximum:
        raise ParameterError(
            "domain", f"have at most {maximum:,} items if all of them are returned", f"{domain_size:,}"
        )


def refuse_other_width(domain: Domain, columns: int) -> None:
    """Refuse a domain whose items have another number of columns than those of the data."""
    if isinstance(domain, Size) or (isinstance(domain, Listed) and domain.width == columns):
        return
    if columns > 1:
        requirement = f"list tuples of {columns} values, one for each column of item, or give the number of items"
        raise ParameterError("domain", requirement, "something else")
    if isinstance(domain, Listed):
        hint = "make ranges a column of a view or frame, CASE WHEN age < 30 THEN '18-29' ... END, and list its values"
        raise ParameterError("domain", "list single values, as item is one column", "tuples", hint)


def _parse_item(item: object) -> object:
    """Return an item as plain Python values, or None for a tuple with a missing value."""
    if not isinstance(item, tuple):
        return _plain_value(item)
    values = tuple(map(_plain_value, item))
    if len(values) < 2:
        raise ParameterError("domain", "hold tuples of two values or more", f"one of {len(values)}")
    return None if None in values else values


def _plain_value(item: object) -> object:
    """Return the Python value of a NumPy scalar, the text of a UUID (engines name items so), or the value itself."""
    home = type(item).__module__
    if home == "numpy" and getattr(item, "ndim", None) == 0:
        return item.item()  # type: ignore[attr-defined]
    return str(item) if home == "uuid" else item
