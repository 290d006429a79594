#!/usr/bin/env bash
# What one would guess: n_unique() - 50 of an item with 3 people is -47.
# What happens: n_unique() and len() are 32-bit unsigned numbers, so it is 4294967249: above any threshold.
# Version: polars 2.1.0.
# Why it matters: "people - threshold > 0" is how a set of common items is made. Here it keeps every rare
#     item, and drops only those that have exactly as many people as the threshold.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    polars==2.1.0
cd "$here"

venv/bin/python - <<'EOF'
import polars as pl

rows = pl.DataFrame(
    {
        "item": ["rare"] * 3 + ["edge"] * 50 + ["common"] * 90,
        "person": [*range(3), *range(50), *range(90)],
    }
)
counts = rows.group_by("item").agg(margin=pl.col("person").n_unique() - 50, rows=pl.len() - 50).sort("item")
kept = sorted(counts.filter(pl.col("margin") > 0)["item"])
print(counts)
print("kept by 'margin > 0':", kept)
assert counts["margin"].to_list() == [40, 0, 2**32 - 47]
assert counts["rows"].to_list() == [40, 0, 2**32 - 47]
assert kept == ["common", "rare"]
EOF
