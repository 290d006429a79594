"""Frames and lists, one row at a time: a value that is as odd as can be changes nothing of anybody else.

Each kind of source is asked over plain rows and over the same rows and one more, of one more user, first and last.
Everybody else's labels, their types, their order and their counts are the same, and nothing fails.
"""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Callable, Sequence

import narwhals
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpselect.aggregates.value_counts import Grid
from dpselect.engines.duckdb import frame_scan
from dpselect.engines.duckdb import keys as duckdb_keys
from dpselect.engines.duckdb.engine import DuckDBEngine
from dpselect.engines.duckdb.types import present
from dpselect.engines.port import PerUser
from dpselect.engines.sources import frames
from dpselect.engines.sources.array_columns import ArrayColumn
from dpselect.engines.sources.frames import Arrays
from dpselect.engines.sources.narwhals_frames import Narwhals
from dpselect.engines.sources.objects import written
from dpselect.errors import DataError
from tests.covering import covering
from tests.engines.test_conformance import pairs

KEY = b"k" * 16
ODD = 10**18 + 1  # the user who has the awkward row: a whole number that no float holds
USERS = [ODD + 1 + 2 * (n // 2) for n in range(40)]
Rows = tuple[list[object], list[object], list[object]]
Make = Callable[[list[object], list[object], list[object]], object]


class Bad:
    """An object that fails at whatever is asked of it."""

    def _fail(self, *_: object) -> object:
        raise ValueError("CANARY")

    __str__ = __repr__ = __len__ = __eq__ = __float__ = __index__ = __array__ = __iter__ = _fail  # type: ignore
    __hash__ = None  # type: ignore[assignment]


class BadText(str):
    """A text with methods of its own."""

    __str__ = __repr__ = __format__ = Bad._fail  # type: ignore[assignment]


class BadZone(datetime.tzinfo):
    """A zone that knows no offset."""

    def utcoffset(self, _moment: object) -> datetime.timedelta:
        raise ValueError("CANARY")


class NoClass:
    """An object that fails where it is asked for its class, as a proxy without a target does."""

    @property
    def __class__(self) -> type:  # type: ignore[override]
        raise RuntimeError("CANARY")


class BadSort(type):
    """A class of classes that cannot stand in a set."""

    def __hash__(cls) -> int:
        raise RuntimeError("CANARY")


class BadlySorted(metaclass=BadSort):
    """An object of such a class."""


class BadDate(datetime.date):
    """A date that fails where it is asked for its year."""

    @property
    def year(self) -> int:  # type: ignore[override]
        raise RuntimeError("CANARY")


VALUES: dict[str, object] = {
    "float": 2.5, "None": None, "text": "x", "text of a number": "1", "whole float": 1.0, "NaN": float("nan"),
    "infinity": float("inf"), "half a pair": "\ud800", "text with half a pair": "a\udfff", "huge int": 10**5000,
    "beyond 64 bits": 2**70, "negative": -1, "list": [1, 2], "nested": [[1], {"a": (2,)}], "dict": {"a": 1},
    "tuple": (1, 2), "set": {1}, "object": object(), "failing object": Bad(), "failing text": BadText("y"),
    "bytes": b"\xff", "truth": True, "complex": 1j, "date": datetime.date(1, 1, 1),
    "moment": datetime.datetime(2024, 1, 1), "end of time": datetime.datetime.max.replace(tzinfo=datetime.UTC),
    "start of time": datetime.datetime.min.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=14))),
    "failing zone": datetime.datetime(2024, 1, 1, tzinfo=BadZone()), "time": datetime.time(1), "NA": pd.NA,
    "NaT": pd.NaT, "nat": np.datetime64("NaT"), "far": np.datetime64(2**61, "s"), "half": np.float16(0.5),
    "long": np.longdouble(0.1), "decimal": decimal.Decimal("1.10"), "signaling": decimal.Decimal("sNaN"),
    "long decimal": decimal.Decimal("1e999999"), "uuid": uuid.UUID(int=7), "array": np.array([1, 2]),
    "frame": pd.DataFrame({"a": [1]}), "mark": "\x01", "mark of a number": "\x01\uec011", "nul": "\x00", "empty": "",
    "failing class": NoClass(), "failing class of classes": BadlySorted(), "failing date": BadDate(2024, 1, 1),
    "unmade uuid": uuid.UUID.__new__(uuid.UUID), "picoseconds": np.datetime64(5, "ps"),
}  # fmt: skip


