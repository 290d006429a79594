"""Prepared data of which something is not as it was written: nothing is answered from it, and it is said plainly."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dpselect as dps
from dpselect.engines.duckdb.workspace import literal
from dpselect.flat import prepare
from tests.end_to_end.prepared_rows import QUESTIONS, RULES, asked, right, write
from tests.ledger.amounts import grant

Change = Callable[[Path], None]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Prepared data of two files, which no test may change."""
    place = tmp_path_factory.mktemp("sound")
    prepare(write(place, 0), to=place / "data.prepared", **RULES)
    prepare(write(place, 1), to=place / "data.prepared", add=True)
    return place / "data.prepared"


@pytest.fixture
def copy(sound: Path, tmp_path: Path) -> Path:
    """The same, for one test."""
    return Path(shutil.copy(sound, tmp_path / "data.prepared"))


def sql(*statements: str) -> Change:
    """A database in which somebody else wrote."""

    def write_again(path: Path) -> None:
        with duckdb.connect(str(path)) as connection:
            for one in statements:
                connection.execute(one)

    return write_again


def stated(change: Callable[[dict[str, Any]], object]) -> Change:
    """A state that says something else."""

    def write_again(path: Path) -> None:
        with duckdb.connect(str(path)) as connection:
            said = json.loads(connection.execute("SELECT text FROM state").fetchall()[0][0])
            change(said)
            connection.execute("UPDATE state SET text = ?", [json.dumps(said)])

    return write_again


def cut(share: float) -> Change:
    return lambda path: os.truncate(path, int(path.stat().st_size * share))


