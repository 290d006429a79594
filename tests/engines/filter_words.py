"""Filters of any shape over the awkward rows, for Hypothesis: expressions of each kind, put together at random.

Some are refused (too many digits, a pattern that is no constant); whoever uses them skips those.
"""

from __future__ import annotations

from hypothesis import strategies as st

Words = st.SearchStrategy[str]


def texts(alphabet: str, most: int = 4) -> Words:
    """Constants of text."""
    return st.text(alphabet, max_size=most).map(lambda text: "'" + text.replace("'", "''") + "'")


LETTERS = "aA '%_\u00e9e\u0301\n\U0001f600\uffff5-"
EXACT = st.one_of(
    st.integers(-(2**63), 2**63 - 1).map(str),
    st.integers(-10, 10).map(str),
    st.decimals(-8, 8, places=2).map(str),
    st.sampled_from(["0.1", "0.30000000000000004", "7.0", "2.50", "-0.5", "1.2345678901234567", "0"]),
)
FLOATS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).filter(bool).map(lambda number: f"{number:e}"),
    st.sampled_from(["1e0", "1e100", "1e-100", "1e308", "5e-324", "2.5e0"]),
)
SIGNS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
PARTS = st.sampled_from(["year", "month", "day", "hour", "minute", "second", "isodow"])
UNITS = st.sampled_from(["year", "month", "week", "day"])

_exact = st.deferred(lambda: EXACT_VALUES)
_double = st.deferred(lambda: DOUBLES)
_text = st.deferred(lambda: TEXTS)
_when = st.deferred(lambda: MOMENTS)
_condition = st.deferred(lambda: ANY)
_number = st.one_of(_exact, _double)


def _filled(pattern: str, *parts: Words) -> Words:
    return st.tuples(*parts).map(lambda found: pattern.format(*found))


def _choices(inner: Words) -> list[Words]:
    return [
        _filled("CASE WHEN {} THEN {} ELSE {} END", _condition, inner, inner),
        _filled("CASE WHEN {} THEN {} END", _condition, inner),
        _filled("COALESCE({}, {})", inner, inner),
        _filled("NULLIF({}, {})", inner, inner),
    ]


_WHOLE = st.sampled_from(["small", "big", "ints", '"O""dd %s {}"'])
EXACT_VALUES = st.recursive(
    st.one_of(_WHOLE, _WHOLE, st.sampled_from(["money", "wide"]), EXACT),
    lambda inner: st.one_of(
        _filled("({} {} {})", inner, st.sampled_from("+-*%"), inner),
        _filled("(- {})", inner),
        _filled("{}({})", st.sampled_from(["abs", "floor", "ceil"]), _number),
        _filled("({})::BIGINT", inner),
        _filled("CAST({} AS DECIMAL(20, 4))", inner),
        _filled("({})::{}", _text, st.sampled_from(["INT", "DECIMAL(6,3)"])),
        _filled("length({})", _text),
        _filled("date_part('{}', {})", PARTS, _when),
        *_choices(inner),
    ),
    max_leaves=3,
)
DOUBLES = st.recursive(
    st.one_of(st.sampled_from(["double", "wild", "float"]), FLOATS),
    lambda inner: st.one_of(
        _filled("({} {} {})", inner, st.sampled_from("+-*/"), _number),
        _filled("({} / {})", _exact, _exact),
        _filled("(- {})", inner),
        _filled("abs({})", inner),
        _filled("({})::DOUBLE", st.one_of(_exact, _text)),
        *_choices(inner),
    ),
    max_leaves=4,
)
_SIZE = st.integers(0, 5).map(str)
TEXTS = st.recursive(
    st.one_of(st.sampled_from(["text", "other", "written", "long", "vast"]), texts(LETTERS)),
    lambda inner: st.one_of(
        _filled("{}({})", st.sampled_from(["lower", "upper", "trim", "ltrim", "rtrim"]), inner),
        _filled("{}({}, {})", st.sampled_from(["left", "right"]), inner, _SIZE),
        _filled("substring({}, {}, {})", inner, st.integers(1, 5).map(str), _SIZE),
        _filled("({} || {})", inner, inner),
        _filled("({})::TEXT", st.one_of(_WHOLE, _condition, st.sampled_from(["day", '"far day"']))),
        *_choices(inner),
    ),
    max_leaves=3,
)
DAYS = st.sampled_from(["day", '"other day"', '"far day"', "DATE '2024-02-29'", "written::DATE", "zone::DATE"])
MOMENTS = st.one_of(
    DAYS,
    st.sampled_from(["moment", "zone", '"far moment"', "day::TIMESTAMP", "written::TIMESTAMP"]),
    st.datetimes().map(lambda at: f"TIMESTAMP '{at}'"),
    _filled("date_trunc('{}', {})", UNITS, _when),
    *_choices(_when),
)


def _tests(inner: Words) -> list[Words]:
    several = st.lists(inner, min_size=1, max_size=3).map(", ".join)
    return [
        _filled("{} {} {}", inner, SIGNS, inner),
        _filled("{} {} ({})", inner, st.sampled_from(["IN", "NOT IN"]), several),
        _filled("{} BETWEEN {} AND {}", inner, inner, inner),
        _filled("{} IS {}", inner, st.sampled_from(["NULL", "NOT NULL"])),
        _filled("{} IS DISTINCT FROM {}", inner, inner),
    ]


_LIKE = _filled(
    "{} {} {}", _text, st.sampled_from(["LIKE", "NOT LIKE", "ILIKE"]), texts(LETTERS.replace("5-", "%_%_"), 8)
)
_FITS = _filled(
    "{}({}, {})", st.sampled_from(["starts_with", "ends_with", "contains"]), _text, texts("aA%_\\\u00e9'", 3)
)
SIMPLE = st.one_of(
    st.sampled_from(["yes", "no", "written::BOOLEAN"]),
    *(one for inner in (_exact, _number, _text, _when) for one in _tests(inner)),
    _LIKE,
    _FITS,
)
ANY = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        _filled("({} {} {})", inner, st.sampled_from(["AND", "OR", "and not", "OR NOT"]), inner),
        _filled("(NOT {})", inner),
        _filled("(({}) IS {})", inner, st.sampled_from(["TRUE", "NOT TRUE", "FALSE", "NULL"])),
        *_choices(inner),
    ),
    max_leaves=4,
)
