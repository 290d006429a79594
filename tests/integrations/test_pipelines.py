"""The recipes for pipelines, run by dbt and by Airflow where a machine has them; they are in no pins of ours.

`DPSELECT_DBT` and `DPSELECT_AIRFLOW` name their programs, where they are not in the environment of the tests; theirs
needs what dpselect needs. Each task runs twice for one day and once for another: the same day is paid once.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpselect as dps
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "guides" / "pipelines.md").read_text("utf-8")
ROWS = pa.table({"user": [n // 2 for n in range(2000)], "artist": ["a", "b"] * 1000})
PROFILES = "shop: {target: dev, outputs: {dev: {type: duckdb, path: shop.duckdb}}}"
UPSTREAM = "SELECT 'u' || n // 2 AS user_id, 'ab'[1 + n % 2] AS artist FROM range(2000) t(n)"


def block(path: str) -> str:
    """The block of the page that begins with this path."""
    found = re.findall(rf"^```\w+\n# {re.escape(path)}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert len(found) == 1
    return str(found[0])


def put(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, "utf-8")


def program(name: str) -> str:
    beside = Path(sys.executable).with_name(name)
    found = shutil.which(os.environ.get(f"DPSELECT_{name.upper()}") or beside)
    return found or pytest.skip(f"needs {name}: set DPSELECT_{name.upper()} to its program")


def ledger(path: Path, analyst: str) -> str:
    with dps.Ledger.create(str(path)) as made:
        made.data("plays", epsilon=3, delta="1e-6")
        made.grant(dps.Account("plays", analyst), epsilon=2, delta="1e-6")
    return str(path)


def spent(path: str, analyst: str) -> Fraction:
    with dps.Ledger(path) as opened:
        return opened.standing(dps.Account("plays", analyst)).own.spent.epsilon


def run(words: list[str], folder: Path, **settings: str) -> None:
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}", "DO_NOT_TRACK": "1"} | settings
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


def test_a_model_of_dbt_is_paid_once_for_the_same_rows(tmp_path: Path) -> None:
    dbt = program("dbt")
    put(
        tmp_path,
        {
            "dbt_project.yml": "name: shop\nversion: '1.0'\nprofile: shop\nflags: {send_anonymous_usage_stats: false}",
            "profiles.yml": PROFILES,
            "models/plays.sql": UPSTREAM,
            "models/top_artists.py": block("models/top_artists.py"),
            "models/private.yml": block("models/private.yml"),
        },
    )
    budget = ledger(tmp_path / "budget.sqlite", "dbt")
    paid = []
    for rows in ("monday", "monday", "tuesday"):
        words = [dbt, "run", "--profiles-dir", ".", "--vars", f"{{rows: {rows}}}"]
        run(words, tmp_path, PLAYS_LEDGER=budget)
        paid.append(spent(budget, "dbt"))
    assert 0 < paid[0] == paid[1] < paid[2]
    with duckdb.connect(str(tmp_path / "shop.duckdb"), read_only=True) as made:
        assert set(made.sql("SELECT item FROM top_artists").fetchall()) <= {("a",), ("b",)}
        assert made.sql("FROM top_artists").columns == ["rank", "item"]


def test_a_task_of_airflow_is_paid_once_for_the_same_day(tmp_path: Path) -> None:
    airflow = program("airflow")
    library = re.findall(r"^```python\n# release_tables.py\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    put(tmp_path, {"dags/release_tables.py": library[0], "dags/private_tables.py": block("dags/private_tables.py")})
    budget = ledger(tmp_path / "budget.sqlite", "pipeline")
    settings = {"AIRFLOW_HOME": f"{tmp_path}", "AIRFLOW__CORE__LOAD_EXAMPLES": "False", "PLAYS": f"{tmp_path}"}
    settings["PLAYS_LEDGER"] = budget
    run([airflow, "db", "migrate"], tmp_path, **settings)
    run([airflow, "dags", "reserialize"], tmp_path, **settings)
    paid = []
    for day in ("2026-11-22", "2026-11-22", "2026-11-23"):
        if not (tmp_path / f"{day}.parquet").exists():
            pq.write_table(ROWS, tmp_path / f"{day}.parquet")
        run([airflow, "dags", "test", "private_tables", day], tmp_path, **settings)
        paid.append(spent(budget, "pipeline"))
        assert pq.read_table(tmp_path / f"top-{day}.parquet").column_names == ["rank", "item"]
    assert 0 < paid[0] == paid[1] < paid[2]
