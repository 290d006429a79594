#!/usr/bin/env bash
# What one would guess: pandas reads a folder of Parquet files with folders person=01/ and person=1/; the
#     two are one person (as numbers) or two (as texts).
# What happens: neither. PyArrow makes a dictionary of the names read as numbers, in which 1 is twice, and
#     pandas refuses to make a category of it: ValueError, for every question about the folder.
# Version: pandas 3.1.1, pyarrow 26.0.1. PyArrow's own dataset() gives one person, 1.
# Why it matters: a name of one person's folder makes everybody's question fail, or merges two people.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    pandas==3.1.1 pyarrow==26.0.1
cd "$here"

venv/bin/python - <<'EOF'
import os

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

for person in ("01", "1"):
    os.makedirs(f"visits/person={person}")
    pq.write_table(pa.table({"item": ["tea"]}), f"visits/person={person}/rows.parquet")
column = pq.read_table("visits")["person"]
print("PyArrow's dictionary:", column.chunk(0).dictionary.to_pylist())
assert column.chunk(0).dictionary.to_pylist() == [1, 1]
people = ds.dataset("visits", partitioning="hive").to_table()["person"].unique().to_pylist()
print("as a dataset:", people)
assert people == [1]
try:
    print(pd.read_parquet("visits"))
except ValueError as error:
    print("pandas:", error)
    assert "must be unique" in str(error)
else:
    raise AssertionError("pandas reads it now")
EOF
