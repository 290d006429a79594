"""Parquet files with values of 300 MiB, in a process that may take a few times as much memory: nobody else notices."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

MIB = 2**20
LONG = 300 * MIB
MEMORY = 3 << 30  # of address space, of which the libraries and threads alone take a half
ASKED = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}))
import dpselect as dps
from tests.engines.opened import open_engine
for source in sys.argv[1:]:
    columns = {{"where": "item <> 'i3'", "max_items_per_user": None, "split": None, "table": None}}
    with open_engine(source, user="user", item="item", key=bytes(16), **columns) as engine:
        print(engine.top(5).counts.tolist())
        sets = engine.contributions()
        print(sets.users, sets.pairs, sets.size)
    dps.Dataset(source, user="user", item="item").prepare(source + ".prepared")
    with open_engine(source + ".prepared", user="user", item="item", key=bytes(16), **columns) as engine:
        print(engine.top(5).counts.tolist())
"""


def rows(first: int) -> dict[str, list[str]]:
    """Two items of each of 10,000 users."""
    each = range(first, first + 20_000)
    return {"user": [f"u{number // 2}" for number in each], "item": [f"i{number % 7}" for number in each]}


@pytest.mark.parametrize("how", [{}, {"use_dictionary": False, "write_statistics": False}], ids=["usual", "plain"])
def test_long_values_and_everybody_else(tmp_path: Path, how: dict[str, bool]):
    for name, long in (("plain", None), ("long", "x" * LONG)):
        schema = pa.schema({"user": pa.string(), "item": pa.string()})
        with pq.ParquetWriter(tmp_path / f"{name}.parquet", schema, **how) as file:
            for at, column in enumerate(("item", "user", "item")):
                some = rows(20_000 * at)
                if long is not None:  # in the first groups of rows alone: the last shows that these are not left out
                    more = {"user": "mallory", "item": "hers"} | {column: long if at < 2 else "i3"}
                    some = {key: [*values[:500], more[key], *values[500:]] for key, values in some.items()}
                file.write_table(pa.table(some))
    paths = [str(tmp_path / f"{name}.parquet") for name in ("plain", "long")]
    done = subprocess.run([sys.executable, "-c", ASKED, *paths], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answers = done.stdout.splitlines()
    assert len(answers) == 6
    assert answers[:3] == answers[3:]
