"""Preparing and asking of prepared data with something wrong: what it is, what it must be, and never a row."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dpselect as dps
from dpselect.flat import dataset_of, prepare
from tests.by_names import by_names
from tests.end_to_end.conftest import Command
from tests.end_to_end.prepared_rows import RULES, asked, right, write
from tests.ledger.amounts import grant

posix = pytest.mark.skipif(os.name != "posix", reason="needs rights of POSIX")
Bad = tuple[dict[str, Any], str]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the first files, and prepared data of the first, which no test may change."""
    place = tmp_path_factory.mktemp("bad")
    write(place, 1)
    prepare(write(place, 0), to=place / "data.prepared", **RULES)
    return place


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    """Prepared data of the first file, for one test."""
    return Path(shutil.copy(made / "data.prepared", tmp_path / "data.prepared"))


# ---- new data -------------------------------------------------------------------------------------------------

# what differs from good rules, and the message
NEW: dict[str, Bad] = {
    "no user": ({"user": None}, "user must be the name of a column, or a list of several, got nothing"),
    "keep is USER": ({"keep": "USER"}, "keep must be columns other than user, got 'USER'"),
    "weight is kept": ({"keep": "minutes"}, "weights must be columns other than keep, got 'minutes'"),
    "keep in two cases": ({"keep": ["country", "Country"]}, "keep must name each column once, got 'Country'"),
    "missing kept column": ({"keep": "contry"}, r"keep must be a column of the source, got 'contry'\n.*country\?"),
    "time without period": ({"period": None}, "period must be .*got nothing"),
    "unknown time zone": ({"timezone": "Mars"}, "timezone must be the name of a time zone"),
    "memory in words": ({"memory": "much"}, "memory must be a size such as 4GiB or 500MB, got 'much'"),
    "progress": ({"progress": 5}, "progress must be a function, or left out, got 5"),
    "table of a file": ({"table": "rows"}, "table must be left out for this kind of source"),
    "add is no flag": ({"add": 1}, "add must be True or False, got 1"),
    "add to nothing": ({"add": True}, r"to must be a file of prepared data, to add to it.*\n.*leave out add="),
}


@pytest.mark.parametrize("name", NEW)
def test_what_is_wrong_is_said_before_a_folder_is_made(name: str, made: Path, tmp_path: Path) -> None:
    more, message = NEW[name]
    with pytest.raises(dps.ParameterError, match=f"^{message}"):
        prepare(made / "0.csv", to=tmp_path / "new.prepared", **{**RULES, **more})
    assert list(tmp_path.iterdir()) == []


def test_rows_in_spark_are_not_prepared(tmp_path: Path) -> None:
    with pytest.raises(dps.ParameterError, match=r"^source must be files.*, got one of Spark\nhint: save the rows as"):
        prepare("spark:local", table="plays", to=tmp_path / "new.prepared", **RULES)
    assert list(tmp_path.iterdir()) == []


def a_folder(place: Path) -> Path:
    (place / "x.prepared").mkdir()
    return place / "x.prepared"


def below(place: Path) -> Path:
    (place / "file").write_text("x")
    return place / "file" / "x.prepared"


def dangling(place: Path) -> Path:
    (place / "x.prepared").symlink_to("nowhere")
    return place / "x.prepared"


def open_to_all(mode: int) -> Callable[[Path], Path]:
    def made(place: Path) -> Path:
        (place / "theirs" / "mine").mkdir(parents=True)
        (place / "theirs").chmod(mode)
        return place / "theirs" / "mine" / "x.prepared"

    return made


OTHERS = "other users of this machine may write to .*theirs'\nhint: chmod go-w"
PLACES: dict[str, tuple[Callable[[Path], object], type[Exception], str]] = {
    "an address": (lambda _: "s3://bucket/x.prepared", dps.ParameterError, "to must be .* on this machine .*'s3://"),
    "an address as a path": (lambda _: Path("s3://b/x.prepared"), dps.ParameterError, "to must be .*, got 's3:/b"),
    "nothing": (lambda _: "", dps.ParameterError, "to must be the path of a file on this machine that ends in"),
    "another ending": (lambda place: place / "x.parquet", dps.ParameterError, "ends in .prepared, got '"),
    "a folder": (a_folder, dps.OutputError, "is no file\nhint: name a new file"),
    "below a file": (below, dps.OutputError, "cannot be written: Not a directory"),
    "in no folder": (lambda place: place / "no" / "x.prepared", dps.OutputError, "cannot be written: No such file"),
    "a link to nothing": (dangling, dps.OutputError, "cannot be written"),
    "in a folder of all": (open_to_all(0o777), dps.OutputError, OTHERS),
    "in a folder of a group": (open_to_all(0o770), dps.OutputError, OTHERS),
}


