#!/usr/bin/env bash
# What one would guess: merge_insert on "person" keeps one row a person, and a batch that names a person
#     twice is refused.
# What happens: it is refused only if that person has a row already. A person who is new gets one row for
#     each mention, and null never matches null, so each batch adds another person without a name.
# Version: pylance 14.0.2.
# Why it matters: a table kept by upserts is taken for one row a person, so rows are counted as people. Here
#     new people are counted twice.
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

lance.write_dataset(pa.table({"person": ["ann", None], "visits": [1, 1]}), "people.lance")


def merged(people):
    batch = pa.table({"person": people, "visits": list(range(2, 2 + len(people)))})
    merge = lance.dataset("people.lance").merge_insert("person")
    merge.when_matched_update_all().when_not_matched_insert_all().execute(batch)
    return sorted(lance.dataset("people.lance").to_table()["person"].to_pylist(), key=str)


try:
    merged(["ann", "ann"])
except OSError as error:
    print("known person twice:", str(error)[:75])
else:
    raise AssertionError("it is not refused any more")
people = merged(["bob", "bob", None])
print("new person twice, and null:", people)
assert people == [None, None, "ann", "bob", "bob"]
EOF
