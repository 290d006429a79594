#!/usr/bin/env bash
# What one would guess: jsonb(), SQLite's binary JSON, has one form of each value, as PostgreSQL's jsonb
#     has: "\u0061" and "a" are the same bytes.
# What happens: it keeps how the text was written. "\u0061" and "a", and 1e2 and 100, are different blobs
#     with equal values: COUNT(DISTINCT) says two, of the values taken out by ->> it says one.
# Version: SQLite 3.54.1 (apsw 3.54.1.0).
# Why it matters: whether one person is two depends on which program wrote the JSON. (Only names of keys
#     are given in another order there, and whitespace is not kept.)
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    apsw==3.54.1.0
cd "$here"

venv/bin/python - <<'EOF'
import apsw

base = apsw.Connection(":memory:")
COUNT = "SELECT count(DISTINCT jsonb(x)), count(DISTINCT x ->> '$') FROM (SELECT ? AS x UNION ALL SELECT ?)"
print("SQLite", apsw.sqlite_lib_version())
found = {}
for pair in ((r'"\u0061"', '"a"'), ("1e2", "100"), ("1.0", "1.00"), (r'"a\/b"', '"a/b"'), ("[1, 2]", "[1,2]")):
    found[pair[1]] = base.execute(COUNT, pair).fetchall()[0]
    print(*pair, "-> blobs and values:", found[pair[1]])
assert found.pop("[1,2]") == (1, 1)
assert set(found.values()) == {(2, 1)}
EOF
