"""Casts: from each type to each other for which every engine can be made to say the same.

A text is read only where it matches a pattern whose every text all engines read alike; no engine's own reading of odd
text (inf, 1_000, 0x10, yesterday) is asked for. The patterns are matched in linear time: no two parts of one can take
the same letters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dpselect.engines.filters.cost import READ_TEXT_POWERS
from dpselect.engines.filters.spelling import Spelling
from dpselect.engines.filters.tree import refuse
from dpselect.engines.filters.values import (
    Value,
    as_exact,
    as_moment,
    constant_value,
    decimal_digits,
    exact_type,
    to_double,
)
from dpselect.engines.filters.words import parse_day, parse_moment, parse_moment_in_utc

_YEAR = "([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
_INNER_YEAR = "([1-8][0-9]{3}|9[0-8][0-9]{2}|99[0-8][0-9]|999[0-8]|0[1-9][0-9]{2}|00[1-9][0-9]|000[2-9])"
_LEAP = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)"
_DATE = "((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))"
DAY, _INNER_DAY = (f"({year}-{_DATE}|{_LEAP}-02-29)" for year in (_YEAR, _INNER_YEAR))
_CLOCK = "[ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?"
MOMENT = f"{DAY}({_CLOCK})?"
MOMENT_IN_UTC = f"{DAY}{_CLOCK}[ ]?(Z|UTC|[+-]00(:?00)?)"
# A moment of another zone is in another year at the ends of the calendar.
MOMENT_WITH_ZONE = f"({MOMENT_IN_UTC}|{_INNER_DAY}{_CLOCK}[ ]?[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?)"
_TO_MICROSECONDS = 26  # letters of a moment with six digits of a second
DOUBLE = "[ ]*[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?0?[0-4]?[0-9])?[ ]*"
INTEGER_TEXT = "[ ]*[+-]?[0-9]{1,18}([.]0*)?[ ]*"
YES, NO = "([tT]([rR][uU][eE])?|1)", "([fF]([aA][lL][sS][eE])?|0)"
BYTES = 50
"""Bytes of a text that is read as another type; a double of them is within cost.READ powers of ten."""
_FLOOR = "floor(x) returns a whole number"


def cast(value: Value, target: Sequence[object], spelling: Spelling) -> Value:
    """Compile a value to another type: a kind and, for exact numbers, the minimum, the maximum and the scale."""
    kind = str(target[0])
    if value.kind == "null":
        return value
    if value.kind == "text" and kind != "text":
        return _cast_from_text(value, target, spelling)
    if kind == "exact" and value.kind == "exact":
        return _resize(value, target, spelling)
    if len(target) > 1 and kind == "timestamp":
        refuse(
            f"{value.description} in a cast to TIMESTAMPTZ",
            "only a text is read with its zone; moments are in UTC here",
        )
    if value.kind == kind == "text":
        return replace(value, description="a value", constant=None)
    if value.kind == kind:
        return Value(kind, value.operand_sql, low=value.low, high=value.high)
    if (value.kind, kind) == ("exact", "double"):
        return to_double(value, spelling)
    if (value.kind, kind) == ("date", "timestamp"):
        return as_moment(value, spelling)
    if (value.kind, kind) == ("timestamp", "date"):
        return Value("date", f"CAST({value.operand_sql} AS {spelling.date})")
    if kind == "text" and (text_sql := _cast_to_text(value, spelling)):
        return Value("text", text_sql)
    hint = _FLOOR if kind == "exact" else "map the values with CASE WHEN ... THEN ... END"
    return refuse(f"{value.description} in a cast to {_format_kind(kind)}", hint)


def _format_kind(kind: str) -> str:
    return "an exact number" if kind == "exact" else kind.upper()


def _cast_to_text(value: Value, spelling: Spelling) -> str:
    if value.kind == "boolean":
        return f"CASE WHEN {value.sql} THEN 'true' WHEN NOT {value.sql} THEN 'false' END"
    if value.kind == "date":
        return spelling.function("DAY TEXT", value.operand_sql)
    if value.kind == "exact" and value.scale == 0 and value.max_magnitude is not None:
        return spelling.function("WHOLE TEXT", value.operand_sql)
    return ""


def _resize(value: Value, target: Sequence[object], spelling: Spelling) -> Value:
    """Compile an exact number within other bounds, null if it is outside of them; nothing is rounded."""
    minimum, maximum, scale = (int(str(bound)) for bound in target[1:])
    if value.max_magnitude is None or value.max_magnitude >= 10**38:
        refuse(f"{value.description} in a cast to an exact number", "CAST(x AS DOUBLE) accepts any number")
    if value.scale > scale:
        refuse(f"{value.description} in a cast that rounds", _FLOOR)
    scaled_magnitude = value.max_magnitude * 10 ** (scale - value.scale)
    sql = as_exact(value, min(maximum, scaled_magnitude), scale, spelling)
    if scaled_magnitude > maximum:
        # Integer bounds: those of a decimal type are 10 ** (its digits before the point), which it does not hold.
        low, high = (
            (minimum, maximum)
            if minimum < -maximum
            else (-(10 ** (decimal_digits(maximum, 0) - scale)), 10 ** (decimal_digits(maximum, 0) - scale))
        )
        signs = (">=", "<=") if minimum < -maximum else (">", "<")
        bounds = (
            as_exact(Value("exact", str(bound), max_magnitude=1), abs(bound), 0, spelling) for bound in (low, high)
        )
        within_bounds = " AND ".join(
            f"{value.operand_sql} {sign} {bound}" for sign, bound in zip(signs, bounds, strict=True)
        )
        sql = f"CASE WHEN {within_bounds} THEN {sql} END"
    return Value("exact", sql, max_magnitude=min(max(maximum, -minimum), scaled_magnitude), scale=scale)


def _cast_from_text(value: Value, target: Sequence[object], spelling: Spelling) -> Value:
    kind = str(target[0])
    if isinstance(value.constant, str) and kind in ("date", "timestamp"):
        parse = parse_day if kind == "date" else parse_moment if len(target) == 1 else parse_moment_in_utc
        return constant_value(parse(value.constant), spelling)
    text = spelling.binary(spelling.null_if_long(value.sql, BYTES))
    if kind == "boolean":
        yes, no = (spelling.compile_match(text, pattern) for pattern in (YES, NO))
        return Value(kind, f"CASE WHEN {yes} THEN TRUE WHEN {no} THEN FALSE END")
    if kind == "double":
        return Value(
            kind, _read_if_match(text, DOUBLE, spelling.double, spelling), low=-READ_TEXT_POWERS, high=READ_TEXT_POWERS
        )
    if kind == "date":
        return Value(kind, _read_if_match(text, DAY, spelling.date, spelling))
    if kind == "timestamp":
        return Value(kind, _cast_to_moment(text, spelling, with_zone=len(target) > 1))
    maximum, scale = int(str(target[2])), int(str(target[3]))
    if int(str(target[1])) < -maximum:  # an integer of a number of bits
        sql = f"CAST({_read_if_match(text, INTEGER_TEXT, spelling.decimal(18, 0), spelling)} AS {spelling.integer})"
        integer = Value("exact", sql, max_magnitude=10**18 - 1)
        return _resize(integer, target, spelling)
    digits_before_point = decimal_digits(maximum, 0) - scale
    pattern = (
        "[ ]*[+-]?"
        + (f"[0-9]{{1,{digits_before_point}}}" if digits_before_point else "0")
        + f"([.][0-9]{{0,{scale}}}0*)?"
    )
    return Value(
        kind,
        _read_if_match(text, pattern + "[ ]*", exact_type(maximum, scale, spelling), spelling),
        max_magnitude=maximum,
        scale=scale,
    )


def _cast_to_moment(text: str, spelling: Spelling, *, with_zone: bool) -> str:
    """Compile the local time, or the time in UTC if a zone is written; nanoseconds are cut."""
    date, time = spelling.function("LEFT", text, "10"), spelling.function("SUBSTRING", text, "12", "40")
    clock = f"replace(replace({time}, ' ', ''), 'UTC', 'Z')"
    iso_text = spelling.function("||", spelling.function("||", date, "'T'"), clock)
    moment_in_utc = spelling.in_utc.replace("{}", iso_text)
    if with_zone:
        return f"CASE WHEN {spelling.compile_match(text, MOMENT_WITH_ZONE)} THEN {moment_in_utc} END"
    local = spelling.read.replace("[]", spelling.timestamp)
    local = local.replace("{}", spelling.function("LEFT", text, str(_TO_MICROSECONDS)))
    sql_of_pattern = {MOMENT: local, MOMENT_IN_UTC: moment_in_utc}
    whens = (f"WHEN {spelling.compile_match(text, pattern)} THEN {sql}" for pattern, sql in sql_of_pattern.items())
    return f"CASE {' '.join(whens)} END"


def _read_if_match(text: str, pattern: str, type_name: str, spelling: Spelling) -> str:
    sql = spelling.read.replace("[]", type_name).replace("{}", text)
    return f"CASE WHEN {spelling.compile_match(text, pattern)} THEN {sql} END"
