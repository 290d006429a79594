#!/usr/bin/env bash
# What one would guess: a filter n > 1.5 on a column of whole numbers finds 2 and 3, and n = 1.5 nothing.
# What happens: the number of the filter is rounded to the column's type first: n > 1.5 is n > 2 and does
#     not find 2; n = 1.5 finds 2.
# Version: pyiceberg 0.12.0.
# Why it matters: a filter says whose rows count. People are counted of whom the filter is false, and others
#     are left out of whom it is true; another engine on the same table disagrees.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    'pyiceberg[sql-sqlite,pyarrow]==0.12.0' pyarrow==26.0.1
cd "$here"

venv/bin/python - <<'EOF'
import os

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

catalog = SqlCatalog("here", uri="sqlite:///catalog.db", warehouse="file://" + os.getcwd())
catalog.create_namespace("shop")
rows = pa.table({"n": [1, 2, 3]})
table = catalog.create_table("shop.visits", rows.schema)
table.append(rows)
found = {}
for condition in ("n > 1.5", "n = 1.5", "n < 2.5", "n != 2.5"):
    found[condition] = table.scan(row_filter=condition).to_arrow()["n"].to_pylist()
    print(condition, "->", found[condition])
assert found["n > 1.5"] == [3] and found["n = 1.5"] == [2]
assert found["n < 2.5"] == [1] and found["n != 2.5"] == [1, 3]
EOF