@posix
@pytest.mark.parametrize("name", PLACES)
def test_a_place_that_will_not_do(name: str, made: Path, tmp_path: Path) -> None:
    place, kind, message = PLACES[name]
    to = place(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(kind, match=message):
        prepare(made / "0.csv", to=to, **RULES)
    assert sorted(tmp_path.rglob("*")) == before
    assert not Path("s3:").exists()


@posix
def test_a_link_to_a_file_will_do(made: Path, tmp_path: Path) -> None:
    prepare(made / "0.csv", to=tmp_path / "real.prepared", **RULES)
    (tmp_path / "link.prepared").symlink_to("real.prepared")
    prepare(made / "1.csv", to=tmp_path / "link.prepared", add=True)
    assert (tmp_path / "link.prepared").is_symlink()
    assert asked(tmp_path / "real.prepared", "all") == asked(tmp_path / "link.prepared", "all") == right("all", 1)


@pytest.mark.parametrize(
    ("role", "sql"), [("user", "[1, 2]"), ("item", "{'a': 1}"), ("keep", "MAP {1: 2}"), ("weights", "INTERVAL 1 DAY")]
)
def test_types_whose_values_cannot_be_told_apart(role: str, sql: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    duckdb.sql(f"SELECT 'u' AS \"user\", 'i' AS item, {sql} AS odd").write_parquet(str(path))
    given = {"user": "user", "item": "item", role: "odd"}
    with pytest.raises(dps.ParameterError, match=rf"^{role} must be .*, got 'odd' of type [A-Z]+\nhint: make (a|it)"):
        prepare(path, to=tmp_path / "new.prepared", **given)
    assert not (tmp_path / "new.prepared").exists()


def test_weights_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    duckdb.sql("SELECT 'u' AS \"user\", 'i' AS item, 'secret' AS w").write_parquet(str(path))
    with pytest.raises(dps.ParameterError, match="types must declare column 'w'") as found:
        dps.Dataset(path, user="user", item="item").prepare(tmp_path / "new.prepared", weights="w")
    assert "secret" not in str(found.value)


def test_prepared_data_are_no_source_to_prepare(made: Path, copy: Path, tmp_path: Path) -> None:
    for more in ({"to": tmp_path / "new.prepared", **RULES}, {"to": copy, "add": True}):
        with pytest.raises(dps.ParameterError, match="source must be a source of rows, got prepared data"):
            prepare(made / "data.prepared", **more)


@pytest.mark.parametrize("rows", ["", ",a,DE,2026-01-01,1\n"])
def test_no_rows_and_rows_without_users_are_no_rows(rows: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"user,item,country,day,minutes\n{rows}")
    done = prepare(path, to=tmp_path / "data.prepared", **RULES)
    assert (done.rows, done.users, done.items) == (0, 0, 0)
    assert asked(tmp_path / "data.prepared", "all") == asked(tmp_path / "data.prepared", "period") == {}
    prepare(write(tmp_path, 0), to=tmp_path / "data.prepared", add=True)
    assert asked(tmp_path / "data.prepared", "all") == right("all", 0)


# ---- adding ---------------------------------------------------------------------------------------------------

ADDED: dict[str, Bad] = {
    "other user": ({"user": "minutes"}, "user must be left out if rows are added, or be user as before, got 'min"),
    "other kept": ({"keep": ["day"]}, "keep must be left out if rows are added, or be country as before"),
    "other period": ({"time": "day", "period": "day"}, "period must be left out .*, or be month as before, got 'day'"),
    "other time zone": ({"time": "day", "period": "month", "timezone": "Asia/Tokyo"}, "timezone must be left out"),
}


@pytest.mark.parametrize("name", ADDED)
def test_rows_are_added_by_the_rules_that_were_given(name: str, made: Path, copy: Path) -> None:
    more, message = ADDED[name]
    with pytest.raises(dps.ParameterError, match=f"^{message}"):
        prepare(made / "1.csv", to=copy, add=True, **more)
    assert asked(copy, "all") == right("all", 0)


def test_the_same_rules_may_be_said_again(made: Path, copy: Path) -> None:
    prepare(made / "1.csv", to=copy, add=True, **RULES)
    assert asked(copy, "all") == right("all", 1)


def test_other_columns_and_types_are_refused(copy: Path, tmp_path: Path) -> None:
    short = tmp_path / "short.csv"
    short.write_text("user,item,country,day\nu,i,DE,2026-01-01\n")
    typed = tmp_path / "typed.parquet"
    columns = "'u' AS \"user\", 'i' AS item, 'DE' AS country, DATE '2026-01-01' AS \"day\", 3 AS minutes"
    duckdb.sql(f"SELECT {columns}").write_parquet(str(typed))
    with pytest.raises(dps.ParameterError, match="weights must be a column of the source, got 'minutes'"):
        prepare(short, to=copy, add=True)
    prepare(typed, to=copy, add=True)  # whose columns are read as those of before were declared
    prepare(typed, to=tmp_path / "typed.prepared", **{**RULES, "types": None})
    wide = tmp_path / "wide.parquet"
    duckdb.sql(f"SELECT {columns.replace('3 AS', '3::BIGINT AS')}").write_parquet(str(wide))
    with pytest.raises(dps.ParameterError, match=r"source must have minutes as INTEGER, as before.*BIGINT\nhint: cast"):
        prepare(wide, to=tmp_path / "typed.prepared", add=True)
    with pytest.raises(dps.ParameterError, match="types must declare column 'minutes'"):
        prepare(write(tmp_path, 0), to=tmp_path / "typed.prepared", add=True)


def test_contents_are_added_once_by_whatever_name(tmp_path: Path) -> None:
    first, second = write(tmp_path, 0), write(tmp_path, 1)
    copy = Path(shutil.copy(first, tmp_path / "copy.csv"))
    with pytest.raises(dps.ParameterError, match=r"source must be files that are not in .*csv.* listed twice$"):
        prepare([first, copy], to=tmp_path / "data.prepared", **RULES)
    assert not (tmp_path / "data.prepared").exists()
    prepare([first, first], to=tmp_path / "data.prepared", **RULES)  # one file
    first.touch()
    for path in (first, copy, [second, copy], [second, Path(shutil.copy(second, tmp_path / "another.csv"))]):
        with pytest.raises(dps.ParameterError, match=r"source must be files that are not in these data yet, got .*csv"):
            prepare(path, to=tmp_path / "data.prepared", add=True)
    assert asked(tmp_path / "data.prepared", "all") == right("all", 0)
    copy.write_text(second.read_text())  # another content under a name that was there
    prepare(copy, to=tmp_path / "data.prepared", add=True)
    with pytest.raises(dps.ParameterError, match=r"got 1\.csv"):
        prepare(second, to=tmp_path / "data.prepared", add=True)
    assert asked(tmp_path / "data.prepared", "all") == right("all", 1)


# ---- asking ---------------------------------------------------------------------------------------------------

IN = {"time": "day", "period": "month", "during": "2026-01"}
# what differs in the data and in the question, and the message; nothing of it is paid
ASKED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "where": (
        {"where": "device = 'x'"},
        {},
        "where must use columns of the source, got 'device'\nhint: the prepared columns are",
    ),
    "where of a time": ({"where": "day > '2026-01-01'"}, {}, r"where must .*, of which the month was\n.*keep='day'"),
    "item of a time": ({"item": "day"}, {}, "item must use columns that were kept, got 'day', of which the month was"),
    "by": (
        {},
        {"by": "device"},
        "by must be a column of the source, got 'device'\nhint: the prepared columns are user, item",
    ),
    "measures": ({}, {"measures": "sum(km, 0, 1)"}, "measures must be a column of the source, got 'km'"),
    "user": (
        {"user": "item", "item": "country"},
        {},
        "user must be user, for which these data were prepared, got 'item'",
    ),
    "day": (
        {**IN, "period": "day", "during": "2026-01-01"},
        {},
        "period must be month or quarter or year.*, got 'day'",
    ),
    "time zone": ({**IN, "timezone": "Asia/Tokyo"}, {}, "timezone must be UTC, as prepared, got 'Asia/Tokyo'"),
    "newlines": ({"newlines_in_values": True}, {}, "newlines_in_values must be left out for this kind of source"),
    "domain": ({}, {"domain": "song"}, "domain must be a column of the source, got 'song'"),
}


@pytest.mark.parametrize("name", ASKED)
def test_what_was_not_prepared_is_refused_and_costs_nothing(name: str, made: Path, tmp_path: Path) -> None:
    data, question, message = ASKED[name]
    if "domain" in question:
        question = {"domain": dps.Column(made / "data.prepared", question["domain"])}
    with dps.Ledger.create(tmp_path / "budget.db") as ledger:
        grant(ledger, dps.Account("default", "ann"), 10, "1e-3")
        before = len(list(ledger.entries()))
        budget = dps.Budget.open(ledger, analyst="ann")
        with pytest.raises(dps.ParameterError, match=f"^{message}"):
            by_names(dataset_of(made / "data.prepared", budget=budget, **data)).top_k(
                1, epsilon=1, delta="1e-6", **question
            )
        assert len(list(ledger.entries())) == before


def test_one_file_of_prepared_data_and_nothing_beside_it(made: Path) -> None:
    for more, said in (
        (made / "0.csv", "files of one kind, got csv and"),
        (made / "data.prepared", "one file of prep"),
    ):
        with pytest.raises(dps.ParameterError, match=f"source must name {said}"):
            dps.Dataset([made / "data.prepared", more], user="user", item="item").top_k(1, epsilon=1, delta="1e-6")


def test_prepared_data_may_be_a_domain(made: Path) -> None:
    release = dps.Dataset(made / "data.prepared").top_k(
        1, epsilon=200, domain=dps.Column(made / "data.prepared", "item")
    )
    assert release.items[0].item == "a"  # b has 10 users fewer: another one with odds of exp(-1000)


# ---- the command ----------------------------------------------------------------------------------------------

WORDS = ("prepare", "--user", "user", "--item", "item")
STATUS: dict[str, tuple[list[str], int, str]] = {
    "no folder": ([*WORDS, "0.csv"], 2, "-o/--output"),
    "another ending": ([*WORDS, "0.csv", "-o", "1.csv"], 2, "ends in .prepared, got '1.csv'"),
    "in no folder": ([*WORDS, "0.csv", "-o", "no/x.prepared"], 4, "cannot be written: No such file"),
    "added before": (["prepare", "--add", "0.csv", "-o", "data.prepared"], 2, "got 0.csv, whose contents were added"),
}


@pytest.mark.parametrize("name", STATUS)
def test_the_command_says_it_with_its_status(
    name: str, made: Path, dpselect: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(made)
    words, status, message = STATUS[name]
    ended = dpselect(*words)
    assert (ended.status, ended.out) == (status, "")
    assert re.search(message, ended.err)
    assert not (made / "new").exists()


def test_inspect_looks_at_it(made: Path, copy: Path, dpselect: Command) -> None:
    said = dpselect("inspect", made / "data.prepared").out.splitlines()
    assert said[0].startswith("NOT PRIVATE")
    assert said[1].endswith("; parts of rows: 1")
    assert said[2].endswith("user user; item item; kept country; weights minutes; the month of day in UTC")
    assert said[3].endswith("intact")
    assert any("30" in line and "users" in line for line in said[4:])
    data = bytearray(copy.read_bytes())
    for place in range(3 << 12, len(data), 1 << 14):
        data[place] ^= 1
    copy.write_bytes(data)
    ended = dpselect("inspect", copy)
    assert "FAILS" in ended.out or "cannot be read as prepared data" in ended.err


@pytest.mark.skipif(sys.platform == "win32", reason="needs rights of POSIX")
def test_what_is_made_is_said_to_be_private(made: Path, tmp_path: Path, dpselect: Command) -> None:
    ended = dpselect(*WORDS, made / "0.csv", "-o", tmp_path / "new.prepared", "--quiet")
    assert ended.status == 0
    assert "as sensitive as the rows themselves; only your user may open it" in ended.out