def lists(*rows: list[object]) -> object:
    return dict(zip(("user", "item", "other"), rows, strict=True))


def objects(values: Sequence[object]) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        array[place] = value
    return array


def arrays(*rows: list[object]) -> object:
    return {name: objects(values) for name, values in zip(("user", "item", "other"), rows, strict=True)}


def frame(*rows: list[object]) -> pd.DataFrame:
    names = ("user", "item", "other")
    return pd.DataFrame({name: pd.Series(objects(v), dtype=object) for name, v in zip(names, rows, strict=True)})


LOOSE: dict[str, Make] = {"lists": lists, "object arrays": arrays, "pandas objects": frame}


def answers(source: object, user: str = "user", item: str = "item", **more: object) -> list[tuple[str, object, int]]:
    """Every item with its type and count."""
    with DuckDBEngine(source, user=user, item=item, key=KEY, **more) as engine:
        return [(type(label).__name__, label, count) for label, count in pairs(engine.top(1000))]


def all_answers(source: object, **more: object) -> list[tuple[str, object, int]]:
    """The same, which each of an engine's questions must give."""
    found = answers(source, **more)
    with DuckDBEngine(source, **({"user": "user", "item": "item", "key": KEY} | more)) as engine:
        assert [(type(label).__name__, label, n) for label, n in pairs(engine.grouped())] == found
        sets = engine.contributions()
        kept = engine.pairs()
        kept.weigh(np.ones(1000, dtype=np.int64), KEY)
        kept.release(np.arange(len(found)))
        for names in (sets.label_many(np.arange(sets.size)), kept.names()):
            assert sorted(map(repr, names)) == sorted(repr(label) for _, label, _ in found)
    return found


def others(found: list[tuple[str, object, int]], expected: list[tuple[str, object, int]]) -> None:
    """The awkward user counts once at what is theirs; all else is as it was, in the same order where nothing moved."""
    known = {(kind, repr(label)): count for kind, label, count in expected}
    more = {(kind, repr(label)): n - known.get((kind, repr(label)), 0) for kind, label, n in found}
    assert set(known) <= set(more)
    assert set(more.values()) <= {0, 1}
    if not any(n and name in known for name, n in more.items()):
        assert [name for name in more if name in known] == list(known)


PLAIN: dict[str, list[object]] = {
    "whole numbers": [n % 5 for n in range(40)],
    "large numbers": [2**53 + 1 + n % 5 for n in range(40)],
    "text": [f"item {n % 5}" for n in range(40)],
    "floats": [n % 5 + 0.5 for n in range(40)],
    "truth values": [n % 2 == 0 for n in range(40)],
    "days": [datetime.date(2024, 1, 1 + n % 5) for n in range(40)],
}


MIXED = ("whole numbers", "text")  # of these in every holder


@pytest.mark.parametrize("name", LOOSE)
def test_an_odd_value_without_a_declared_type_is_its_own_users_affair(name):
    """One value at a time, first or last, as the user too."""
    make = LOOSE[name]
    expected = {plain: answers(make(USERS, PLAIN[plain], PLAIN[plain])) for plain in MIXED}
    for holder, odd, plain, first in covering(list(LOOSE), list(VALUES), list(expected), (True, False)):
        if holder == name:
            items, value = PLAIN[plain], VALUES[odd]
            own = [ODD, value, items[0]] if first else [value, items[0], value]
            place = 0 if first else len(USERS)
            rows = (_with(values, one, place) for values, one in zip((USERS, items, items), own, strict=True))
            try:
                others(answers(make(*rows)), expected[plain])
            except Exception as error:
                raise AssertionError(f"{odd} at {place} of {plain}") from error


