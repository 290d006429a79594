#!/usr/bin/env bash
# What one would guess: a sum of DECIMAL(38, 0) that has more than 38 digits is an error, as in polars; at
#     the least it is not a number of the other sign.
# What happens: in PyArrow the sum of two positive numbers is negative. Its type still says 38 digits, and
#     only validate(full=True) says that it does not fit.
# Version: pyarrow 26.0.1.
# Why it matters: sums of whole numbers arrive from engines as DECIMAL(38, 0). One row of one person turns
#     the largest weight into the smallest.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    pyarrow==26.0.1
cd "$here"

venv/bin/python - <<'EOF'
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

values = pa.array([Decimal("9" * 38)] * 2, pa.decimal128(38, 0))
total = pc.sum(values)
groups = pa.table({"item": ["tea", "tea"], "x": values}).group_by("item").aggregate([("x", "sum")])
print("sum:", total, total.type)
print("by item:", groups["x_sum"].to_pylist())
assert total.as_py() == 2 * (10**38 - 1) - 2**128 < 0
assert groups["x_sum"].to_pylist() == [total.as_py()]
try:
    total.validate(full=True)
except pa.ArrowInvalid as error:
    print("validate:", error)
else:
    raise AssertionError("it is a valid number")
EOF
