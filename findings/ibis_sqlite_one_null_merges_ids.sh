#!/usr/bin/env bash
# What one would guess: to_pyarrow() of a table of SQLite has the whole numbers that are stored; a missing one is null.
# What happens: rows pass through pandas, where a column with a missing value is one of doubles: 2^53 and 2^53 + 1 are
#     one number as soon as a third row has none. The schema says int64 before and after.
# Version: ibis-framework 12.0.0, pandas 3.1.1.
# Why it matters: two people are one, and whether they are is decided by a row of somebody else. A bound on what one
#     person adds no longer bounds what one row changes.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    'ibis-framework[sqlite]==12.0.0' pandas==3.1.1 pyarrow==26.0.1
cd "$here"

venv/bin/python - <<'PY'
import sqlite3

import ibis

found = {}
for last in (7, None):
    file = f"visits_{last}.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE visits (person INTEGER)")
        connection.executemany("INSERT INTO visits VALUES (?)", [(2**53,), (2**53 + 1,), (last,)])
    connection.close()
    table = ibis.sqlite.connect(file).table("visits")
    assert str(table.schema()["person"]) == "int64"
    column = table.to_pyarrow()["person"]
    assert str(column.type) == "int64"
    found[last] = column.to_pylist()
    print("third row:", last, "->", found[last], "people:", len(set(found[last]) - {None}))
assert found[7] == [2**53, 2**53 + 1, 7]
assert found[None] == [2**53, 2**53, None]
PY
