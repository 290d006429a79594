#!/usr/bin/env bash
# What one would guess: a null adds nothing to a sum with bounds (0, 10), or the query asks for fill_null.
# What happens: it adds 5, the middle of the bounds: the sum of 1,000 nulls is about 5,000. With
#     fill_null(0) it is about 0. n_unique() counts null as one more value, while count() leaves it out.
# Version: opendp 0.16.0 (polars 1.36.1).
# Why it matters: people without a value weigh as much as the middle of bounds that an analyst guessed: two
#     analysts with other bounds get other sums of the same data. Which rows are people differs by verb.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    'opendp[polars]==0.16.0'
cd "$here"

venv/bin/python - <<'EOF'
import warnings

import opendp.prelude as dp
import polars as pl

warnings.simplefilter("ignore")
dp.enable_features("contrib")
rows = pl.LazyFrame(
    {"value": pl.Series([None] * 1000, dtype=pl.Int32), "item": ["tea", "milk", None, None] * 250},
)


def asked(expression):
    context = dp.Context.compositor(
        data=rows,
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=30.0),  # noise is 0 but for chances below 1e-9 (n_unique, count)
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=10_000)],
    )
    return context.query().select(expression).release().collect().item()


value, item = pl.col("value"), pl.col("item")
plain, filled = asked(value.dp.sum((0, 10))), asked(value.fill_null(0).dp.sum((0, 10)))
print("sum of 1,000 nulls:", plain, "with fill_null(0):", filled)
assert abs(plain - 5000) < 100 and abs(filled) < 100
unique, count = asked(item.dp.n_unique()), asked(item.dp.count())
print("of tea, milk and null: n_unique", unique, "; of 500 texts and 500 nulls: count", count)
assert (unique, count) == (3, 500)
EOF
