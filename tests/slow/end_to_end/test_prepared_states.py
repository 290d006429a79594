"""States of prepared data: who reads one keeps it, who writes one is alone, and what is not finished goes."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dpselect as dps
from dpselect.dataset import dataset_of
from dpselect.engines import preparation
from dpselect.engines.preparation import prepare
from dpselect.engines.prepared.reading import Reading
from dpselect.engines.prepared.writing import Writing
from tests.end_to_end.prepared_rows import QUESTIONS, RULES, asked, left_over, right, write

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs locks and processes of POSIX")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Prepared data of the first file."""
    prepare(write(tmp_path, 0), to=tmp_path / "data", **RULES)
    return tmp_path / "data"


def add(folder: Path, number: int) -> None:
    prepare(write(folder.parent, number), to=folder, add=True)


def files(folder: Path) -> set[str]:
    return {path.name for path in (folder / "_parts").iterdir()}


# ---- who reads ------------------------------------------------------------------------------------------------


@posix
@pytest.mark.parametrize("question", QUESTIONS)
def test_every_state_answers_as_its_rows(question: str, folder: Path) -> None:
    for number in range(3):
        if number:
            add(folder, number)
        assert asked(folder, question) == right(question, number)
        assert left_over(folder) == set()


@posix
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_reader_keeps_its_state_while_others_add(question: str, folder: Path) -> None:
    engine = dataset_of(folder, **QUESTIONS[question]).engine()
    held = files(folder)
    add(folder, 1)
    add(folder, 2)
    assert held <= files(folder)
    found = engine.top(100)
    assert {found.label(at, 0): int(count) for at, count in enumerate(found.counts)} == right(question, 0)
    assert asked(folder, question) == right(question, 2)
    engine.close()
    add(folder, 3)
    assert left_over(folder) == set()
    assert not held <= files(folder)


@posix
def test_states_between_are_not_kept_for_a_reader_of_an_earlier_one(folder: Path) -> None:
    reading = Reading(str(folder))
    for number in (1, 2, 3):
        add(folder, number)
    states = {name for name in files(folder) if name.startswith("state-")}
    assert len(states) == 2
    assert f"state-{reading.state.name}.json" in states
    reading.close()


@posix
def test_a_child_holds_what_its_parent_held(folder: Path) -> None:
    """A file stays locked until all who share it let go; a child that ends leaves its parent's state alone."""
    reading = Reading(str(folder))
    child = os.fork()
    if child == 0:
        reading.close()
        os._exit(0)
    os.waitpid(child, 0)
    add(folder, 1)
    assert reading.paths(reading.state.parts)
    reading.close()


def test_files_that_vanish_under_a_reader_are_an_error_and_no_answer(folder: Path) -> None:
    with dps.Dataset(folder).engine() as engine:
        for path in (folder / "_parts").glob("*.parquet"):
            path.unlink()
        with pytest.raises(dps.DataError, match="damaged"):
            engine.top(100)
    with pytest.raises(dps.DataError, match=r"a part of the prepared data in .* is missing"):
        dps.Dataset(folder)


# ---- who writes -----------------------------------------------------------------------------------------------


@posix
@pytest.mark.parametrize("adding", [True, False])
def test_one_writer_at_a_time(adding: bool, folder: Path) -> None:
    writing = Writing(str(folder))
    before = files(folder)
    with pytest.raises(dps.OutputError, match=r"another process is writing to .*\nhint: wait until it is done"):
        prepare(write(folder.parent, 1), to=folder, add=adding, **({} if adding else RULES))
    assert files(folder) == before
    writing.close()
    add(folder, 1)
    assert asked(folder, "all") == right("all", 1)


@posix
def test_two_processes_that_make_one_folder(tmp_path: Path) -> None:
    """One of them makes it, or one after the other does; it is whole in any case."""
    code = "import sys; from tests.slow.end_to_end.killed_prepare import act; from pathlib import Path; "
    code += "act(Path(sys.argv[1]), 'prepare', 0)"
    write(tmp_path, 0)
    root = Path(__file__).parents[3]
    ends = [subprocess.Popen([sys.executable, "-c", code, tmp_path], cwd=root, stderr=subprocess.PIPE) for _ in "ab"]
    said = [process.communicate()[1] for process in ends]
    assert 0 in [process.returncode for process in ends]
    assert all(
        process.returncode == 0 or b"another process is writing" in err for process, err in zip(ends, said, strict=True)
    )
    assert asked(tmp_path / "data", "all") == right("all", 0)
    assert left_over(tmp_path / "data") == set()


