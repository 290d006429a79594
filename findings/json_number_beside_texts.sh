#!/usr/bin/env bash
# What one would guess: a key of JSON lines that holds texts, and in one line a number, is read as text: 7
#     and "7" are one person, as in polars; at worst it is an error, as in PyArrow.
# What happens: DuckDB makes the column of type JSON. 7 and "7" are two people, and the labels of all other
#     lines get quotes: "tea" is then five letters long.
# Version: duckdb 2.0.1 (polars 2.1.0, pyarrow 26.0.1).
# Why it matters: one person's row renames the items of everybody else. A list of public items no longer
#     matches any of them, and one person with two spellings of an id is two.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    duckdb==2.0.1 polars==2.1.0 pyarrow==26.0.1
cd "$here"

venv/bin/python - <<'EOF'
import duckdb
import polars as pl
import pyarrow as pa
from pyarrow import json

TEXTS = '{"item": "tea"}\n{"item": "7"}\n'
for name, text in (("texts", TEXTS), ("one", TEXTS + '{"item": 7}\n')):
    with open(f"{name}.jsonl", "w") as file:
        file.write(text)


def duckdb_reads(path):
    return duckdb.sql(f"SELECT typeof(item), item, length(item::VARCHAR) FROM '{path}'").fetchall()


print("DuckDB, texts alone:", duckdb_reads("texts.jsonl"))
assert duckdb_reads("texts.jsonl") == [("VARCHAR", "tea", 3), ("VARCHAR", "7", 1)]
print("DuckDB, one number: ", duckdb_reads("one.jsonl"))
assert duckdb_reads("one.jsonl") == [("JSON", '"tea"', 5), ("JSON", '"7"', 3), ("JSON", "7", 1)]
print("polars:", pl.read_ndjson("one.jsonl")["item"].to_list())
assert pl.read_ndjson("one.jsonl")["item"].to_list() == ["tea", "7", "7"]
try:
    json.read_json("one.jsonl")
except pa.ArrowInvalid as error:
    print("PyArrow:", error)
else:
    raise AssertionError("PyArrow reads it now")
EOF
