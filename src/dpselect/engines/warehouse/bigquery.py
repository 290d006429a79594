"""How BigQuery (GoogleSQL) writes what databases write differently. Compiled and checked, not run."""

from __future__ import annotations

from collections.abc import Sequence

from dpselect.engines.sql.port import Dialect
from dpselect.engines.warehouse.flavour import Flavour, Words, kinds
from dpselect.engines.warehouse.sorted import sorted_by


def quoted(name: str) -> str:
    """An identifier; a backslash escapes in it."""
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def literal(text: str) -> str:
    """A text; a backslash escapes, and no line ends in it."""
    escapes = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r"}
    return "'" + "".join(escapes.get(letter, letter) for letter in text) + "'"


def _keyed(key: str, user: str, item: str) -> str:
    u, i = (f"CAST({name} AS STRING)" for name in (user, item))
    return f"TO_HEX(SHA256(CONCAT({key}, ':', CAST(LENGTH({u}) AS STRING), ':', {u}, {i})))"


def _table(rows: str, columns: Sequence[tuple[str, bool]]) -> str:
    cells = [(name, f"JSON_VALUE(entry, '$[{at}]')", text) for at, (name, text) in enumerate(columns)]
    picked = ", ".join(f"{cell if text else f'CAST({cell} AS INT64)'} AS {name}" for name, cell, text in cells)
    return f"SELECT {picked} FROM UNNEST(JSON_QUERY_ARRAY({rows})) AS entry"


_MATCHES = "REGEXP_CONTAINS({text}, '{pattern}')"

_TEXT = "CAST({} AS STRING)"

DIALECT = Dialect(
    name="bigquery",
    quote=quoted,
    literal=literal,
    text=_TEXT,
    keyed=_keyed,
    matches=_MATCHES,
    integer="INT64",
    double="FLOAT64",
    divided="DIV(({}), {})",
    parts="SELECT t.u AS u{more}, part AS i FROM {rows} CROSS JOIN UNNEST(SPLIT(t.i, {separator})) AS part",
    read_whole="SAFE_CAST({} AS NUMERIC)",
    correlated=False,
    sorted=sorted_by(_TEXT),
)
_WORDS = Words(
    text="STRING",
    plain="SAFE_CONVERT_BYTES_TO_STRING(CAST({} AS BYTES))",  # bytes have no collation
    integer="INT64",
    decimal="NUMERIC",
    double="FLOAT64",
    boolean="BOOL",
    date="DATE",
    moment="TIMESTAMP",
    day_text="FORMAT_DATE('%F', {})",
    moment_text="FORMAT_TIMESTAMP('%F %H:%M:%E6S', {}, 'UTC')",
    not_nan="{} IS NOT NULL AND NOT IS_NAN({})",
    try_double="SAFE_CAST(TRIM({}) AS FLOAT64)",
    float_text="CAST({} AS STRING)",
)
BIGQUERY = Flavour(DIALECT, kinds(_WORDS, _MATCHES), _table)
