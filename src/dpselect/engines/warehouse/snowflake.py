"""How Snowflake writes what databases write differently. Compiled and checked, not run."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dpselect.engines.sql.port import Dialect
from dpselect.engines.warehouse.flavour import Flavour, Words, kinds
from dpselect.engines.warehouse.sorted import sorted_by

_PLAIN = re.compile("[a-z_][a-z0-9_$]*")


def quoted(name: str) -> str:
    """An identifier. Snowflake keeps a name that was written without quotes in capitals, so we do so too."""
    return '"' + (name.upper() if _PLAIN.fullmatch(name) else name).replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text; a backslash escapes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def _keyed(key: str, user: str, item: str) -> str:
    u, i = (f"CAST({name} AS VARCHAR)" for name in (user, item))
    return f"SHA2({key} || ':' || CAST(LENGTH({u}) AS VARCHAR) || ':' || {u} || {i}, 256)"


def _table(rows: str, columns: Sequence[tuple[str, bool]]) -> str:
    cells = [(name, f"entry.value[{at}]", "VARCHAR" if text else _INTEGER) for at, (name, text) in enumerate(columns)]
    picked = ", ".join(f"CAST({cell} AS {kind}) AS {name}" for name, cell, kind in cells)
    return f"SELECT {picked} FROM TABLE(FLATTEN(INPUT => PARSE_JSON({rows}))) AS entry"


_INTEGER = "NUMBER(38, 0)"
# A $ before the end of a last line must not do.
_MATCHES = "(REGEXP_LIKE({text}, '{pattern}') AND NOT CONTAINS({text}, CHR(10)))"

_TEXT = "CAST({} AS VARCHAR)"

DIALECT = Dialect(
    name="snowflake",
    quote=quoted,
    literal=literal,
    text=_TEXT,
    keyed=_keyed,
    matches=_MATCHES,
    integer=_INTEGER,
    whole=_INTEGER,
    double="DOUBLE",
    divided="CAST((({0}) - MOD({0}, {1})) / {1} AS NUMBER(38, 0))",  # a division of its own would be rounded
    parts="SELECT t.u AS u{more}, CAST(f.value AS VARCHAR) AS i "
    "FROM {rows}, LATERAL FLATTEN(INPUT => SPLIT(t.i, {separator})) AS f",
    read_whole="TRY_CAST({} AS NUMBER(38, 0))",
    correlated=False,
    sorted=sorted_by(_TEXT),
)
_WORDS = Words(
    text="VARCHAR",
    plain="TO_VARCHAR(TRY_TO_BINARY({}, 'UTF-8'), 'UTF-8')",  # bytes have no collation
    integer=_INTEGER,
    decimal="NUMBER(38, 9)",
    double="DOUBLE",
    boolean="BOOLEAN",
    date="DATE",
    moment="TIMESTAMP_NTZ",
    day_text="TO_VARCHAR({}, 'YYYY-MM-DD')",
    moment_text="TO_VARCHAR({}, 'YYYY-MM-DD HH24:MI:SS.FF6')",
    not_nan="{} IS NOT NULL AND CAST({} AS DOUBLE) <> CAST('NaN' AS DOUBLE)",
    try_double="TRY_CAST(TRIM({}) AS DOUBLE)",
    float_text="CAST({} AS VARCHAR)",
    present_text="TRY_TO_BINARY({}, 'UTF-8') IS NOT NULL",
)
SNOWFLAKE = Flavour(DIALECT, kinds(_WORDS, _MATCHES), _table)
