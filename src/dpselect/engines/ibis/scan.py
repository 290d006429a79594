"""A table of Ibis as a scan: the result of one statement is stored here, and is all that a question sees of the rows.

So nothing is created in the backend, a user who may only read is enough, and all parts of a question are about the same
rows without a snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

from dpselect._ground.dataclass import dataclass
from dpselect.engines.duckdb.workspace import Workspace, quoted
from dpselect.engines.ibis import statements
from dpselect.engines.ibis.backends import Backend, Value, find_backend
from dpselect.engines.ibis.filters import compile_condition
from dpselect.engines.ibis.forms import Form, character_sets, read_group, read_text, refuse_character_sets
from dpselect.engines.sources.scans.scan import CountRequest, Scan
from dpselect.engines.waiting import run_interruptible
from dpselect.errors import DataError, DpselectError, SourceError

if TYPE_CHECKING:
    import pyarrow as pa

    from dpselect._ground.parameters import Progress
    from dpselect.engines.address import Address
    from dpselect.engines.row_filter import RowFilter

T = TypeVar("T")
_BATCH = 1 << 17  # rows
_HINT = "check that it exists, and the connection; the backend's message is not shown because it could quote rows"


@dataclass(frozen=True)
class IbisScan(Scan):
    """A scan of an expression over one backend."""

    counts_users = True
    table: Value
    backend: Backend
    distinct: bool = True
    forms: dict[str, Form] = field(default_factory=dict)
    stored: dict[object, str] = field(default_factory=dict)  # tables of results, by what was asked

    @classmethod
    def from_address(cls, address: Address) -> Self:
        """Return the scan of a table over a backend that counts."""
        table = address.source
        backend = find_backend(table.get_backend(), untested=address.untested)
        return cls(tuple(map(str, table.columns)), table=table, backend=backend)

    def with_condition(self, condition: RowFilter) -> Self:
        """Return the source with the rows for which a filter holds, or refuse the filter."""
        names = zip(condition.columns, condition.needs(self.names), strict=True)
        columns = {written: (self.forms[name], self.forms[name].value(self.table[name])) for written, name in names}
        return replace(self, table=self.table.filter(compile_condition(condition.tree, columns)))

    def with_duplicates(self) -> Self:
        """Return the source with equal rows as often as they occur."""
        return replace(self, distinct=False)

    def source_types(self, workspace: Workspace, columns: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002
        """Return the SQL types that the columns have here; refuse those, and a session, that are not read exactly."""
        schema, backend = self.table.schema(), self.backend
        self.forms.update({name: Form.of(name, schema[name], backend) for name in columns})
        if backend.settings is not None:
            condition, hint = backend.settings
            connection = self.table.get_backend()
            if self.run(lambda: connection.raw_sql(f"SELECT {condition}").fetchall())[0][0] != 1:
                raise SourceError("source", f"be read where {condition}", "other settings", hint)
        texts = [name for name in columns if self.forms[name].kind == "text"]
        if backend.character_set is not None and texts:
            expression = character_sets(self.table, texts, backend)
            refuse_character_sets(self.run(lambda: self._batches(expression)).read_all().to_pylist()[0])
        return {name: self.forms[name].duckdb for name in columns}

    @contextmanager
    def source_rows(self, workspace: Workspace, columns: Sequence[str]) -> Iterator[str]:
        """Yield the table of the rows."""
        if self.backend.name == "sqlite" and ("rows", self.distinct) not in self.stored:  # this is another thread
            must, hint = (
                "be read for a question, where Ibis is over SQLite",
                'dps.Table("app.sqlite", "events") reads it',
            )
            raise SourceError("source", must, "a domain, or rows to prepare", hint)
        yield self.store_rows(workspace, columns)

    @contextmanager
    def counts(self, workspace: Workspace, request: CountRequest) -> Iterator[str | None]:
        """Yield the counts of all users.

        Texts that are no UTF-8 may be one item here. If all items are here, it has the largest of their numbers, which
        no user changes by more than one; of the first items each stands alone, for its place is its own.
        """
        table = self.store_counts(workspace, request)
        users = f"{table}_n"
        number, end = (users, "") if request.max_items is not None else (f"max({users})", " GROUP BY 1")
        yield f"SELECT {request.form} AS i, {number} AS n FROM {table} WHERE {users} > 0{end}"

    def store_rows(self, workspace: Workspace, columns: Sequence[str], progress: Progress | None = None) -> str:
        """Fetch some columns of all rows, unless they were fetched, and return the table that has them."""
        statement = statements.all_rows(self.table, {"c": columns}, self.forms, distinct=self.distinct)
        return self.store(workspace, ("rows", self.distinct), statement, {"c": columns}, progress)

    def store_counts(self, workspace: Workspace, request: CountRequest, progress: Progress | None = None) -> str:
        """Fetch the number of users of each item, unless they were fetched, and return the table that has them."""
        columns = {"u": request.user, "i": request.item}
        statement = statements.users_per_item(self.table, columns, self.forms, request.max_items)
        return self.store(workspace, request, statement, {"i": request.item}, progress)

    def store(
        self,
        workspace: Workspace,
        asked: object,
        statement: Value,
        columns: statements.Columns,
        progress: Progress | None,
    ) -> str:
        """Store the result of a statement: values under the names of their columns, and numbers of users.

        A number that is called n there is called TABLE_n here, as no column is.
        """
        if asked not in self.stored:
            names, table = statements.named(columns, "".join(columns)), workspace.fresh_name()
            batches = self.run(lambda: self._batches(statement), progress)
            values = ", ".join(
                f"{self.forms[names[name]].read.replace('{}', name)} AS {quoted(names[name])}"
                if name in names
                else f"{name} AS {table}_{name}"
                for name in statement.columns
            )

            def create() -> None:
                with workspace.registered(self._decoded(batches, names)) as rows:
                    workspace.fetch_unguarded(f"CREATE TEMP TABLE {table} AS SELECT {values} FROM {rows}")

            self.run(create, progress)
            self.stored[asked] = table
        return self.stored[asked]

    def _batches(self, statement: Value) -> pa.RecordBatchReader:
        """Run a statement and return its result, as it comes where Ibis has it in Arrow."""
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

    def _decoded(self, batches: Any, names: Mapping[str, str]) -> pa.RecordBatchReader:
        """Return the batches with texts in the place of their forms, each of the distinct ones read once."""
        import pyarrow as pa

        texts = {name for name, column in names.items() if self.forms[column].duckdb == "VARCHAR"}
        types = ((field.name, pa.string() if field.name in texts else field.type) for field in batches.schema)
        schema = pa.schema(list(types))

        def decoded(name: str, column: Any) -> Any:
            if name not in texts:
                return column
            # Two groups of the backend may not be one here: each has its own places.
            read, encoded = read_group if name.startswith("g") else read_text, column.dictionary_encode()
            return pa.array(map(read, encoded.dictionary.to_pylist()), pa.string()).take(encoded.indices)

        rows = (
            pa.RecordBatch.from_arrays([decoded(name, batch.column(name)) for name in schema.names], schema=schema)
            for batch in batches
        )
        return pa.RecordBatchReader.from_batches(schema, rows)

    def run(self, work: Callable[[], T], progress: Progress | None = None) -> T:
        """Return the result of `work`, or raise an error of fixed text: a backend's message can quote a row.

        A connection of SQLite belongs to the thread that made it, so its work stays there.
        """
        unreadable = DataError(f"Ibis over {self.backend.name}: the table could not be read", _HINT)
        if self.backend.name != "sqlite":
            return run_interruptible(
                work,
                report_progress=lambda: None if progress is None else progress(None),
                interrupt=lambda: None,
                fixed_error=lambda _error: unreadable,
            )
        try:
            return work()
        except DpselectError:
            raise
        except Exception:  # whatever it is
            pass
        raise unreadable
