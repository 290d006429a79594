"""Work: what all steps of preparing share: a workspace with their tables, the rules, and the state before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dpselect.engines.duckdb.files import parquet_rows
from dpselect.engines.duckdb.types import FLOATS, OBJECT, has_text, item_form, kind
from dpselect.engines.duckdb.workspace import Row, Workspace, quoted
from dpselect.engines.prepared.reading import Reading
from dpselect.engines.prepared.rules import Rules
from dpselect.engines.prepared.state import Part

_LARGE = frozenset({"HUGEINT", "UHUGEINT"})  # which Parquet would round


@dataclass
class Work:
    """The tables of the steps: `staged` rows, dictionaries, `coded` rows, `cells` and `totals`."""

    workspace: Workspace
    rules: Rules
    before: Reading | None
    last_set: int = 0  # the number of the last set from before

    @property
    def dictionaries(self) -> Mapping[str, tuple[str, ...]]:
        """The columns of each dictionary."""
        rules = self.rules
        return {"users": rules.user, "items": rules.item, **({"kept": rules.keep} if rules.keep else {})}

    def staged(self, column: str) -> str:
        """The name of a column among the staged rows."""
        return f"s{self.rules.stored.index(column)}"

    def rows(self, sql: str) -> list[Row]:
        """All rows of one statement; the steps run inside guarded work."""
        return self.workspace.rows(sql)

    def number(self, sql: str) -> int:
        """The one number that a query gives."""
        return int(self.rows(sql)[0][0])

    def old(self, name: str) -> tuple[Part, ...]:
        """The files of a dictionary in the state before."""
        found: tuple[Part, ...] = () if self.before is None else getattr(self.before.state, name)
        return found

    def files(self, parts: Sequence[Part]) -> str:
        """Files of the state before, as what stands after FROM."""
        assert self.before is not None
        return parquet_rows(self.before.paths(parts))

    def back(self, letter: str, columns: Sequence[str]) -> list[str]:
        """Values of files in the types of their columns."""
        types = (self.rules.types[one] for one in columns)
        return [f"CAST({letter}{at} AS {stored_type(one)}) AS {letter}{at}" for at, one in enumerate(types)]

    def carried(self, letter: str, columns: Sequence[str]) -> list[str]:
        """Values as Parquet holds them exactly."""
        types = (self.rules.types[one] for one in columns)
        return [f"{_carried(f'{letter}{at}', one)} AS {letter}{at}" for at, one in enumerate(types)]


def refuse_types(types: Mapping[str, str], columns: Sequence[str]) -> None:
    """Refuse columns of types that cannot be kept as they are."""
    for name in columns:
        item_form(quoted(name), types[name])


def kept_types(types: Mapping[str, str]) -> dict[str, str]:
    """The types by which prepared columns are read; texts of every sort are texts."""
    return {name: OBJECT if one == OBJECT else stored_type(one) for name, one in types.items()}


def stored_type(sql_type: str) -> str:
    """The type of a value in a table; of one without a declared type it is its text."""
    return "VARCHAR" if has_text(sql_type) else sql_type


def stored_form(column: str, sql_type: str) -> str:
    """A value as it is stored: equal values in one form, texts without a collation of theirs."""
    if has_text(sql_type) or kind(sql_type) in FLOATS:
        return item_form(quoted(column), sql_type)
    return quoted(column)


def _carried(expression: str, sql_type: str) -> str:
    return f"CAST({expression} AS VARCHAR)" if kind(sql_type) in _LARGE else expression
