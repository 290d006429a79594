"""The spelling of each engine."""

from __future__ import annotations

from collections.abc import Mapping
from string import ascii_lowercase, ascii_uppercase

from dpselect.engines.filters.patterns import Matcher, Pattern
from dpselect.engines.filters.spelling import Spelling
from dpselect.engines.postgres.dialect import POSTGRES as PG
from dpselect.engines.spark.dialect import IN_UTC
from dpselect.engines.spark.dialect import SPARK as SP

_TRANSLATED = {
    "LOWER": f"translate({{0}}, '{ascii_uppercase}', '{ascii_lowercase}')",
    "UPPER": f"translate({{0}}, '{ascii_lowercase}', '{ascii_uppercase}')",
}
_SHARED = {
    "BYTES": "octet_length({0})",
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
_DATE_PARTS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


# ---- DuckDB: its LIKE without `_` searches for one piece after the other, and for the last at the text's end. ----


_DUCKDB = Matcher(_literal, "contains({}, {})", "starts_with({}, {})", "ends_with({}, {})")


def _like_duckdb(sql: str, pattern: Pattern) -> str:
    if pattern.is_plain and len(pattern.pieces) > 1:
        return f"{sql} LIKE {_literal(pattern.text())}"
    return _DUCKDB.compile_pattern(sql, pattern)


DUCKDB = Spelling(
    literal=_literal,
    zoned="TIMESTAMP WITH TIME ZONE",
    in_utc="TRY_CAST({} AS TIMESTAMP WITH TIME ZONE) AT TIME ZONE 'UTC'",
    like=_like_duckdb,
    rounded="CAST(CAST({} AS VARCHAR) AS DOUBLE)",  # DuckDB's division of large decimals is not the nearest double
    matches="regexp_full_match({}, [])",
    long_list="(SELECT unnest([{}]))",  # a list that DuckDB pushes into a scan, as NOT IN, is compared one by one
    functions=_SHARED
    | _TRANSLATED
    | {"BYTES": "strlen({0})"}
    | {"TRIM": "trim({0}, ' ')", "LTRIM": "ltrim({0}, ' ')", "RTRIM": "rtrim({0}, ' ')"}
    | {part: f"date_part('{part.lower()}', {{0}})" for part in (*_DATE_PARTS, "ISODOW")}
    | {f"TRUNC {unit}": f"CAST(date_trunc('{unit.lower()}', {{0}}) AS DATE)" for unit in ("YEAR", "MONTH", "WEEK")}
    | {"DAY TEXT": "CAST({0} AS VARCHAR)", "WHOLE TEXT": "CAST({0} AS VARCHAR)"},
)


# ---- PostgreSQL: its LIKE tries every position of a piece, so it is used only at the start or for several pieces. ----


_POSTGRES = Matcher(PG.literal, "strpos({}, {}) > 0", escape=chr(92))

POSTGRES = Spelling(
    literal=PG.literal,
    like=_POSTGRES.compile_pattern,
    double="float8",
    integer="int8",
    decimals="numeric",
    text="text",
    date="date",
    timestamp="timestamp",
    zoned="timestamptz",
    read="CAST(CAST({} AS text) AS [])",  # an untyped constant would be cast before it is matched
    in_utc=r"CAST(regexp_replace({}, '([.][0-9]{6})[0-9]+', '\1') AS timestamptz) AT TIME ZONE 'UTC'",
    collated='({} COLLATE "C")',
    finite="nullif({}, 'NaN')",
    few_digits="CASE WHEN pg_column_size({}) <= 512 AND pg_column_compression({}) IS NULL THEN [] END",
    rounded="CAST({} AS float8)",
    matches="{} ~ []",
    anchored="^({})$",
    functions=_SHARED
    | {name: f'{name.lower()}({{0}} COLLATE "C")' for name in ("LOWER", "UPPER")}  # ASCII letters only, and fast
    | {"TRIM": "btrim({0}, ' ')", "LTRIM": "ltrim({0}, ' ')", "RTRIM": "rtrim({0}, ' ')"}
    | {part: f"CAST(floor(extract({part} FROM {{0}})) AS int8)" for part in (*_DATE_PARTS, "ISODOW")}
    | {
        f"TRUNC {unit}": f"CAST(date_trunc('{unit.lower()}', CAST({{0}} AS timestamp)) AS date)"
        for unit in ("YEAR", "MONTH", "WEEK")
    }
    | {"DAY TEXT": "to_char({0}, 'YYYY-MM-DD')", "WHOLE TEXT": "CAST({0} AS text)"},
)


# ---- Spark: its LIKE is Java's regular expression; in (?>...) nothing is tried again. ----


def _holds_spark(sql: str, texts: list[str]) -> str:
    pieces = "".join(f"(?>.*?{''.join(map(_escape_letter, text))})" for text in texts)
    return f"{sql} RLIKE {SP.literal(f'(?s)^{pieces}')}"


def _escape_letter(letter: str) -> str:
    return letter if letter.isascii() and letter.isalnum() else f"\\x{{{ord(letter):X}}}"


_SPARK = Matcher(
    SP.literal,
    "contains({}, {})",
    "startswith({}, {})",
    "endswith({}, {})",
    begins_by_left=True,
    several=_holds_spark,
)

SPARK = Spelling(
    literal=SP.literal,
    like=_SPARK.compile_pattern,
    text="STRING",
    timestamp="TIMESTAMP_NTZ",
    zoned="TIMESTAMP_LTZ",
    read="try_cast({} AS [])",
    in_utc=IN_UTC.replace("{}", "try_cast({} AS TIMESTAMP_LTZ)"),
    collated="({} COLLATE UTF8_BINARY)",
    matches="{} RLIKE []",
    anchored="(?s)^({})(?!.)",
    functions=_SHARED
    | _TRANSLATED
    | {"ABS": "greatest({0}, 0 - {0})"}  # Spark's abs and sign round to 34 digits
    | {"TRIM": "trim({0})", "LTRIM": "ltrim({0})", "RTRIM": "rtrim({0})"}
    | {part: f"CAST(floor(extract({part} FROM {{0}})) AS BIGINT)" for part in _DATE_PARTS}
    | {"ISODOW": "CAST(weekday({0}) + 1 AS BIGINT)"}
    | {f"TRUNC {unit}": f"trunc({{0}}, '{unit}')" for unit in ("YEAR", "MONTH", "WEEK")}
    | {"DAY TEXT": "CAST({0} AS STRING)", "WHOLE TEXT": "CAST({0} AS STRING)"},
)


SPELLINGS: Mapping[str, Spelling] = {"duckdb": DUCKDB, "postgres": POSTGRES, "spark": SPARK}
"""The spelling of each database, by the name of its dialect."""
