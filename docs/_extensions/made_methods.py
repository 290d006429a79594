"""The table of verbs and methods: what each needs, what it guarantees, and the page that proves it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence

from repository import DOCS

from dpselect._ground.methods import METHODS, MethodRow, NeedsBound
from dpselect.engines.duckdb.engine import DuckDBEngine
from dpselect.engines.sql.engine import SqlEngine
from dpselect.queries.planning import PLANS

GUARANTEE = re.compile(r"Guarantee: (epsilon|\(epsilon, delta\))-DP")
HEAD = ["method and proof", "what it does", "items", "delta", "bound on items", "in the engine", "guarantee"]
ENGINES = {
    "DuckDB: files, frames, objects, prepared data": DuckDBEngine,
    "PostgreSQL": SqlEngine,
    "Spark": SqlEngine,
}


def methods(_page: str, verb: str) -> str:
    """The methods of a verb."""
    return table(HEAD, (_row(one) for one in METHODS if one.verb == verb))


def engines(_page: str, _argument: str) -> str:
    """Which verbs each engine answers: all, where it has every question of the port."""
    said = [(name, kind is not None and not inspect.isabstract(kind)) for name, kind in ENGINES.items()]
    verbs = [f"`{verb}`" for verb in PLANS]
    return table(["engine", *verbs], ([name, *(["yes" if whole else "no"] * len(verbs))] for name, whole in said))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _row(one: MethodRow) -> list[str]:
    return [
        _proof(one),
        one.help,
        "a known domain" if one.domain else "unknown",
        "above 0" if one.delta else "may be 0",
        {NeedsBound.NONE: "none", NeedsBound.OPTIONAL: "may be given", NeedsBound.REQUIRED: "needed"}[one.bound],
        "yes" if one.in_engine else "no",
        _guarantee(one),
    ]


def _guarantee(one: MethodRow) -> str:
    """What the mechanism says that it guarantees, in its first words."""
    found = GUARANTEE.search(one.mechanism.__doc__ or "")
    if found is None:
        raise LookupError(f"{one.mechanism.__name__} does not say what it guarantees")
    return f"{found[1]}-DP"


def _proof(one: MethodRow) -> str:
    name = one.mechanism.__name__
    for path in sorted((DOCS / "mechanisms").glob("*.md")):
        if f"`{name}`" in path.read_text("utf-8"):
            return f"[`{one.name}`](../mechanisms/{path.name})"
    raise LookupError(f"{name} has no page in docs/mechanisms")
