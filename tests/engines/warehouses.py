"""Warehouses for tests: a flavour of DuckDB's, so that the real code runs on a real database."""

from __future__ import annotations

from collections.abc import Sequence

from dpselect.engines.sql.port import Dialect
from dpselect.engines.warehouse.flavour import Flavour, Words, kinds
from dpselect.engines.warehouse.sorted import sorted_by


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _keyed(key: str, user: str, item: str) -> str:
    u, i = (f"CAST({name} AS VARCHAR)" for name in (user, item))
    return f"sha256({key} || ':' || CAST(length({u}) AS VARCHAR) || ':' || {u} || {i})"


def _table(rows: str, columns: Sequence[tuple[str, bool]]) -> str:
    fields = [(name, f"entry ->> {at}", "VARCHAR" if text else "BIGINT") for at, (name, text) in enumerate(columns)]
    picked = ", ".join(f"CAST({cell} AS {kind}) AS {name}" for name, cell, kind in fields)
    return f"SELECT {picked} FROM (SELECT unnest(CAST({rows} AS JSON[])) AS entry) AS e"


_MATCHES = "regexp_matches({text}, '{pattern}')"

DUCKDB = Flavour(
    Dialect(
        name="duckdb",
        quote=_quoted,
        literal=_literal,
        text="CAST({} AS VARCHAR)",
        keyed=_keyed,
        matches=_MATCHES,
        whole="HUGEINT",
        double="DOUBLE",
        divided="(({}) // ({}))",
        parts="SELECT u, unnest(string_split(i, {separator})) AS i FROM {rows}",
        sorted=sorted_by("CAST({} AS VARCHAR)"),
    ),
    kinds(
        Words(
            text="VARCHAR",
            plain='CAST({} AS VARCHAR) COLLATE "C"',
            integer="BIGINT",
            decimal="DECIMAL(38, 9)",
            double="DOUBLE",
            boolean="BOOLEAN",
            date="DATE",
            moment="TIMESTAMP",
            day_text="CAST({} AS VARCHAR)",
            moment_text="strftime({}, '%Y-%m-%d %H:%M:%S.%f')",
            not_nan="{} IS NOT NULL AND NOT isnan({})",
            try_double="TRY_CAST({} AS DOUBLE)",
            float_text="CAST({} AS VARCHAR)",
        ),
        _MATCHES,
    ),
    _table,
)
