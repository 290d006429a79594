"""Types without an exact form are refused by name, with a line that works; Arrow's encodings are read."""

from __future__ import annotations

import datetime
import re
import uuid
from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpselect as dps
from dpselect.engines.sources.columns import to_readable
from dpselect.errors import SourceError
from tests.engines.opened import DuckDBEngine
from tests.engines.test_conformance import pairs
from tests.engines.test_types import top

DAY = datetime.datetime(2024, 1, 1)


class Own(pa.ExtensionType):
    """A type that nobody else knows."""

    def __init__(self) -> None:
        super().__init__(pa.int64(), "somebody.own")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""


def _opaque(storage: pa.Array, name: str) -> pa.Array:
    """What ADBC makes of a type of a server that Arrow does not have."""
    return pa.ExtensionArray.from_storage(pa.opaque(storage.type, name, "PostgreSQL"), storage)


NUMERIC = _opaque(pa.array(["1.0", "1.00", "1.00"]), "numeric")
EXTENSIONS = {
    "NUMERIC of a server": (NUMERIC, "arrow.opaque"),
    "inet of a server": (_opaque(pa.array([b"\2 \0\4"] * 3), "inet"), "arrow.opaque"),
    "somebody's own": (pa.ExtensionArray.from_storage(Own(), pa.array([7, 7, None])), "somebody.own"),
    "a dictionary of it": (pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), NUMERIC), "arrow.opaque"),
    "runs of it": (pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3], pa.int32()), NUMERIC), "arrow.opaque"),
    "a tensor": (
        pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.int8(), [1]), pa.nulls(3, pa.list_(pa.int8(), 1))),
        "arrow.fixed_shape_tensor",
    ),
}


@pytest.mark.parametrize(("column", "name"), EXTENSIONS.values(), ids=list(EXTENSIONS))
def test_a_type_whose_meaning_is_unknown_is_refused(column, name):
    """Its storage has 1.0 and 1.00 as two values, of which a server counts one."""
    rows = pa.table({"who": ["a", "b", "c"], "what": column})
    frames = (
        [rows] if "runs" in repr(column.type) else [rows, pd.DataFrame({"who": [1, 2, 3], "what": _in_pandas(column)})]
    )
    for frame in frames:
        for user, item in (("who", "what"), ("what", "who")):
            with pytest.raises(SourceError, match=f"'what' of type {name}\nhint: cast it"):
                dps.Dataset(frame, user=user, item=item).engine()


def _in_pandas(column: pa.Array) -> object:
    return pd.arrays.ArrowExtensionArray(pa.chunked_array([column]))


def test_a_type_that_pyarrow_does_not_know_is_refused_by_its_name():
    """It has such a column as what it is stored in, and the name beside it."""
    named = pa.field("item", pa.binary(), metadata={"ARROW:extension:name": "geoarrow.wkb"})
    rows = pa.Table.from_arrays([pa.array(["a"]), pa.array([b"x"])], schema=pa.schema([("user", pa.string()), named]))
    with pytest.raises(SourceError, match=r"'item' of type geoarrow\.wkb"):
        dps.Dataset(rows, user="user", item="item").engine()


def test_known_extension_types():
    stored = {pa.uuid(): [b"0" * 16, b"1" * 16], pa.bool8(): [0, 2], pa.json_(): ["1", "[]"]}
    labels = [[str(uuid.UUID(bytes=value)) for value in stored[pa.uuid()]], [False, True], ["1", "[]"]]
    for (sort, values), right in zip(stored.items(), labels, strict=True):
        one = pa.ExtensionArray.from_storage(sort, pa.array([values[0], values[1], values[1]], sort.storage_type))
        for column in (one, *_encoded(one)):
            found = top(pa.table({"user": ["a", "b", "c"], "item": column}))
            assert found == [(right[1], 2), (right[0], 1)]


def _encoded(values: pa.Array) -> list[pa.Array]:
    """The same values as a dictionary, as runs, and as a slice of longer runs."""
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3], pa.int32()), values)
    longer = pa.RunEndEncodedArray.from_arrays(pa.array([4, 5, 9], pa.int64()), values)
    return [pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), values), runs, longer[3:6]]


RUNS: dict[str, tuple[pa.Array, list[object]]] = {
    "text": (pa.array(["a", "b", "b"]), ["b", "a"]),
    "text view": (pa.array(["a", "b", "b"], pa.string_view()), ["b", "a"]),
    "bytes view": (pa.array([b"a", b"b", b"b"], pa.binary_view()), [b"b", b"a"]),
    "dictionary": (pa.array(["a", "b", "b"]).dictionary_encode(), ["b", "a"]),
    "dictionary of bytes": (pa.array([b"a", b"b", b"b"]).dictionary_encode(), [b"b", b"a"]),
    "half floats": (pa.array(np.array([1.5, 2, 2], np.float16)), [2.0, 1.5]),
    "decimal": (pa.array([Decimal("1.5"), Decimal(2), Decimal(2)]), [Decimal("2.0"), Decimal("1.5")]),
    "decimal256": (
        pa.array([Decimal("1.5"), Decimal(2), Decimal(2)], pa.decimal256(38, 1)),
        [Decimal(2), Decimal("1.5")],
    ),
    "null among them": (pa.array(["a", None, "b"]), ["a", "b"]),
    "moments": (pa.array([DAY, None, DAY], pa.timestamp("s")), [DAY]),
}


