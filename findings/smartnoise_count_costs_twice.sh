#!/usr/bin/env bash
# What one would guess: with Privacy(epsilon=1), SELECT COUNT(*) costs 1, and so does AVG(n).
# What happens: COUNT(*) costs 2, AVG(n) 3, and COUNT(DISTINCT person) 1: each counts people in secret too,
#     and an average is a sum and a count. delta becomes about 1.5 times what was given.
# Version: smartnoise-sql 1.0.10 (opendp 0.14.2).
# Why it matters: the number in the call is not the promise: a note written from it claims half or a third
#     of what was spent. The right number is in get_privacy_cost() and the odometer, if one looks.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    smartnoise-sql==1.0.10 pandas==2.3.3
cd "$here"

venv/bin/python - <<'EOF'
import warnings

import pandas as pd
import snsql

warnings.simplefilter("ignore")
META = {"": {"": {"t": {
    "max_ids": 1, "rows": 600,
    "person": {"type": "int", "private_id": True},
    "n": {"type": "int", "lower": 0, "upper": 10},
}}}}
rows = pd.DataFrame({"person": range(600), "n": [1, 2, 3, 4, 5, 6] * 100})
found = {}
for what in ("COUNT(DISTINCT person)", "COUNT(*)", "AVG(n)"):
    reader = snsql.from_df(rows, privacy=snsql.Privacy(epsilon=1.0, delta=1e-3), metadata=META)
    query = f"SELECT {what} AS answer FROM t"
    before = reader.get_privacy_cost(query)
    reader.execute(query)
    assert before == reader.odometer.spent
    found[what] = [round(float(one), 6) for one in before]
    print(what, "costs epsilon, delta", found[what])
assert [round(epsilon) for epsilon, _ in found.values()] == [1, 2, 3]
assert all(0.0014 < delta < 0.0016 for _, delta in found.values())
EOF
