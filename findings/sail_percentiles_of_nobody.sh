#!/usr/bin/env bash
# What one would guess: Sail runs Spark's SQL, so percentile_approx(x, 0.5) is a value of the column, as
#     Spark's manual promises, and a sum of BIGINT that does not fit is an error, as in Spark 4.
# What happens: of 0, 0, 1000 and 1000 it is 750, which nobody has; and sum wraps: 2^63 - 1 and 1 make
#     -2^63.
# Version: pysail 0.7.2 (pyspark-client 4.2.0).
# Why it matters: a quantile that is no person's value has no rank, so what is said of its accuracy in
#     people is not true of it. A sum that wraps turns the largest total into the smallest by one row.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    pysail==0.7.2 pyspark-client==4.2.0 pandas==2.3.3
cd "$here"

venv/bin/python - <<'EOF'
import warnings

warnings.simplefilter("ignore")

from pyspark.sql import SparkSession
from pysail.spark import SparkConnectServer

server = SparkConnectServer()
server.start(background=True)
_, port = server.listening_address
spark = SparkSession.builder.remote(f"sc://localhost:{port}").getOrCreate()
values = "VALUES (0), (0), (1000), (1000) AS t(x)"
[(median,)] = spark.sql(f"SELECT percentile_approx(x, 0.5) FROM {values}").collect()
[(total,)] = spark.sql("SELECT sum(x) FROM VALUES (9223372036854775807L), (1L) AS t(x)").collect()
print("percentile_approx of 0, 0, 1000, 1000:", median, " sum of 2^63 - 1 and 1:", total)
spark.stop()
server.stop()
assert 0 < median < 1000
assert total == -(2**63)
EOF
