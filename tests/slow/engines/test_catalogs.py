"""Iceberg tables of catalogs, scans of them, and tables of Spark with its deletes, beside Spark's own counts."""

from __future__ import annotations

import datetime
import json
import threading
import zipfile
from collections.abc import Iterator
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import In
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import StaticTable

import dpselect as dps
from tests.lakes import ALL, OLD, ROWS, catalog_of, counted

BY_SPARK = Path(__file__).with_name("lakes") / "iceberg.zip"
EPOCH = datetime.datetime(1970, 1, 1)


@pytest.fixture(scope="module")
def spark_tables(tmp_path_factory) -> Path:
    """The folder of the tables, which they were not written in."""
    folder = tmp_path_factory.mktemp("spark")
    with zipfile.ZipFile(BY_SPARK) as archive:
        archive.extractall(folder)
    return folder


def text_of(item: object) -> str:
    """A value as Spark writes it."""
    match item:
        case bytes():
            return item.hex()
        case datetime.datetime():
            text = item.replace(tzinfo=None).isoformat(" ")
            return text.rstrip("0") if "." in text else text
        case float():
            return {"inf": "Infinity"}.get(repr(item), repr(item))
    return str(item)


@pytest.mark.parametrize("version", ["v2", "v3"])  # with files of positions, with vectors
def test_what_spark_deleted_renamed_and_widened_counts_as_in_spark(version, spark_tables):
    answers = json.loads((spark_tables / "answers.json").read_text())[version]
    assert len(answers) == 9
    for column, expected in answers.items():
        data = dps.Dataset(str(spark_tables / version), user="user", item=column)
        release = data.top_k(400, epsilon=40_000, delta="1e-6", counts=True, domain=None)
        found = {item.item: item.count for item in release}
        numbers = {
            bytes.fromhex(text).decode(errors="replace").replace("\ufffd", "?")
            if column in ("thing", "extra")
            else text: n
            for text, n in expected.items()
        }
        numbers.pop("NaN", None)  # no item
        several = {text: n for text, n in numbers.items() if n > 1}
        assert {text_of(item): n for item, n in found.items() if n > 1} == several, column
    # What one user alone has is not released, but it counts where it is listed.
    one = dps.Dataset(str(spark_tables / version), user="user", item="thing")
    assert [item.count for item in one.histogram(["z", "", "d"], epsilon=400)] == [1, 1, 30]
    days = dps.Dataset(str(spark_tables / version), user="user", item="day")
    ends = [datetime.date(1, 1, 1), datetime.date(9999, 12, 31), datetime.date(2026, 10, 2)]
    assert [item.count for item in days.histogram(ends, epsilon=400)] == [1, 1, 90]
    prices = dps.Dataset(str(spark_tables / version), user="user", item="price")
    assert [item.count for item in prices.histogram([Decimal("9999999.99"), 0], epsilon=400)] == [1, 35]


@pytest.fixture(autouse=True)
def sql_catalog(tmp_path) -> SqlCatalog:
    catalog = SqlCatalog("prod", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=(tmp_path / "rows").as_uri())
    catalog.create_namespace("shop")
    catalog.create_table("shop.events", schema=ROWS.schema).append(OLD)
    catalog.load_table("shop.events").overwrite(ROWS)
    return catalog


@pytest.fixture
def rest_catalog(sql_catalog) -> Iterator[str]:
    """The address of a server that says what another catalog has, in the words of Iceberg's REST."""

    class Answers(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Nothing."""

        def do_GET(self) -> None:
            if self.path.startswith("/v1/config"):
                return self.answer(200, {"defaults": {}, "overrides": {}})
            if self.path != "/v1/namespaces/shop/tables/events":
                return self.answer(404, {"error": {"message": "no", "type": "NoSuchTableException", "code": 404}})
            table = sql_catalog.load_table("shop.events")
            metadata = json.loads(table.metadata.model_dump_json())
            return self.answer(200, {"metadata-location": table.metadata_location, "metadata": metadata, "config": {}})

        do_HEAD = do_GET

        def answer(self, status: int, body: object) -> None:
            self.send_response(status)
            content = json.dumps(body).encode()
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def settings(tmp_path, monkeypatch) -> Any:
    """Write pyiceberg's file of settings, in which a catalog has an address; its package reads it when it is loaded."""
    import pyiceberg.catalog
    from pyiceberg.utils.config import Config

    def write(address: str) -> None:
        (tmp_path / ".pyiceberg.yaml").write_text(f"catalog:\n  prod:\n    uri: {address}\n")
        monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))
        monkeypatch.setattr(pyiceberg.catalog, "_ENV_CONFIG", Config())

    return write


@pytest.mark.parametrize("kind", ["sql", "rest"])
def test_a_catalog_is_named_as_pyiceberg_knows_it(kind, rest_catalog, settings, tmp_path):
    settings(f"sqlite:///{tmp_path}/catalog.db" if kind == "sql" else rest_catalog)
    assert counted(dps.Table("iceberg:prod", "shop.events")) == ALL
    assert repr(dps.Dataset(dps.Table("iceberg:prod", "shop.events"), user="user", item="item")) == (
        "Dataset(Table('iceberg:prod', name='shop.events'), user='user', item='item')"
    )


