"""Inspection: what the owner of data should know before anybody asks. Everything is read, and nothing is private."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from dpselect.engines.duckdb.engine import DuckDBEngine
from dpselect.engines.duckdb.inspect import file_findings
from dpselect.engines.port import Engine
from dpselect.engines.sources.files import find
from dpselect.engines.sources.tables import is_lake
from dpselect.engines.sources.text_lines import USUAL_CSV, CsvForm
from dpselect.errors import DataError, ParameterError, SourceError

WARNING = "NOT PRIVATE: this reads every row, and its output is for the owner of the data only"


@dataclass(frozen=True)
class Inspection:
    """What was found, one sentence each; as text it begins with the warning that it is not private."""

    findings: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join([WARNING, *self.findings])


def inspect(
    source: object, engine: Engine | None = None, *, csv: CsvForm = USUAL_CSV, refused: SourceError | None = None
) -> Inspection:
    """What there is to say of a source that is files, and of its rows, where an engine is open for them.

    `refused` is why none could be opened.
    """
    found = [*_files(source, csv)]
    if engine is not None:
        found += _rows(engine)
    elif refused is not None:
        if not found:
            raise refused
        found.append(f"FAILS: a question with these columns is refused: {refused}")
    elif not found:
        raise ParameterError("user", "be given with item for a source that is not a file", "nothing")
    return Inspection(tuple(found))


def _files(source: object, csv: CsvForm) -> Iterator[str]:
    """Nothing where the source is no file, or where its lines are no records."""
    if isinstance(source, (str, os.PathLike, list, tuple)) and "://" not in str(source) and not is_lake(source):
        files = find(source)
        if csv.newlines_in_values and files.kind in ("csv", "tsv"):
            yield "lines are not checked one by one, because newlines_in_values allows records of several lines"
        elif files.kind == "prepared":
            from dpselect.engines.preparation import findings

            yield from findings(files.paths[0])
        elif files.kind != "duckdb":
            yield from file_findings(files, csv)


def _rows(engine: Engine) -> Iterator[str]:
    if not isinstance(engine, DuckDBEngine):
        raise ParameterError(
            "source", "be files, a frame, or a table of DuckDB", "a database", "query it in its own SQL"
        )
    try:
        yield from engine.findings()
    except DataError as error:
        yield f"FAILS: a question with these columns is refused: {error}"