def flipped(place: int) -> Change:
    def flip(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[place] ^= 1
        path.write_bytes(data)

    return flip


def another(path: Path) -> None:
    """A database of DuckDB that is none of ours."""
    path.unlink()
    sql("CREATE TABLE rows AS SELECT 1 AS u")(path)


def log(path: Path) -> None:
    """What DuckDB would take rows from."""
    path.with_name(path.name + ".wal").write_bytes(b"\0" * 100)


VIEW = "CREATE VIEW {0} AS FROM read_text('/etc/passwd')"
BROKEN: dict[str, Change] = {
    "empty": cut(0),
    "a byte": lambda path: path.write_bytes(b"D"),
    "a text": lambda path: path.write_text("user,item\n"),
    "zeros": lambda path: path.write_bytes(bytes(2**20)),
    "cut in the header": cut(0.001),
    "other magic": flipped(8),
    "other version": flipped(12),
    "first header": flipped(100),
    "another database": another,
    "a log beside": log,
    "no state": sql("DROP TABLE state"),
    "empty state": sql("DELETE FROM state"),
    "null state": sql("UPDATE state SET text = NULL"),
    "state of a number": sql("UPDATE state SET text = '5'"),
    "state of a list": sql("UPDATE state SET text = '[]'"),
    "cut state": sql("UPDATE state SET text = text[:100]"),
    "deep state": sql("UPDATE state SET text = repeat('[', 100000)"),
    "another form": stated(lambda said: said.update(form=2)),
    "no form": stated(lambda said: said.pop("form")),
    "no name": stated(lambda said: said.pop("name")),
    "no rules": stated(lambda said: said.pop("rules")),
    "rules with more": stated(lambda said: said["rules"].update(more=1)),
    "rules without users": stated(lambda said: said["rules"].pop("user")),
    "rules of other columns": stated(lambda said: said["rules"].update(keep=["country", "city"])),
    "sources of a number": stated(lambda said: said.update(sources=5)),
    "objects of a number": stated(lambda said: said.update(objects=5)),
    **{f"no {name}": sql(f"DROP TABLE {name}") for name in ("users", "items", "rows", "cells", "counts", "sets")},
    "no kept values": sql("DROP TABLE kept"),
    "no kept column": sql("ALTER TABLE kept RENAME v0 TO x"),
    "a view of a file": sql("DROP TABLE rows", VIEW.format("rows")),
    "a state that is a view": sql("ALTER TABLE state RENAME TO s", "CREATE VIEW state AS FROM s"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_read_is_refused_before_anything_is_asked_or_paid(name: str, copy: Path, tmp_path: Path) -> None:
    BROKEN[name](copy)
    message = "cannot be read as prepared data\nhint: it may be damaged or of another version: prepare the source"
    with dps.Ledger.create(tmp_path / "budget.db") as ledger:
        grant(ledger, dps.Account("default", "ann"), 10, "1e-3")
        before = len(list(ledger.entries()))
        for given in ({}, {"user": "user", "item": "item"}):
            with pytest.raises(dps.DataError, match=message) as found:
                dps.Dataset(copy, budget=dps.Budget.open(ledger, analyst="ann"), **given).top_k(
                    1, epsilon=1, delta="1e-6"
                )
            assert len(str(found.value)) < 500
        assert len(list(ledger.entries())) == before
    with pytest.raises(dps.DataError, match=message):
        prepare(write(tmp_path, 2), to=copy, add=True)
    assert {path.name for path in tmp_path.iterdir()} - {"data.prepared.wal"} == {"data.prepared", "budget.db", "2.csv"}
    prepare(write(tmp_path, 0), to=copy, **RULES)
    if name != "a log beside":
        assert asked(copy, "all") == right("all", 0)


@pytest.mark.parametrize("question", QUESTIONS)
def test_no_byte_changes_an_answer(question: str, copy: Path) -> None:
    """A changed byte is found, or it stands where nothing is read."""
    data, found = copy.read_bytes(), 0
    for place in range(100, len(data), len(data) // 60):
        flipped(place)(copy)
        try:
            assert asked(copy, question) == right(question, 1)
        except dps.DataError:
            found += 1
        copy.write_bytes(data)
    assert asked(copy, question) == right(question, 1)
    assert found > 0


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_file_that_is_cut_answers_nothing_wrong(share: float, copy: Path) -> None:
    cut(share)(copy)
    refused = 0
    for question in QUESTIONS:
        try:
            assert asked(copy, question) == right(question, 1)
        except dps.DataError:
            refused += 1
    assert refused > 0 or share > 0.5


def test_inspecting_reads_every_block(copy: Path) -> None:
    place, block = 0, 1 << 18
    data = copy.read_bytes()
    sound = str(dps.Dataset(copy).inspect())
    assert "intact" in sound
    said = set()
    for place in range(3 * 4096 + block // 2, len(data), block):
        flipped(place)(copy)
        try:
            said.add("FAILS: it is damaged" in str(dps.Dataset(copy).inspect()))
        except dps.DataError:
            said.add(True)
        copy.write_bytes(data)
    assert True in said


# ---- who may write -----------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="needs rights of POSIX")
@pytest.mark.parametrize("bits", [0o020, 0o002])
@pytest.mark.parametrize("way", ["the file", "its folder", "a folder above", "a folder on the way of a link"])
def test_what_others_may_write_to_is_refused(way: str, bits: int, sound: Path, tmp_path: Path) -> None:
    (tmp_path / "above" / "folder").mkdir(parents=True)
    (tmp_path / "links").mkdir()
    path = Path(shutil.copy(sound, tmp_path / "above" / "folder" / "data.prepared"))
    (tmp_path / "links" / "link.prepared").symlink_to(path)
    (tmp_path / "first.prepared").symlink_to("links/link.prepared")
    first = tmp_path / "first.prepared"
    place = {"the file": path, "its folder": path.parent, "a folder above": tmp_path / "above"}.get(
        way, tmp_path / "links"
    )
    assert asked(first, "all") == right("all", 1)
    place.chmod(0o700 | bits)
    with pytest.raises(dps.DataError, match=rf"other users of this machine may write to '{place}'\nhint: chmod go-w"):
        dps.Dataset(first)
    for more in ({"add": True}, RULES):
        with pytest.raises(dps.DpselectError, match="other users of this machine may write to"):
            prepare(write(tmp_path, 2), to=first, **more)
    if place.is_dir():  # where nobody may replace what is not theirs, only the file's own folder must be closed
        place.chmod(0o1700 | bits)
        if place == path.parent:
            with pytest.raises(dps.DataError, match="other users"):
                dps.Dataset(first)
        else:
            assert asked(first, "all") == right("all", 1)
    place.chmod(0o755)
    assert asked(first, "all") == right("all", 1)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs a user who may give files away")
def test_a_folder_of_somebody_else_is_refused(copy: Path) -> None:
    os.chown(copy.parent, 65534, 65534)
    with pytest.raises(dps.DataError, match="other users of this machine may write to"):
        dps.Dataset(copy)
    os.chown(copy, 65534, 65534)  # whose rows these are, may say what they are
    assert asked(copy, "all") == right("all", 1)
    os.chown(copy.parent, 0, 0)


def test_paths_are_paths(sound: Path, tmp_path: Path) -> None:
    """Of whatever letters: nothing of a name is read as SQL, or as a pattern."""
    for name in ("it's.prepared", "a;b*[c].prepared", "?x=1.prepared", 'say "x".prepared'):
        path = Path(shutil.copy(sound, tmp_path / name))
        assert literal(name)
        assert asked(path, "all") == right("all", 1)
        prepare(write(tmp_path, 2), to=path, add=True)
        assert asked(path, "all") == right("all", 2)
