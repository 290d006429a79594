"""How Spark writes filters. Its LIKE is Java's regular expression; in (?>...) nothing is tried again."""

from __future__ import annotations

from dpselect.engines.filters.patterns import Matcher
from dpselect.engines.filters.spelling import ASCII_CASE, DATE_PARTS, SHARED_FUNCTIONS, Spelling
from dpselect.engines.spark.dialect import IN_UTC, SPARK


def _holds_several(sql: str, texts: list[str]) -> str:
    pieces = "".join(f"(?>.*?{''.join(map(_escape_letter, text))})" for text in texts)
    return f"{sql} RLIKE {SPARK.literal(f'(?s)^{pieces}')}"


def _escape_letter(letter: str) -> str:
    return letter if letter.isascii() and letter.isalnum() else f"\\x{{{ord(letter):X}}}"


_MATCHER = Matcher(
    SPARK.literal,
    "contains({}, {})",
    "startswith({}, {})",
    "endswith({}, {})",
    compares_start_by_left=True,
    contains_in_order=_holds_several,
)

SPARK_SPELLING = Spelling(
    literal=SPARK.literal,
    like=_MATCHER.compile_pattern,
    text="STRING",
    timestamp="TIMESTAMP_NTZ",
    zoned="TIMESTAMP_LTZ",
    read="try_cast({} AS [])",
    in_utc=IN_UTC.replace("{}", "try_cast({} AS TIMESTAMP_LTZ)"),
    collated="({} COLLATE UTF8_BINARY)",
    matches="{} RLIKE []",
    anchored="(?s)^({})(?!.)",
    functions=SHARED_FUNCTIONS
    | ASCII_CASE
    | {"ABS": "greatest({0}, 0 - {0})"}  # Spark's abs and sign round to 34 digits
    | {"TRIM": "trim({0})", "LTRIM": "ltrim({0})", "RTRIM": "rtrim({0})"}
    | {part: f"CAST(floor(extract({part} FROM {{0}})) AS BIGINT)" for part in DATE_PARTS}
    | {"ISODOW": "CAST(weekday({0}) + 1 AS BIGINT)"}
    | {f"TRUNC {unit}": f"trunc({{0}}, '{unit}')" for unit in ("YEAR", "MONTH", "WEEK")}
    | {"DAY TEXT": "CAST({0} AS STRING)", "WHOLE TEXT": "CAST({0} AS STRING)"},
)
