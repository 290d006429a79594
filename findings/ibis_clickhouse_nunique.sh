#!/usr/bin/env bash
# What one would guess: Ibis's nunique() is exact on every engine; approx_nunique() is the estimate.
# What happens: for ClickHouse, Ibis writes nunique() as uniq(), which estimates. Of 1,000,000 people it
#     finds 1,003,180: more than there are. On DuckDB it writes COUNT(DISTINCT), which is exact.
# Version: ibis-framework 12.0.0, chdb 4.4.0 (ClickHouse 26.9).
# Why it matters: one person moves an exact count of people by at most one, and noise is scaled to that.
#     Nothing bounds what one person does to an estimate, and it may count people that do not exist.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    ibis-framework==12.0.0 packaging==26.4 chdb==4.4.0
cd "$here"

venv/bin/python - <<'EOF'
import chdb
import ibis

table = ibis.table({"person": "string"}, name="visits")
count = ibis.to_sql(table.aggregate(people=table.person.nunique()), dialect="clickhouse")
exact = ibis.to_sql(table.aggregate(people=table.person.nunique()), dialect="duckdb")
print("ClickHouse:", " ".join(str(count).split()))
print("DuckDB:    ", " ".join(str(exact).split()))
assert "uniq(" in count and "COUNT(DISTINCT" in exact


def asked(people, sql):
    visits = f"visits AS (SELECT concat('user', toString(number)) AS person FROM numbers({people}))"
    return int(str(chdb.query(f"WITH {visits} {sql}", "TSV")))


for people in (200_000, 1_000_000):
    found = asked(people, count), asked(people, "SELECT count(DISTINCT person) FROM visits")
    print(f"{people} people: Ibis's query {found[0]}, COUNT(DISTINCT) {found[1]}")
    assert found[1] == people and found[0] != people
assert found[0] > people
EOF