def test_objects_of_pyiceberg_are_read_as_they_are(sql_catalog):
    table = sql_catalog.load_table("shop.events")
    old, *_ = (entry.snapshot_id for entry in table.history())
    assert counted(dps.Table(sql_catalog, "shop.events")) == ALL
    assert counted(table) == counted(table.scan()) == ALL
    assert counted(table.scan(snapshot_id=old)) == {**dict.fromkeys(ALL, 0), "old": 2}
    assert sum(counted(table.scan(row_filter="item = 'a'")).values()) == 100
    with pytest.raises(dps.ParameterError, match=r"be a scan without a limit, .* got 3"):
        counted(table.scan(limit=3))
    with pytest.raises(dps.ParameterError, match="table must be left out"):
        counted(dps.Table(table, "events"))


def test_a_question_about_a_snapshot_is_known_again_until_the_next(sql_catalog, settings, tmp_path):
    settings(f"sqlite:///{tmp_path}/catalog.db")
    budget = dps.Budget(epsilon=2000)
    table = sql_catalog.load_table("shop.events")
    old, *_ = (entry.snapshot_id for entry in table.history())
    left = []
    for source in (
        dps.Table("iceberg:prod", "shop.events"),
        dps.Table("iceberg:prod", "shop.events"),
        table.scan(snapshot_id=old),
        table.scan(snapshot_id=old),
        table.scan(snapshot_id=old, row_filter="n < 3"),
    ):
        counted(source, budget=budget)
        left.append(budget.left)
    assert left[0] == left[1] > left[2] == left[3] > left[4]
    table.append(OLD)
    counted(dps.Table("iceberg:prod", "shop.events"), budget=budget)
    assert budget.left < left[4]


def test_filters_that_are_written_alike_are_not_the_same(sql_catalog):
    """Neither in what a set has, nor in whether letter case counts; in whatever order the set is."""
    table, budget = sql_catalog.load_table("shop.events"), dps.Budget(epsilon=2000)
    for values in (("a, b", "c"), ("a", "b, c"), ("c", "a, b")):
        counted(table.scan(row_filter=In("item", values)), budget=budget)
    left = budget.left
    assert left == 0.8
    counted(table.scan(row_filter=In("item", ("a", "b, c")), case_sensitive=False), budget=budget)
    assert budget.left < left


def test_columns_are_those_of_the_snapshot(sql_catalog):
    """A column that has another's old name holds other rows, though no snapshot followed."""
    table = sql_catalog.load_table("shop.events")
    budget = dps.Budget(epsilon=2000)
    assert counted(table, budget=budget) == ALL
    with table.update_schema() as update:
        update.rename_column("item", "was")
    with table.update_schema() as update:
        update.rename_column("n", "item")
    left = budget.left
    texts = dps.Dataset(table, user="user", item="item", budget=budget)
    assert sum(one.count for one in texts.histogram([0, 1], epsilon=200)) > 0
    assert budget.left < left


def test_columns_of_files_that_do_not_number_them_are_those_of_the_table_now(sql_catalog, tmp_path):
    """Which column of a file is meant, is a property of the table, and no snapshot follows a change of it."""
    rows, budget = ROWS.append_column("other", pa.array(["b"] * len(ROWS))), dps.Budget(epsilon=2000)
    pq.write_table(rows, tmp_path / "rows.parquet")
    table = sql_catalog.create_table("shop.added", schema=rows.schema)
    table.add_files([(tmp_path / "rows.parquet").as_uri()])
    assert counted(table, budget=budget) == ALL
    names = json.loads(table.properties["schema.name-mapping.default"])
    for field in names:
        field["names"] = {"item": ["other"], "other": ["item"]}.get(field["names"][0], field["names"])
    with table.transaction() as change:
        change.set_properties({"schema.name-mapping.default": json.dumps(names)})
    assert counted(table, budget=budget) == {**dict.fromkeys(ALL, 0), "b": 300}


@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        (None, dps.ParameterError, "table must name a table of the catalog, with its namespace, got nothing"),
        ("events", dps.ParameterError, "with its namespace, got 'events'\nhint: dps.Table"),
        ("shop.event", dps.DataError, "table must be a table of the Iceberg catalog 'prod', got 'shop.event'"),
        ("other.events", dps.DataError, "table must be a table of the Iceberg catalog 'prod', got 'other.events'"),
    ],
)
def test_what_a_catalog_does_not_have_is_told_before_anything_is_paid(table, error, message, settings, tmp_path):
    settings(f"sqlite:///{tmp_path}/catalog.db")
    budget = dps.Budget(epsilon=1000)
    with pytest.raises(error, match=message):
        counted("iceberg:prod" if table is None else dps.Table("iceberg:prod", table), budget=budget)
    assert budget.left == 1


