#!/usr/bin/env bash
# What one would guess: a null, or an absent key, in a column declared String (not Nullable) is an error.
# What happens: it is the empty text. All rows without a person together are one person called ''.
# Version: chdb 4.4.0 (ClickHouse 26.9); input_format_null_as_default is on unless it is turned off.
# Why it matters: rows that have no person count as one more person, who has the items of many people;
#     and one absent id more or less is another row of that person, not a missing value.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    chdb==4.4.0
cd "$here"

venv/bin/python - <<'EOF'
import chdb

with open("visits.jsonl", "w") as file:
    file.write('{"person": "ann", "item": "tea"}\n{"person": null, "item": "tea"}\n{"item": "milk"}\n')
rows = "file('visits.jsonl', JSONEachRow, 'person {}, item String')"
found = {}
for kind in ("String", "Nullable(String)"):
    sql = f"SELECT count(DISTINCT person), countIf(person = '') FROM {rows.format(kind)}"
    found[kind] = str(chdb.query(sql, "TSV")).split()
    print(f"person {kind}: people {found[kind][0]}, rows of '' {found[kind][1]}")
assert found == {"String": ["2", "2"], "Nullable(String)": ["1", "0"]}
EOF
