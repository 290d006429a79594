"""Small files of rows, added to prepared data one after the other, and what is right after each of them.

Every file changes numbers of users, sets of kept values, periods that are there and new ones, and the dictionaries, so
that an answer made of parts of two states is none of the right ones.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from dpselect._ground.temporary import PREFIX
from dpselect.flat import dataset_of

PEOPLE = 40
MONTHS = ("2026-01", "2026-02", "2026-03")
TYPES = {"minutes": "INTEGER", "day": "DATE"}
RULES = {"user": "user", "item": "item", "keep": ["country"], "weights": ["minutes"], "time": "day", "period": "month"}
RULES |= {"types": TYPES}
# What readers ask: of totals, of sets of kept values, of cells of one period, and of the rows themselves.
QUESTIONS: dict[str, dict[str, str]] = {
    "all": {},
    "kept": {"where": "country = 'FR'"},
    "period": {"time": "day", "period": "month", "during": "2026-01"},
    "rows": {"item": "country"},
}
Row = tuple[str, str, str, str, int]
Counts = dict[object, int]


def rows_of(number: int) -> list[Row]:
    """The rows of one file."""
    if number == 0:
        return [
            (f"u{who}", item, "DE", f"{MONTHS[who % 2]}-05", who) for who in range(PEOPLE) for item in "abc"[: who % 4]
        ]
    month = MONTHS[number % 3]
    known = f"u{number % PEOPLE}"
    return [
        (f"new{number}", "a", "DE" if number % 2 else "FR", f"{month}-07", 1),
        (f"new{number}", f"item{number % 5}", "FR", "2026-01-31", 2),
        (known, "b", "FR", f"{month}-11", 3),
        (known, "b", "FR", f"{month}-11", 3),
        (known, "c", "IT", f"2026-{4 + number % 3:02}-01", number),
    ]


def write(folder: Path, number: int) -> Path:
    """One file, written once."""
    path = folder / f"{number}.csv"
    if not path.exists():
        lines = ["user,item,country,day,minutes", *(",".join(map(str, row)) for row in rows_of(number))]
        path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


@cache
def right(question: str, last: int) -> Counts:
    """How many distinct users have each item, after the files up to the last one."""
    pairs = {
        (row[0], row[2] if question == "rows" else row[1])
        for number in range(last + 1)
        for row in rows_of(number)
        if (question != "kept" or row[2] == "FR") and (question != "period" or row[3].startswith("2026-01"))
    }
    found: Counts = {}
    for _, item in pairs:
        found[item] = found.get(item, 0) + 1
    return found


def asked(folder: Path, question: str) -> Counts:
    """The same of the prepared data, exactly."""
    with dataset_of(folder, **QUESTIONS[question]).engine() as engine:
        found = engine.top(100)
        return {found.label(group, 0): int(count) for group, count in enumerate(found.counts)}


def left_over(path: Path) -> set[str]:
    """Names beside the prepared data of what somebody was writing."""
    return {one.name for one in path.parent.iterdir() if one.name.startswith(PREFIX) or one.suffix == ".wal"}
