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
    """A key: its columns, as SQL expressions, and their types."""

    columns: tuple[str, ...]
    types: tuple[str, ...]

    @property
    def item(self) -> str:
        """The SQL of an item, or of a group, in its one form."""
        return pack_values([item_form(*typed_column) for typed_column in self._typed_columns])

    @property
    def user(self) -> str:
        """The SQL of a user. Each of several columns must be of a type that could be an item's."""
        if len(self.types) == 1:
            return user_form(self.columns[0], self.types[0])
        return pack_values([_user_field(*typed_column) for typed_column in self._typed_columns])

    @property
    def present(self) -> str:
        """The SQL condition that a user is present."""
        return _all_of(present(*typed_column) for typed_column in self._typed_columns)

    @property
    def nameable(self) -> str:
        """The SQL condition that an item is present and can be named."""
        return _all_of(nameable(*typed_column) for typed_column in self._typed_columns)

    def label(self, value: object) -> object:
        """Return a counted item as a plain Python value, or a tuple of these if it has several columns."""
        if len(self.types) == 1:
            return label(value, self.types[0])
        fields = value.values() if isinstance(value, dict) else ()
        return tuple(label(field, sql_type) for field, sql_type in zip(fields, self.types, strict=True))

    def fields(self, key: str) -> list[str]:
        """Return the SQL of each column, given the SQL of a value that has all of them."""
        return [key] if len(self.types) == 1 else [f"{key}.k{index}" for index in range(len(self.types))]

    @property
    def _typed_columns(self) -> list[tuple[str, str]]:
        return list(zip(self.columns, self.types, strict=True))


def pack_values(forms: Sequence[str]) -> str:
    """Compile values in their one form to one value."""
    if len(forms) < 2:
        return forms[0] if forms else "0"
    return f"struct_pack({', '.join(f'k{index} := {form}' for index, form in enumerate(forms))})"


def _all_of(conditions: Iterable[str]) -> str:
    return " AND ".join(f"({condition})" for condition in conditions) or "true"


def _user_field(expression: str, sql_type: str) -> str:
    """Compile one of several columns of a user.

    A column by itself may be of any type that DuckDB groups. DuckDB does not promise that equal values of any type stay
    equal inside a struct, so there each is in the one form of an item, except values that cannot be named.
    """
    form = item_form(expression, sql_type)
    return form if kind(sql_type) in FLOATS else user_form(expression, sql_type)
