"""What DuckDB does here for rows that are elsewhere: it reads and checks listed domains, and cuts texts.

So a domain, and a word, mean the same wherever the rows are.
"""

from __future__ import annotations

import datetime
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpselect.engines.memory import available, does_not_fit
from dpselect.engines.sql import questions
from dpselect.engines.sql.database import Database
from dpselect.engines.sql.keys import concatenate_values
from dpselect.engines.sql.port import Int64, SqlType, int64
from dpselect.errors import SourceError

if TYPE_CHECKING:
    from dpselect._ground.domain import Column, Listed
    from dpselect._ground.parameters import Progress
    from dpselect.aggregates.user_sets import Sets
    from dpselect.engines.duckdb.engine import DuckDBEngine
    from dpselect.texts.token_stream import TokenStream
    from dpselect.texts.tokenizer import Tokenizer

BYTES_PER_LETTER = 4  # a text here, and in DuckDB, which cuts it
_NO_KEY = b""  # nothing is bounded where texts are cut


class DatabaseElsewhere(Database):
    """A database that is not here."""

    _cutter: DuckDBEngine | None = None

    @abstractmethod
    def put_tuples(self, values: Sequence[tuple[object, ...]], types: Sequence[SqlType]) -> str:
        """A public list of tuples: k0, k1, ..., each value in its one form, and place; an error if they do not fit."""

    def put_items(self, values: Sequence[Any], types: Sequence[SqlType]) -> str:
        """A public list of items in their one form; an error if they do not fit."""
        listed = self.put_tuples([_plain(one if len(types) > 1 else (one,)) for one in values], types)
        columns = [f"k{at}" for at in range(len(types))]
        item = columns[0] if len(types) == 1 else concatenate_values(columns, types, self.dialect)
        return f"(SELECT i, min(place) AS place FROM (SELECT {item} AS i, place FROM {listed} AS l) AS d GROUP BY i)"

    def put_domain(self, domain: Listed | Column, types: Sequence[SqlType]) -> tuple[str, int]:
        """A listed domain, which DuckDB reads and checks."""
        values = domain_values(domain, types)
        return self.put_items(values, types), len(values)

    def read_sets(self, rows: str, item_type: SqlType, *, of_all_rows: bool, progress: Progress | None = None) -> Sets:  # noqa: ARG002
        """Every user's distinct items, numbered by the database, or here where the rows come here."""
        from dpselect.engines.sql.sets import read_user_sets

        return read_user_sets(self, rows, item_type, progress)

    def number_sets(
        self, rows: str, item_type: SqlType, *, progress: Progress | None = None
    ) -> tuple[Sets, Callable[[Int64], str]]:
        """The same, numbered by the database, and what makes of codes of items a list of these."""
        from dpselect.engines.sql.sets import number_user_sets

        return number_user_sets(self, rows, item_type, progress)

    def check_text(self, item_type: SqlType, tokenizer: Tokenizer) -> None:
        """Refuse a column that is no text, and a pattern that DuckDB cannot read."""
        if not item_type.is_text:
            raise SourceError("text", "be a column of text", f"a column of {item_type.name}")
        with cutter(np.empty(0, dtype=np.int64), np.empty(0, dtype=object)) as engine:
            engine.check_text(tokenizer)

    def read_tokens(
        self,
        rows: str,
        item_type: SqlType,  # noqa: ARG002 - it is text
        tokenizer: Tokenizer,
        progress: Progress | None,
    ) -> TokenStream:
        """The tokens of all texts, which come here to be cut, as those of files are."""
        memory = available()
        if memory is not None:
            letters = int(self.rows(questions.number_of_letters(rows), progress=progress)[0][0] or 0)
            if letters * BYTES_PER_LETTER > memory:
                raise does_not_fit(letters * BYTES_PER_LETTER)
        found = self.columns(questions.texts_of_users(rows), ("u", "i"), progress=progress)
        self._cutter = cutter(int64(found["u"]), found["i"])
        return self._cutter.tokens(tokenizer, progress=progress)

    def close(self) -> None:
        """Forget the texts."""
        if self._cutter is not None:
            self._cutter.close()


def cutter(users: object, texts: object) -> DuckDBEngine:
    """An engine that cuts texts."""
    from dpselect.engines.duckdb.engine import DuckDBEngine

    return DuckDBEngine({"u": users, "i": texts}, user="u", item="i", key=_NO_KEY)


def domain_values(domain: Listed | Column, types: Sequence[SqlType]) -> list[object]:
    """The distinct items of a listed domain, in the order of their places, as the item columns would hold them."""
    from dpselect.engines.duckdb.dialect import counted_type
    from dpselect.engines.duckdb.tuples import keep_items
    from dpselect.engines.duckdb.workspace import Workspace

    workspace = Workspace()
    try:
        kept = keep_items(workspace, domain, [counted_type(one.duckdb or "VARCHAR", one.undeclared) for one in types])
        found = [row[0] for row in workspace.fetch(f"SELECT i FROM {kept} ORDER BY place, i")]
        return found if len(types) == 1 else [tuple(one.values()) for one in found]
    finally:
        workspace.close()


def _plain(values: tuple[object, ...]) -> tuple[object, ...]:
    """A label as a list of items takes it: moments stand there in UTC, without a zone."""
    aware = [isinstance(one, datetime.datetime) and one.tzinfo is not None for one in values]
    return tuple(
        one.astimezone(datetime.UTC).replace(tzinfo=None) if here else one  # type: ignore[attr-defined]
        for one, here in zip(values, aware, strict=True)
    )
