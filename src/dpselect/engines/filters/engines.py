"""The spelling of each engine. Warehouses, which are not run here, have no functions: comparisons and logic only."""

from __future__ import annotations

from collections.abc import Mapping
from string import ascii_lowercase, ascii_uppercase

from dpselect.engines.filters.patterns import Pattern
from dpselect.engines.filters.spelling import Spelling
from dpselect.engines.postgres.dialect import POSTGRES as PG
from dpselect.engines.spark.dialect import SPARK as SP
from dpselect.engines.sql.port import Dialect

_SHARED = {
    "LOWER": f"translate({{0}}, '{ascii_uppercase}', '{ascii_lowercase}')",
    "UPPER": f"translate({{0}}, '{ascii_lowercase}', '{ascii_uppercase}')",
    "LENGTH": "CAST(length({0}) AS BIGINT)",
    "LEFT": "left({0}, {1})",
    "RIGHT": "right({0}, {1})",
    "SUBSTRING": "substring({0}, {1}, {2})",
    "||": "({0} || {1})",
    "ABS": "abs({0})",
    "FLOOR": "floor({0})",
    "CEIL": "ceil({0})",
    "%": "mod({0}, {1})",
}
_PARTS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


# ---- DuckDB: LIKE without `_` looks for one piece after the other; RE2 promises linear time for all the rest. ----


def _like_duckdb(sql: str, pattern: Pattern) -> str:
    if pattern.is_plain:
        return f"{sql} LIKE {_literal(pattern.text())}"
    regex = "(?s)" + pattern.regex(lambda piece: ".*?" + piece)
    return f"regexp_full_match({sql}, {_literal(regex)})"


DUCKDB = Spelling(
    name="DuckDB",
    literal=_literal,
    zoned="TIMESTAMP WITH TIME ZONE",
    like=_like_duckdb,
    rounded="CAST(CAST({} AS VARCHAR) AS DOUBLE)",  # its own division of large decimals is not the nearest double
    matches="regexp_full_match({}, [])",
    functions=_SHARED
    | {"TRIM": "trim({0}, ' ')", "LTRIM": "ltrim({0}, ' ')", "RTRIM": "rtrim({0}, ' ')"}
    | {part: f"date_part('{part.lower()}', {{0}})" for part in (*_PARTS, "ISODOW")}
    | {f"TRUNC {unit}": f"CAST(date_trunc('{unit.lower()}', {{0}}) AS DATE)" for unit in ("YEAR", "MONTH", "WEEK")}
    | {"DAY TEXT": "CAST({0} AS VARCHAR)", "WHOLE TEXT": "CAST({0} AS VARCHAR)"},
)


# ---- PostgreSQL: its LIKE gives up at the first % for which no rest is left, and so never tries twice. ----


def _like_postgres(sql: str, pattern: Pattern) -> str:
    return f"{sql} LIKE {PG.literal(pattern.text(chr(92)))}"


POSTGRES = Spelling(
    name="PostgreSQL",
    literal=PG.literal,
    like=_like_postgres,
    double="float8",
    integer="int8",
    decimals="numeric",
    text="text",
    date="date",
    timestamp="timestamp",
    zoned="timestamptz",
    read="CAST(CAST({} AS text) AS [])",  # a constant that is not a text yet would be read before it is matched
    collated='({} COLLATE "C")',
    finite="nullif({}, 'NaN')",
    rounded="CAST({} AS float8)",
    matches="{} ~ []",
    whole="^({})$",
    functions=_SHARED
    | {"TRIM": "btrim({0}, ' ')", "LTRIM": "ltrim({0}, ' ')", "RTRIM": "rtrim({0}, ' ')"}
    | {part: f"CAST(floor(extract({part} FROM {{0}})) AS int8)" for part in (*_PARTS, "ISODOW")}
    | {
        f"TRUNC {unit}": f"CAST(date_trunc('{unit.lower()}', CAST({{0}} AS timestamp)) AS date)"
        for unit in ("YEAR", "MONTH", "WEEK")
    }
    | {"DAY TEXT": "to_char({0}, 'YYYY-MM-DD')", "WHOLE TEXT": "CAST({0} AS text)"},
)


# ---- Spark: its LIKE is Java's regular expression; in (?>...) nothing is tried again. ----


def _like_spark(sql: str, pattern: Pattern) -> str:
    if pattern.is_plain and pattern.is_simple:
        return f"{sql} LIKE {SP.literal(pattern.text())}"
    regex = pattern.regex(lambda piece: f"(?>.*?{piece})")
    return f"{sql} RLIKE {SP.literal(f'(?s)^(?:{regex})(?!.)')}"


SPARK = Spelling(
    name="Spark",
    literal=SP.literal,
    like=_like_spark,
    text="STRING",
    timestamp="TIMESTAMP_NTZ",
    zoned="TIMESTAMP_LTZ",
    read="try_cast({} AS [])",
    collated="({} COLLATE UTF8_BINARY)",
    matches="{} RLIKE []",
    whole="(?s)^({})(?!.)",
    functions=_SHARED
    | {"ABS": "greatest({0}, 0 - {0})"}  # its abs and its sign round to 34 digits
    | {"TRIM": "trim({0})", "LTRIM": "ltrim({0})", "RTRIM": "rtrim({0})"}
    | {part: f"CAST(floor(extract({part} FROM {{0}})) AS BIGINT)" for part in _PARTS}
    | {"ISODOW": "CAST(weekday({0}) + 1 AS BIGINT)"}
    | {f"TRUNC {unit}": f"trunc({{0}}, '{unit}')" for unit in ("YEAR", "MONTH", "WEEK")}
    | {"DAY TEXT": "CAST({0} AS STRING)", "WHOLE TEXT": "CAST({0} AS STRING)"},
)


# ---- Warehouses: nobody ran their matchers, so a pattern is one that any matcher is quick with. ----


def _like_anywhere(dialect: Dialect, sql: str, pattern: Pattern) -> str | None:
    letters = {letter for piece in pattern.pieces for letter in piece}
    if not pattern.is_simple or letters & {"%", "_", "\\"}:
        return None
    return f"{sql} LIKE {dialect.literal(pattern.text())}"


def of_dialect(dialect: Dialect) -> Spelling:
    """The spelling for a database of the SQL engine."""
    return _KNOWN.get(dialect.name) or Spelling(
        name=dialect.name,
        literal=dialect.literal,
        like=lambda sql, pattern: _like_anywhere(dialect, sql, pattern),
        double=dialect.double,
        integer=dialect.integer,
        rounded="",
        constant=dialect.constant or "",
    )


_KNOWN: Mapping[str, Spelling] = {"postgres": POSTGRES, "spark": SPARK}
