"""Casts: from each type to each other for which every engine can be made to say the same.

A text is read only where it matches a pattern whose every text all engines read alike; no engine's own reading of odd
text (inf, 1_000, 0x10, yesterday) is asked for. The patterns are matched in linear time: no two parts of one can take
the same letters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dpselect.engines.filters.constants import day, moment, moment_in_utc
from dpselect.engines.filters.cost import READ
from dpselect.engines.filters.spelling import Spelling
from dpselect.engines.filters.tree import refuse
from dpselect.engines.filters.values import Value, as_exact, as_moment, constant, digits, exact_type, to_double

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
WHOLE = "[ ]*[+-]?[0-9]{1,18}([.]0*)?[ ]*"
YES, NO = "([tT]([rR][uU][eE])?|1)", "([fF]([aA][lL][sS][eE])?|0)"
BYTES = 50
"""Bytes of a text that is read as another type; a double of them lies within cost.READ powers of ten."""
_FLOOR = "floor(x) returns a whole number"


def cast(value: Value, to: Sequence[object], spelling: Spelling) -> Value:
    """A value as another type, which is a kind and for exact numbers the least, the largest and the scale."""
    kind = str(to[0])
    if value.kind == "null":
        return value
    if value.kind == "text" and kind != "text":
        return _from_text(value, to, spelling)
    if kind == "exact" and value.kind == "exact":
        return _resized(value, to, spelling)
    if len(to) > 1 and kind == "timestamp":
        refuse(f"{value.shown} in a cast to TIMESTAMPTZ", "only a text is read with its zone; moments are in UTC here")
    if value.kind == kind == "text":
        return replace(value, shown="a value", constant=None)
    if value.kind == kind:
        return Value(kind, value.used, low=value.low, high=value.high)
    if (value.kind, kind) == ("exact", "double"):
        return to_double(value, spelling)
    if (value.kind, kind) == ("date", "timestamp"):
        return as_moment(value, spelling)
    if (value.kind, kind) == ("timestamp", "date"):
        return Value("date", f"CAST({value.used} AS {spelling.date})")
    if kind == "text" and (found := _as_text(value, spelling)):
        return Value("text", found)
    hint = _FLOOR if kind == "exact" else "map the values with CASE WHEN ... THEN ... END"
    return refuse(f"{value.shown} in a cast to {_name(kind)}", hint)


def _name(kind: str) -> str:
    return "an exact number" if kind == "exact" else kind.upper()


def _as_text(value: Value, spelling: Spelling) -> str:
    if value.kind == "boolean":
        return f"CASE WHEN {value.sql} THEN 'true' WHEN NOT {value.sql} THEN 'false' END"
    if value.kind == "date":
        return spelling.function("DAY TEXT", value.used)
    if value.kind == "exact" and value.scale == 0 and value.most is not None:
        return spelling.function("WHOLE TEXT", value.used)
    return ""


def _resized(value: Value, to: Sequence[object], spelling: Spelling) -> Value:
    """An exact number within other bounds, null where it is outside of them; nothing is rounded."""
    least, most, scale = (int(str(one)) for one in to[1:])
    if value.most is None or value.most >= 10**38:
        refuse(f"{value.shown} in a cast to an exact number", "CAST(x AS DOUBLE) accepts any number")
    if value.scale > scale:
        refuse(f"{value.shown} in a cast that rounds", _FLOOR)
    held = value.most * 10 ** (scale - value.scale)
    sql = as_exact(value, min(most, held), scale, spelling)
    if held > most:
        # Whole bounds: those of a decimal type are 10 ** (its digits before the point), which it does not hold.
        low, high = (
            (least, most) if least < -most else (-(10 ** (digits(most, 0) - scale)), 10 ** (digits(most, 0) - scale))
        )
        signs = (">=", "<=") if least < -most else (">", "<")
        bounds = (as_exact(Value("exact", str(one), most=1), abs(one), 0, spelling) for one in (low, high))
        inside = " AND ".join(f"{value.used} {sign} {bound}" for sign, bound in zip(signs, bounds, strict=True))
        sql = f"CASE WHEN {inside} THEN {sql} END"
    return Value("exact", sql, most=min(max(most, -least), held), scale=scale)


def _from_text(value: Value, to: Sequence[object], spelling: Spelling) -> Value:
    kind = str(to[0])
    if isinstance(value.constant, str) and kind in ("date", "timestamp"):
        read = day if kind == "date" else moment if len(to) == 1 else moment_in_utc
        return constant(read(value.constant), spelling)
    text = spelling.binary(spelling.short(value.sql, BYTES))
    if kind == "boolean":
        yes, no = (spelling.matched(text, pattern) for pattern in (YES, NO))
        return Value(kind, f"CASE WHEN {yes} THEN TRUE WHEN {no} THEN FALSE END")
    if kind == "double":
        return Value(kind, _read(text, DOUBLE, spelling.double, spelling), low=-READ, high=READ)
    if kind == "date":
        return Value(kind, _read(text, DAY, spelling.date, spelling))
    if kind == "timestamp":
        return Value(kind, _moment(text, spelling, with_zone=len(to) > 1))
    most, scale = int(str(to[2])), int(str(to[3]))
    if int(str(to[1])) < -most:  # a whole number of so many bits
        sql = f"CAST({_read(text, WHOLE, spelling.decimal(18, 0), spelling)} AS {spelling.integer})"
        whole = Value("exact", sql, most=10**18 - 1)
        return _resized(whole, to, spelling)
    before = digits(most, 0) - scale
    pattern = "[ ]*[+-]?" + (f"[0-9]{{1,{before}}}" if before else "0") + f"([.][0-9]{{0,{scale}}}0*)?"
    return Value(
        kind, _read(text, pattern + "[ ]*", exact_type(most, scale, spelling), spelling), most=most, scale=scale
    )


def _moment(text: str, spelling: Spelling, *, with_zone: bool) -> str:
    """What the clocks showed, or what those of UTC showed where a zone is written; nanoseconds are cut."""
    left, rest = spelling.function("LEFT", text, "10"), spelling.function("SUBSTRING", text, "12", "40")
    clock = f"replace(replace({rest}, ' ', ''), 'UTC', 'Z')"
    plain = spelling.function("||", spelling.function("||", left, "'T'"), clock)
    in_utc = spelling.in_utc.replace("{}", plain)
    if with_zone:
        return f"CASE WHEN {spelling.matched(text, MOMENT_WITH_ZONE)} THEN {in_utc} END"
    shown = spelling.read.replace("[]", spelling.timestamp)
    shown = shown.replace("{}", spelling.function("LEFT", text, str(_TO_MICROSECONDS)))
    whens = {MOMENT: shown, MOMENT_IN_UTC: in_utc}
    return f"CASE {' '.join(f'WHEN {spelling.matched(text, one)} THEN {sql}' for one, sql in whens.items())} END"


def _read(text: str, pattern: str, type_name: str, spelling: Spelling) -> str:
    sql = spelling.read.replace("[]", type_name).replace("{}", text)
    return f"CASE WHEN {spelling.matched(text, pattern)} THEN {sql} END"
