"""Where the answer goes: reserved before the data are read, whole or not at all, and never lost."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

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


def raising(error: BaseException) -> Callable[..., NoReturn]:
    def fail(*_: object, **__: object) -> NoReturn:
        raise error

    return fail


# What is patched by what, what was in the file, and what is said.
FORBIDDEN: dict[str, tuple[str, Callable[..., object], str | None, str]] = {
    "a folder that forbids writing": (
        "os.open", raising(PermissionError(errno.EACCES, "Permission denied")), None,
        "top.csv cannot be written: Permission denied",
    ),
    "a file that forbids writing": ("os.access", lambda *_: False, "old", "top.csv"),
    "a full disk": ("os.posix_fallocate", raising(OSError(errno.ENOSPC, "No space left on device")), None, "no room"),
}  # fmt: skip


@unix
@pytest.mark.usefixtures("no_reading")
@pytest.mark.parametrize("name", FORBIDDEN)
def test_what_forbids_writing_is_found_first(
    name: str, events: Path, tmp_path: Path, dpselect: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    patched, does, old, message = FORBIDDEN[name]
    path = tmp_path / "top.csv"
    if old:
        path.write_text(old, "utf-8")
    monkeypatch.setattr(patched, does)
    ended = dpselect(*ask(events, "-o", path))
    assert ended.status == 4
    assert message in ended.err
    assert [one.read_text("utf-8") for one in tmp_path.iterdir()] == ([old] if old else [])


@unix
def test_a_file_system_that_cannot_reserve(
    events: Path, tmp_path: Path, dpselect: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "posix_fallocate", raising(OSError(errno.EOPNOTSUPP, "Operation not supported")))
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


# What is patched, the error, the file, what is said.
FAILURES: dict[str, tuple[str, Exception, str, str]] = {
    "a disk": ("os.fsync", OSError(errno.EIO, "Input/output error"), "top.csv", "Input/output error"),
    "a renderer": (
        "dpselect.engines.duckdb.tables.parquet_bytes",
        ValueError("text that may hold data"),
        "top.parquet",
        "ValueError",
    ),
    "a pipe whose reader has gone": (
        "dpselect.command.output.Device.write", BrokenPipeError(errno.EPIPE, "Broken pipe"), "pipe", "Broken pipe",
    ),
}  # fmt: skip


@unix
@pytest.mark.parametrize("name", FAILURES)
def test_a_failed_write_keeps_the_old_file_and_the_result(
    name: str, events: Path, tmp_path: Path, dpselect: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    patched, error, file, message = FAILURES[name]
    path = tmp_path / file
    if file == "pipe":
        os.mkfifo(path)
    else:
        path.write_text("old", "utf-8")
    monkeypatch.setattr(patched, raising(error))
    ended = dpselect(*ask(events, "-o", path, *(["--format", "csv"] if file == "pipe" else [])))
    assert ended.status == 4
    assert items(ended.out) == ANIMALS
    assert message in ended.err
    assert "text that may hold data" not in ended.err
    assert file == "pipe" or path.read_text("utf-8") == "old"
    assert os.listdir(tmp_path) == [file]


def test_interrupted_while_writing(
    events: Path, tmp_path: Path, dpselect: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", raising(KeyboardInterrupt()))
    assert dpselect(*ask(events, "-o", tmp_path / "top.csv")).status == 130
    assert list(tmp_path.iterdir()) == []


def asked_into(out: int, events: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dpselect", *map(str, ask(events, "--quiet"))]
    return subprocess.run(command, stdout=out, stderr=subprocess.PIPE, encoding="utf-8", check=False)


@unix
def test_standard_output_on_a_full_disk(events: Path) -> None:
    with open("/dev/full", "wb") as full:
        ended = asked_into(full.fileno(), events)
    assert ended.returncode == 4
    assert items(ended.stderr[: ended.stderr.rindex("dpselect:")]) == ANIMALS
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr


@unix
def test_a_closed_pipe_ends_quietly(events: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    ended = asked_into(writer, events)
    os.close(writer)
    assert ended.returncode == 4
    assert ended.stderr == ""


def test_a_terminal_of_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text("user,animal\n" + "".join(f"{user},Ærø 東\n" for user in range(200)), "utf-8")
    ended = process(*ask(path), PYTHONIOENCODING="ascii:strict")
    assert ended.returncode == 0, ended.stderr
    assert "Ærø 東" in ended.stdout
