#!/usr/bin/env bash
# What one would guess: rows whose privacy id is missing belong to one person, or to nobody, however the id
#     is missing.
# What happens: None is one person. NaN that comes out of an array is a new person in each row: 100 rows
#     are 100 people. One NaN object in 100 rows is one person.
# Version: pipeline-dp 0.3.1 (numpy 2.4.6), on its local backend.
# Why it matters: the bound on one person's contributions does nothing for such rows. If they are one
#     person's (a visitor without an account), that person moves a count by 100, with noise for 1.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    pipeline-dp==0.3.1 numpy==2.4.6
cd "$here"

venv/bin/python - <<'EOF'
import numpy as np
import pipeline_dp


def people(ids):
    budget = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1000, total_delta=1e-6)
    engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda _: 0,
    )
    params = pipeline_dp.AggregateParams(
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        metrics=[pipeline_dp.Metrics.PRIVACY_ID_COUNT],
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
    )
    result = engine.aggregate([(one, "tea") for one in ids], params, extractors, public_partitions=["tea"])
    budget.compute_budgets()
    return round(dict(result)["tea"].privacy_id_count)


found = [people([None] * 100), people([float("nan")] * 100), people(np.array([np.nan] * 100))]
print("100 rows of None, of one NaN, of an array of NaN are people:", found)
assert found == [1, 1, 100]
EOF
