"""The table of an answer: a head for each column, and cells as a person reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpselect.gateway.pages import numbers, words
from dpselect.release import formatting
from dpselect.release.scale import COUNTED_COLUMNS, GROUP_USERS

if TYPE_CHECKING:
    from dpselect.release.release import Release

MOST_ROWS = 200
BETWEEN = f"95{numbers.SPACE}% between"


@dataclass(frozen=True)
class PageCell:
    """One cell."""

    said: str
    number: bool = False
    head: bool = False  # does it name its row?


@dataclass(frozen=True)
class PageTable:
    """Heads, each with whether it is of numbers, and the first rows; `rest` says how many more there are."""

    heads: tuple[tuple[str, bool], ...]
    rows: tuple[tuple[PageCell, ...], ...]
    rest: int


def of(release: Release, body: Mapping[str, Any]) -> PageTable:
    """The same columns as the data frame, each interval in one."""
    columns = release.to_columns()
    ends = {"low", "high"} & set(columns)
    sure = [name for name in columns if name.endswith((" low", " high"))]
    kept = [name for name in columns if name not in ends and name not in sure]
    heads = {name: _head(name, release, body) for name in kept}
    found: dict[str, list[PageCell]] = {}
    naming = _naming(kept)
    for name in kept:
        found[heads[name]] = [_cell(name, value, head=name == naming) for value in columns[name]]
        low, high = ("low", "high") if name in SCORES and ends else (f"{name} low", f"{name} high")
        if low in columns and high in columns:
            head = BETWEEN if name in SCORES else f"{heads[name]}, {BETWEEN}"
            pairs = zip(columns[low], columns[high], strict=True)
            found[head] = [PageCell(_between(*pair), number=True) for pair in pairs]
    lines = tuple(zip(*found.values(), strict=True)) if found else ()
    right = [any(cell.number for cell in cells) for cells in found.values()]
    return PageTable(
        tuple((name, side) for name, side in zip(found, right, strict=True)),
        lines[:MOST_ROWS],
        max(0, len(lines) - MOST_ROWS),
    )


def _naming(names: list[str]) -> str:
    """The column that names a row: its item, or its quantile."""
    return next((name for name in reversed(names) if name not in NUMBERS), names[0]) if "q" not in names else "q"


SCORES = ("count", "sum", "gain", *COUNTED_COLUMNS[:3])
NUMBERS = ("rank", *SCORES, "value", GROUP_USERS, *COUNTED_COLUMNS[3:], "q")


def _head(name: str, release: Release, body: Mapping[str, Any]) -> str:
    item = body.get("item")
    if name == "item" and isinstance(item, str):
        return formatting.text(item)
    if release.counted and name in SCORES:
        return release.unit
    users = "users of the group"
    known = {"rank": "place", GROUP_USERS: users, COUNTED_COLUMNS[3]: f"counted {users}", "q": "which"}
    if name == "value" and isinstance(item, str):
        return formatting.text(item)
    return known.get(name, formatting.text(name))


def _cell(name: str, value: object, *, head: bool) -> PageCell:
    if name == "q":
        return PageCell(words.quantile(value), head=head)
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and name != "rank"
    if number and name != "item":
        return PageCell(numbers.number(value), number=True, head=head)
    return PageCell("" if value is None else formatting.text(value), head=head)


def _between(low: object, high: object) -> str:
    if low is None or high is None:
        return ""
    return f"{numbers.number(low)} and {numbers.number(high)}"
