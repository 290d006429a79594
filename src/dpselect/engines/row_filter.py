"""Row filter: a condition on one row, read before the source is opened and written when its schema is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import suggest
from dpselect.engines.filters import cost, grammar
from dpselect.engines.filters.column_names import EXACTLY, MAX_SHOWN_CHARACTERS, describe_ambiguous, match_columns
from dpselect.engines.filters.cost import RowCost
from dpselect.engines.filters.operations import Compiler
from dpselect.engines.filters.spelling import Spelling
from dpselect.engines.filters.tree import Node, canonical, columns_in, quotes_hint, text_hint
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
        """The largest cost that the filter may have for one row."""
        return cost.measure_cost(self.tree)

    def needs(self, source_columns: Sequence[str], hint: Hint | None = None) -> list[str]:
        """Return the columns of the source that the filter reads, in the spelling of the source."""
        return list(_source_spellings(self.tree, source_columns, hint).values())

    def sql(self, types: Mapping[str, SqlType], quote: Callable[[str], str], spelling: Spelling) -> str:
        """Return the SQL after WHERE. Refuses what does not fit the types of the columns, and sees no row."""
        spellings = _source_spellings(self.tree, tuple(types), None)
        columns = {name: column_value(name, quote(real), types[real], spelling) for name, real in spellings.items()}
        return Compiler(columns, spelling).condition(self.tree)

    @property
    def meaning(self) -> str:
        """The text by which two filters mean the same of data whose columns have one spelling each, whatever types."""
        return canonical(self.tree, {name: (name, "") for name in self.columns})

    def canonical(self, types: Mapping[str, SqlType]) -> str:
        """Return the text by which a budget knows the filter: its tree, and its columns' names and declarations."""
        spellings = _source_spellings(self.tree, tuple(types), None)
        return canonical(self.tree, {name: (real, types[real].name) for name, real in spellings.items()})


def parse(text: str) -> RowFilter:
    """Read a filter; no column is looked up yet."""
    tree = grammar.parse(text)
    return RowFilter(tree)


def _source_spellings(tree: Node, source_columns: Sequence[str], hint: Hint | None) -> dict[str, str]:
    """Return for each column as written its spelling in the source."""
    quoted_names = columns_in(tree)
    matches = match_columns(quoted_names, source_columns)
    spellings = {}
    for name, quoted in quoted_names.items():
        columns = matches[name]
        if not columns:
            help_ = suggest(name, tuple(source_columns)) if hint is None else hint(name)
            help_ = quotes_hint(name, help_) if quoted else text_hint(name, help_)
            raise SourceError("where", "use columns of the source", repr(name[:MAX_SHOWN_CHARACTERS]), help_)
        if len(columns) > 1:
            raise SourceError("where", EXACTLY, describe_ambiguous(name, columns))
        spellings[name] = columns[0]
    return spellings
