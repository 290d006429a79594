"""Keys in SQL: one column, or several together, as one expression with one form for each value.

No columns are one value, which every row has. Several columns are a struct. Two structs are equal where all of their
fields are, and ordered by the first field in which they differ; nothing is written between the fields, so no value can
be taken for a border. A key is there where each of its columns is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dpselect.engines.duckdb.types import FLOATS, item_form, kind, label, nameable, present, user_form

STRUCT = "STRUCT"
"""The type of a key of several columns."""


@dataclass(frozen=True)
class DuckDBKey:
    """Columns, as SQL expressions, and their types."""

    columns: tuple[str, ...]
    types: tuple[str, ...]

    @property
    def item(self) -> str:
        """The SQL of an item, or of a group, in its one form."""
        return together([item_form(*one) for one in self._each])

    @property
    def user(self) -> str:
        """The SQL of a user. Each of several columns must be of a type that could be an item's."""
        if len(self.types) == 1:
            return user_form(self.columns[0], self.types[0])
        return together([_field(*one) for one in self._each])

    @property
    def present(self) -> str:
        """The SQL condition that a user is there."""
        return _all(present(*one) for one in self._each)

    @property
    def nameable(self) -> str:
        """The SQL condition that an item is there and can be named."""
        return _all(nameable(*one) for one in self._each)

    def label(self, value: object) -> object:
        """A counted item as a plain Python value; a tuple of such where it has several columns."""
        if len(self.types) == 1:
            return label(value, self.types[0])
        fields = value.values() if isinstance(value, dict) else ()
        return tuple(label(one, sql_type) for one, sql_type in zip(fields, self.types, strict=True))

    def fields(self, key: str) -> list[str]:
        """Each column, of the SQL of a value that has all of them."""
        return [key] if len(self.types) == 1 else [f"{key}.k{place}" for place in range(len(self.types))]

    @property
    def _each(self) -> list[tuple[str, str]]:
        return list(zip(self.columns, self.types, strict=True))


def together(forms: Sequence[str]) -> str:
    """Values in their one form as one value."""
    if len(forms) < 2:
        return forms[0] if forms else "0"
    return f"struct_pack({', '.join(f'k{place} := {form}' for place, form in enumerate(forms))})"


def _all(conditions: Iterable[str]) -> str:
    return " AND ".join(f"({one})" for one in conditions) or "true"


def _field(expression: str, sql_type: str) -> str:
    """One of several columns of a user.

    A column by itself may be of any type that DuckDB groups; that equal values of any type stay equal inside a struct
    is not promised, so there each is in the one form that an item has, but for what cannot be named.
    """
    form = item_form(expression, sql_type)
    return form if kind(sql_type) in FLOATS else user_form(expression, sql_type)
