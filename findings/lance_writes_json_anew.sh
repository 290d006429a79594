#!/usr/bin/env bash
# What one would guess: a column of Arrow's JSON type comes back from a Lance file letter by letter, as from
#     Parquet: it is text with a name.
# What happens: it is parsed and written anew. {"b": 1, "a": 2} and {"a": 2, "b": 1} become equal texts; one
#     object with a key twice makes the whole write fail.
# Version: pylance 14.0.2, pyarrow 26.0.1.
# Why it matters: of the same rows, a Parquet file has two items where a Lance file has one; and one
#     person's odd (and valid) text stops everybody's rows from being written.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    pylance==14.0.2 pyarrow==26.0.1
cd "$here"

venv/bin/python - <<'EOF'
import lance
import pyarrow as pa
import pyarrow.parquet as pq


def column(texts):
    return pa.table({"item": pa.ExtensionArray.from_storage(pa.json_(), pa.array(texts))})


TEXTS = ['{"b": 1, "a": 2}', '{"a": 2, "b": 1}', r'"\u0061"', '"a"', "1.10", "1.1"]
pq.write_table(column(TEXTS), "items.parquet")
lance.write_dataset(column(TEXTS), "items.lance")
parquet = pq.read_table("items.parquet")["item"].to_pylist()
back = lance.dataset("items.lance").to_table()
print("Parquet:", parquet)
print("Lance:  ", back["item"].to_pylist(), back.schema.field("item").type)
assert parquet == TEXTS and len(set(parquet)) == 6
assert len(set(back["item"].to_pylist())) == 3
try:
    lance.write_dataset(column(['{"a": 1, "a": 2}', '"tea"']), "twice.lance")
except OSError as error:
    print("a key twice:", str(error)[:90])
else:
    raise AssertionError("it is written now")
EOF
