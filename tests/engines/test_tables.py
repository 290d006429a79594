"""Tables to files: arrays of an example, lists of a result."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from dpselect._ground.domain import UNSEEN
from dpselect.engines.duckdb.tables import write_parquet, write_table
from dpselect.errors import OutputError


def test_arrays(tmp_path: Path):
    path = tmp_path / "it's.parquet"
    columns = {
        "user": np.arange(3),
        "na me": np.array(["b", "\U0001f600", ""]),
        'qu"ote': (np.array([1, 0, 1], dtype=np.uint8), ["zero", "one"]),
        "minutes": np.array([1.5, 2.5, np.nan], dtype=np.float32),
        "on": np.array([True, False, True]),
        "objects": np.array(["a", None, "b"], dtype=object),
        "day": np.array(["2024-01-01", "2024-01-02", "NaT"], "M8[s]"),
    }
    write_parquet(columns, path)
    table = pq.read_table(path)
    assert table.column_names == list(columns)
    assert table.column("na me").to_pylist() == ["b", "\U0001f600", ""]
    assert table.column('qu"ote').to_pylist() == ["one", "zero", "one"]
    assert table.column("objects").to_pylist() == ["a", None, "b"]
    assert table.column("day").to_pylist()[:2] == [datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 2)]
    assert str(table.schema.field("user").type) == "int64"
    assert str(table.schema.field("minutes").type) == "float"


LISTS = {
    "text": (["a", None, "b"], "string"),
    "integers": ([1, 2**40, None], "int64"),
    "huge integers": ([1, 2**70 + 1, 3], "string"),
    "unsigned": ([1, 2**64 - 1, None], "string"),
    "both, beyond a double": ([0.5, 2**53 + 1, None], "string"),
    "both, a large one": ([0.5, 2**53, None], "double"),
    "both, beyond all doubles": ([0.5, 10**400, None], "string"),
    "small integers": ([1, 2, 3], "int64"),
    "floats": ([1.5, None, 2.0], "double"),
    "both": ([1, 1.5, None], "double"),
    "bools": ([True, False, None], "bool"),
    "dates": ([datetime.date(2024, 1, 1), None, None], "date32[day]"),
    "moments": ([datetime.datetime(2024, 1, 1, 5), None, None], "timestamp[us]"),
    "bytes": ([b"\xff", b"", None], "binary"),
    "decimals": ([decimal.Decimal("1.5"), None, decimal.Decimal(2)], "decimal128(2, 1)"),
    "decimals of 38 digits": ([decimal.Decimal("1e17"), decimal.Decimal("1e-20"), None], "decimal128(38, 20)"),
    "decimals of more": ([decimal.Decimal("1e18"), decimal.Decimal("1e-20"), None], "string"),
    "an infinite decimal": ([decimal.Decimal("Infinity"), decimal.Decimal("16777217.5"), None], "string"),
    "moments with and without a zone": (
        [datetime.datetime(2024, 1, 1, 5), datetime.datetime(2024, 1, 1, 5, tzinfo=datetime.UTC), None],
        "string",
    ),
    "nothing": ([None, None, None], "string"),
    "mixed": ([1, "a", None], "string"),
    "unseen": (["a", UNSEEN, None], "string"),
}


@pytest.mark.parametrize(("values", "arrow_type"), LISTS.values(), ids=list(LISTS))
def test_lists(tmp_path: Path, values, arrow_type):
    write_table({"rank": [1, 2, 3], "item": values}, tmp_path / "x.parquet")
    table = pq.read_table(tmp_path / "x.parquet")
    assert str(table.schema.field("item").type) == arrow_type
    expected = [None if v is None else str(v) for v in values] if arrow_type == "string" else values
    assert table.column("item").to_pylist() == expected


def test_no_rows(tmp_path: Path):
    write_table({"rank": [], "item": []}, tmp_path / "x.parquet")
    assert pq.read_table(tmp_path / "x.parquet").num_rows == 0
    assert pq.read_table(tmp_path / "x.parquet").column_names == ["rank", "item"]


def test_where_nothing_can_be_written(tmp_path: Path):
    for write in (lambda path: write_table({"a": [1]}, path), lambda path: write_parquet({"a": np.array([1])}, path)):
        with pytest.raises(OutputError, match="cannot be written") as caught:
            write(tmp_path / "nowhere" / "x.parquet")
        assert caught.value.__context__ is None
