"""Row filter: a condition on one row, read before the source is opened and written when its schema is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dpselect._ground.parameters import suggest
from dpselect.engines.filters import cost, grammar
from dpselect.engines.filters.canonical import canonical
from dpselect.engines.filters.column_names import EXACTLY, LONGEST, describe_ambiguous, match_columns
from dpselect.engines.filters.cost import RowCost
from dpselect.engines.filters.operations import Writer
from dpselect.engines.filters.spelling import Spelling
from dpselect.engines.filters.tree import Node, columns_in, quotes_hint, text_hint
from dpselect.engines.filters.values import column_value
from dpselect.engines.sql.port import SqlType
from dpselect.errors import SourceError

Hint = Callable[[str], str | None]


@dataclass(frozen=True)
class RowFilter:
    """A filter that was read."""

    tree: Node

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it names, as written."""
        return tuple(columns_in(self.tree))

    @property
    def cost(self) -> RowCost:
        """What it may do to one row at most."""
        return cost.measure_cost(self.tree)

    def needs(self, known: Sequence[str], hint: Hint | None = None) -> list[str]:
        """The columns of the source that it reads, in the spelling of the source."""
        return list(_meant(self.tree, known, hint).values())

    def sql(self, types: Mapping[str, SqlType], quote: Callable[[str], str], spelling: Spelling) -> str:
        """What stands after WHERE. Refuses what does not fit the types of the columns, and sees no row."""
        meant = _meant(self.tree, tuple(types), None)
        columns = {name: column_value(name, quote(real), types[real], spelling) for name, real in meant.items()}
        return Writer(columns, spelling).condition(self.tree)

    @property
    def meaning(self) -> str:
        """The text by which two filters mean the same of data whose columns have one spelling each, whatever types."""
        return canonical(self.tree, {name: (name, "") for name in self.columns})

    def canonical(self, types: Mapping[str, SqlType]) -> str:
        """The text by which a budget knows the filter: its tree, and what the columns are called and declared as."""
        meant = _meant(self.tree, tuple(types), None)
        return canonical(self.tree, {name: (real, types[real].name) for name, real in meant.items()})


def parse(text: str) -> RowFilter:
    """Read a filter; no column is looked up yet."""
    tree = grammar.parse(text)
    return RowFilter(tree)


def _meant(tree: Node, known: Sequence[str], hint: Hint | None) -> dict[str, str]:
    """For each column as written, the one of the source that is meant."""
    quoted_names = columns_in(tree)
    matches = match_columns(quoted_names, known)
    meant = {}
    for written, quoted in quoted_names.items():
        columns = matches[written]
        if not columns:
            help_ = suggest(written, tuple(known)) if hint is None else hint(written)
            help_ = quotes_hint(written, help_) if quoted else text_hint(written, help_)
            raise SourceError("where", "use columns of the source", repr(written[:LONGEST]), help_)
        if len(columns) > 1:
            raise SourceError("where", EXACTLY, describe_ambiguous(written, columns))
        meant[written] = columns[0]
    return meant