@pytest.mark.parametrize(
    ("name", "plain"), [(name, plain) for name in LOOSE for plain in PLAIN if name == "lists" or plain in MIXED]
)
def test_every_question_reads_past_all_of_them_together(name, plain):
    make, items = LOOSE[name], PLAIN[plain]
    expected = all_answers(make(USERS, items, items))
    assert [kind for kind, _, _ in expected] == [type(items[0]).__name__] * len(expected)
    odd = [value for name, value in VALUES.items() if name not in ("truth", "date")]
    theirs, nobody = [ODD] * len(odd), [items[0]] * len(odd)
    others(
        all_answers(make([*USERS, *theirs], [*items, *odd], [*items, *odd]), where="other IS NULL OR true"), expected
    )
    found = answers(make([*odd, *USERS], [*nobody, *items], [*odd, *items]))
    assert {label for _, label, _ in found} == {label for _, label, _ in expected}
    assert {n for _, label, n in found if label != items[0]} == {n for _, label, n in expected if label != items[0]}


def test_numbers_of_a_list_are_numbers_for_a_quantile():
    rows = {"user": list(range(60)), "item": [n % 7 for n in range(20)] * 3}
    odd = {"user": [*rows["user"], *[99] * len(VALUES)], "item": [*rows["item"], *VALUES.values()]}
    grid = Grid.of((-10, 10), 1)
    for which in PerUser:
        plain, more = (_places(source, grid, which) for source in (rows, odd))
        assert sum(more.values()) - sum(plain.values()) == 1
        assert all(more[place] - n in (0, 1) for place, n in plain.items())


def _places(source: object, grid: Grid, which: PerUser) -> dict[int, int]:
    with DuckDBEngine(source, user="user", item="item", key=KEY) as engine:
        engine.check_values()
        found = engine.users_at(grid, which)
    return dict(zip(found.places.tolist(), found.users.tolist(), strict=True))


def _with(values: list[object], one: object, place: int) -> list[object]:
    return [*values[:place], one, *values[place:]]


@pytest.mark.parametrize(("digits", "places"), [(38, 0), (38, 38), (38, 5), (18, 3)])
def test_a_decimal_of_more_digits_than_its_type_is_missing(digits, places):
    kind = pa.decimal128(digits, places)
    for odd in (2**127 - 1, -(2**127), 10**38, -(10**38)):
        held = [10**digits - 1] * 9 + [1 - 10**digits] * 9 + [odd]
        raw = b"".join(n.to_bytes(16, "little", signed=True) for n in held)
        items = pa.Array.from_buffers(kind, 19, [None, pa.py_buffer(raw)])
        found = answers(pa.table({"user": list(range(19)), "item": items}))
        most = decimal.Decimal((0, (9,) * digits, -places))
        assert {label: n for _, label, n in found if n > 1} == {most: 9, most.copy_negate(): 9}


def test_durations_are_missing_in_every_unit():
    spans = [np.timedelta64(5, unit) for unit in ("Y", "D", "s", "us", "ns", "as", "generic")]
    assert written([*spans, np.timedelta64("NaT")]).tolist() == [None] * 8


def test_a_list_names_what_stands_in_it():
    items = [1, 1.0, True, "1", b"1", 2.5, decimal.Decimal("2.50"), 2**70, 1e300, datetime.date(2024, 1, 1), -3, 10, 9]
    found = answers({"user": list(range(len(items))), "item": items, "other": items})
    assert [(kind, label, n) for kind, label, n in found if n > 1] == [("int", 1, 2), ("float", 2.5, 2)]
    assert {(kind, label) for kind, label, _ in found} == {
        ("int", 1), ("bool", True), ("str", "1"), ("bytes", b"1"), ("float", 2.5), ("int", 2**70), ("int", 10**300),
        ("date", datetime.date(2024, 1, 1)), ("int", -3), ("int", 10), ("int", 9),
    }  # fmt: skip
    numbers = [label for kind, label, _ in answers({"user": [1] * 12, "item": list(range(12)), "other": [0] * 12})]
    assert numbers == list(range(12))  # in the order of numbers, not of their texts


