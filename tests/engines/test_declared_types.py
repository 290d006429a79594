"""Columns of a declared type: which are read, which are refused from the schema; and that no value decides."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpselect as dps
from dpselect.engines.sources.columns import to_readable
from dpselect.engines.values import MAX_VALUE_BYTES
from dpselect.errors import ParameterError, SourceError
from tests.engines.opened import DuckDBEngine
from tests.engines.test_types import top

DAY = datetime.datetime(2024, 1, 1)
ZONED = DAY.replace(tzinfo=datetime.UTC)


def categories(values: list[object], dtype: object = object) -> pd.Categorical:
    return pd.Categorical.from_codes([0, -1, 1], categories=pd.Index(values, dtype=dtype))


def stamps(unit: str) -> np.ndarray:
    return np.array([0, 2**61, -(2**61)], np.int64).view(f"M8[{unit}]")


PANDAS: dict[str, tuple[object, list[object]]] = {
    "str": (pd.array(["a", None, "b"], dtype="str"), ["a", "b"]),
    "str of Python": (pd.array(["a", "\ud800", "b"], dtype=pd.StringDtype("python", na_value=np.nan)), ["a", "b"]),
    "string": (pd.array(["a", None, "b"], dtype="string[pyarrow]"), ["a", "b"]),
    "categories": (categories(["a", "b"]), ["a", "b"]),
    "categories, half a pair": (categories(["a", "\ud800"]), ["a"]),
    "mixed categories": (categories(["a", 1]), [1, "a"]),
    "whole categories": (categories([7, 8], np.int64), [7, 8]),
    "moments as categories": (categories([DAY, DAY.replace(year=2025)], "M8[us]"), [DAY, DAY.replace(year=2025)]),
    **{name: (pd.array([1, None, 2], dtype=name), [1, 2]) for name in ("Int64", "Int32", "UInt8")},
    "boolean": (pd.array([True, None, False], dtype="boolean"), [False, True]),
    "sparse": (pd.arrays.SparseArray([1.5, 0, 0]), [0.0, 1.5]),
    "half floats": (np.array([1.5, np.nan, 2], np.float16), [1.5, 2.0]),
    "long floats": (np.array([1.5, np.nan, 2], np.longdouble), [1.5, 2.0]),
    "other byte order": (np.array([1, 2, 2], ">i4"), [2, 1]),
    **{f"far {unit}": (stamps(unit), [datetime.datetime(1970, 1, 1)]) for unit in ("s", "ms")},
    "far s, zoned": (
        pd.arrays.DatetimeArray._simple_new(stamps("s"), dtype=pd.DatetimeTZDtype("s", "UTC")),
        [datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)],
    ),
    "Arrow half floats": (pd.array([1.5, None, 2], dtype=pd.ArrowDtype(pa.float16())), [1.5, 2.0]),
}


@pytest.mark.parametrize(("values", "labels"), PANDAS.values(), ids=list(PANDAS))
def test_pandas(values, labels):
    frame = pd.DataFrame({"user": range(3), "item": pd.Series(values)})
    assert sorted((label for label, _ in top(frame)), key=repr) == sorted(labels, key=repr)


@pytest.mark.parametrize("values", [["a", "b", "b"], ["a", 1, "b"]], ids=["texts alone", "a number among texts"])
def test_a_sparse_column_of_objects_declares_no_type(values):
    """pandas looked at all values for a type where a column became dense: one number made objects of texts."""
    sparse = pd.arrays.SparseArray(values, dtype=pd.SparseDtype(object))
    data = dps.Dataset(pd.DataFrame({"user": range(3), "item": sparse}), user="user", item="item")
    assert data.quantile(0.5, bounds=(0, 10), step=1, epsilon=50).labels  # a text is refused


def test_objects_of_polars_are_read_one_by_one():
    values = [1, 1.0, "1", None, b"x", object(), True]
    frame = pl.DataFrame({"user": range(7), "item": pl.Series(values, dtype=pl.Object)})
    for rows in (frame, frame.lazy()):
        assert sorted(top(rows), key=repr) == sorted([(1, 2), ("1", 1), (b"x", 1), (True, 1)], key=repr)


def test_dictionaries_of_several_pieces_are_never_joined():
    """Together they may have more values than one index has places for: a row would make the question fail."""
    pieces = [pa.array([f"{one}{n}" for n in range(100)]).dictionary_encode() for one in "abc"]
    small = [pa.DictionaryArray.from_arrays(one.indices.cast(pa.int8()), one.dictionary) for one in pieces]
    with pytest.raises(pa.ArrowException):
        pa.chunked_array(small).combine_chunks()
    column = pd.arrays.ArrowExtensionArray(pa.chunked_array(small))
    with DuckDBEngine(pd.DataFrame({"user": range(300), "item": column}), user="user", item="item", key=b"k") as engine:
        assert list(engine.top(1000).counts) == [1] * 300


def _refused_pandas(values: object) -> Callable[[], object]:
    return lambda: pd.DataFrame({"user": range(2), "item": values})


def _refused_arrow(sort: pa.DataType) -> Callable[[], object]:
    return lambda: pa.table({"user": pa.array([1], pa.int64()), "item": pa.nulls(1, sort)})


REFUSED: dict[str, Callable[[], object]] = {
    "period": _refused_pandas(pd.period_range("2024-01", periods=2, freq="M")),
    "interval": _refused_pandas(pd.interval_range(0, 2)),
    "complex": _refused_pandas(np.array([1j, 2])),
    "duration of pandas": _refused_pandas(np.array([1, 2], "m8[s]")),
    "structured array": lambda: {"user": [1, 2], "item": np.zeros(2, "i4,f4")},
    "complex array": lambda: {"user": [1, 2], "item": np.zeros(2, complex)},
    **{
        str(sort): _refused_arrow(sort)
        for sort in (
            pa.decimal256(50, 2), pa.duration("s"), pa.list_(pa.int64()), pa.struct({"CANARY": pa.int64()}),
            pa.map_(pa.string(), pa.int64()), pa.month_day_nano_interval(), pa.decimal128(5, -2),
        )
    },
    **{
        f"polars {sort}": lambda sort=sort: pl.DataFrame({"user": [1], "item": pl.Series([None], dtype=sort)})
        for sort in (pl.Duration("ms"), pl.List(pl.Int8), pl.Struct({"CANARY": pl.Int8}), pl.Int128)
    },
}  # fmt: skip


@pytest.mark.parametrize("make", REFUSED.values(), ids=list(REFUSED))
def test_refused_from_the_schema(make):
    with pytest.raises(
        SourceError, match=r"^source must have columns of types that can be .* 'item' of type"
    ) as caught:
        dps.Dataset(make(), user="user", item="item").engine()
    assert "CANARY" not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_column_is_text_numbers_or_what_it_is_whatever_its_values():
    """An array says its type; empty, full of nulls or not, a filter and a domain mean the same."""
    for values in ([], [1], [1, 2]):
        whole = np.array(values, dtype=np.int64)
        data = dps.Dataset({"user": whole, "item": whole}, user="user", item="item", where="item > 1")
        assert data.choose(domain=range(3), epsilon=1).labels[0] in range(3)


def test_nan_of_a_small_float_in_a_file_is_missing(tmp_path):
    column = pa.array(np.array([1.5, np.nan], np.float16))
    pq.write_table(pa.table({"user": [1, 2], "item": column}), tmp_path / "rows.parquet")
    assert top(tmp_path / "rows.parquet") == [(1.5, 1)]


def test_what_looks_right_and_is_wrong_is_refused_from_the_schema(tmp_path):
    table = pa.table({"user": [1, 2], "item": ["7", "x"]})
    for source in (table, pl.DataFrame(table), table.to_pandas().astype("str")):
        data = dps.Dataset(source, user="user", item="item")
        with pytest.raises(ParameterError, match="types must declare column 'item', which is text"):
            data.quantile(0.5, bounds=(0, 10), epsilon=1)
        with pytest.raises(ParameterError, match="types must declare column 'item'"):
            data.choose(domain=[7, 8], epsilon=1)
        declared = dps.Dataset(source, user="user", item="item", types={"item": "VARCHAR"})
        with pytest.raises(
            ParameterError, match="types must declare column 'item', which is text, to be used as whole"
        ):
            declared.choose(domain=[7, 8], epsilon=1)
    (tmp_path / "rows.csv").write_text("user,item\n1,7\n2,x\n")
    for source, types in ((tmp_path / "rows.csv", {"item": "BIGINT"}), ({"user": ["1", "2"], "item": [7, "x"]}, None)):
        data = dps.Dataset(source, user="user", item="item", types=types)
        assert data.quantile(0.5, bounds=(0, 10), step=1, epsilon=50).labels == [7]
        assert data.choose(domain=[7, 8], epsilon=50).labels == [7]


DOMAINS = [[1, "1", 2.5, True, b"x", None], range(3), dps.Column({"d": [1, "1", 2.5]}, "d")]


@pytest.mark.parametrize("domain", DOMAINS, ids=["list", "range", "column"])
def test_a_domain_of_a_list_holds_values_as_a_list_does(domain):
    rows = {"user": list(range(9)), "item": [1] * 7 + ["1", 2.5]}
    data = dps.Dataset(rows, user="user", item="item")
    assert repr(data.choose(domain=domain, epsilon=100).labels) == "[1]"
    with pytest.raises(ParameterError, match="domain must hold values that a column can hold"):
        data.choose(domain=[1, float("nan")], epsilon=1)
    with pytest.raises(ParameterError, match="or a value over 1 MiB"):
        data.choose(domain=[1, "x" * (MAX_VALUE_BYTES + 1)], epsilon=1)


def test_a_domain_from_a_list_fits_a_column_of_a_type():
    data = dps.Dataset({"user": np.arange(9), "item": np.full(9, 5)}, user="user", item="item")
    assert data.choose(domain=dps.Column({"d": [4, 5, 6]}, "d"), epsilon=100).labels == [5]
    with pytest.raises(ParameterError, match="domain must hold values"):
        data.choose(domain=dps.Column({"d": [4, "x"]}, "d"), epsilon=100)


class OnlyAnArray:
    """It says neither its type nor its values: NumPy would choose one type for all of them."""

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return np.asarray([2**60, 2**60 + 1, float("nan")])


def test_a_column_that_only_numpy_could_type_is_refused():
    with pytest.raises(dps.DataError, match="a column must be an array or a list, not a OnlyAnArray"):
        dps.Dataset({"user": OnlyAnArray(), "item": ["a", "b", "c"]}, user="user", item="item").engine()


DECIMALS = [("decimal32", 4, 5, 2), ("decimal64", 8, 9, 0), ("decimal128", 16, 5, 2), ("decimal128", 16, 38, 38)]
DECIMALS += [("decimal256", 32, 38, 0)]


@pytest.mark.parametrize(("sort", "width", "digits", "scale"), DECIMALS)
def test_decimals_of_more_digits_than_their_type_are_missing(sort, width, digits, scale):
    """Arrow does not look at them; an engine would take some of their bits for another number."""
    end, far = 10**digits, 2 ** (8 * width - 1)
    whole = [0, end - 1, 1 - end, *(one for one in (end, -end, far - 1, -far) if -far <= one < far)]
    bits = b"".join(one.to_bytes(width, "little", signed=True) for one in whole)
    some = pa.Array.from_buffers(getattr(pa, sort)(digits, scale), len(whole), [None, pa.py_buffer(bits)])
    for given in (some, some[2:]):
        read = to_readable(given, "x")
        read.validate(full=True)
        assert read.type == (given.type if width < 32 else pa.decimal128(digits, scale))  # DuckDB reads no more bits
    assert [one is not None for one in to_readable(some, "x").to_pylist()] == [abs(one) < end for one in whole]
    assert to_readable(some[:3], "x").to_pylist() == some[:3].to_pylist()


def test_a_user_of_a_decimal_of_too_many_digits_changes_nobody():
    bits = b"".join(one.to_bytes(16, "little", signed=True) for one in (700, 700, 700, 10**20 + 700))
    price = pa.Array.from_buffers(pa.decimal128(5, 2), 4, [None, pa.py_buffer(bits)])
    assert top(pa.table({"user": ["a", "b", "c", "d"], "item": price})) == [(Decimal("7.00"), 3)]


@pytest.mark.parametrize(("unit", "second"), [("s", 1), ("ms", 1000)])
def test_moments_of_the_first_and_the_last_second_are_read(unit, second):
    first, last = -62_135_596_800, 253_402_300_799
    ticks = [(first - 1) * second, first * second, last * second, (last + 1) * second]
    read = to_readable(pa.array(ticks).cast(pa.timestamp(unit, "UTC")), "x")
    assert read.cast(pa.int64()).to_pylist() == [None, first * 10**6, last * 10**6, None]
