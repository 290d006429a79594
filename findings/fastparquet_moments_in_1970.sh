#!/usr/bin/env bash
# What one would guess: a frame of moments that fastparquet writes holds the same moments when it is read.
# What happens: times="int96", for Spark and Impala, takes pandas' whole numbers for nanoseconds. pandas 3 counts
#     in microseconds unless it is told otherwise: 2026 becomes the 21st of January 1970, without a word.
# Version: fastparquet 2026.9.0 with pandas 3.1.1 (duckdb 2.0.1).
# Why it matters: in a period, everybody's rows are gone but those that another program wrote.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    fastparquet==2026.9.0 pandas==3.1.1 duckdb==2.0.1
cd "$here"

venv/bin/python - <<'EOF'
import duckdb
import fastparquet
import pandas as pd

frame = pd.DataFrame({"at": pd.to_datetime(["2026-10-01"])})
print("pandas:", frame["at"].dtype)
years = {}
for times in ("int64", "int96"):
    for unit in ("us", "ns"):
        fastparquet.write("rows.parquet", frame.astype({"at": f"datetime64[{unit}]"}), times=times)
        ((duckdb_reads,),) = duckdb.sql("FROM 'rows.parquet'").fetchall()
        itself = fastparquet.ParquetFile("rows.parquet").to_pandas()["at"][0]
        print(f"{times} of {unit}: {duckdb_reads} by DuckDB, {itself} by itself")
        years[times, unit] = {duckdb_reads.year, itself.year}
assert str(frame["at"].dtype) == "datetime64[us]"
assert years.pop(("int96", "us")) == {1970}
assert list(years.values()) == [{2026}] * 3
EOF
