#!/usr/bin/env bash
# What one would guess: TRY_CAST(age AS INT), which is null for a text that is no number, is translated for
#     SQLite into something that is null there, or is refused.
# What happens: sqlglot writes CAST, and SQLite's CAST takes the digits at the start: 'guest' is 0, and
#     '7 apples' is 7. There is no warning.
# Version: sqlglot 30.30.0, SQLite 3.54.1 (apsw 3.54.1.0).
# Why it matters: people without a readable value are all given the value 0: they are one item, the largest
#     perhaps, and pull each median and mean down.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    sqlglot==30.30.0 apsw==3.54.1.0
cd "$here"

venv/bin/python - <<'EOF'
import apsw
import sqlglot

TEXTS = ["19", "guest", "7 apples", ""]
values = " UNION ALL ".join(f"SELECT '{text}' AS age" for text in TEXTS)
[sql] = sqlglot.transpile(f"SELECT TRY_CAST(age AS INT) FROM ({values})", read="duckdb", write="sqlite")
ages = [age for (age,) in apsw.Connection(":memory:").execute(sql)]
print(sql[:40], "...")
print(dict(zip(TEXTS, ages)))
assert ages == [19, 0, 7, 0]
EOF
