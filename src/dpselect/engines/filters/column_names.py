"""Column names: which column a name means, and which columns a database takes for one another.

A column has one spelling, that of its source. `user`, `item` and `by` name it exactly; a filter may write it in other
letter case where that leaves one column. Letter case here is that of Unicode (`str.lower`): it makes two names equal
wherever DuckDB does, which sees no case of ASCII letters, and Spark, which lowers them as Python does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from string import ascii_lowercase, ascii_uppercase

from dpselect.errors import SourceError

MAX_SHOWN_CHARACTERS = 80  # characters of a name that a message repeats
EXACTLY = "spell a column exactly where others differ from it only in letter case"
_ASCII = str.maketrans(ascii_uppercase, ascii_lowercase)


def match_columns(names: Iterable[str], columns: Sequence[str]) -> dict[str, list[str]]:
    """Return for each name the columns that it may mean: the one of that very spelling, or all but for letter case."""
    exact, by_lower = set(columns), dict[str, list[str]]()
    for column in columns:
        by_lower.setdefault(column.lower(), []).append(column)
    return {name: [name] if name in exact else by_lower.get(name.lower(), []) for name in names}


def describe_ambiguous(name: str, columns: Sequence[str]) -> str:
    """Return the part of a message about a name that may mean several columns."""
    return f"{name[:MAX_SHOWN_CHARACTERS]!r}, which may be {' or '.join(map(repr, columns))}"


def lower_ascii(name: str) -> str:
    """Return a name as DuckDB compares it."""
    return name.translate(_ASCII)


def case_twins(columns: Iterable[str], fold: Callable[[str], str] = lower_ascii) -> list[str]:
    """Return the first columns that are one name to a database which compares them by `fold`, or an empty list."""
    by_fold: dict[str, list[str]] = {}
    for column in columns:
        by_fold.setdefault(fold(column), []).append(column)
    return next((twins for twins in by_fold.values() if len(twins) > 1), [])


def refuse_case_twins(
    columns: Iterable[str], parameters_and_columns: Iterable[tuple[str, str]], fold: Callable[[str], str] = lower_ascii
) -> None:
    """Refuse two columns of one question that its statements would confuse; the pairs name the parameter of each."""
    twins = case_twins(columns, fold)
    if twins:
        parameter = next((parameter for parameter, name in parameters_and_columns if name == twins[-1]), "where")
        requirement, hint = "name columns that differ by more than letter case", "spell a column alike everywhere"
        raise SourceError(
            parameter, requirement, _format_twins(twins), f"{hint}; if they are two, rename one of them in the source"
        )


def refuse_twins_of_source(columns: Iterable[str], in_file: str, hint: str) -> None:
    """Refuse a source of which DuckDB itself would read one column for the other."""
    twins = case_twins(columns)
    if twins:
        raise SourceError(
            "source", "have columns that differ by more than letter case", _format_twins(twins) + in_file, hint
        )


def _format_twins(twins: Sequence[str]) -> str:
    return " and ".join(map(repr, twins))


def make_unique(names: Iterable[str]) -> list[str]:
    """Return the names, each once: a second one of a name has _1 after it. Letter case makes another name."""
    unavailable: set[str] = set()
    unique_names = []
    for position, name in enumerate(names):
        base = name or f"column{position}"
        candidates = itertools.chain([base], (f"{base}_{number}" for number in itertools.count(1)))
        fresh = next(candidate for candidate in candidates if candidate not in unavailable)
        unavailable.add(fresh)
        unique_names.append(fresh)
    return unique_names
