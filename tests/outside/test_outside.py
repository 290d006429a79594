"""Engines and sources of other packages: asked only about what nothing here reads, and named by every answer."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from io import StringIO
from pathlib import Path
from time import sleep
from typing import Any
from unittest.mock import patch

import pytest

import dpselect as dps
from dpselect._ground.domain import Listed
from dpselect.audit.report import report
from dpselect.errors import DataError, DpselectError, SourceError
from dpselect.gateway.gateway import Gateway
from dpselect.gateway.log import Log
from dpselect.gateway.settings.checks import check_sources
from dpselect.gateway.settings.reading import read_text
from dpselect.gateway.turn import Turn
from dpselect.ledger.account import Account
from dpselect.ledger.ledger import Ledger
from tests.engines.opened import open_engine
from tests.engines.test_conformance import kept, pairs
from tests.gateway.wrong_settings import FEWEST
from tests.outside.installed import installed, written

PROJECT = Path(__file__).parent / "dps-rows"
READER = "dps-rows 1.2, which is not part of dpselect, read the rows: the promise depends on it too."
RECORDS = [
    {"user": user, "item": item, "country": "DE" if user % 2 else "FR"}
    for user in range(300)
    for item in (["tea", "milk", "rye"] if user % 3 else ["tea"])
]


def records(columns: Sequence[str] = ("user", "item", "country"), rows: Sequence[object] = RECORDS) -> Any:
    """The records as the package has them."""
    return import_module("dps_rows.records").Records(columns, rows)


COLUMNS = {name: [record[name] for record in RECORDS] for name in ("user", "item", "country")}


@pytest.fixture(scope="module", autouse=True)
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with installed(PROJECT, tmp_path_factory.mktemp("package")):
        yield


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    made = sqlite3.connect(":memory:")
    made.execute('CREATE TABLE plays ("user" INTEGER, item TEXT, country TEXT)')
    made.executemany("INSERT INTO plays VALUES (?, ?, ?)", [(*record.values(),) for record in RECORDS])
    made.execute("INSERT INTO plays VALUES ('text in a column of integers', 'tea', 'FR')")
    made.commit()
    yield made
    made.close()


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    ledger = Ledger.create(tmp_path / "ledger.sqlite")
    ledger.data("plays", 10, "1e-5")
    ledger.grant(Account("plays", "ann"), 10, "1e-5")
    yield ledger
    ledger.close()


def paying(ledger: Ledger, **more: Any) -> dps.Budget:
    return dps.Budget.open(ledger, analyst="ann", data="plays", **more)


# ---- what is asked, and what it says ------------------------------------------------------------------------


def test_an_answer_names_the_package(tmp_path: Path, ledger: Ledger) -> None:
    data = dps.Dataset(records(), user="user", item="item", budget=paying(ledger))
    assert "300" not in repr(data)
    assert str(len(RECORDS)) not in repr(data)
    release = data.top_k(1, epsilon=5)
    assert release.labels == ["tea"]
    assert "dps-rows 1.2, which is not part" in str(release)
    assert "dps-rows 1.2, which is not part" in repr(release)
    assert READER in release.privacy.sentences
    assert "dps-rows 1.2, which is not part" in str(release.explain())
    assert release.question is not None
    assert release.question["rows"] == {"outside": "dps-rows 1.2"}
    assert READER in json.dumps(release.to_dict())
    path = tmp_path / "answer.json"
    release.to_json(path)
    assert "follows from the question" in str(dps.check(path))
    path.write_text(path.read_text().replace(READER, READER.replace("not part", "part")))
    assert "follows from the question" not in str(dps.check(path))
    assert "read by dps-rows 1.2" in json.dumps(report(ledger, "plays"))


def test_a_repeat_is_free_only_where_a_snapshot_is_named(ledger: Ledger) -> None:
    for snapshot, times in ((None, 2), ("monday", 1)):
        before = ledger.standing(Account("plays", "ann")).own.spent.epsilon
        data = dps.Dataset(records(), user="user", item="item", budget=paying(ledger, snapshot=snapshot))
        for _ in range(2):
            data.users(epsilon=1)
        assert ledger.standing(Account("plays", "ann")).own.spent.epsilon - before == times


@pytest.mark.parametrize("by", [(), ("country",)])
def test_an_engine_counts_as_those_here_do(connection: sqlite3.Connection, by: tuple[str, ...]) -> None:
    asked: dict[str, Any] = {"user": "user", "item": "item", "by": by, "key": bytes(16), "max_items_per_user": 3}
    with open_engine(connection, table="plays", **asked) as theirs, open_engine(COLUMNS, **asked) as ours:
        assert (theirs.outside, ours.outside) == ("dps-rows 1.2", None)
        if by:
            (found, wanted) = (engine.top_by(9, 2) for engine in (theirs, ours))
            assert found.counts.tolist() == wanted.counts.tolist() == [150, 100, 100, 150, 100, 100]
            assert list(found.items(range(6))) == list(wanted.items(range(6)))
            return
        assert pairs(theirs.top(9)) == pairs(ours.top(9)) == [("tea", 300), ("milk", 200), ("rye", 200)]
        assert kept(theirs) == kept(ours)
        domain = Listed(["rye", "tea", "wine"])
        assert pairs(theirs.grouped(domain)) == pairs(ours.grouped(domain))


def test_every_verb_of_an_engine(connection: sqlite3.Connection) -> None:
    data = dps.Dataset(dps.Table(connection, "plays"), user="user", item="item", max_items_per_user=3)
    assert data.union(epsilon=20).labels == ["milk", "rye", "tea"]
    assert data.choose(["milk", "tea"], epsilon=20).labels == ["tea"]
    assert [round(item.count or 0, -1) for item in data.histogram(["tea", "wine"], epsilon=50)] == [300, 0]
    assert round(data.users(epsilon=50)[0].count or 0, -1) == 300
    by_country = data.top_k(1, by=dps.By("country", max_groups_per_user=1), epsilon=20)
    assert [(*item.group, item.item) for item in by_country] == [("DE", "tea"), ("FR", "tea")]
    with pytest.raises(SourceError, match="where must be left out"):
        data.where("country = 'DE'").top_k(1, epsilon=1)


def test_a_path_is_never_theirs(tmp_path: Path) -> None:
    """Nor anything else that is read here, and whose mistakes are explained here."""
    code = "ASKED = []\ndef opens(source, table):\n    ASKED.append(source)\n    return {'user': [1], 'item': [2]}"
    with written(tmp_path, code, name="dps-greedy"):
        file = tmp_path / "a.csv"
        file.write_text("user,item\n1,a\n")
        (tmp_path / "b.sqlite").touch()
        for source in (file, str(file), [file], COLUMNS, tmp_path / "none.csv", "x.xlsx", [], tmp_path / "b.sqlite"):
            with suppress(SourceError, DataError):
                dps.Dataset(source, user="user", item="item").users(epsilon=1)
        assert "dps_greedy" not in sys.modules
        assert "dps-greedy 0.1" in str(dps.Dataset("x://y", user="user", item="item").users(epsilon=1))


# ---- what is broken -----------------------------------------------------------------------------------------

ENGINES = "dpselect.engines"
NO_TABLE = """
from dps_rows.sqlite import TYPES, SqliteDatabase
import sqlite3
class Lying(SqliteDatabase):
    def __init__(self, request):
        super().__init__(sqlite3.connect(":memory:"), "plays", type("None", (), {"named_columns": ()}))
        self.types = {"user": TYPES["INTEGER"], "item": TYPES["TEXT"]}
