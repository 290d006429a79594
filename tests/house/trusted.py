"""The trusted base: the rooms that can break the promise of an answer, and what all others may name of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tests.house.rules import Import, package_imports, room_of

# In the order in which to read them: what is proved first, then what reads rows, then what decides and pays.
BASE = (
    "_ground", "draws", "accounting", "aggregates", "mechanisms", "texts", "engines", "queries", "ledger", "dataset",
)  # fmt: skip
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
OWNERS = ("engines.inspection", "engines.preparation", "engines.prepared.file.read_state")
# What `engines/__init__.py` offers: where rows are and in which state, what a filter means, what a column may hold.
OFFERED = tuple(
    f"engines.{name}"
    for name in (
        "Address", "DuckDBEngine", "Engine", "Grid", "SourceKind", "Totals", "file_bytes", "identify_source",
        "parse_filter", "parse_type",
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
    "mcp": SECRET,
    "papers": SIMULATED,
    "questions": ("aggregates.measures",),
    "release": ("aggregates.measures", "aggregates.totals", "engines.duckdb.tables", "mechanisms.top_k.noisy_measures"),
    "remote": SECRET,
    "rows": WORDS,
    "verbs": ("aggregates.measures", "engines.filters"),
}
GUARDED = {"draws", "aggregates", "mechanisms", "engines"}


def strays(sources: Mapping[str, str]) -> Iterator[str]:
    """Every import by which a room outside the base reaches more of it than it may. `testing` is in no question."""
    for path, one in package_imports(sources):
        room = "__init__" if path == "__init__.py" else room_of(path)
        may = any(_lies(one, name) for name in MAY_NAME.get(room, ()))
        if room not in (*BASE, "testing") and _guarded(one) and not may:
            yield f"src/dpselect/{path}:{one.line}: {one.name} is in the trusted base, and {room} may not name it"


def _guarded(one: Import) -> bool:
    return one.name.split(".")[1] in GUARDED


def _lies(one: Import, name: str) -> bool:
    return one.within(f"dpselect.{name}")
