"""A table of Ibis as a scan: one statement of a backend is stored here, and is all that a question sees of the rows.

So nothing is created in the backend, a user who may only read is enough, and all parts of a question are about the same
rows without a snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

from dpselect.engines.duckdb.workspace import Workspace, quoted
from dpselect.engines.ibis import statements
from dpselect.engines.ibis.backends import Backend, Value, find_backend
from dpselect.engines.ibis.filters import Conditions
from dpselect.engines.ibis.forms import Form, check_character_sets, form_of, read_or_none, refuse_character_set
from dpselect.engines.sources.scans.scan import CountRequest, Scan
from dpselect.engines.waiting import run_interruptible
from dpselect.errors import DataError, SourceError

if TYPE_CHECKING:
    import pyarrow as pa

    from dpselect._ground.parameters import Progress
    from dpselect.engines.address import Address
    from dpselect.engines.row_filter import RowFilter
    from dpselect.engines.sql.database import ReadRequest

T = TypeVar("T")
_BATCH = 1 << 17  # rows
_UNREADABLE = "the table could not be read", "check that it exists and that the connection is open; the backend's message is not shown because it could quote rows"


@dataclass(frozen=True)
class IbisScan(Scan):
    """A scan of an expression over one backend."""

    counts_users = True
    table: Value
    backend: Backend
    distinct: bool = True
    forms: dict[str, Form] = field(default_factory=dict)
    stored: dict[object, str] = field(default_factory=dict)
    """The results that are stored here, by what they are."""

    @classmethod
    def from_address(cls, address: Address) -> Self:
        """Return the scan of a table that is not elsewhere."""
        table = address.source
        backend = find_backend(table.get_backend(), untested=address.untested)
        return cls(tuple(map(str, table.columns)), table=table, backend=backend)

    def with_condition(self, condition: RowFilter) -> Self:
        """Return the source with the rows for which a filter holds, or refuse one that the backend need not read so."""
        names = zip(condition.columns, condition.needs(self.names), strict=True)
        columns = {written: (self.forms[name], self.forms[name].value(self.table[name])) for written, name in names}
        return replace(self, table=self.table.filter(Conditions(columns, self.backend).compile(condition.tree)))

    def with_duplicates(self) -> Self:
        """Return the source with equal rows as often as they occur."""
        return replace(self, distinct=False)

    def source_types(self, workspace: Workspace, columns: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002
        """Return the SQL types that the columns have here."""
        schema = self.table.schema()
        for name in columns:
            self.forms[name] = form_of(name, schema[name], self.backend)
        self._check_settings()
        texts = [name for name in columns if self.forms[name].kind == "text"]
        expression = check_character_sets(self.table, texts, self.backend)
        if expression is not None:
            sets = self.run(lambda: self._batches(expression)).read_all().to_pylist()[0]
            for name, character_set in zip(texts, sets.values(), strict=True):
                refuse_character_set(name, character_set)
        return {name: self.forms[name].duckdb for name in columns}

    def _check_settings(self) -> None:
        """Refuse a session in which values, or results, are cut off."""
        if self.backend.settings is None:
            return
        condition, hint = self.backend.settings
        connection = self.table.get_backend()
        if self.run(lambda: connection.raw_sql(f"SELECT {condition}").fetchall())[0][0] != 1:
            raise SourceError("source", f"be read where {condition}", "other settings", hint)

    @contextmanager
    def source_rows(self, workspace: Workspace, columns: Sequence[str]) -> Iterator[str]:
        """Yield the table of the rows."""
        yield self.store_rows(workspace, columns)

    @contextmanager
    def counts(self, workspace: Workspace, request: CountRequest) -> Iterator[str | None]:
        """Yield the counts of all users, in the order of nothing."""
        if request.periods is not None:
            yield None
            return
        yield f"SELECT {request.form} AS i, n FROM {self.store_counts(workspace, request)} WHERE n > 0"

    # ---- the one statement

    def store_rows(self, workspace: Workspace, columns: Sequence[str], progress: Progress | None = None) -> str:
        """Fetch some columns of all rows, unless they were fetched, and return the table that has them."""
        statement = statements.all_rows(self.table, columns, self.forms, distinct=self.distinct)
        names = {f"c{index}": name for index, name in enumerate(columns)}
        return self._store(workspace, "rows", statement, names, progress)

    def store_counts(self, workspace: Workspace, request: CountRequest, progress: Progress | None = None) -> str:
        """Fetch the number of users of each item, unless they were fetched, and return the table that has them."""
        counted = statements.users_per_item(self.table, request.user, request.item, self.forms, request.max_items)
        names = {f"i{index}": name for index, name in enumerate(request.item)}
        return self._store(workspace, ("counts", request), counted, names, progress)

    def store_counts_by_group(
        self,
        workspace: Workspace,
        request: ReadRequest,
        most: tuple[int, int],
        key: bytes,
        progress: Progress | None = None,
    ) -> str:
        """Fetch the best items of each group, and return the table that has them."""
        columns = {"u": request.users, "g": request.by, "i": request.items}
        counted = statements.users_per_item_and_group(self.table, columns, self.forms, most, key, self.backend)
        names = {f"{prefix}{index}": name for prefix in "gi" for index, name in enumerate(columns[prefix])}
        return self._store(workspace, ("groups", request, most, key), counted, names, progress)

    def _store(
        self,
        workspace: Workspace,
        what: object,
        statement: Value,
        names: Mapping[str, str],
        progress: Progress | None,
    ) -> str:
        """Store the result of a statement: forms under the names of their columns, and whole numbers."""
        if what in self.stored:
            return self.stored[what]
        batches = self.run(lambda: self._batches(statement), progress)
        table = workspace.fresh_name()
        columns = ", ".join(
            f"CAST({name} AS {self.forms[names[name]].duckdb}) AS {quoted(names[name])}" if name in names else name
            for name in statement.columns
        )

        def create() -> None:
            with workspace.registered(self._read(batches, names)) as rows:
                workspace.rows(f"CREATE TEMP TABLE {table} AS SELECT {columns} FROM {rows}")

        self.run(create, progress)
        self.stored[what] = table
        return table

    def _batches(self, statement: Value) -> pa.RecordBatchReader:
        """Run a statement and return its result, as it comes where Ibis has it so."""
        import pyarrow as pa

        if not self.backend.by_cursor:
            return statement.to_pyarrow_batches(chunk_size=_BATCH)
        connection, schema = statement.get_backend(), statement.schema().to_pyarrow()
        cursor = connection.raw_sql(connection.compile(statement))
        try:
            batches = [
                pa.RecordBatch.from_arrays(list(map(pa.array, zip(*rows, strict=True), schema.types)), schema=schema)
                for rows in iter(lambda: list(cursor.fetchmany(_BATCH)), [])
            ]
        finally:
            cursor.close()
        return pa.RecordBatchReader.from_batches(schema, batches)

    def _read(self, batches: Any, names: Mapping[str, str]) -> pa.RecordBatchReader:
        """Return the batches with values in the place of their forms, each of the distinct ones read once."""
        import pyarrow as pa

        types = {
            "VARCHAR": pa.string(), "BIGINT": pa.int64(), "UBIGINT": pa.uint64(), "DOUBLE": pa.float64(),
            "DATE": pa.date32(), "BOOLEAN": pa.bool_(),
        }  # fmt: skip

        def type_of(name: str) -> pa.DataType:
            form = self.forms[names[name]]
            if form.kind == "decimal":
                digits, _, scale = form.duckdb[len("DECIMAL(") : -1].partition(",")
                return pa.decimal128(int(digits), int(scale))
            return types[form.duckdb]

        def column_of(name: str, column: Any) -> Any:
            if name not in names:
                return column.cast(pa.int64())
            encoded = column.dictionary_encode()
            values = [read_or_none(self.forms[names[name]], value) for value in encoded.dictionary.to_pylist()]
            return pa.array(values, type_of(name)).take(encoded.indices)

        fields = [(name, type_of(name) if name in names else pa.int64()) for name in batches.schema.names]
        schema = pa.schema(fields)
        rows = (
            pa.RecordBatch.from_arrays([column_of(name, batch.column(name)) for name in schema.names], schema=schema)
            for batch in batches
        )
        return pa.RecordBatchReader.from_batches(schema, rows)

    def run(self, work: Callable[[], T], progress: Progress | None = None) -> T:
        """Return the result of `work`, or raise an error of fixed text: a backend's message can quote a row.

        A connection of SQLite belongs to the thread that made it.
        """
        if self.backend.name != "sqlite":
            return run_interruptible(
                work,
                tell=lambda: None if progress is None else progress(None),
                stop=lambda: None,
                fixed_error=lambda _error: self._unreadable,
            )
        try:
            return work()
        except DataError:
            raise
        except Exception:  # whatever it is, it may quote a row
            pass
        raise self._unreadable

    @property
    def _unreadable(self) -> DataError:
        message, hint = _UNREADABLE
        return DataError(f"Ibis over {self.backend.name}: {message}", hint)