def opens(source, table):
    return Lying
"""
BROKEN = {
    "raises at import": ("import nothing_of_this_name", "can be imported, got ModuleNotFoundError: No module named"),
    "has no function": ("", "can be imported, got AttributeError"),
    "is no function": ("opens = 3", "is a function of a source and a table that returns rows"),
    "takes nothing": ("def opens(): pass", "opens the source, got a TypeError"),
    "raises": ("def opens(source, table):\n    raise KeyError('secret')", "got a KeyError in dps_broken.py, line 3"),
    "raises an error of ours": (
        "from dpselect.errors import DataError\ndef opens(source, table):\n    raise DataError('row 17: secret')",
        "got a DataError in dps_broken.py, line 4",
    ),
    "gives a path": ("def opens(source, table): return 'a.csv'", "returns rows.*got a value of type str"),
    "gives an object": ("def opens(source, table): return object()", "returns rows.*got an object of type object"),
    "gives rows once": (
        "import pyarrow as pa\ndef opens(source, table):\n    return pa.table({'user': [1], 'item': [2]}).to_reader()",
        "source must give its rows more than once",
    ),
    "gives no column": ("def opens(source, table): return {}", "dps-broken 0.1"),
    "gives other columns": ("def opens(source, table): return {'user': [1], 'thing': [2]}", "item must be a column"),
    "gives columns of two lengths": (
        "def opens(source, table): return {'user': [1], 'item': [2, 3]}",
        "the columns of a dict must have the same length",
    ),
    "gives no engine": ("def opens(source, table): return 3", "returns a function.*got a value of type int", ENGINES),
    "gives no database": (
        "def opens(source, table): return lambda request: {}",
        "to a Database.*got a value of type dict",
        ENGINES,
    ),
    "lies about columns": (NO_TABLE, "opens the source, got a OperationalError in sqlite.py", ENGINES),
}


@pytest.mark.parametrize(("code", "said", "group"), [(*case, "dpselect.sources")[:3] for case in BROKEN.values()])
def test_a_broken_package_is_refused_before_anything_is_charged(
    code: str, said: str, group: str, tmp_path: Path, ledger: Ledger
) -> None:
    data = dps.Dataset(object(), user="user", item="item", budget=paying(ledger))
    with written(tmp_path, code, group=group), pytest.raises(DpselectError, match=said) as raised:
        data.top_k(1, epsilon=1)
    assert "dps-broken 0.1" in str(raised.value)
    assert "secret" not in str(raised.value)
    assert [entry.kind.name for entry in ledger.entries() if entry.kind.name not in ("DATA", "GRANT", "OPENED")] == []


FAILS_LATER = """
from dps_rows.sqlite import SqliteDatabase
import sqlite3
class Failing(SqliteDatabase):
    def __init__(self, request):
        made = sqlite3.connect(":memory:")
        made.execute('CREATE TABLE plays ("user" INTEGER, item TEXT)')
        super().__init__(made, "plays", request)
    def rows(self, sql, *, progress=None):
        if "1 = 0" in sql:
            return super().rows(sql)
        raise ValueError("row 1: secret")
