"""Prepared data of which something is not as it was written: nothing is answered from it, and it is said plainly."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dpselect as dps
from dpselect.engines.preparation import prepare
from dpselect.engines.prepared.state import DICTIONARIES, FORM
from tests.end_to_end.prepared_rows import QUESTIONS, RULES, asked, right, write
from tests.ledger.amounts import grant

KINDS = (*DICTIONARIES, "rows", "cells")  # of parts
WEIGHTS = "weights"  # a question of the rows' weights
USERS = "users"  # one that names a user
Change = Callable[[Path], None]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Prepared data of two files, which no test may change."""
    place = tmp_path_factory.mktemp("sound")
    prepare(write(place, 0), to=place / "data", **RULES)
    prepare(write(place, 1), to=place / "data", add=True)
    return place / "data"


@pytest.fixture
def copy(sound: Path, tmp_path: Path) -> Path:
    """The same, for one test."""
    return Path(shutil.copytree(sound, tmp_path / "data"))


def pointer(folder: Path) -> Path:
    return folder / "prepared.dpselect"


def state(folder: Path) -> Path:
    return next((folder / "_parts").glob("state-*"))


def parts(folder: Path, kind: str) -> list[Path]:
    return sorted((folder / "_parts").glob(f"{kind}-*.parquet"))


def flip(path: Path, place: int) -> None:
    """One bit of one byte; size and times stay as they are."""
    found = path.stat()
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


# ---- pointer and state ----------------------------------------------------------------------------------------


def pointing(**more: Any) -> Change:
    return lambda folder: pointer(folder).write_text(json.dumps({**json.loads(pointer(folder).read_text()), **more}))


def stated(change: Callable[[dict[str, Any]], None]) -> Change:
    """A state that says something else, with the digest of what it says."""

    def write_again(folder: Path) -> None:
        path = state(folder)
        body = json.loads(json.loads(path.read_text())["body"])
        change(body)
        text = json.dumps(body)
        digest = hashlib.sha256(text.encode()).hexdigest()
        path.write_text(json.dumps({"form": FORM, "digest": digest, "body": text}))

    return write_again


def of_another_name(folder: Path) -> None:
    (folder / "_parts" / f"state-{'0' * 32}.json").write_bytes(state(folder).read_bytes())
    pointing(state="0" * 32)(folder)


def typed(sql: str) -> Change:
    return stated(lambda body: body["rules"]["types"].update(user=sql))


def named(name: object) -> Change:
    return stated(lambda body: body["users"][0].update(name=name))


def that_is_a_folder(folder: Path) -> None:
    path = state(folder)
    path.unlink()
    path.mkdir()


