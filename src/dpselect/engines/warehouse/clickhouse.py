"""How ClickHouse writes what databases write differently. Compiled and checked, not run.

Types are Nullable, because a cast of NULL to one that is not would fail. An alias is seen in all of a SELECT, so no
column may be called like one of ours.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpselect.engines.sql.port import Dialect
from dpselect.engines.warehouse.flavour import Flavour, Words, kinds
from dpselect.engines.warehouse.sorted import sorted_by


def quoted(name: str) -> str:
    """An identifier; a backslash escapes in it."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def literal(text: str) -> str:
    """A text; a backslash escapes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _keyed(key: str, user: str, item: str) -> str:
    u, i = (f"toString({name})" for name in (user, item))
    return f"hex(SHA256(concat({key}, ':', toString(lengthUTF8({u})), ':', {u}, {i})))"


def _table(rows: str, columns: Sequence[tuple[str, bool]]) -> str:
    fields = ", ".join("String" if text else "Int64" for _, text in columns)
    picked = ", ".join(f"tupleElement(entry, {at}) AS {name}" for at, (name, _) in enumerate(columns, 1))
    return f"SELECT {picked} FROM (SELECT arrayJoin(JSONExtract({rows}, 'Array(Tuple({fields}))')) AS entry) AS e"


_INTEGER, _DOUBLE = "Nullable(Int64)", "Nullable(Float64)"
_MATCHES = "match({text}, '{pattern}')"

_TEXT = "toString({})"

DIALECT = Dialect(
    name="clickhouse",
    quote=quoted,
    literal=literal,
    text=_TEXT,
    keyed=_keyed,
    matches=_MATCHES,
    integer=_INTEGER,
    whole="Nullable(Int128)",
    double=_DOUBLE,
    divided="intDiv({}, {})",
    parts="SELECT t.u AS u{more}, arrayJoin(splitByString({separator}, assumeNotNull(t.i))) AS i FROM {rows}",
    read_whole="toInt128OrNull({})",
    users="uniqExact({})",  # what count(DISTINCT u) means there is a setting
    constant="({})",  # CAST of a text may be off by the last bit there
    correlated=False,
    sorted=sorted_by(_TEXT),
)
_WORDS = Words(
    text="Nullable(String)",
    plain="toValidUTF8(toString({}))",
    integer=_INTEGER,
    decimal="Nullable(Decimal(38, 9))",
    double=_DOUBLE,
    boolean="Nullable(Bool)",
    date="Nullable(Date32)",
    moment="Nullable(DateTime64(6, 'UTC'))",
    day_text="toString(toDate32({}))",
    moment_text="toString(toDateTime64({}, 6, 'UTC'))",
    not_nan="{} IS NOT NULL AND NOT isNaN({})",
    try_double="toFloat64OrNull(trimBoth({}))",
)
CLICKHOUSE = Flavour(DIALECT, kinds(_WORDS, _MATCHES), _table, levels=2, hidden=frozenset({"u", "g", "i", "w"}))
