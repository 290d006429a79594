#!/usr/bin/env bash
# What one would guess: a time of 96 bits in Parquet, as Impala, Hive and Spark before 3.0 write every moment,
#     is the same in each reader, as in DuckDB and polars; at worst it is missing or an error.
# What happens: PyArrow reads these times in nanoseconds, and what is before 1677 or after 2262 wraps: the
#     last day of 9999 ("no end") is one of March 1816. coerce_int96_timestamp_unit="us" reads it right.
# Version: pyarrow 26.0.1, pandas 3.1.1 (duckdb 2.0.1, polars 2.1.0).
# Why it matters: in a filter or a period, people without an end are those of two centuries ago, without a
#     word. In a file of newer writers the same moment is read right.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    pyarrow==26.0.1 pandas==3.1.1 duckdb==2.0.1 polars==2.1.0
cd "$here"

venv/bin/python - <<'EOF'
from datetime import datetime

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

moments = [datetime(2026, 10, 1), datetime(9999, 12, 31)]
table = pa.table({"until": pa.array(moments, pa.timestamp("us"))})
pq.write_table(table, "rows.parquet", use_deprecated_int96_timestamps=True)
found = {
    "DuckDB": [until.year for (until,) in duckdb.sql("FROM 'rows.parquet'").fetchall()],
    "polars": pl.read_parquet("rows.parquet")["until"].dt.year().to_list(),
    "PyArrow": [until.year for until in pq.read_table("rows.parquet")["until"].to_pandas()],
    "pandas": pd.read_parquet("rows.parquet")["until"].dt.year.to_list(),
    "PyArrow in us": [
        until.year for until in pq.read_table("rows.parquet", coerce_int96_timestamp_unit="us")["until"].to_pylist()
    ],
}
for reader, years in found.items():
    print(f"{reader}: {years}")
assert found["DuckDB"] == found["polars"] == found["PyArrow in us"] == [2026, 9999]
assert found["PyArrow"] == found["pandas"] == [2026, 1816]
EOF
