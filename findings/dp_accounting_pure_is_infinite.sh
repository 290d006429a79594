#!/usr/bin/env bash
# What one would guess: 1,000 Laplace answers of epsilon 1e-5 together cost epsilon 0.01 at delta 0, and one
#     costs 1e-5.
# What happens: the accountant of privacy loss distributions says inf at delta 0 for the 1,000, and 1e-4 for
#     one: ten times what it is. (Losses are rounded up to a grid of 1e-4, and tails are cut into delta.)
# Version: dp-accounting 0.6.0.
# Why it matters: both are true bounds and far from tight, so a pure promise cannot be stated with it, and
#     many cheap answers look as expensive as a few dear ones.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    dp-accounting==0.6.0
cd "$here"

venv/bin/python - <<'EOF'
import dp_accounting
from dp_accounting.pld import pld_privacy_accountant


def epsilon(answers, delta, **more):
    accountant = pld_privacy_accountant.PLDAccountant(**more)
    accountant.compose(dp_accounting.LaplaceDpEvent(1e5), answers)
    return accountant.get_epsilon(delta)


one, many, near = epsilon(1, 0), epsilon(1000, 0), epsilon(1000, 1e-9)
print("one answer, delta 0:", one, " 1,000, delta 0:", many, " 1,000, delta 1e-9:", near)
assert 0.9e-4 < one < 1.1e-4
assert many == float("inf")
assert near < 0.01
fine = epsilon(1, 0, value_discretization_interval=1e-6)
print("one answer on a grid of 1e-6:", fine)
assert 0.9e-5 < fine < 1.2e-5
EOF
