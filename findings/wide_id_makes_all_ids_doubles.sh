#!/usr/bin/env bash
# What one would guess: DuckDB reads ids of JSON lines as BIGINT, and makes HUGEINT of them where one is
#     2^63. So one of 2^64, which HUGEINT holds too, makes the column HUGEINT as well.
# What happens: it makes the column DOUBLE, and all ids above 2^53 are rounded.
# Version: duckdb 2.0.1.
# Why it matters: the row of one person decides how the rows of all others are read: it merges people who
#     have nothing to do with it, so an answer moves by far more than one person.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    duckdb==2.0.1
cd "$here"

venv/bin/python - <<'EOF'
import duckdb

IDS = [2**53, 2**53 + 1]


def read(ids):
    with open("ids.jsonl", "w") as file:
        file.writelines(f'{{"person": {one}}}\n' for one in ids)
    sql = f"SELECT typeof(any_value(person)), count(DISTINCT person) FILTER (person < {2**60}) FROM 'ids.jsonl'"
    print([str(one) for one in ids], "->", duckdb.sql(sql).fetchall())
    return duckdb.sql(sql).fetchall()[0]


assert read(IDS) == ("BIGINT", 2)
assert read([*IDS, 2**63]) == ("HUGEINT", 2)
assert read([*IDS, 2**64]) == ("DOUBLE", 1)
EOF