def stopping(monkeypatch: pytest.MonkeyPatch, error: type[BaseException]) -> None:
    """From now on a writer is stopped when all its files are written, and no state names them yet."""
    written = preparation.written

    def stopped(*given: Any) -> Any:
        written(*given)
        if error is KeyboardInterrupt:
            signal.raise_signal(signal.SIGINT)
        raise error("stopped")

    monkeypatch.setattr(preparation, "written", stopped)


@posix
@pytest.mark.parametrize("error", [KeyboardInterrupt, dps.DataError, SystemExit])
@pytest.mark.parametrize("adding", [True, False])
def test_a_writer_that_is_stopped_removes_what_it_wrote(
    adding: bool, error: type[BaseException], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files(folder)
    with monkeypatch.context() as patch:
        stopping(patch, error)
        with pytest.raises(error):
            prepare(write(folder.parent, 1), to=folder, add=adding, **({} if adding else RULES))
    assert files(folder) == before
    assert asked(folder, "all") == right("all", 0)


@posix
def test_a_child_that_was_forked_while_its_parent_writes_removes_nothing(folder: Path) -> None:
    writing = Writing(str(folder))
    path = Path(writing.new("rows", bytes(16)))
    child = os.fork()
    if child == 0:
        writing.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert path.exists()
    with pytest.raises(dps.OutputError, match="another process"):
        Writing(str(folder))
    writing.close()
    assert not path.exists()


FULL = """
import resource, sys
from dpselect.command.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (2**14, 2**14))
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of the size of files")
def test_a_disk_that_is_full_is_said_and_changes_nothing(folder: Path) -> None:
    before = files(folder)
    rows = folder.parent / "many.csv"
    lines = (f"user-{one * 7919 % 104729:x},item{one},DE,2026-01-01,1" for one in range(20_000))
    rows.write_text("user,item,country,day,minutes\n" + "\n".join(lines) + "\n", "utf-8")
    words = ["prepare", "--add", str(rows), "-o", str(folder), "--quiet"]
    ended = subprocess.run([sys.executable, "-c", FULL, *words], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (4, "")
    assert ended.stderr.splitlines()[0] == "dpselect: the disk is full"
    assert files(folder) == before
    assert asked(folder, "all") == right("all", 0)


# ---- file systems without locks -------------------------------------------------------------------------------


@pytest.fixture
def no_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    def flock(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)


@posix
@pytest.mark.usefixtures("no_locks")
def test_without_locks_nothing_is_removed_and_no_writer_overtakes_another(folder: Path) -> None:
    write(folder.parent, 1)
    first, second = Writing(str(folder)), Writing(str(folder))
    half = Path(first.new("rows", bytes(16)))
    before = files(folder)
    add(folder, 1)
    assert before < files(folder)
    assert half.exists()
    state = Reading(str(folder)).state
    with pytest.raises(dps.OutputError, match=r"another process has written to .* meanwhile"):
        second.replace(state.__class__(**{**state.__dict__, "name": "0" * 32}))
    assert asked(folder, "all") == right("all", 1)


# ---- what is not surely ours ----------------------------------------------------------------------------------


@posix
def test_what_others_put_there_is_left_alone(folder: Path) -> None:
    parts = folder / "_parts"
    target = folder.parent / "target"
    target.write_text("x")
    (parts / "notes.txt").write_text("x")
    (parts / "rows-old.parquet").write_text("x")
    (parts / f"rows-{'1' * 32}.parquet").symlink_to(target)
    (parts / f"rows-{'2' * 32}.parquet").mkdir()
    (folder / "read me").write_text("x")
    add(folder, 1)
    assert left_over(folder) == {"notes.txt", "rows-old.parquet", f"rows-{'2' * 32}.parquet"}
    assert target.read_text() == "x"
    assert (folder / "read me").exists()


@posix
def test_nothing_is_removed_where_the_state_that_counts_cannot_be_read(folder: Path) -> None:
    pointer = folder / "prepared.dpselect"
    text = pointer.read_text()
    before = files(folder)
    pointer.write_text(text[:20])
    Writing(str(folder)).close()
    assert files(folder) == before
    pointer.write_text(text)
    assert asked(folder, "all") == right("all", 0)


@posix
def test_all_is_for_this_user_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        prepare(write(tmp_path, 0), to=tmp_path / "data", **RULES)
        add(tmp_path / "data", 1)
    finally:
        os.umask(before)
    made = [tmp_path / "data", *(tmp_path / "data").rglob("*")]
    assert {path.stat().st_mode & 0o777 for path in made if path.is_dir()} == {0o700}
    assert {path.stat().st_mode & 0o777 for path in made if path.is_file()} == {0o600}
