"""The command on a PostgreSQL table says what it says of a file with the same rows."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpselect.command.main import main
from tests.engines.every_engine import MAKERS

ROWS = pa.table(
    {
        "user": [f"u{n}" for n in range(300)] * 2 + ["u0", None],
        "animal": ["ant"] * 300 + ["bee" if n < 200 else "cat" for n in range(300)] + ["hidden", "ant"],
        "size": pa.array([n % 7 for n in range(600)] + [5, None], pa.int64()),
        "note": ["The quick fox"] * 300 + ["caf\u00e9, fox!"] * 300 + ["hidden", None],
    }
)
SURE = ["--delta", "1e-9", "--epsilon", "100"]
ANIMAL = ["--item", "animal"]
COMMANDS: dict[str, list[str]] = {
    "top": ["top", *ANIMAL, *SURE, "-k", "2"],
    "top of a list": ["top", *ANIMAL, "--epsilon", "100", "-k", "3", "--domain", "cat,dog,ant"],
    "choose": ["choose", *ANIMAL, "--epsilon", "100", "--domain", "bee,ant,dog"],
    "quantile": [
        "quantile",
        "--item",
        "size",
        "--epsilon",
        "900",
        "--bounds",
        "0",
        "10",
        "--step",
        "1",
        "--per-user",
        "max",
    ],
    "union": ["union", *ANIMAL, *SURE, "--method", "weighted-gaussian"],
    "union in the engine": ["union", *ANIMAL, *SURE, "--method", "weighted-gaussian", "--in-engine"],
    "union of a text": ["union", "--text", "note", *SURE, "--ngrams", "1-2", "--method", "weighted-gaussian"],
}


@pytest.fixture(scope="module")
def sources(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    path: Path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pq.write_table(ROWS, path)
    address, table = MAKERS["postgres"](request, ROWS)
    return [[str(path)], [str(address), "--table", str(table)]]


@pytest.mark.parametrize("command", COMMANDS.values(), ids=list(COMMANDS))
def test_a_table_of_a_server_as_a_file(
    sources: list[list[str]], capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    found: list[list[object]] = []
    for source in sources:
        verb, *words = command
        assert main([verb, *source, "--user", "user", *words, "--format", "json"]) == 0
        ended = capsys.readouterr()
        assert "hidden" not in ended.out + ended.err
        found.append([item["item"] for item in json.loads(ended.out)["items"]])
    assert found[0] == found[1] != []
