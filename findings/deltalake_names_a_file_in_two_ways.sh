#!/usr/bin/env bash
# What one would guess: a table names its files in one way: the files of deletion_vectors() and get_add_actions()
#     are among those of file_uris(), so they can be joined by name.
# What happens: in a table divided by a text with a space, file_uris() has .../part=x%20y/..., which is the folder on
#     disk; the other two have .../part=x%2520y/..., as the log has it. A join by name finds no file.
# Version: deltalake 1.6.6.
# Why it matters: a file of which no deleted row is found is a file without deleted rows. People who asked to be
#     forgotten count in every answer, and for texts without a space or a slash all is well.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    deltalake==1.6.6 pyarrow==26.0.1
cd "$here"

venv/bin/python - <<'PY'
import json
import os
import struct
from pathlib import Path

import deltalake
import pyarrow as pa

# A deletion vector of the first row, which the log itself holds: a roaring bitmap in base 85.
letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
data = struct.pack("<IQIIIHHIH", 1681511377, 1, 0, 12346, 1, 0, 0, 16, 0) + b"\0\0"
words = [int.from_bytes(data[start : start + 4], "big") for start in range(0, len(data), 4)]
text = "".join(letters[word // 85**power % 85] for word in words for power in (4, 3, 2, 1, 0))
vector = {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": len(data), "cardinality": 1}

folder = Path("visits").absolute()
rows = pa.table({"person": ["ann", "bob"], "part": ["x y", "x y"]})
enabled = {"delta.enableDeletionVectors": "true"}
deltalake.write_deltalake(folder, rows, partition_by=["part"], configuration=enabled)
(log,) = (folder / "_delta_log").glob("*.json")
(added,) = (entry["add"] for entry in map(json.loads, log.read_text().splitlines()) if "add" in entry)
gone = {"path": added["path"], "partitionValues": added["partitionValues"], "deletionTimestamp": 1, "dataChange": True}
entries = [{"remove": gone}, {"add": {**added, "deletionVector": vector}}]
log.with_name(f"{1:020d}.json").write_text("\n".join(map(json.dumps, entries)))

table = deltalake.DeltaTable(str(folder))
(on_disk,) = (name for name in os.listdir(folder) if name.startswith("part="))
found = {
    "file_uris()": table.file_uris()[0],
    "get_add_actions()": pa.table(table.get_add_actions())["path"][0].as_py(),
    "deletion_vectors()": pa.table(table.deletion_vectors())[0][0].as_py(),
}
print("on disk ->", on_disk)
for name, path in found.items():
    print(name, "->", next(part for part in path.split("/") if part.startswith("part=")))
assert on_disk == "part=x%20y" and f"/{on_disk}/" in found["file_uris()"]
assert all("part=x%2520y/" in found[name] for name in ("get_add_actions()", "deletion_vectors()"))
PY