def opens(source, table):
    return Failing
"""


def test_what_fails_while_it_counts_says_no_row(tmp_path: Path) -> None:
    failed = "^dps-broken 0.1 failed while it counted rows: a ValueError in dps_broken.py, line 13\n"
    with written(tmp_path, FAILS_LATER, group=ENGINES), pytest.raises(DataError, match=failed) as raised:
        dps.Dataset(object(), user="user", item="item").users(epsilon=1)
    assert "secret" not in str(raised.value)
    assert raised.value.__cause__ is None


@pytest.mark.parametrize("odd", [None, "text", {}, {"user": 7}, {"user": [1], "item": {2}}], ids=str)
def test_an_odd_record_is_read_alone(odd: object) -> None:
    """Not even the first of all: it decides neither who reads the source nor which columns there are."""
    for rows in ([*RECORDS, odd], [odd, *RECORDS], [odd]):
        with suppress(DataError):  # a value that no column has is said of its column, whatever stands beside it
            found = dps.Dataset(records(rows=rows), user="user", item="item").users(epsilon=100)
            assert "dps-rows 1.2" in str(found)


def test_who_is_not_broken_answers(tmp_path: Path) -> None:
    with written(tmp_path, "import nothing_of_this_name"):
        assert "dps-rows 1.2" in str(dps.Dataset(records(), user="user", item="item").users(epsilon=1))


def test_two_packages_for_one_source_are_refused(tmp_path: Path) -> None:
    with (
        written(tmp_path, "def opens(source, table): return {'user': [1], 'item': [2]}", name="dps-second"),
        pytest.raises(SourceError, match=r"be read by one package, got dps-.* and dps-"),
    ):
        dps.Dataset(records(), user="user", item="item").users(epsilon=1)


def test_nobody_reads_it() -> None:
    with pytest.raises(SourceError, match=r"source must be a path.*\n.*no other package reads it; asked: dps-rows 1.2"):
        dps.Dataset(object(), user="user", item="item").users(epsilon=1)


# ---- a gateway ----------------------------------------------------------------------------------------------


def test_a_gateway_asks_no_package_that_its_settings_do_not_name(tmp_path: Path) -> None:
    plays = [{**record, "artist": record["item"]} for record in RECORDS]
    import_module("dps_rows.records").NAMED["plays"] = records(("user", "item", "country", "artist"), plays)
    text = FEWEST.replace('"plays.parquet"', '"records://plays"\noutside = "PACKAGE"\nsizes.rows = 1000')
    with pytest.raises(DpselectError, match="outside must name the package that reads records:// addresses"):
        read_text(text.replace('outside = "PACKAGE"\n', ""), tmp_path)
    assert check_sources(read_text(text.replace("PACKAGE", "DPS_Rows"), tmp_path)) == []
    (found,) = check_sources(read_text(text.replace("PACKAGE", "dps-other"), tmp_path))
    assert "no other package reads it; asked: dps-other, which has no entry point" in found


def test_a_package_that_fails_at_a_gateway_is_told_when_an_answer_would_be(tmp_path: Path) -> None:
    """It may have read rows by then: a failure at once would tell whoever asks what a row does."""
    code = "def opens(source, table):\n    raise ValueError('secret')"
    with written(tmp_path, code, name="dps-late"):
        source = '"late://plays"\noutside = "dps-late"\nsizes.rows = 1000'
        text = FEWEST.replace('"plays.parquet"', source).replace(
            'role = "analyst"', 'role = "analyst"\nquota = { epsilon = 2, delta = "1e-6" }'
        )
        gateway = Gateway(read_text(text, tmp_path), Log(StringIO()))
        question = {"verb": "top_k", "k": 1, "epsilon": "1/2", "delta": "1e-8"}
        waits: list[bool] = []
        with patch.object(Turn, "wait", lambda turn: waits.append(turn.may_have_read)):
            gateway.start()
            try:
                number = gateway.ask(gateway.settings.people["ann"], question)["id"]
                while (job := gateway.jobs.find(number)) is None or job.state.value in ("queued", "running"):
                    sleep(0.01)
            finally:
                gateway.stop()
    assert waits == [True]
    assert job.problem is not None
    assert "secret" not in str(job.problem)
