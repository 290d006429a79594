"""How Trino writes what databases write differently. Compiled and checked, not run."""

from __future__ import annotations

from collections.abc import Sequence

from dpselect.engines.sql.port import Dialect
from dpselect.engines.warehouse.flavour import Flavour, Words, kinds
from dpselect.engines.warehouse.sorted import sorted_by


def quoted(name: str) -> str:
    """An identifier, in which Trino does not see letter case."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text; a backslash is one."""
    return "'" + text.replace("'", "''") + "'"


def _keyed(key: str, user: str, item: str) -> str:
    u, i = (f"CAST({name} AS VARCHAR)" for name in (user, item))
    return f"to_hex(sha256(to_utf8({key} || ':' || CAST(length({u}) AS VARCHAR) || ':' || {u} || {i})))"


def _table(rows: str, columns: Sequence[tuple[str, bool]]) -> str:
    fields = ", ".join(f"{name} {'VARCHAR' if text else 'BIGINT'}" for name, text in columns)
    names = ", ".join(name for name, _ in columns)
    return f"SELECT {names} FROM UNNEST(CAST(json_parse({rows}) AS ARRAY(ROW({fields})))) AS entry ({names})"


# Whether $ also matches before a line's end hangs on which library the server uses.
_MATCHES = "(regexp_like({text}, '{pattern}') AND strpos({text}, chr(10)) = 0)"

_TEXT = "CAST({} AS VARCHAR)"

DIALECT = Dialect(
    name="trino",
    quote=quoted,
    literal=literal,
    text=_TEXT,
    keyed=_keyed,
    matches=_MATCHES,
    whole="DECIMAL(38, 0)",
    double="DOUBLE",
    divided="((({0}) - mod({0}, {1})) / {1})",  # a division of its own would be rounded
    parts="SELECT t.u AS u{more}, f.part AS i FROM {rows} CROSS JOIN UNNEST(split(t.i, {separator})) AS f (part)",
    read_whole="TRY_CAST({} AS DECIMAL(38, 0))",
    correlated=False,
    sorted=sorted_by(_TEXT),
)
_WORDS = Words(
    text="VARCHAR",
    plain="CAST({} AS VARCHAR)",
    integer="BIGINT",
    decimal="DECIMAL(38, 9)",
    double="DOUBLE",
    boolean="BOOLEAN",
    date="DATE",
    moment="TIMESTAMP(6)",
    day_text="CAST({} AS VARCHAR)",
    moment_text="CAST(CAST({} AS TIMESTAMP(6)) AS VARCHAR)",
    not_nan="{} IS NOT NULL AND NOT is_nan(CAST({} AS DOUBLE))",
    try_double="TRY_CAST(trim({}) AS DOUBLE)",
)
TRINO = Flavour(DIALECT, kinds(_WORDS, _MATCHES), _table)
