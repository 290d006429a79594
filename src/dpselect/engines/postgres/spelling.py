"""How PostgreSQL writes filters. Its LIKE tries every position of a piece: it is used at the start or for several."""

from __future__ import annotations

from dpselect.engines.filters.patterns import Matcher, Piece, escape_piece, write_plain
from dpselect.engines.filters.spelling import DATE_PARTS, SHARED_FUNCTIONS, Spelling
from dpselect.engines.postgres.dialect import POSTGRES


def _escape(piece: Piece) -> str:
    return escape_piece(piece, chr(92))


def _ends(sql: str, piece: Piece) -> str:
    return _MATCHER.is_(f"right({sql}, {len(piece)})", piece)


def _holds(sql: str, texts: list[str]) -> str:
    if len(texts) == 1:
        return f"strpos({sql}, {POSTGRES.literal(texts[0])}) > 0"
    return f"{sql} LIKE {POSTGRES.literal('%' + '%'.join(_escape(tuple(text)) for text in texts) + '%')}"


_MATCHER = Matcher(
    is_=lambda sql, piece: (
        f"{sql} LIKE {POSTGRES.literal(_escape(piece))}"
        if None in piece
        else f"{sql} = {write_plain(piece, POSTGRES.literal)}"
    ),
    begins=lambda sql, piece: f"{sql} LIKE {POSTGRES.literal(_escape(piece) + '%')}",
    ends=_ends,
    holds=_holds,
)


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
