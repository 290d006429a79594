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
from dpselect.engines.prepared.file import write_draft
from dpselect.engines.prepared.preparing import Preparing
from dpselect.flat import dataset_of, prepare
from tests.end_to_end.prepared_rows import QUESTIONS, RULES, asked, left_over, right, write

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs locks and processes of POSIX")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Prepared data of the first file."""
    prepare(write(tmp_path, 0), to=tmp_path / "data.prepared", **RULES)
    return tmp_path / "data.prepared"


def add(data: Path, number: int) -> None:
    prepare(write(data.parent, number), to=data, add=True)


# ---- who reads ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_state_answers_as_its_rows(question: str, data: Path) -> None:
    for number in range(3):
        if number:
            add(data, number)
        assert asked(data, question) == right(question, number)
        assert left_over(data) == set()


@posix
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_reader_keeps_its_state_while_others_add(question: str, data: Path) -> None:
    engine = dataset_of(data, **QUESTIONS[question]).engine()
    add(data, 1)
    add(data, 2)
    found = engine.top(100)
    assert {found.label(at, 0): int(count) for at, count in enumerate(found.counts)} == right(question, 0)
    assert asked(data, question) == right(question, 2)
    engine.close()


@posix
def test_a_reader_keeps_what_is_removed(data: Path) -> None:
    with dps.Dataset(data).engine() as engine:
        data.unlink()
        found = engine.top(100)
        assert {found.label(at, 0): int(count) for at, count in enumerate(found.counts)} == right("all", 0)


# ---- who writes -----------------------------------------------------------------------------------------------


@posix
@pytest.mark.parametrize("adding", [True, False])
def test_one_writer_at_a_time(adding: bool, data: Path) -> None:
    with pytest.raises(RuntimeError), write_draft(str(data), add=True):  # noqa: PT012
        with pytest.raises(dps.OutputError, match=r"another process is writing to .*\nhint: wait until it is done"):
            prepare(write(data.parent, 1), to=data, add=adding, **({} if adding else RULES))
        raise RuntimeError
    assert asked(data, "all") == right("all", 0)
    add(data, 1)
    assert asked(data, "all") == right("all", 1)
    assert left_over(data) == set()


@posix
def test_two_processes_that_make_one_file(tmp_path: Path) -> None:
    """One of them makes it, or one after the other does; it is whole in any case."""
    code = "import sys; from tests.slow.end_to_end.killed_prepare import act; from pathlib import Path; "
    code += "act(Path(sys.argv[1]), 'prepare', 0)"
    write(tmp_path, 0)
    root = Path(__file__).parents[3]
    ends = [subprocess.Popen([sys.executable, "-c", code, tmp_path], cwd=root, stderr=subprocess.PIPE) for _ in "ab"]
    said = [process.communicate()[1] for process in ends]
    assert 0 in [process.returncode for process in ends]
    assert all(process.returncode == 0 or b"another process" in err for process, err in zip(ends, said, strict=True)), (
        said
    )
    assert asked(tmp_path / "data.prepared", "all") == right("all", 0)
    assert left_over(tmp_path / "data.prepared") == set()


@posix
@pytest.mark.parametrize("error", [KeyboardInterrupt, dps.DataError])
@pytest.mark.parametrize("adding", [True, False])
def test_a_writer_that_is_stopped_removes_what_it_wrote(
    adding: bool, error: type[BaseException], data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = Preparing.write

    def stopped(self: Preparing, *given: Any) -> Any:
        written(self, *given)
        if error is KeyboardInterrupt:
            signal.raise_signal(signal.SIGINT)
        raise error("stopped")

    before = data.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(Preparing, "write", stopped)
        with pytest.raises(error):
            prepare(write(data.parent, 1), to=data, add=adding, **({} if adding else RULES))
    assert data.read_bytes() == before
    assert left_over(data) == set()


FULL = """
import resource, sys
from dpselect.command.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (2**21, 2**21))
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of the size of files")
def test_a_disk_that_is_full_is_said_and_changes_nothing(data: Path) -> None:
    before = data.read_bytes()
    rows = data.parent / "many.csv"
    lines = (f"user-{one * 7919 % 104729:x},item{one},DE,2026-01-01,1" for one in range(50_000))
    rows.write_text("user,item,country,day,minutes\n" + "\n".join(lines) + "\n", "utf-8")
    words = ["prepare", "--add", str(rows), "-o", str(data), "--quiet"]
    ended = subprocess.run([sys.executable, "-c", FULL, *words], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (4, ""), ended.stderr
    assert data.read_bytes() == before
    assert left_over(data) == set()


# ---- file systems without locks -------------------------------------------------------------------------------


@posix
def test_without_locks_no_writer_overtakes_another(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    def flock(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    write(data.parent, 1)
    with (
        pytest.raises(dps.OutputError, match=r"another process has changed .* meanwhile"),
        write_draft(str(data), add=True),
    ):
        add(data, 1)
    assert asked(data, "all") == right("all", 1)


# ---- what is not surely ours ----------------------------------------------------------------------------------


@posix
def test_what_others_put_there_is_left_alone(data: Path) -> None:
    (data.parent / "dpselect-locked-notes").write_text("x")
    (data.parent / "dpselect-locked-open").mkdir(mode=0o755)
    (data.parent / "dpselect-locked-dead").mkdir(mode=0o700)  # as a process that was killed leaves it
    add(data, 1)
    assert left_over(data) == {"dpselect-locked-notes", "dpselect-locked-open"}


@posix
def test_all_is_for_this_user_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        prepare(write(tmp_path, 0), to=tmp_path / "data.prepared", **RULES)
        add(tmp_path / "data.prepared", 1)
    finally:
        os.umask(before)
    assert (tmp_path / "data.prepared").stat().st_mode & 0o777 == 0o600
