#!/usr/bin/env bash
# What one would guess: a whole number written to a union of "double" and "long" is written as "long", the
#     type that holds it exactly, or at least as the type it has in Python.
# What happens: it is written as the first type of the union that takes it. With "double" or "float" before
#     "long" ids above 2^53, or 2^24, are rounded; with "long" first they are exact.
# Version: fastavro 1.13.1.
# Why it matters: people whose ids are neighbours are one person in the file. The order of two types in a
#     schema decides it, and the schema is valid either way.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    fastavro==1.13.1
cd "$here"

venv/bin/python - <<'EOF'
import io

import fastavro

IDS = [2**53, 2**53 + 1]
found = {}
for union in (["null", "long", "double"], ["null", "double", "long"], ["null", "float", "long"]):
    schema = {"type": "record", "name": "visit", "fields": [{"name": "person", "type": union}]}
    file = io.BytesIO()
    fastavro.writer(file, schema, [{"person": one} for one in IDS])
    file.seek(0)
    people = [row["person"] for row in fastavro.reader(file)]
    found[union[1]] = len(set(people))
    print(union, "->", people)
assert found == {"long": 2, "double": 1, "float": 1}
EOF
