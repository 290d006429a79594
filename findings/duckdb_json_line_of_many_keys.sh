#!/usr/bin/env bash
# What one would guess: a line of JSON with 50 keys that no other line has adds 50 columns, null elsewhere.
# What happens: the columns of the whole file become one, named json, of type MAP: "person" and "item" are
#     gone for everybody. One such line among 5,000 does it.
# Version: duckdb 2.0.1 (keys that on average are in less than a tenth of the lines are taken for data:
#     field_appearance_threshold).
# Why it matters: one person's row decides what columns there are, so everybody's question about them fails,
#     or not, by whether that row is there.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    duckdb==2.0.1
cd "$here"

venv/bin/python - <<'EOF'
import json

import duckdb

ORDINARY = [{"person": f"u{n}", "item": "tea"} for n in range(5000)]


def read(rows):
    with open("visits.jsonl", "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    relation = duckdb.sql("FROM 'visits.jsonl'")
    print(len(rows), "lines:", relation.columns, [str(one) for one in relation.types])
    return relation.columns


odd = {"person": "odd", "item": "milk", **{f"answer{n}": "x" for n in range(50)}}
assert read(ORDINARY) == ["person", "item"]
assert read([*ORDINARY, odd]) == ["json"]
try:
    duckdb.sql("SELECT count(DISTINCT person) FROM 'visits.jsonl'")
except duckdb.BinderException as error:
    print("a question:", str(error).splitlines()[0])
else:
    raise AssertionError("the column is still there")
EOF
