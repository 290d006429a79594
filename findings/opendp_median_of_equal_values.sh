#!/usr/bin/env bash
# What one would guess: where all 1,000 people hold 50, the median from candidates 0, 20, 40, 60, 80 and 100
#     is 40 or 60, at a generous epsilon almost surely.
# What happens: it is each of the six equally often, at any epsilon: a candidate's score is the difference
#     between the people below and above it, and for 0 as for 40 all 1,000 lie above.
# Version: opendp 0.16.0.
# Why it matters: the promise holds, but the answer says nothing, for any number of people; prices, ages and
#     ratings have such ties. Nothing in the answer tells it apart from a good one.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    opendp==0.16.0
cd "$here"

venv/bin/python - <<'EOF'
import opendp.prelude as dp

dp.enable_features("contrib")
CANDIDATES = [0, 20, 40, 60, 80, 100]
space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
scores = space >> dp.t.then_quantile_score_candidates(CANDIDATES, alpha=0.5)
print("scores, lower is better, of 1,000 x 50:", scores([50] * 1000))
print("scores of 500 x 40 and 500 x 60:       ", scores([40, 60] * 500))
assert len(set(scores([50] * 1000))) == 1
assert len(set(scores([40, 60] * 500))) > 1

median = scores >> dp.m.then_noisy_max(dp.max_divergence(), 0.02, negate=True)
medians = [CANDIDATES[median([50] * 1000)] for _ in range(150)]
print(f"epsilon {median.map(1):.0f}:", {one: medians.count(one) for one in CANDIDATES})
# Each has chance 1/6: that one of the ends is never seen in 150 answers has a chance below 1e-11.
assert 0 in medians and 100 in medians
EOF
