#!/usr/bin/env bash
# What one would guess: whoever can write a file with PyArrow can read it; at worst a moment that does not fit
#     is missing, or an error of its own row.
# What happens: moments of ORC are read in nanoseconds, which end in 2262. One moment of the year 9999 ("no
#     end"), or of the year 1, is an error for the whole file, and its text shows the moment.
# Version: pyarrow 26.0.1, and with it what reads ORC by PyArrow: pandas 3.1.1.
# Why it matters: one person's row stops everybody's question, and tells by that that it is there.
set -euo pipefail

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python=${PYTHON:-python3}
"$python" -m venv --without-pip "$here/venv"
"$python" -m pip --python "$here/venv" --disable-pip-version-check install --quiet --no-compile \
    pyarrow==26.0.1 pandas==3.1.1
cd "$here"

venv/bin/python - <<'EOF'
from datetime import datetime

import pandas as pd
import pyarrow as pa
from pyarrow import orc


def read(name, year, reader):
    moments = [datetime(2026, 10, 1), datetime(year, 12, 31)]
    orc.write_table(pa.table({"until": pa.array(moments, pa.timestamp("us"))}), "rows.orc")
    try:
        found = len(reader("rows.orc"))
    except pa.ArrowInvalid as error:
        found = str(error)
    print(f"{name}, a row of {year}: {found}")
    return found


for name, reader in (("PyArrow", orc.read_table), ("pandas", pd.read_orc)):
    assert read(name, 2027, reader) == 2
    for year, seconds in ((9999, "253402214400s"), (1, "-62104147200s")):
        assert seconds in read(name, year, reader)
EOF
