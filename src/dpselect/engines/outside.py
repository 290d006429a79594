"""Engines and sources of other packages: their entry points, asked only about what no engine here reads.

What such a package does with the rows is in its own hands, so every answer names it (docs/outside.md).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from inspect import isfunction
from pathlib import Path
from types import TracebackType
from typing import Any

from dpselect._ground.dataclass import dataclass
from dpselect.engines.address import Address
from dpselect.engines.sql.database import Database, ReadRequest
from dpselect.engines.sql.questions_by_group import Engine
from dpselect.errors import DataError, DpselectError, ParameterError, SourceError, UnknownSourceError

SOURCES, ENGINES = "dpselect.sources", "dpselect.engines"
"""The groups of entry points: of those that give rows, and of those that count them."""
_MUST_BE = {
    SOURCES: "a function of a source and a table that returns rows: a dict of arrays, a data frame, an object that "
    "streams Arrow data or a DuckDB relation; or None for a source that is not its own",
    ENGINES: "a function of a source and a table that returns a function from a dpselect.engines.sql.database."
    "ReadRequest to a Database; or None for a source that is not its own",
}


@dataclass(frozen=True)
class Reader:
    """An entry point of another package."""

    entry_point: EntryPoint

    @property
    def package(self) -> str:
        """The name of the package, as its installer has it."""
        distribution = self.entry_point.dist
        return "an unknown package" if distribution is None else distribution.name

    def __str__(self) -> str:
        distribution = self.entry_point.dist
        return self.package if distribution is None else f"{self.package} {distribution.version}"

    @property
    def counts(self) -> bool:
        """True if the package counts the rows itself."""
        return self.entry_point.group == ENGINES

    def ask(self, address: Address) -> Any:
        """Return what the package gives for a source, None if it does not read it."""
        try:
            function = self.entry_point.load()
        except Exception as error:  # no row was read, so its text may be shown
            raise self.error("can be imported", f"{type(error).__name__}: {error}") from error
        if not callable(function):
            raise self.error(f"is {_MUST_BE[self.entry_point.group]}", f"an object of type {type(function).__name__}")
        with self.naming_errors():
            offer = function(address.source, address.table)
        if offer is not None and self.counts and not callable(offer):
            raise self._other_type(offer)
        return offer

    def open(self, offer: Any, address: Address, arguments: Mapping[str, Any]) -> Engine:
        """Open the engine over what the package gave, and try its columns."""
        databases = list[Database]()
        with self.naming_errors():
            engine = (
                self._open_database(offer, address, arguments, databases)
                if self.counts
                else _open_rows(offer, address, arguments)
            )
            try:
                engine.try_columns()
            except BaseException:
                engine.close()
                raise
        for database in databases:
            self._name_errors_of(database)
        engine.outside = str(self)
        return engine

    def _open_database(
        self, offer: Any, address: Address, arguments: Mapping[str, Any], databases: list[Database]
    ) -> Engine:
        if address.types:
            raise SourceError("types", "be left out for rows that another package counts", "some")

        def open_database(_address: Address, request: ReadRequest) -> Database:
            database = offer(request)
            if not isinstance(database, Database):
                raise self._other_type(database)
            databases.append(database)
            return database

        return Engine(open_database, address, **arguments)

    @contextmanager
    def naming_errors(self) -> Iterator[None]:
        """Name the package in every error; those of its own are of fixed text, for theirs may quote rows."""
        try:
            yield
        except Exception as error:
            raise self._with_package(error) from None

    def _with_package(self, error: Exception) -> Exception:
        if not _is_ours(error):
            return self.error("opens the source", f"a {type(error).__name__} {_where_raised(error)}")
        if isinstance(error, UnknownSourceError):
            return self.error(f"is {_MUST_BE[self.entry_point.group]}", error.came)
        if isinstance(error, ParameterError):
            return SourceError(error.parameter, error.must, error.came, self._hint(error.hint))
        assert isinstance(error, DpselectError)
        return DataError(str(error).partition("\nhint: ")[0], self._hint(error.hint))

    def _name_errors_of(self, database: Database) -> None:
        """Make what an open database raises while it counts a DataError of fixed text, which names the package."""

        def named(method: Callable[..., Any]) -> Callable[..., Any]:
            def call(*arguments: Any, **options: Any) -> Any:
                try:
                    return method(*arguments, **options)
                except Exception as error:
                    if _is_ours(error):
                        raise
                    raised = f"a {type(error).__name__} {_where_raised(error)}"
                    raise DataError(f"{self} failed while it counted rows: {raised}", self._hint(None)) from None

            return call

        for name, member in vars(Database).items():
            if isfunction(member) and not name.startswith("_"):
                object.__setattr__(database, name, named(getattr(database, name)))

    def _hint(self, hint: str | None) -> str:
        sentence = f"the rows are those of {self}, which is not part of dpselect"
        return sentence if hint is None or sentence in hint else f"{hint}; {sentence}"

    def _other_type(self, value: object) -> SourceError:
        return self.error(f"is {_MUST_BE[self.entry_point.group]}", f"a value of type {type(value).__name__}")

    def error(self, requirement: str, received: str) -> SourceError:
        """Return the error of a package that is not as it must be: its name, its entry point, and how to mend it."""
        point = self.entry_point
        must = f"be read by {self}, whose entry point {point.name} = {point.value!r} of {point.group} {requirement}"
        hint = f"mend {point.value} or its line in pyproject.toml; without the package: pip uninstall {self.package}"
        return SourceError("source", must, received, hint)


def open_outside(address: Address, arguments: Mapping[str, Any], refused: UnknownSourceError) -> Engine:
    """Open the engine of the one package that reads a source; raise `refused` if there is none."""
    readers = [
        Reader(entry_point)
        for group in (SOURCES, ENGINES)
        for entry_point in entry_points(group=group)
        if _is_named(entry_point, address.package)
    ]
    takers, broken = list[tuple[Reader, Any]](), list[SourceError]()
    for reader in readers:
        try:
            offer = reader.ask(address)
        except SourceError as error:
            broken.append(error)
        else:
            takers += [] if offer is None else [(reader, offer)]
    if len(takers) > 1:
        hint = f"pip uninstall {takers[-1][0].package}"
        raise SourceError("source", "be read by one package", " and ".join(str(reader) for reader, _ in takers), hint)
    for reader, offer in takers:
        return reader.open(offer, address, arguments)
    if broken:
        raise broken[0]
    if not readers and address.package is None:
        raise refused
    asked = ", ".join(map(str, readers)) or f"{address.package}, which has no entry point of {SOURCES} or {ENGINES}"
    raise SourceError(refused.parameter, refused.must, refused.came, f"no other package reads it; asked: {asked}")


def _open_rows(rows: object, address: Address, arguments: Mapping[str, Any]) -> Engine:
    """Open DuckDB's engine over rows in this process; a name of files is none."""
    from dpselect.engines.duckdb.engine import DuckDBEngine

    if isinstance(rows, (str, bytes, os.PathLike, list, tuple)):
        raise UnknownSourceError("source", "be rows", f"a value of type {type(rows).__name__}")
    return DuckDBEngine(Address.parse(rows, types=address.types), **arguments)


def _is_named(entry_point: EntryPoint, package: str | None) -> bool:
    """Return whether an entry point is of a package, by the name that installers compare; of any if None is named."""
    if package is None:
        return True
    return entry_point.dist is not None and _normal(entry_point.dist.name) == _normal(package)


def _normal(name: str) -> str:
    return re.sub("[-_.]+", "-", name).lower()


def _raised_at(error: BaseException) -> TracebackType | None:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace


def _is_ours(error: Exception) -> bool:
    """Return whether a module of dpselect raised an error of its own, whose text quotes no row."""
    trace = _raised_at(error)
    raised_here = trace is None or str(trace.tb_frame.f_globals.get("__name__")).partition(".")[0] == "dpselect"
    return raised_here and isinstance(error, DpselectError)


def _where_raised(error: BaseException) -> str:
    """Return where an error was raised: its text may quote rows."""
    trace = _raised_at(error)
    return "" if trace is None else f"in {Path(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno}"
