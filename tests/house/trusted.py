"""The trusted base: the files in which a mistake can break the promise of an answer, and what others may name of it.

The promise is what a release says of privacy: its epsilon and delta, for the unit that it names, and what was charged.
A file is in the base if a mistake in it can make an answer depend on one user more than that, or be charged less, with
nobody told. What only picks a price, a method or a sentence of accuracy cannot: what is drawn, stated and charged
follows from what it picked. Nor can what only an owner calls, of the owner's own rows, on no way of a question.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from tests.house.rules import FILES, PACKAGE, Import, file_of, package_imports, room_of, sources

# In the order in which to read them: what is proved first, then what reads rows, then what decides and pays.
BASE = (
    "_ground", "draws", "accounting", "aggregates", "mechanisms", "texts", "engines", "queries", "ledger", "asked_rows",
    "dataset",
)  # fmt: skip
# Files of the base that a question on Parquet never runs: whoever uses none of these sources need not read them.
ADAPTERS: Mapping[str, tuple[str, ...]] = {
    "text files": (
        "engines/sources/scans/lines.py",
        "engines/sources/text_lines.py",
        "engines/sources/csv_fields.py",
        "engines/sources/arrow_texts.py",
    ),
    "frames, arrays and Ibis": (
        "engines/sources/scans/frames.py",
        "engines/sources/frames.py",
        "engines/sources/columns.py",
        "engines/sources/polars_counts.py",
        "engines/sources/wrapped.py",
    ),
    "tables of DuckDB": ("engines/duckdb/catalog.py",),
    "prepared data": ("engines/prepared/", "engines/preparation.py"),
    "Delta, Iceberg, SQLite, Parquet at an address": (
        "engines/sources/lake.py",
        "engines/sources/delta_rows.py",
        "engines/sources/delta_tables.py",
        "engines/sources/iceberg_catalogs.py",
        "engines/sources/iceberg_tables.py",
    ),
    "databases elsewhere": ("engines/duckdb/elsewhere.py",),
    "PostgreSQL": ("engines/postgres/",),
    "Spark": ("engines/spark/",),
    "Ibis over other databases": ("engines/ibis/",),
    "a ledger in PostgreSQL": ("ledger/postgres_store.py",),
    "another package": ("engines/outside.py",),
}
# An owner's report, which no question uses, and the only files that open it.
REPORTS = {"inspection": {"dataset.py", "command/inspect.py", "flat.py"}}
# What other rooms name of the rooms that hold rows, counts and coins. Each is a declaration, a secret name or a door
# through which a source goes in and nothing comes out but a release or the owner's own view of the owner's own data.
DECLARED = ("aggregates.measures", "aggregates.totals", "aggregates.value_counts.Grid")
WORDS = (
    "engines.identity",
    "engines.address",
    "engines.spark.source",
    "engines.sources.files",
    "engines.sources.scans.declarations",
    "engines.sources.tables",
    "engines.sources.csv_form.CsvForm",
    "engines.sources.csv_form.UTF_8",
)
FILTERS = ("engines.filters", "engines.row_filter")
SECRET = ("draws.fresh_key", "draws.entropy.fresh_key")
OWNERS = ("engines.preparation", "engines.prepared.file.read_state")
# What `engines/__init__.py` offers: where rows are and in which state, what a filter means, what a column may hold.
OFFERED = tuple(
    f"engines.{name}"
    for name in (
        "Address", "DuckDBEngine", "Engine", "Grid", "SourceKind", "Totals", "file_bytes", "has_counts_of",
        "identify_source", "load_duckdb", "parse_filter", "parse_type",
    )
)  # fmt: skip
SIMULATED = ("aggregates", "draws", "mechanisms")
MAY_NAME: Mapping[str, tuple[str, ...]] = {
    "__init__": ("aggregates.measures", "mechanisms"),
    "command": (*WORDS, *OWNERS, "engines.registry", "engines.postgres.connection", "engines.duckdb.candidates"),
    "demo": ("engines.duckdb.tables",),
    "filter_texts": FILTERS,
    "flat": (*OWNERS, "engines.sources.files"),
    "forecast": (*SIMULATED, *FILTERS, "engines.address"),
    "gateway": (*OFFERED, *SECRET),
    "inspection": ("engines",),
    "mcp": SECRET,
    "papers": SIMULATED,
    "questions": ("aggregates.measures",),
    "release": ("aggregates.measures", "aggregates.totals", "engines.duckdb.tables", "mechanisms.top_k.noisy_measures"),
    "remote": SECRET,
    "rows": WORDS,
    "utility": ("mechanisms.set_union.renyi_shaped",),
    "verbs": ("aggregates.measures", "engines.filters"),
}
GUARDED = {"draws", "aggregates", "mechanisms", "engines"}

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


# ---- what is in it ----------------------------------------------------------------------------------------


def base_files() -> list[str]:
    """Every file of the base that holds code."""
    return [file for file in FILES if room_of(file) in BASE and code_lines(file)]


def adapter_of(file: str) -> str | None:
    """The adapter that a file belongs to; None for one of the core."""
    return next((name for name, places in ADAPTERS.items() if _lies_in(file, places)), None)


def core_files() -> list[str]:
    """The files of the base that stand for any source."""
    return [file for file in base_files() if adapter_of(file) is None]


def adapter_files(name: str) -> list[str]:
    """The files of one adapter."""
    return [file for file in base_files() if adapter_of(file) == name]


def needs(name: str) -> list[str]:
    """Return the adapters that load with one."""
    loaded = {
        adapter_of(file)
        for path, one in package_imports(sources())
        if adapter_of(path) == name and not one.lazy and (file := file_of(one.name, FILES)) is not None
    }
    return [other for other in ADAPTERS if other in loaded and other != name]


def code_lines(file: str) -> set[int]:
    """Return the numbers of the lines that hold code: no docstring, no comment, no blank line."""
    return _code_lines((PACKAGE / file).read_text("utf-8"))


@cache
def _code_lines(text: str) -> set[int]:
    documentation = set[int]()
    for node in ast.walk(ast.parse(text)):
        first = node.body[0] if isinstance(node, DOCUMENTED) and node.body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            documentation |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    lines = enumerate(map(str.strip, text.splitlines()), 1)
    return {number for number, line in lines if line and not line.startswith("#")} - documentation


def total_lines(files: Iterable[str]) -> int:
    """Return how many lines of code some files have."""
    return sum(len(code_lines(file)) for file in files)


def _lies_in(file: str, places: tuple[str, ...]) -> bool:
    return any(file == place or (place.endswith("/") and file.startswith(place)) for place in places)


# ---- what names it ----------------------------------------------------------------------------------------


def strays(sources: Mapping[str, str]) -> Iterator[str]:
    """Every import by which a room outside the base reaches more of it than it may. `testing` is in no question."""
    for path, one in package_imports(sources):
        room = "__init__" if path == "__init__.py" else room_of(path)
        may = any(_lies(one, name) for name in MAY_NAME.get(room, ()))
        if room not in (*BASE, "testing") and _guarded(one) and not may:
            yield f"src/dpselect/{path}:{one.line}: {one.name} is in the trusted base, and {room} may not name it"


def eager_adapters(sources: Mapping[str, str]) -> Iterator[str]:
    """Every import by which the core loads an adapter before anybody uses it."""
    for path, one in package_imports(sources):
        file = file_of(one.name, sources)
        if (
            room_of(path) in BASE
            and file is not None
            and not one.lazy
            and adapter_of(path) is None
            and adapter_of(file)
        ):
            yield f"src/dpselect/{path}:{one.line}: {file} is for {adapter_of(file)}: import it where it is used"


def stray_reports(sources: Mapping[str, str]) -> Iterator[str]:
    """Every file that opens an owner's report, and may not."""
    for path, one in package_imports(sources):
        room = one.name.split(".")[1] if "." in one.name else ""
        if room in REPORTS and room_of(path) != room and path not in REPORTS[room]:
            yield f"src/dpselect/{path}:{one.line}: {one.name} is for owners, and is on no way of a question"


def _guarded(one: Import) -> bool:
    return one.name.split(".")[1] in GUARDED


def _lies(one: Import, name: str) -> bool:
    return one.within(f"dpselect.{name}")
