#!/usr/bin/env bash
# What one would guess: a key that the first 100 lines of JSON do not have is a column with nulls before it,
#     or an error; a value of an unexpected type is an error there, too.
# What happens: the key is left out, with all its values, and nothing says so.
# Version: polars 2.1.0, read_ndjson and scan_ndjson (infer_schema_length is 100).
# Why it matters: whether an item counts depends on who comes first in the file. Move one person's row to
#     the top, and the rows of all others gain a column.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    polars==2.1.0
cd "$here"

venv/bin/python - <<'EOF'
import json

import polars as pl

WITHOUT = [{"person": f"u{n}"} for n in range(150)]
WITH = [{"person": f"v{n}", "item": "tea"} for n in range(150)]


def read(rows):
    with open("visits.jsonl", "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    frame = pl.read_ndjson("visits.jsonl")
    assert frame.columns == pl.scan_ndjson("visits.jsonl").collect().columns
    return {name: frame.height - frame[name].null_count() for name in frame.columns}


late, early = read(WITHOUT + WITH), read(WITH[:1] + WITHOUT + WITH[1:])
print("values, the key late: ", late)
print("values, one row moved:", early)
assert late == {"person": 300}
assert early == {"person": 300, "item": 150}
EOF