OTHER = "was prepared by another version of dpselect"
DAMAGED = "are damaged\nhint: prepare the source again"
MISSING = "a part of the prepared data in .* is missing\nhint"
BROKEN: dict[str, tuple[Change, str]] = {
    "pointer of another form": (pointing(form=1), rf"{OTHER} \(form 1\)"),
    "pointer of a long form": (pointing(form="9" * 10**4), rf"{OTHER} \(form '9{{80}}'\.\.\.\)"),
    "pointer without a form": (lambda one: pointer(one).write_text('{"state": "0"}'), DAMAGED),
    "pointer to elsewhere": (pointing(state="../../x"), DAMAGED),
    "pointer to a number": (pointing(state=5), DAMAGED),
    "pointer to no state": (pointing(state="0" * 32), MISSING),
    "pointer of a list": (lambda one: pointer(one).write_text("[]"), DAMAGED),
    "empty pointer": (lambda one: pointer(one).write_text(""), DAMAGED),
    "cut pointer": (lambda one: pointer(one).write_text(pointer(one).read_text()[:30]), DAMAGED),
    "binary pointer": (lambda one: pointer(one).write_bytes(bytes(range(256))), DAMAGED),
    "huge pointer": (lambda one: os.truncate(pointer(one), 2**26), DAMAGED),
    "deep pointer": (lambda one: pointer(one).write_text("[" * 60_000), DAMAGED),
    "no state": (lambda one: state(one).unlink(), MISSING),
    "empty state": (lambda one: state(one).write_text(""), DAMAGED),
    "cut state": (lambda one: os.truncate(state(one), 1000), DAMAGED),
    "state of another form": (lambda one: state(one).write_text('{"form": 1}'), rf"{OTHER} \(form 1\)"),
    "state that is a folder": (that_is_a_folder, "cannot be read"),
    "state of another name": (of_another_name, DAMAGED),
    "state without rules": (stated(lambda body: body.pop("rules")), DAMAGED),
    "state with more": (stated(lambda body: body["rules"].update(more=1)), DAMAGED),
    "state of no parts": (stated(lambda body: body.update(users=5)), DAMAGED),
    "part elsewhere": (named("../../secret.parquet"), DAMAGED),
    "part at the root": (named("/etc/passwd"), DAMAGED),
    "part with a zero byte": (named("users\0.parquet"), DAMAGED),
    "part that is no text": (named(5), DAMAGED),
    "type that is more": (typed("VARCHAR); COPY (SELECT 1) TO 'x.csv'; --"), DAMAGED),
    "type that is a query": (typed("VARCHAR) FROM read_text('/etc/passwd"), DAMAGED),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_read_is_refused_before_anything_is_asked_or_paid(
    name: str, copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, message = BROKEN[name]
    change(copy)
    monkeypatch.chdir(tmp_path)
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
    assert {path.name for path in tmp_path.iterdir()} == {"data", "budget.db", "2.csv"}


@pytest.mark.parametrize("which", [pointer, state], ids=["pointer", "state"])
def test_no_byte_changes_an_answer(which: Callable[[Path], Path], copy: Path) -> None:
    """A changed byte is found, or it stands where nothing is read, as the note for people does."""
    path = which(copy)
    size = path.stat().st_size
    found = 0
    for place in range(0, size, max(1, size // 40)):
        flip(path, place)
        try:
            assert asked(copy, "all") == right("all", 1)
        except dps.DataError:
            found += 1
        except dps.ParameterError:
            found += 1
        flip(path, place)
    assert asked(copy, "all") == right("all", 1)
    assert found > 20


@pytest.mark.parametrize(
    "name", ["pointer of another form", "binary pointer", "no state", "cut state", "part elsewhere"]
)
def test_preparing_again_mends_it(name: str, copy: Path, tmp_path: Path) -> None:
    BROKEN[name][0](copy)
    prepare(write(tmp_path, 0), to=copy, **RULES)
    assert asked(copy, "all") == right("all", 0)


# ---- parts ----------------------------------------------------------------------------------------------------


def answer(folder: Path, question: str) -> object:
    if question in QUESTIONS:
        return asked(folder, question)
    if question == USERS:
        with dps.Dataset(folder, where="user <> 'u1'").engine() as engine:
            return engine.top(100).counts.tolist()
    with dps.Dataset(folder).engine(measures=[dps.Sum("minutes", 0, 100)]) as engine:
        return engine.measured(["a", "b"])


GONE: dict[str, tuple[Change, str]] = {
    "missing": (Path.unlink, "is missing"),
    "cut": (lambda path: os.truncate(path, path.stat().st_size - 1), "is not as it was written"),
    "longer": (lambda path: path.write_bytes(path.read_bytes() + b"\0"), "is not as it was written"),
    "empty": (lambda path: path.write_bytes(b""), "is not as it was written"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", GONE)
def test_a_part_that_is_gone_or_of_another_size_is_found_at_opening(how: str, kind: str, copy: Path) -> None:
    change, message = GONE[how]
    change(parts(copy, kind)[-1])
    with pytest.raises(dps.DataError, match=f"a part of the prepared data in .* {message}\nhint"):
        dps.Dataset(copy)
    with pytest.raises(dps.DataError, match=message):
        dps.Dataset(copy, user="user", item="item").top_k(1, epsilon=1, delta="1e-6")


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_with_another_byte_is_found_by_whoever_reads_it(kind: str, copy: Path, sound: Path) -> None:
    """Of every byte but few of a file, by one question at least; an answer that comes is the right one."""
    for path in parts(copy, kind):
        flip(path, path.stat().st_size // 2)
    truth = {question: answer(sound, question) for question in (*QUESTIONS, WEIGHTS, USERS)}
    refused = set()
    for question, known in truth.items():
        try:
            assert str(answer(copy, question)) == str(known)
        except dps.DataError:
            refused.add(question)
    reads = {
        "users": {USERS},
        "items": {"all", "kept", "period", WEIGHTS},
        "kept": {"kept", "rows"},
        "sets": {"kept"},
        "totals": {"kept"},
        "sums": {"all"},
        "rows": {"rows", WEIGHTS, USERS},
        "cells": {"period"},
    }
    assert refused >= reads[kind]
    found = str(dps.Dataset(copy).inspect())
    assert "FAILS: the prepared data in" in found


def test_a_part_of_another_folder_is_found(tmp_path: Path) -> None:
    """Of the same rows but for one, with the same size."""
    changed = tmp_path / "changed.csv"
    changed.write_text(write(tmp_path, 0).read_text().replace("u3,a,", "u3,c,", 1))
    prepare(write(tmp_path, 0), to=tmp_path / "one", **RULES)
    prepare(changed, to=tmp_path / "two", **RULES)
    for kind in ("totals", "rows", "cells"):
        (mine,), (theirs,) = parts(tmp_path / "one", kind), parts(tmp_path / "two", kind)
        shutil.copy(theirs, mine)
    with pytest.raises(dps.DataError, match=r"is not as it was written|are damaged"):
        asked(tmp_path / "one", "all")


def test_a_byte_that_changes_after_a_first_answer_is_found(copy: Path) -> None:
    assert asked(copy, "all") == right("all", 1)
    (path,) = parts(copy, "sums")
    flip(path, path.stat().st_size // 2)
    with pytest.raises(dps.DataError, match="are damaged"):
        asked(copy, "all")


def test_a_changed_byte_is_not_added_to(copy: Path, tmp_path: Path) -> None:
    """What is written again is looked at first."""
    (path,) = parts(copy, "rows")
    flip(path, path.stat().st_size // 2)
    before = {path.name for path in (copy / "_parts").iterdir()}
    with pytest.raises(dps.DataError, match="are damaged"):
        prepare(write(tmp_path, 2), to=copy, add=True)
    assert {path.name for path in (copy / "_parts").iterdir()} == before


# ---- who may write --------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="needs rights of POSIX")
@pytest.mark.parametrize("bits", [0o020, 0o002])
@pytest.mark.parametrize("below", [".", "_parts"])
def test_a_folder_that_others_may_write_to_is_refused(below: str, bits: int, copy: Path, tmp_path: Path) -> None:
    place = copy / below
    place.chmod(0o700 | bits)
    with pytest.raises(dps.DataError, match=r"other users of this machine may write to .*\nhint: chmod -R go-w"):
        dps.Dataset(copy)
    with pytest.raises(dps.OutputError, match="other users of this machine may write to"):
        prepare(write(tmp_path, 2), to=copy, add=True)
    place.chmod(0o755)
    assert asked(copy, "all") == right("all", 1)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs a user who may give files away")
def test_a_folder_of_somebody_else_is_read_and_not_written_to(copy: Path, tmp_path: Path) -> None:
    os.chown(copy, 65534, 65534)
    assert asked(copy, "all") == right("all", 1)
    with pytest.raises(dps.OutputError, match="belongs to another user\nhint: name a folder of your own"):
        prepare(write(tmp_path, 2), to=copy, add=True)
