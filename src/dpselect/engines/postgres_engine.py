"""The PostgreSQL engine: one table, one bound, one snapshot, and the questions, answered by the server.

It counts as the DuckDB engine does, to the bit. What it cannot answer yet it refuses before anything is paid.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Any, NoReturn

import numpy as np

from dpselect.engines import postgres_questions as questions
from dpselect.engines.domain import UNSEEN, Column, Domain, Listed, Size, Span
from dpselect.engines.port import PerUser, Progress
from dpselect.engines.postgres_domain import domain_values
from dpselect.engines.postgres_tables import columns_of
from dpselect.engines.postgres_types import PgType
from dpselect.engines.postgres_workspace import Workspace
from dpselect.errors import ParameterError
from dpselect.grid import Grid, UsersAt
from dpselect.histogram import Histogram
from dpselect.mechanisms.set_union.grouped import PairsElsewhere
from dpselect.parameters import whole
from dpselect.texts.token_stream import TokenStream
from dpselect.texts.tokenizer import Tokenizer
from dpselect.user_sets import UserSets


class PostgresEngine:
    """Distinct users per item of one table. Opening it reads the catalogue and refuses what does not fit.

    `key` is the secret key of the contribution bound, fresh for every question (`dpselect.draws.fresh_key`).
    """

    def __init__(
        self,
        source: str,
        *,
        user: str,
        item: str,
        where: str | None = None,
        max_items_per_user: int | None = None,
        split: str | None = None,
        table: str | None = None,
        key: bytes,
    ) -> None:
        if where is not None:
            hint = "make a view of the rows that count, CREATE VIEW ... WHERE, and name it as the table"
            raise ParameterError("where", "be left out for a PostgreSQL table", repr(where), hint)
        if split is not None:
            hint = "make a view with one row for each part, and name it as the table"
            raise ParameterError("split", "be left out for a PostgreSQL table", repr(split), hint)
        self._values: dict[str, object] = {} if max_items_per_user is None else {"key": key}
        self._bound = max_items_per_user
        self._domains: dict[Domain, list[object]] = {}
        self._names = 0
        self._workspace = Workspace(source)
        try:
            self._table, self._user, self._item = columns_of(self._workspace, table, user, item)
        except BaseException:
            self._workspace.close()
            raise

    def __enter__(self) -> PostgresEngine:
        return self

    def __exit__(self, sort: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the snapshot and the connection. Labels cannot be asked for any more."""
        self._workspace.close()

    def top(self, rows: int, *, progress: Progress | None = None) -> Histogram:
        """The `rows` items with the most distinct users, most first, one group each. Nothing else leaves."""
        most, item_type = whole("rows", rows, least=0), self._item[1]
        sql = questions.top(questions.counts(self._rows, self._bound), item_type.named, most)
        found = self._workspace.fetch(sql, self._values, progress=progress)
        return Histogram.from_items([item_type.label(row[0]) for row in found], [row[1] for row in found])

    def check(self, domain: Domain) -> None:
        """Refuse a domain that does not fit the item column; a listed one is read here, and only here."""
        if isinstance(domain, Span):
            questions.in_span("", domain, self._item[1])
        elif isinstance(domain, (Listed, Column)) and domain not in self._domains:
            self._domains[domain] = domain_values(self._workspace, domain, self._item[1])

    def grouped(self, domain: Domain | None = None, *, progress: Progress | None = None) -> Histogram:
        """All items, or those of a domain, equal counts in one group; `label(group, r)` until the engine is closed."""
        if domain is not None:
            self.check(domain)
        counted, values = self._counted(domain)
        found = self._workspace.fetch(questions.groups(counted), values, progress=progress)
        counts, sizes = [row[0] for row in found], [row[1] for row in found]
        unseen = _unseen(domain, sum(sizes))
        if unseen:
            counts, sizes = [*counts, 0], [*sizes, unseen]
        self._names += 1
        names = _Names(
            self._workspace, f"names_{self._names}", counted, values, tuple(sizes), self._item[1], domain, bool(unseen)
        )
        return Histogram(counts=np.array(counts, dtype=np.int64), sizes=sizes, label=names)

    def check_sets(self) -> None:
        """Refuse: the sets of users are not brought here yet."""
        _not_yet(
            'for a top k say method="limited-domain" or list the domain; else copy the columns into a Parquet file'
        )

    def contributions(self, *, progress: Progress | None = None) -> UserSets:  # noqa: ARG002
        """Refused."""
        _not_yet()

    def pairs(self, *, progress: Progress | None = None) -> PairsElsewhere:  # noqa: ARG002
        """Refused."""
        _not_yet()

    def check_values(self) -> None:
        """Refuse: values are not put on a grid here yet."""
        _not_yet()

    def users_at(self, grid: Grid, per_user: PerUser, *, progress: Progress | None = None) -> UsersAt:  # noqa: ARG002
        """Refused."""
        _not_yet()

    def check_text(self, tokenizer: Tokenizer) -> None:  # noqa: ARG002
        """Refuse: text is not cut here yet."""
        _not_yet()

    def tokens(self, tokenizer: Tokenizer, *, progress: Progress | None = None) -> TokenStream:  # noqa: ARG002
        """Refused."""
        _not_yet()

    @property
    def _rows(self) -> str:
        return questions.rows(self._table, self._user, self._item)

    def _counted(self, domain: Domain | None) -> tuple[str, dict[str, object]]:
        """The counts of what the domain asks for, as SQL and the values beside it."""
        item_type = self._item[1]
        if isinstance(domain, Span):
            return questions.counts(questions.in_span(self._rows, domain, item_type), self._bound), self._values
        if isinstance(domain, (Listed, Column)):
            listed = questions.domain(item_type)
            inside = questions.counts(questions.in_domain(self._rows, listed), self._bound)
            return questions.of_domain(inside, listed), self._values | {"domain": self._domains[domain]}
        return questions.counts(self._rows, self._bound), self._values


