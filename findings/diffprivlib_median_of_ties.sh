#!/usr/bin/env bash
# What one would guess: the more people hold the same value, the nearer to it is a median.
# What happens: of 1,000 people who all hold 5 it is any number between the bounds, uniformly; of 20,000 it
#     is a RuntimeError, "Can't find a candidate to return", because all probabilities are nan. The same
#     call on 20,000 different values works.
# Version: diffprivlib 0.6.6 (with scikit-learn 1.6.1: with newer ones it can no longer be imported).
# Why it matters: whether a question fails depends on the rows, and failing is an answer that nobody paid
#     for. Ratings, ages and prices have many ties.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    diffprivlib==0.6.6 'scikit-learn>=1.6.1,<1.6.2'
cd "$here"

venv/bin/python - <<'EOF'
import warnings

import numpy as np
from diffprivlib import tools

warnings.simplefilter("ignore")


def median(values):
    return float(tools.median(values, epsilon=1, bounds=(0, 10)))


medians = [median(np.full(1000, 5.0)) for _ in range(40)]
print("of 1,000 equal values:", [round(one, 1) for one in medians[:8]])
# Each is uniform in (0, 10): that none lies further than 1 from 5 has a chance of 0.2^40.
assert max(abs(one - 5) for one in medians) > 1
print("of 20,000 different values:", median(np.linspace(0, 10, 20_000)))
try:
    median(np.full(20_000, 5.0))
except RuntimeError as error:
    print("of 20,000 equal values:", str(error)[:50])
    assert "Can't find a candidate" in str(error)
else:
    raise AssertionError("it finds one now")
EOF
