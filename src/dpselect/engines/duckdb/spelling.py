"""How DuckDB writes filters. LIKE without an underscore searches for one piece after the other, the last at the end."""

from __future__ import annotations

from dpselect.engines.filters.patterns import Matcher, Pattern
from dpselect.engines.filters.spelling import ASCII_CASE, DATE_PARTS, SHARED_FUNCTIONS, Spelling, quote_text

_MATCHER = Matcher(quote_text, "contains({}, {})", "starts_with({}, {})", "ends_with({}, {})")


def _like(sql: str, pattern: Pattern) -> str:
    if pattern.is_plain and len(pattern.pieces) > 1:
        return f"{sql} LIKE {quote_text(pattern.text())}"
    return _MATCHER.compile_pattern(sql, pattern)


DUCKDB_SPELLING = Spelling(
    literal=quote_text,
    zoned="TIMESTAMP WITH TIME ZONE",
    in_utc="TRY_CAST({} AS TIMESTAMP WITH TIME ZONE) AT TIME ZONE 'UTC'",
    like=_like,
    rounded="CAST(CAST({} AS VARCHAR) AS DOUBLE)",  # DuckDB's division of large decimals is not the nearest double
    matches="regexp_full_match({}, [])",
    long_list="(SELECT unnest([{}]))",  # a list that DuckDB pushes into a scan, as NOT IN, is compared one by one
    functions=SHARED_FUNCTIONS
    | ASCII_CASE
    | {"BYTES": "strlen({0})"}
    | {"TRIM": "trim({0}, ' ')", "LTRIM": "ltrim({0}, ' ')", "RTRIM": "rtrim({0}, ' ')"}
    | {part: f"date_part('{part.lower()}', {{0}})" for part in (*DATE_PARTS, "ISODOW")}
    | {f"TRUNC {unit}": f"CAST(date_trunc('{unit.lower()}', {{0}}) AS DATE)" for unit in ("YEAR", "MONTH", "WEEK")}
    | {"DAY TEXT": "CAST({0} AS VARCHAR)", "WHOLE TEXT": "CAST({0} AS VARCHAR)"},
)
