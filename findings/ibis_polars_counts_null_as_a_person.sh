#!/usr/bin/env bash
# What one would guess: an expression of Ibis means the same on each of its backends: nunique() leaves null
#     out, and the sum of an int32 column, which Ibis calls int64, is one.
# What happens: over polars null is one more person, and the sum wraps at 32 bits. Over DuckDB not.
# Version: ibis-framework 12.0.0, polars 2.1.0, duckdb 2.0.1.
# Why it matters: rows without a person are a person, or not, by where the rows happen to be.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    'ibis-framework[polars]==12.0.0' packaging==26.4 sqlglot==30.30.0 duckdb==2.0.1 pyarrow==26.0.1 pyarrow-hotfix==0.7
cd "$here"

venv/bin/python - <<'EOF'
import ibis
import pyarrow as pa

rows = pa.table({"person": ["ann", None, "bob"], "minutes": pa.array([2**31 - 1, 1, 1], pa.int32())})
found = {}
for name in ("duckdb", "polars"):
    backend = getattr(ibis, name).connect()
    table = ibis.memtable(rows)
    people, minutes = table.person.nunique(), table.minutes.sum()
    assert minutes.type().is_int64()
    found[name] = int(backend.execute(people)), int(backend.execute(minutes))
    print(name, "people, minutes:", found[name])
assert found == {"duckdb": (2, 2**31 + 1), "polars": (3, 2**31 + 1 - 2**32)}
EOF
