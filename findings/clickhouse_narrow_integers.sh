#!/usr/bin/env bash
# What one would guess: a value that does not fit the declared type of its column is an error, or null.
# What happens: 4294967297 read as UInt32 is 1, from CSV, JSON lines and Parquet, without a word.
# Version: chdb 4.4.0 (ClickHouse 26.9).
# Why it matters: two people become one. The one whose id has wrapped changes the other's items.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    chdb==4.4.0 pyarrow==26.0.1
cd "$here"

venv/bin/python - <<'EOF'
import chdb
import pyarrow as pa
import pyarrow.parquet as pq

IDS = [1, 2**32 + 1, 2**32 + 2]
with open("ids.csv", "w") as file:
    file.write("person\n" + "".join(f"{one}\n" for one in IDS))
with open("ids.jsonl", "w") as file:
    file.writelines(f'{{"person": {one}}}\n' for one in IDS)
pq.write_table(pa.table({"person": IDS}), "ids.parquet")
for name, kind in (("ids.csv", "CSVWithNames"), ("ids.jsonl", "JSONEachRow"), ("ids.parquet", "Parquet")):
    read = str(chdb.query(f"SELECT person FROM file('{name}', {kind}, 'person UInt32')", "TSV")).split()
    print(name, "holds", IDS, "and is read as", read)
    assert read == ["1", "1", "2"]
EOF
