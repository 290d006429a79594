"""The engine over a table of Ibis: its backend counts where one statement answers; else the pairs are counted here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from dpselect.engines.duckdb.database import DuckDBDatabase
from dpselect.engines.duckdb.workspace import quoted
from dpselect.engines.ibis import statements
from dpselect.engines.ibis.scan import IbisScan
from dpselect.engines.sql.by_group import label_items_by_group, read_grouped_counts
from dpselect.engines.sql.port import with_view_declarations
from dpselect.engines.sql.questions_by_group import Engine

if TYPE_CHECKING:
    from dpselect._ground.domain import Domain
    from dpselect._ground.parameters import Progress
    from dpselect.aggregates.groups import GroupedCounts
    from dpselect.aggregates.user_sets import Int64, Sets
    from dpselect.engines.address import Address
    from dpselect.engines.port import Tally
    from dpselect.engines.sources.scans.scan import CountRequest
    from dpselect.engines.sql.database import ReadRequest
    from dpselect.engines.sql.port import SqlType
    from dpselect.texts.token_stream import TokenStream
    from dpselect.texts.tokenizer import Tokenizer


class IbisDatabase(DuckDBDatabase):
    """The rows of a table of Ibis, or what its backend has counted of them, in a workspace of our own.

    The backend does not count for a question that may ask again: the second answer would be about the rows as they
    are then.
    """

    _scan: IbisScan

    def __init__(self, address: Address, request: ReadRequest, *, asks_once: bool) -> None:
        super().__init__(address, request)
        self.types: Mapping[str, SqlType] = with_view_declarations(self.types)
        if request.condition is not None:
            self._scan = self._scan.with_condition(request.condition)
        counted = (*request.users, *request.items, *request.by)
        are_compared = all(self._scan.forms[name].kind != "double" for name in counted)
        self._backend_counts = asks_once and are_compared and request.periods is None
        self.outside: str | None = self._scan.backend.outside

    def _count_request(self, max_items: int | None) -> CountRequest | None:
        return super()._count_request(max_items) if self._backend_counts else None

    def count_by_group(self, most: tuple[int, int], key: bytes, progress: Progress | None) -> str | None:
        """Return g, i, n, item_rank and users of each group's best items, as SQL; None if they are counted here."""
        scan, request = self._scan, self._request
        if not self._backend_counts or scan.backend.digest is None:
            return None
        columns = {"u": request.users, "g": request.by, "i": request.items}
        statement = statements.users_per_item_and_group(scan.table, columns, scan.forms, most, key, scan.backend)
        columns.pop("u")
        table = scan.store(self.workspace, (request, most, key), statement, columns, progress)
        group, item = self.item(request.by), self.item(request.items)
        is_named = " AND ".join(f"{quoted(name)} IS NOT NULL" for name in request.by)  # after its users were bounded
        labels = f"{group.canonical_form} AS g, {item.canonical_form} AS i"
        numbers = f"{table}_n AS n, {table}_place AS item_rank, {table}_users AS users"
        return f"SELECT {labels}, {numbers} FROM {table} WHERE {is_named}"

    def _fetch(self, sql: str, progress: Progress | None) -> None:
        """Fetch what a statement reads, in the caller's thread."""
        for name, (_, request) in self._count_queries.items():
            if name in sql:
                self._scan.store_counts(self.workspace, request, progress)
        if self.source in sql:
            self._scan.store_rows(self.workspace, self._columns, progress)

    def _run_statement(self, sql: str, run: Callable[[str], Any], progress: Progress | None) -> Any:
        self._fetch(sql, progress)
        return super()._run_statement(sql, run, progress)

    def number_sets(
        self, rows: str, item_type: SqlType, *, progress: Progress | None = None
    ) -> tuple[Sets, Callable[[Int64], str]]:
        """Return every user's distinct items, and a function that stores the items of some codes as a table."""
        self._fetch(rows, progress)
        return super().number_sets(rows, item_type, progress=progress)

    def read_tokens(
        self, rows: str, item_type: SqlType, tokenizer: Tokenizer, progress: Progress | None
    ) -> TokenStream:
        """Return the tokens of every row's text."""
        self._fetch(rows, progress)
        return super().read_tokens(rows, item_type, tokenizer, progress)


class IbisEngine(Engine):
    """Engine for distinct users per item of a table of Ibis."""

    _database: IbisDatabase

    def __init__(
        self, address: Address, *, max_items_per_user: int | None = None, tally: Tally | None = None, **arguments: Any
    ) -> None:
        asks_once = max_items_per_user is None and (tally is None or not tally.measures)
        open_database = partial(IbisDatabase, asks_once=asks_once)
        super().__init__(open_database, address, max_items_per_user=max_items_per_user, tally=tally, **arguments)
        self.outside: str | None = self._database.outside

    def top_by(
        self,
        rows: int,
        max_groups_per_user: int,
        groups: Domain | None = None,
        *,
        users: bool = False,
        progress: Progress | None = None,
    ) -> GroupedCounts:
        """Return the `rows` items with the most users of every group; the backend counts if it is to find the groups.

        Where the bound on groups was chosen before, the rows by which it was chosen are here.
        """
        counts = None
        if groups is None and self._has_plain_items and self._totals is None and not self._contributions:
            counts = self._database.count_by_group((max_groups_per_user, rows), self._secret_key, progress)
        if counts is None:
            return super().top_by(rows, max_groups_per_user, groups, users=users, progress=progress)
        assert self._group_type is not None
        sql = label_items_by_group(counts, self._group_type, self._item_type, users=users)
        return read_grouped_counts(self._database, sql, self._group_type, self._item_type, progress)

    def _scores_in_domain(self, domain: Domain | None, max_items: int | None = None) -> str:
        """Compile the scores; where every row has the same item, all users are one count of the backend."""
        if self._item_columns or domain is not None or self._counts_gains or self._totals is not None:
            return super()._scores_in_domain(domain, max_items)
        return self._database.use_precounted(self._compile_scores(self._rows, None), max_items)