def test_people_are_told_apart_by_value_whatever_others_are():
    users = [2**63 + n for n in range(3)] + [float("nan"), None, 2**53, 2**53 + 1, "7", 7, 7.0]
    assert answers({"user": users, "item": ["a"] * len(users), "other": users}) == [("str", "a", 7)]


def test_what_a_list_holds_is_plain_text_for_a_filter_and_for_split():
    rows = {"user": [1, 2, 3, 4, 5], "item": ["a b", "a", 12, b"a", "\x01"], "n": [1, "x", 2.5, 10, None]}
    assert answers(rows, where="TRY_CAST(n AS DOUBLE) > 2") == [("bytes", b"a", 1), ("int", 12, 1)]
    assert answers(rows, where="n = 'x' OR item = '12'") == [("int", 12, 1), ("str", "a", 1)]
    assert answers(rows, split=" ") == [("str", "a", 2), ("str", "\x01", 1), ("str", "12", 1), ("str", "b", 1)]


# ---- columns of a declared type -----------------------------------------------------------------------------


def text_of(odd: list[object], sort: pa.DataType) -> pa.Array:
    """Text of which some is what it is, valid or not: nobody checks the memory of Arrow."""
    raw = [value.encode() if isinstance(value, str) else value for value in [*TEXT, *odd]]
    binary = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
    return pa.array(raw, binary[sort]).view(sort)


def ticks(odd: list[int], sort: pa.DataType) -> pa.Array:
    return pa.array([*DAYS, *odd], pa.int32() if sort.bit_width == 32 else pa.int64()).view(sort)


TEXT = [f"item {n % 5}" for n in range(40)]
DAYS = [n % 5 for n in range(40)]
END = 2**62
BAD = [b"\xff\xfe", b"ab\xe2\x82", b"\xed\xa0\x80", b"\x00", None]
FAR = [END, -END, 2**63 - 1, -(2**63), -(2**63) + 1, -5]
LONG = [
    *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")),
    *(pa.timestamp(unit, "UTC") for unit in ("s", "ms", "us", "ns")),
    pa.date64(), pa.time64("us"), pa.time64("ns"),
]  # fmt: skip
TYPED: dict[str, Callable[[], pa.Array]] = {
    **{str(sort): lambda sort=sort: text_of(BAD, sort) for sort in (pa.string(), pa.large_string(), pa.string_view())},
    "dictionary": lambda: text_of(BAD, pa.string()).dictionary_encode(),
    **{str(sort): lambda sort=sort: ticks(FAR, sort) for sort in LONG},
    **{
        str(sort): lambda sort=sort: ticks([2**31 - 1, -(2**31), -5], sort)
        for sort in (pa.date32(), pa.time32("s"), pa.time32("ms"))
    },
    "half floats": lambda: pa.array(np.array([*DAYS, np.nan], np.float16)),
    "floats": lambda: pa.array(np.array([*DAYS, np.nan, -np.inf], np.float32)),
    "decimals": lambda: pa.array([*map(decimal.Decimal, DAYS), None], pa.decimal128(38, 2)),
    "runs": lambda: pa.RunEndEncodedArray.from_arrays(pa.array([40, 41], pa.int32()), pa.array(["item 0", None])),
}


