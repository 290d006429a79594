"""Files of Parquet need DuckDB's compiled module alone; whatever needs its package finds it loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROWS = """
import dpselect as dps, sys
rows = [(f"u{i % 40}", f"i{i % 3}") for i in range(300)]
columns = {"user": [user for user, _ in rows], "item": [item for _, item in rows], "value": [i % 5 for i in range(300)]}
"""
PARQUET = """
from dpselect.engines.duckdb.tables import write_table
source = "rows.parquet"
write_table(columns, source)
"""
SOURCES = {
    "CSV": """
source = "rows.csv"
open(source, "w").writelines(["user,item\\n", *(f"{user},{item}\\n" for user, item in rows)])
""",
    "JSON": """
import json
source = "rows.jsonl"
open(source, "w").writelines(json.dumps({"user": user, "item": item}) + "\\n" for user, item in rows)
""",
    "Arrow": "import pyarrow\nsource = pyarrow.table(columns)",
    "pandas": "import pandas\nsource = pandas.DataFrame(columns)",
    "polars": "import polars\nsource = polars.DataFrame(columns)",
    "arrays": "import numpy\nsource = {name: numpy.array(values) for name, values in columns.items()}",
    "relation": "import duckdb, pyarrow\nevents = pyarrow.table(columns)\nsource = duckdb.sql('FROM events')",
    "connection": """
import duckdb
connection = duckdb.connect()
connection.execute("CREATE TABLE events AS SELECT unnest(?) AS user, unnest(?) AS item", [*columns.values()][:2])
source = dps.Table(connection, "events")
""",
}
ASK = """
data = dps.Dataset(source, user="user", item="item", max_items_per_user=3)
for answer in (data.top_k(3, epsilon=8, delta="1e-2"), data.union(epsilon=8, delta="1e-2")):
    assert {found.item for found in answer} == {"i0", "i1", "i2"}
"""
PACKAGE = "print('duckdb' in sys.modules)"
EVERY_VERB = """
data = dps.Dataset(source, user="user", item="item", max_items_per_user=3, where="item <> 'i7'")
few = ["i0", "i1", "i2"]
data.choose(few, epsilon=1)
data.histogram(few, epsilon=1)
data.users(epsilon=1)
dps.Dataset(source, user="user", item="item").exclude(["i0"]).top_k(2, epsilon=8, delta="1e-2", counts=True)
dps.Dataset(source, user="user", item="value").median(epsilon=1, bounds=(0, 9), step=1)
dps.Dataset(source, user="user", item="item").top_k(1, by="value", epsilon=8, delta="1e-2")
dps.Dataset(source, user="user", item="item").top_k(1, score=dps.Total("value", at_most=5), epsilon=8, delta="1e-2")
dps.Dataset(source, user="user", item=dps.Text("item"), max_items_per_user=2).union(epsilon=8, delta="1e-2")
dps.Dataset(source, user="user", item="item").prepare("rows.prepared", keep=["value"])
dps.Dataset("rows.prepared", where="value > 1").top_k(2, epsilon=8, delta="1e-2")
"""


def run(code: str, folder: Path) -> str:
    """What a new process prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=folder)
    assert not done.returncode, done.stderr
    return done.stdout.strip()


def test_a_file_of_parquet_loads_no_package_whatever_is_asked(tmp_path: Path) -> None:
    assert run(f"{ROWS}{PARQUET}{ASK}{EVERY_VERB}{PACKAGE}", tmp_path) == "False"


@pytest.mark.parametrize("kind", ["CSV", "JSON"])
def test_a_source_that_needs_the_package_is_refused_before_its_price(kind: str, tmp_path: Path) -> None:
    """Where another module has its name: nothing is spent, and no file is said to be damaged."""
    (tmp_path / "duckdb.py").write_text("")
    ask = """
budget = dps.Budget(epsilon=10, delta="1e-2")
try:
    dps.Dataset(source, user="user", item="item", budget=budget).top_k(2, epsilon=1, delta="1e-6")
except ImportError as error:
    print("DuckDBPyRelation" in str(error), budget.left)
"""
    assert run(f"{ROWS}{SOURCES[kind]}{ask}", tmp_path) == "True 1.0"


def test_a_gateway_loads_the_package_when_it_starts(tmp_path: Path) -> None:
    """In no question's window, whose time would be longer."""
    start = """
from pathlib import Path
from dpselect.gateway import demo
from dpselect.gateway.gateway import Gateway
from dpselect.gateway.settings.reading import read
demo.make(Path("demo"), 200)
gateway = Gateway(read(Path("demo") / demo.SETTINGS_FILE))
before = "duckdb" in sys.modules
gateway.start()
print(before, "duckdb" in sys.modules)
gateway.stop()
"""
    assert run(f"import sys{start}", tmp_path) == "False True"


@pytest.mark.parametrize("source", SOURCES.values(), ids=list(SOURCES))
def test_other_sources_are_read_by_the_package(source: str, tmp_path: Path) -> None:
    assert run(f"{ROWS}{source}{ASK}{PACKAGE}", tmp_path) == "True"


def test_a_program_that_imports_the_package_afterwards_has_all_of_it(tmp_path: Path) -> None:
    whole = "import duckdb\nassert duckdb.sql('FROM \"rows.parquet\"').count('*').fetchall() == [(300,)]"
    assert run(f"{ROWS}{PARQUET}{ASK}{whole}{ASK}", tmp_path) == ""


@pytest.mark.parametrize(
    "version",
    [
        "import _duckdb\n_duckdb.__version__ = '2.1.0'",
        "import duckdb, sys\nsys.modules['_duckdb'] = None",
    ],
    ids=["later", "without the module"],
)
def test_of_a_version_that_was_not_tested_the_package_is_taken(version: str, tmp_path: Path) -> None:
    same = "from dpselect.engines.duckdb.library import duckdb as taken\nimport duckdb\nassert taken is duckdb"
    assert run(f"{version}\n{same}\n{ROWS}{PARQUET}{ASK}{PACKAGE}", tmp_path) == "True"


def test_the_version_that_is_installed_was_tested(tmp_path: Path) -> None:
    assert run("from dpselect.engines.duckdb.library import duckdb; print(duckdb.__name__)", tmp_path) == "_duckdb"
