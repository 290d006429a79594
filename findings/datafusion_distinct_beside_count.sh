#!/usr/bin/env bash
# What one would guess: what else a query counts does not change what COUNT(DISTINCT x) counts, and both
#     agree with GROUP BY on which values are equal.
# What happens: of 0.0 and -0.0, COUNT(DISTINCT x) alone is 1; beside count(*) in the same query it is 2.
#     GROUP BY x makes one group of them.
# Version: datafusion 55.0.0.
# Why it matters: where ids or items are numbers, the same people are counted by two rules, and a person
#     whose rows have both zeros is two people in a report that also shows the number of rows.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    datafusion==55.0.0 pyarrow==26.0.1
cd "$here"

venv/bin/python - <<'EOF'
import datafusion
import pyarrow as pa

context = datafusion.SessionContext()
context.from_arrow(pa.table({"x": [0.0, -0.0]}), name="t")


def asked(sql):
    table = context.sql(sql).to_arrow_table()
    print(sql, "->", table.to_pylist())
    return table


assert asked("SELECT count(DISTINCT x) AS people FROM t")["people"].to_pylist() == [1]
assert asked("SELECT count(DISTINCT x) AS people, count(*) AS n FROM t")["people"].to_pylist() == [2]
assert asked("SELECT x, count(*) AS n FROM t GROUP BY x")["n"].to_pylist() == [2]
EOF