class Streamed:
    """An object that gives its rows as a stream of Arrow data, in batches."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        batches = self.table.to_batches(max_chunksize=7)
        return pa.RecordBatchReader.from_batches(self.table.schema, batches).__arrow_c_stream__(requested_schema)


def in_pandas(table: pa.Table) -> pd.DataFrame:
    arrays = pd.arrays.ArrowExtensionArray
    return pd.DataFrame({name: arrays(table.column(name)) for name in table.column_names})


def in_polars(table: pa.Table) -> pl.DataFrame | None:
    """As polars takes it over, where it has the type."""
    try:
        return pl.DataFrame(table)
    except BaseException:  # a panic of polars is none of Exception
        return None


HOLDERS: dict[str, Callable[[pa.Table], object]] = {
    "Table": lambda table: table, "stream": Streamed, "pandas": in_pandas, "polars": in_polars,
}  # fmt: skip


def as_item(with_it: object, without: object) -> None:
    found = answers(with_it)
    others(found, answers(without))
    with DuckDBEngine(with_it, user="user", item="item", key=KEY) as engine:
        assert [(type(label).__name__, label, n) for label, n in pairs(engine.grouped())] == found
        assert engine.contributions().size == len(found)
        assert len(engine.pairs().lengths(5)[0]) <= 5


def in_a_filter(with_it: object, without: object) -> None:
    where = "item IS NOT NULL OR other <> 'x'"
    others(*(answers(one, item="other", where=where) for one in (with_it, without)))


def as_user(with_it: object, _: object) -> None:
    assert {label for _, label, _ in answers(with_it, user="item", item="other")} == set(TEXT)


ROLES = {"item": as_item, "filter": in_a_filter, "user": as_user}


@pytest.mark.parametrize(("holder", "name", "role"), covering(list(HOLDERS), list(TYPED), list(ROLES)))
def test_an_odd_value_of_a_declared_type_is_its_own_users_affair(holder, name, role):
    array = TYPED[name]()
    odd = len(array) - len(USERS)
    other = pa.array([*TEXT, *["item 0"] * odd])
    table = pa.table({"user": pa.array([*USERS, *[ODD] * odd]), "item": array, "other": other})
    with_it, without = HOLDERS[holder](table), HOLDERS[holder](table.slice(0, len(USERS)))
    if with_it is None:
        pytest.skip("polars does not have this type")
    ROLES[role](with_it, without)


def test_objects_behind_narwhals_are_read_one_by_one():
    """Dask and Modin, whose way this is, are not here; PyArrow would guess a type from all rows, and fail at some."""
    for odd in VALUES.values():
        through = Narwhals(narwhals.from_native(frame([*USERS, ODD], [*DAYS, odd], [*DAYS, odd])))
        found = through.narrow([0, 1], empty=False)
        assert found.loose == {"c0", "c1"} == through.narrow([0, 1], empty=True).loose
        plain = Arrays({"user": USERS, "item": DAYS}).narrow([0, 1], empty=False)
        assert list(found.rows["c1"])[:40] == list(plain.rows["c1"])


# ---- twins: readers that are wrong on purpose, which the rules above must refuse ------------------------------


def as_numpy_has_it(values: Sequence[object], *, empty: bool) -> ArrayColumn:
    """A type for all of a list, taken from all of its values."""
    array = np.asarray(values)
    array = array if array.dtype.kind in "biuf" else array.astype(str).astype(object)
    return ArrayColumn(array[:0] if empty else array)


@pytest.mark.parametrize("odd", [2.5, "x"])
def test_a_type_taken_from_all_values_is_found_out(monkeypatch, odd):
    monkeypatch.setattr(frames, "column_of", as_numpy_has_it)
    expected = answers(lists(USERS, DAYS, DAYS))
    with pytest.raises(AssertionError):
        others(answers(lists([*USERS, ODD], [*DAYS, odd], [*DAYS, odd])), expected)
    with pytest.raises(AssertionError):  # whole numbers beyond 2^53 become floats, and people become one
        others(answers(lists([*USERS, float("nan")], [*DAYS, 1], [*DAYS, 1])), expected)


@pytest.mark.parametrize("name", ["string", "timestamp[s]", "time64[us]"])
def test_values_that_nobody_checked_are_found_out(monkeypatch, name):
    monkeypatch.setattr(frame_scan, "sound_form", lambda expression, _type: expression)
    monkeypatch.setattr(duckdb_keys, "nameable", present)
    with pytest.raises((AssertionError, DataError)):
        test_an_odd_value_of_a_declared_type_is_its_own_users_affair("Table", name, "item")
