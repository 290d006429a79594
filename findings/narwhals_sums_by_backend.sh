#!/usr/bin/env bash
# What one would guess: one expression of narwhals gives one number, whatever frame is behind it.
# What happens: the sum of int32 values is 64 bits wide in pandas, PyArrow and DuckDB, and 32 bits wide in
#     polars, where it wraps to a negative number.
# Version: narwhals 2.29.0, polars 2.1.0, pandas 3.1.1, pyarrow 26.0.1, duckdb 2.0.1.
# Why it matters: the weight of an item is a sum over people. One person's row turns the largest total into
#     the smallest, far more than the bound on one person's weight allows.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    narwhals==2.29.0 polars==2.1.0 pandas==3.1.1 pyarrow==26.0.1 duckdb==2.0.1
cd "$here"

venv/bin/python - <<'EOF'
import duckdb
import narwhals as nw
import polars as pl
import pyarrow as pa

rows = pa.table({"item": ["tea"] * 2, "minutes": pa.array([2**31 - 1, 1], pa.int32())})
frames = {"pandas": rows.to_pandas(), "pyarrow": rows, "duckdb": duckdb.from_arrow(rows), "polars": pl.from_arrow(rows)}
found = {}
for name, native in frames.items():
    total = nw.from_native(native).group_by("item").agg(nw.col("minutes").sum()).lazy().collect("pyarrow")
    found[name] = int(total["minutes"].to_list()[0])
    print(name, found[name])
assert found == {"pandas": 2**31, "pyarrow": 2**31, "duckdb": 2**31, "polars": -(2**31)}
EOF
