#!/usr/bin/env bash
# What one would guess: a type for folder names like person=1/ is found over all of them, as PyArrow, polars
#     and DuckDB do: one that is no number makes them text.
# What happens: Daft takes the type from the first file. A later name that is no number is null: that
#     person's rows have no person. Given a glob, which file is first is not even fixed.
# Version: daft 0.7.26 (pyarrow 25.0.1).
# Why it matters: people vanish because of how another person is called.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    daft==0.7.26 pyarrow==25.0.1
cd "$here"

venv/bin/python - <<'EOF'
import os

import daft
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

FILES = [f"visits/person={person}/rows.parquet" for person in ("1", "2", "guest")]
for path in FILES:
    os.makedirs(os.path.dirname(path))
    pq.write_table(pa.table({"item": ["tea"]}), path)


def read(files):
    frame = daft.read_parquet(files, hive_partitioning=True)
    return str(frame.schema()["person"].dtype), sorted(frame.to_pydict()["person"], key=str)


print("a number first:", read(FILES), " the text first:", read(FILES[::-1]))
pyarrow = sorted(ds.dataset("visits", partitioning="hive").to_table()["person"].to_pylist())
print("PyArrow:", pyarrow)
assert read(FILES) == ("Int64", [1, 2, None])
assert read(FILES[::-1]) == ("String", ["1", "2", "guest"])
assert pyarrow == ["1", "2", "guest"]
EOF
