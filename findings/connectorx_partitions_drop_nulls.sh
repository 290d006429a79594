#!/usr/bin/env bash
# What one would guess: partition_on= and partition_num= say how a query is read in parallel, not what it
#     returns.
# What happens: rows in which that column is null are not returned, even with one partition. polars'
#     read_database_uri() hands both on to ConnectorX and loses the same rows.
# Version: connectorx 0.4.6, polars 2.1.0.
# Why it matters: people without a value in a column that the question does not use vanish from its counts,
#     and a setting made for speed decides it.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    connectorx==0.4.6 polars==2.1.0 pyarrow==26.0.1
cd "$here"

venv/bin/python - <<'EOF'
import contextlib
import os
import sqlite3

import connectorx
import polars as pl

with contextlib.closing(sqlite3.connect("shop.db")) as base:
    base.execute("CREATE TABLE visits (person TEXT, amount INTEGER)")
    amounts = [1, 2, 3, None, 4, 5, None, None]
    base.executemany("INSERT INTO visits VALUES (?, ?)", [(f"p{n}", one) for n, one in enumerate(amounts)])
    base.commit()
uri, query = f"sqlite://{os.getcwd()}/shop.db", "SELECT person, amount FROM visits"
whole = connectorx.read_sql(uri, query, return_type="arrow").num_rows
parts = [
    connectorx.read_sql(uri, query, return_type="arrow", partition_on="amount", partition_num=n).num_rows
    for n in (1, 2)
]
frame = pl.read_database_uri(query, uri, partition_on="amount", partition_num=2).height
print("rows:", whole, " in 1 and in 2 partitions:", parts, " polars, 2 partitions:", frame)
assert (whole, parts, frame) == (8, [5, 5], 5)
EOF
