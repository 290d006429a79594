"""What DuckDB does here for rows that are elsewhere: it reads and checks listed domains, and cuts texts.

So a domain, and a word, mean the same wherever the rows are.
"""

from __future__ import annotations

import datetime
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpselect.engines.memory import available_bytes, does_not_fit
from dpselect.engines.sql import questions
from dpselect.engines.sql.database import Database
from dpselect.engines.sql.keys import concatenate_values
from dpselect.engines.sql.port import Int64, SqlType, int64
from dpselect.errors import ParameterError, SourceError

if TYPE_CHECKING:
    from dpselect._ground.domain import Column, Listed
    from dpselect._ground.parameters import Progress
    from dpselect.aggregates.user_sets import Sets
    from dpselect.engines.duckdb.engine import DuckDBEngine
    from dpselect.texts.token_stream import TokenStream
    from dpselect.texts.tokenizer import Tokenizer

BYTES_PER_LETTER = 4  # a text in Python, and in DuckDB, which splits it
_NO_KEY = b""  # nothing is bounded when texts are split


class DatabaseElsewhere(Database):
    """A database outside this process."""

    _text_engine: DuckDBEngine | None = None

    @abstractmethod
    def put_tuples(self, values: Sequence[tuple[object, ...]], types: Sequence[SqlType]) -> str:
        """Store a public list of tuples: k0, k1, ..., in canonical forms, and `place`, the index; refuse misfits."""

    def put_items(self, values: Sequence[Any], types: Sequence[SqlType]) -> str:
        """Store a public list of items in their canonical form; raise if they do not fit."""
        tuples_sql = self.put_tuples([_without_zones(item if len(types) > 1 else (item,)) for item in values], types)
        columns = [f"k{index}" for index in range(len(types))]
        item_sql = columns[0] if len(types) == 1 else concatenate_values(columns, types, self.dialect)
        items_sql = f"SELECT {item_sql} AS i, place FROM {tuples_sql} AS l"
        return f"(SELECT i, min(place) AS place FROM ({items_sql}) AS d GROUP BY i)"

    def put_domain(self, domain: Listed | Column, types: Sequence[SqlType]) -> tuple[str, int]:
        """Store a listed domain, which DuckDB reads and checks."""
        values = read_domain_values(domain, types)
        return self.put_items(values, types), len(values)

    def read_sets(self, rows: str, item_type: SqlType, *, of_all_rows: bool, progress: Progress | None = None) -> Sets:  # noqa: ARG002
        """Return every user's distinct items, numbered by the database, or here if the rows are fetched."""
        from dpselect.engines.sql.sets import read_user_sets

        return read_user_sets(self, rows, item_type, progress)

    def number_sets(
        self, rows: str, item_type: SqlType, *, progress: Progress | None = None
    ) -> tuple[Sets, Callable[[Int64], str]]:
        """Return the sets numbered by the database, and a function that lists items by their codes."""
        from dpselect.engines.sql.sets import number_user_sets

        return number_user_sets(self, rows, item_type, progress)

    def check_text(self, item_type: SqlType, tokenizer: Tokenizer) -> None:
        """Refuse a column that is no text, and a pattern that DuckDB cannot read."""
        if not item_type.is_text:
            raise SourceError("text", "be a column of text", f"a column of {item_type.name}")
        with open_cutter(np.empty(0, dtype=np.int64), np.empty(0, dtype=object)) as engine:
            engine.check_text(tokenizer)

    def read_tokens(
        self,
        rows: str,
        item_type: SqlType,  # noqa: ARG002 - it is text
        tokenizer: Tokenizer,
        progress: Progress | None,
    ) -> TokenStream:
        """Return the tokens of all texts, which are fetched and split here, as those of files are."""
        memory = available_bytes()
        if memory is not None:
            letters = int(self.rows(questions.number_of_letters(rows), progress=progress)[0][0] or 0)
            if letters * BYTES_PER_LETTER > memory:
                raise does_not_fit(letters * BYTES_PER_LETTER)
        texts = self.columns(questions.texts_of_users(rows), ("u", "i"), progress=progress)
        self._text_engine = open_cutter(int64(texts["u"]), texts["i"])
        return self._text_engine.tokens(tokenizer, progress=progress)

    def close(self) -> None:
        """Delete the fetched texts."""
        if self._text_engine is not None:
            self._text_engine.close()


def misfit(types: Sequence[SqlType]) -> ParameterError:
    """Return the error for a public list that a database cannot hold as columns of these types."""
    type_names = ", ".join(sql_type.name for sql_type in types)
    requirement = f"hold values that are {type_names}, like the item column{'s' * (len(types) > 1)}"
    return ParameterError("domain", requirement, "some that are not")


def open_cutter(users: object, texts: object) -> DuckDBEngine:
    """Open an engine that splits texts."""
    from dpselect.engines.address import Address
    from dpselect.engines.duckdb.engine import DuckDBEngine

    return DuckDBEngine(Address.parse({"u": users, "i": texts}), user="u", item="i", key=_NO_KEY)


def read_domain_values(domain: Listed | Column, types: Sequence[SqlType]) -> list[object]:
    """Return the distinct items of a listed domain, in the order of the list, as the item columns would hold them."""
    from dpselect.engines.duckdb.dialect import counted_type
    from dpselect.engines.duckdb.domain import store_domain
    from dpselect.engines.duckdb.workspace import Workspace

    workspace = Workspace()
    try:
        table = store_domain(
            workspace,
            domain,
            [counted_type(sql_type.duckdb_type or "VARCHAR", sql_type.undeclared_text) for sql_type in types],
        )
        items = [row[0] for row in workspace.fetch(f"SELECT i FROM {table} ORDER BY place, i")]
        return items if len(types) == 1 else [tuple(sql_type.values()) for sql_type in items]
    finally:
        workspace.close()


def _without_zones(values: tuple[object, ...]) -> tuple[object, ...]:
    """Return a label in the form that a list of items takes: moments are in UTC, without a zone."""
    is_aware = [isinstance(value, datetime.datetime) and value.tzinfo is not None for value in values]
    return tuple(
        value.astimezone(datetime.UTC).replace(tzinfo=None) if has_zone else value  # type: ignore[attr-defined]
        for value, has_zone in zip(values, is_aware, strict=True)
    )