def test_a_catalog_that_is_down_or_unknown_is_told_without_its_address(settings):
    settings("http://ann:secret@127.0.0.1:1")
    for name in ("prod", "other"):
        with pytest.raises(dps.DataError, match=f"the Iceberg catalog '{name}' cannot be read") as refused:
            counted(dps.Table(f"iceberg:{name}", "shop.events"))
        assert "secret" not in str(refused.value)
        assert ".pyiceberg.yaml" in str(refused.value)


def test_an_address_in_the_place_of_a_name_is_shown_without_its_secret():
    data = dps.Dataset(dps.Table("iceberg:https://ann:secret@host/x", "shop.events"), user="user", item="item")
    with pytest.raises(dps.DataError, match=r"the Iceberg catalog 'https://host/x' cannot be read") as refused:
        data.histogram(["a"], epsilon=1)
    assert "secret" not in f"{refused.value}{data!r}"


def test_a_snapshot_that_the_table_does_not_have_is_told(sql_catalog):
    scan = sql_catalog.load_table("shop.events").scan(snapshot_id=12)
    with pytest.raises(dps.ParameterError, match="source must be a scan of a snapshot that the table has, got 12"):
        counted(scan)


def test_deletes_by_value_are_refused_by_name(sql_catalog, tmp_path):
    """A reader that passes over them counts people who are gone."""
    table = sql_catalog.load_table("shop.events")
    pq.write_table(ROWS.select(["user"]).slice(0, 1), tmp_path / "gone.parquet")
    gone = DataFile.from_args(
        content=DataFileContent.EQUALITY_DELETES,
        file_path=(tmp_path / "gone.parquet").as_uri(),
        file_format=FileFormat.PARQUET,
        partition={},
        record_count=1,
        file_size_in_bytes=(tmp_path / "gone.parquet").stat().st_size,
        equality_ids=[1],
    )
    gone.spec_id = 0
    with table.transaction() as change, change.update_snapshot().fast_append() as append:
        append.append_data_file(gone)
    folder = table.location().removeprefix("file://")
    for source in (table, table.scan(), dps.Table(sql_catalog, "shop.events"), folder):
        with pytest.raises(dps.ParameterError, match=r"without equality deletes.*\nhint: rewrite the table"):
            counted(source)


@pytest.mark.parametrize("content", [DataFileContent.DATA, DataFileContent.POSITION_DELETES])
@pytest.mark.parametrize("written", [FileFormat.ORC, FileFormat.AVRO])
def test_files_of_which_one_row_can_stop_all_are_refused_by_their_form(written, content, sql_catalog):
    """PyArrow reads moments of ORC in nanoseconds: one of the year 9999 is an error for everybody."""
    table = sql_catalog.load_table("shop.events")
    before = table.scan(snapshot_id=table.current_snapshot().snapshot_id)
    added = DataFile.from_args(
        content=content,
        file_path=f"{table.location()}/data/x.{written.name.lower()}",
        file_format=written,
        partition={},
        record_count=1,
        file_size_in_bytes=1,
    )
    added.spec_id = 0
    local_path = Path(added.file_path.removeprefix("file://"))
    local_path.write_bytes(b"x")  # of which nothing is read
    with table.transaction() as change, change.update_snapshot().fast_append() as append:
        append.append_data_file(added)
    folder = table.location().removeprefix("file://")
    budget = dps.Budget(epsilon=500)
    for source in (table, table.scan(), dps.Table(sql_catalog, "shop.events"), folder):
        with pytest.raises(
            dps.ParameterError, match=f"Iceberg table of Parquet files, got one with files of {written.name}"
        ):
            counted(source, budget)
    assert counted(before, budget) == ALL


def test_files_that_are_gone_are_told_before_anything_is_paid(tmp_path):
    table = catalog_of(tmp_path / "rows", ROWS)
    for path in (tmp_path / "rows").rglob("*.avro"):
        path.unlink()
    budget = dps.Budget(epsilon=1000)
    with pytest.raises(dps.DataError, match=r"the files of the Iceberg table cannot be listed \(FileNotFoundError\)"):
        counted(table, budget=budget)
    assert budget.left == 1


def test_a_table_of_a_catalog_is_prepared(sql_catalog, tmp_path):
    data = dps.Dataset(dps.Table(sql_catalog, "shop.events"), user="user", item="item")
    data.prepare(tmp_path / "rows.prepared")
    assert counted(tmp_path / "rows.prepared") == ALL
    with pytest.raises(dps.ParameterError, match="whose contents were added before"):
        data.prepare(tmp_path / "rows.prepared", add=True)


def test_a_table_without_a_row_has_no_items(tmp_path):
    table = catalog_of(tmp_path / "rows", ROWS)
    table.delete()
    assert counted(table) == dict.fromkeys(ALL, 0)
    static = StaticTable.from_metadata(table.metadata_location)
    assert counted(static) == dict.fromkeys(ALL, 0)
    assert isinstance(table.scan().to_arrow(), pa.Table)
