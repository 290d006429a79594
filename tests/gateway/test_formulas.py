"""What users wrote is no formula in a spreadsheet that opens a download."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.gateway.served import rows, serving

FORMULA = "=cmd|' /C calc'!A0"


def test_a_download_is_escaped_unless_its_form_says_otherwise(tmp_path: Path) -> None:
    found = rows()
    found["artist"] = [FORMULA] * len(found["artist"])
    pq.write_table(pa.table(found), tmp_path / "plays.parquet")
    with serving(tmp_path) as served:
        job = served.ann.ask({"verb": "top_k", "data": "plays", "k": 1, "epsilon": 1, "domain": [FORMULA]})
        for form, label in (("csv", f"'{FORMULA}"), ("plain-csv", FORMULA)):
            told = served.ann.get(f"{job['answer']}.{form}")
            assert [row[1] for row in csv.reader(io.StringIO(told.text))] == ["item", label]
            assert told.headers["content-disposition"].endswith('.csv"')