@pytest.mark.parametrize(("values", "labels"), RUNS.values(), ids=list(RUNS))
def test_runs_and_dictionaries_of_every_type(values, labels):
    for column in _encoded(values):
        found = [label for label, _ in top(pa.table({"user": ["a", "b", "c"], "item": column}))]
        assert found == labels


def test_a_row_of_a_run_has_its_value():
    """Slices begin and end inside of a run."""
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 5, 6], pa.int16()), pa.array(["a", None, "b"]))
    whole = ["a", "a", None, None, None, "b"]
    for start in range(7):
        for stop in range(start, 7):
            assert to_readable(runs[start:stop], "x").to_pylist() == whole[start:stop]


def _of(library: object, column: object) -> object:
    """A frame of the library with a column whose name is no identifier."""
    made = pa.table if library is pa else library.DataFrame  # type: ignore[attr-defined]
    return made({"u": [1, 2], "it em": column})


LISTS = [[1, 2], [2]]
WAIT = pa.array([2, None], pa.duration("s"))
WIDE = pa.array([Decimal("1.50"), None], pa.decimal256(50, 2))
PAIRS = pl.Series([[1, 2], [2, 2]], dtype=pl.Array(pl.Int8, 2))
HINTS: dict[str, tuple[Callable[[], object], list[object]]] = {
    "duration of polars": (lambda: _of(pl, [datetime.timedelta(seconds=1.5), None]), [1.5]),
    "list of polars": (lambda: _of(pl, LISTS), [2, 1]),
    "array of polars": (lambda: _of(pl, PAIRS), [2, 1]),
    "Int128 of polars": (lambda: _of(pl, pl.Series([2**100, None], dtype=pl.Int128)), [str(2**100)]),
    "UInt128 of polars": (lambda: _of(pl, pl.Series([2**127, 1], dtype=pl.UInt128)), ["1", str(2**127)]),
    "duration of pandas": (lambda: _of(pd, pd.to_timedelta([1.5, None], unit="s")), [1.5]),
    "duration of Arrow in pandas": (lambda: _of(pd, _in_pandas(WAIT)), [2.0]),
    "list of Arrow in pandas": (lambda: _of(pd, _in_pandas(pa.array(LISTS))), [2, 1]),
    "period of pandas": (lambda: _of(pd, pd.PeriodIndex(["2024-01", None], freq="M")), [DAY]),
    "interval of pandas": (lambda: _of(pd, pd.cut(pd.Series([1, None]), [0, 2])), ["(0, 2]"]),
    "complex of pandas": (lambda: _of(pd, np.array([1j, 2])), ["(2+0j)", "1j"]),
    "decimal256 in pandas": (lambda: _of(pd, _in_pandas(WIDE)), ["1.50"]),
    "duration of Arrow": (lambda: _of(pa, WAIT), [2]),
    "list of Arrow": (lambda: _of(pa, LISTS), [2, 1]),
    "decimal256": (lambda: _of(pa, WIDE), ["1.50"]),
    "interval of Arrow": (lambda: _of(pa, pa.array([pa.MonthDayNano([1, 2, 3]), None])), ["(1, 2, 3)"]),
    "opaque": (lambda: _of(pa, _opaque(pa.array(["x", None]), "inet")), ["x"]),
}


@pytest.mark.parametrize("name", HINTS)
def test_the_line_of_a_hint_makes_a_column_that_can_be_read(name):
    make, labels = HINTS[name]
    rows = make()
    with pytest.raises(SourceError) as caught:
        dps.Dataset(rows, user="u", item="it em").engine()
    line = str(caught.value.hint).rpartition(": ")[2]
    names = {"frame": rows, "table": rows, "pl": pl, "pa": pa}
    made = re.match("frame.* = ", line) is not None
    exec(line if made else f"frame = {line}", names)
    with DuckDBEngine(names["frame"], user="u", item="it em", key=b"k") as engine:
        assert [label for label, _ in pairs(engine.top(9))] == labels


def test_a_struct_is_read_by_its_fields():
    rows = pa.table({"u": [1, 2], "s": [{"a": 1}, {"a": 1}]})
    for frame, line, item in (
        (rows, "table.flatten()", "s.a"),
        (pl.DataFrame(rows), "frame.unnest('s')", "a"),
        (
            pd.DataFrame({"u": [1, 2], "s": _in_pandas(rows["s"].combine_chunks())}),
            "frame.join(frame['s'].struct.explode())",
            "a",
        ),
    ):
        with pytest.raises(SourceError, match=re.escape(line)):
            dps.Dataset(frame, user="u", item="s").engine()
        flat = eval(line, {"frame": frame, "table": frame})
        with DuckDBEngine(flat, user="u", item=item, key=b"k") as engine:
            assert pairs(engine.top(9)) == [(1, 2)]


def test_arrays_of_a_dict_are_refused_by_name():
    for values, line in (
        (np.array([1, 2], "m8[ms]"), "values / np.timedelta64(1, 's')"),
        (np.array([1j, 2]), "values.real"),
    ):
        with pytest.raises(
            SourceError, match=f"'wait' of type {re.escape(values.dtype.name)}\nhint: .*{re.escape(line)}"
        ):
            dps.Dataset({"user": [1, 2], "wait": values}, user="user", item="wait").engine()
    assert top({"user": [1, 2], "item": np.array([1500, 2000], "m8[ms]") / np.timedelta64(1, "s")}) == [
        (1.5, 1),
        (2.0, 1),
    ]
