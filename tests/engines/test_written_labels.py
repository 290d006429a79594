"""Labels of a paid answer in files and frames: each can be written exactly, and different ones stay different."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpselect as dps

NOON = datetime.datetime(2024, 1, 1, 12)
EXTREME = [2**53 + 1, 0.5, Decimal("0.1000000000000000000001")]
LABELS: dict[str, tuple[list[object], str, list[object]]] = {
    "moments with and without a zone": (
        [NOON, NOON.replace(tzinfo=datetime.UTC)],
        "string",
        ["2024-01-01T12:00:00", "2024-01-01T12:00:00+00:00"],
    ),
    "moments of zones": (
        [NOON.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=9))), NOON.replace(tzinfo=datetime.UTC)],
        "timestamp[us, tz=UTC]",
        [NOON.replace(hour=3, tzinfo=datetime.UTC), NOON.replace(tzinfo=datetime.UTC)],
    ),
    "numbers of all kinds": (EXTREME, "string", [str(value) for value in EXTREME]),
    "numbers beyond 64 bits": ([2**64 - 1, 2**70 + 1], "string", [str(2**64 - 1), str(2**70 + 1)]),
    "decimals of 40 digits together": (
        [Decimal("1000000000000000000.1000000000000000000001"), Decimal("0.1000000000000000000001")],
        "string",
        ["1000000000000000000.1000000000000000000001", "0.1000000000000000000001"],
    ),
    "a number and its text": ([1, "1"], "string", ["1", "'1'"]),
    "bytes and their digits": ([b"\xff", "ff"], "string", ["b'\\xff'", "'ff'"]),
    "infinities beside numbers": ([Decimal("Infinity"), float("-inf"), 0.1], "double", [0.1]),
    "an infinity beside whole numbers": ([float("inf"), 7, Decimal("NaN")], "int64", [7]),
}


def asked(items: list[object], frame: object) -> dps.Release:
    rows = {"user": list(range(100 * len(items))), "item": items * 100}
    return dps.Dataset(frame(rows), user="user", item="item").top_k(9, epsilon=100, delta="1e-6")  # type: ignore[operator]


def in_pandas(rows: dict[str, list[object]]) -> pd.DataFrame:
    return pd.DataFrame({"user": rows["user"], "item": pd.Series(rows["item"], dtype=object)})


@pytest.mark.parametrize("frame", [dict, in_pandas], ids=["lists", "object column"])
@pytest.mark.parametrize("name", LABELS)
def test_labels_of_columns_without_a_type(name: str, frame: object, tmp_path: Path) -> None:
    items, arrow_type, right = LABELS[name]
    release = asked(items, frame)
    release.to_parquet(tmp_path / "top.parquet")
    written = pq.read_table(tmp_path / "top.parquet")
    assert str(written.schema.field("item").type) == arrow_type
    for labels in (written.column("item"), release.to_arrow().column("item"), release.to_polars()["item"]):
        assert sorted(map(str, labels.to_pylist() if isinstance(labels, pa.ChunkedArray) else labels)) == sorted(
            map(str, right)
        )
    assert len(set(release.to_pandas()["item"])) == len(right)


def test_decimals_of_one_column_keep_all_digits(tmp_path: Path) -> None:
    """Beside the infinity of another row they were written with 24 bits."""
    numbers = pl.Series([Decimal("16777217.5"), Decimal("1.25")], dtype=pl.Decimal(38, 20))
    release = dps.Dataset(
        pl.DataFrame({"user": range(200), "item": pl.concat([numbers] * 100)}), user="user", item="item"
    ).top_k(2, epsilon=100, delta="1e-6")
    release.to_parquet(tmp_path / "top.parquet")
    assert set(pq.read_table(tmp_path / "top.parquet").column("item").to_pylist()) == set(numbers)
