"""How PostgreSQL writes filters. Its LIKE tries every position of a piece: it is used at the start or for several."""

from __future__ import annotations

from dpselect.engines.filters.patterns import Matcher
from dpselect.engines.filters.spelling import DATE_PARTS, SHARED_FUNCTIONS, Spelling
from dpselect.engines.postgres.dialect import POSTGRES

_MATCHER = Matcher(POSTGRES.literal, "strpos({}, {}) > 0", escape=chr(92))

POSTGRES_SPELLING = Spelling(
    literal=POSTGRES.literal,
    like=_MATCHER.compile_pattern,
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
    functions=SHARED_FUNCTIONS
    | {name: f'{name.lower()}({{0}} COLLATE "C")' for name in ("LOWER", "UPPER")}  # ASCII letters only, and fast
    | {"TRIM": "btrim({0}, ' ')", "LTRIM": "ltrim({0}, ' ')", "RTRIM": "rtrim({0}, ' ')"}
    | {part: f"CAST(floor(extract({part} FROM {{0}})) AS int8)" for part in (*DATE_PARTS, "ISODOW")}
    | {
        f"TRUNC {unit}": f"CAST(date_trunc('{unit.lower()}', CAST({{0}} AS timestamp)) AS date)"
        for unit in ("YEAR", "MONTH", "WEEK")
    }
    | {"DAY TEXT": "to_char({0}, 'YYYY-MM-DD')", "WHOLE TEXT": "CAST({0} AS text)"},
)
