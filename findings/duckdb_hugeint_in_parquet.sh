#!/usr/bin/env bash
# What one would guess: COPY ... TO a Parquet file keeps whole numbers whole, or refuses them. (Over Arrow
#     the same column is DECIMAL(38,0).)
# What happens: HUGEINT is written as DOUBLE. What sum() of whole numbers gives is HUGEINT, and so is a
#     column of 64-bit ids, signed in one table and unsigned in another.
# Version: duckdb 2.0.1.
# Why it matters: ids above 2^53 are rounded to their neighbours: two people are one in the file, and its
#     footer says DOUBLE as if that had been meant.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    duckdb==2.0.1 pyarrow==26.0.1
cd "$here"

venv/bin/python - <<'EOF'
import duckdb
import pyarrow.parquet as pq

duckdb.execute("CREATE TABLE old AS SELECT 9007199254740992::BIGINT AS person")
duckdb.execute("CREATE TABLE new AS SELECT 9007199254740993::UBIGINT AS person")
both = "SELECT person FROM old UNION ALL SELECT person FROM new"
people = duckdb.sql(f"SELECT typeof(any_value(person)), count(DISTINCT person) FROM ({both})").fetchall()
print("in DuckDB:", people)
assert people == [("HUGEINT", 2)]
assert str(duckdb.sql(both).to_arrow_table().schema.field("person").type) == "decimal128(38, 0)"
duckdb.execute(f"COPY ({both}) TO 'people.parquet'")
people = duckdb.sql("SELECT typeof(any_value(person)), count(DISTINCT person) FROM 'people.parquet'").fetchall()
print("in the file:", people, pq.read_schema("people.parquet").field("person"))
assert people == [("DOUBLE", 1)]
EOF
