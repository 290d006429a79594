"""Where the answer goes: reserved before the data are read, whole or not at all, and never lost."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from dpselect.command import output
from dpselect.release import files
from tests.end_to_end.conftest import COUNTS, Command, ask, process

ANIMALS = list(COUNTS)
unix = pytest.mark.skipif(os.name == "nt", reason="this system has no such special file")


@pytest.fixture
def no_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks the data after this fails the test: refusals must come before."""

    def read(*_: object, **__: object) -> None:
        raise AssertionError("the data were read")

    monkeypatch.setattr("dpselect.dataset.Dataset.ask", read)


def items(text: str) -> list[object]:
    return [item["item"] for item in json.loads(text)["items"]]


# ---- before the data are read -----------------------------------------------------------------------------


@pytest.mark.usefixtures("no_reading")
@pytest.mark.parametrize("name", ["no/top.csv", "."])
def test_unwritable_places_are_found_first(name: str, events: Path, tmp_path: Path, dpselect: Command) -> None:
    ended = dpselect(*ask(events, "-o", tmp_path / name, "--format", "csv"))
    assert ended.status == 4
    assert ended.err.startswith("dpselect: ")


@pytest.mark.usefixtures("no_reading")
def test_a_folder_that_forbids_writing(
    events: Path, tmp_path: Path, dpselect: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*_: object, **__: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", forbidden)
    ended = dpselect(*ask(events, "-o", tmp_path / "top.csv"))
    assert ended.status == 4
    assert "top.csv cannot be written: Permission denied" in ended.err


@pytest.mark.usefixtures("no_reading")
def test_a_file_that_forbids_writing(
    events: Path, tmp_path: Path, dpselect: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "top.csv"
    path.write_text("old", "utf-8")
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert dpselect(*ask(events, "-o", path)).status == 4
    assert path.read_text("utf-8") == "old"


@unix
@pytest.mark.usefixtures("no_reading")
def test_a_full_disk_is_found_first(
    events: Path, tmp_path: Path, dpselect: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    ended = dpselect(*ask(events, "-o", tmp_path / "top.csv"))
    assert ended.status == 4
    assert "no room" in ended.err
    assert list(tmp_path.iterdir()) == []


@unix
def test_a_file_system_that_cannot_reserve(
    events: Path, tmp_path: Path, dpselect: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(os, "posix_fallocate", unsupported)
    path = tmp_path / "top.json"
    assert dpselect(*ask(events, "-o", path)).status == 0
    assert items(path.read_text("utf-8")) == ANIMALS


# ---- writing ----------------------------------------------------------------------------------------------


def test_an_old_file_is_replaced_whole(events: Path, tmp_path: Path, dpselect: Command) -> None:
    path = tmp_path / "top.json"
    path.write_text("x" * 3_000_000, "utf-8")
    path.chmod(0o640)
    assert dpselect(*ask(events, "-o", path)).status == 0
    assert items(path.read_text("utf-8")) == ANIMALS
    assert os.name == "nt" or stat.S_IMODE(path.stat().st_mode) == 0o640


@unix
def test_a_link_is_followed(events: Path, tmp_path: Path, dpselect: Command) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "real" / "top.json")
    assert dpselect(*ask(events, "-o", link)).status == 0
    assert link.is_symlink()
    assert items((tmp_path / "real" / "top.json").read_text("utf-8")) == ANIMALS


def test_a_new_file_has_ordinary_permissions(events: Path, tmp_path: Path, dpselect: Command) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    path = tmp_path / "top.csv"
    assert dpselect(*ask(events, "-o", path)).status == 0
    assert path.stat().st_mode == plain.stat().st_mode


@unix
def test_a_pipe_is_written_directly(events: Path) -> None:
    ended = process(*ask(events, "-o", "/dev/stdout", "--format", "json"))
    assert ended.returncode == 0, ended.stderr
    assert items(ended.stdout) == ANIMALS


# ---- when writing fails after the release was made --------------------------------------------------------


@unix
def test_a_full_device_does_not_lose_the_result(events: Path) -> None:
    ended = process(*ask(events, "-o", "/dev/full", "--format", "csv"))
    assert ended.returncode == 4
    assert items(ended.stdout) == ANIMALS
    assert "No space left on device" in ended.stderr
    assert "the result is on standard output, as JSON" in ended.stderr


def test_a_failed_write_keeps_the_old_file_and_the_result(
    events: Path, tmp_path: Path, dpselect: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    path = tmp_path / "top.csv"
    path.write_text("old", "utf-8")
    monkeypatch.setattr(os, "fsync", fail)
    ended = dpselect(*ask(events, "-o", path))
    assert ended.status == 4
    assert items(ended.out) == ANIMALS
    assert "Input/output error" in ended.err
    assert path.read_text("utf-8") == "old"
    assert os.listdir(tmp_path) == ["top.csv"]


def test_a_renderer_that_fails_does_not_lose_the_result(
    events: Path, tmp_path: Path, dpselect: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> bytes:
        raise ValueError("text that may hold data")

    monkeypatch.setattr(files, "parquet_bytes", fail)
    ended = dpselect(*ask(events, "-o", tmp_path / "top.parquet"))
    assert ended.status == 4
    assert items(ended.out) == ANIMALS
    assert "ValueError" in ended.err
    assert "text that may hold data" not in ended.err
    assert list(tmp_path.iterdir()) == []


@unix
def test_a_pipe_whose_reader_has_gone_does_not_lose_the_result(
    events: Path, tmp_path: Path, dpselect: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> None:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr(output.Device, "write", gone)
    os.mkfifo(tmp_path / "pipe")
    ended = dpselect(*ask(events, "-o", tmp_path / "pipe", "--format", "csv"))
    assert ended.status == 4
    assert items(ended.out) == ANIMALS
    assert "Broken pipe" in ended.err


def test_interrupted_while_writing(
    events: Path, tmp_path: Path, dpselect: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    assert dpselect(*ask(events, "-o", tmp_path / "top.csv")).status == 130
    assert list(tmp_path.iterdir()) == []


@unix
def test_standard_output_on_a_full_disk(events: Path) -> None:
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "dpselect", *map(str, ask(events, "--quiet"))],
            stdout=full,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            check=False,
        )
    assert ended.returncode == 4
    assert items(ended.stderr[: ended.stderr.rindex("dpselect:")]) == ANIMALS
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr


@unix
def test_a_closed_pipe_ends_quietly(events: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(
        [sys.executable, "-m", "dpselect", *map(str, ask(events, "--quiet"))],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert ended.returncode == 4
    assert ended.stderr == b""


def test_a_terminal_of_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text("user,animal\n" + "".join(f"{user},Ærø 東\n" for user in range(200)), "utf-8")
    ended = process(*ask(path), PYTHONIOENCODING="ascii:strict")
    assert ended.returncode == 0, ended.stderr
    assert "Ærø 東" in ended.stdout