@dataclass(repr=False)
class _Names:
    """The labels of a grouped histogram, asked for one at a time of a cursor that opens with the first."""

    workspace: Workspace
    cursor: str
    counted: str
    values: dict[str, object]
    sizes: tuple[int, ...]
    item_type: PgType
    domain: Domain | None
    rest: bool  # the last group are items of the domain that stand in no table
    opened: bool = False

    def __call__(self, group: int, member: int) -> object:
        if not (0 <= group < len(self.sizes) and 0 <= member < self.sizes[group]):
            raise IndexError("there is no such member of a group")
        unseen = self.rest and group == len(self.sizes) - 1
        if not isinstance(self.domain, Span):
            return UNSEEN if unseen else self.item_type.label(self._item(group, member))
        number = self._number(self.domain, member) if unseen else int(self._item(group, member))
        return str(number) if self.item_type.is_text else number

    def _item(self, group: int, member: int) -> Any:
        if not self.opened:
            named = "i" if isinstance(self.domain, Span) else self.item_type.named
            self.workspace.fetch(questions.keep_names(self.cursor, self.counted, named), self.values)
            self.opened = True
        return self.workspace.fetch(questions.name_at(self.cursor, sum(self.sizes[:group]) + member))[0][0]

    def _number(self, span: Span, member: int) -> int:
        sql = questions.seen_before(self.counted, span.start, member)
        seen: int = self.workspace.fetch(sql, self.values)[0][0]
        return span.start + member + seen


def _unseen(domain: Domain | None, seen: int) -> int:
    """How many items of the domain have no row and stand in no table."""
    if isinstance(domain, Span):
        return domain.stop - domain.start - seen
    return max(0, domain.items - seen) if isinstance(domain, Size) else 0


def _not_yet(way: str = "copy the columns into a Parquet file, and ask that") -> NoReturn:
    """The error for a question that this engine cannot answer yet."""
    must = "be files, a frame or DuckDB for this question"
    raise ParameterError("source", must, "a table in PostgreSQL, which cannot answer it yet", way)
