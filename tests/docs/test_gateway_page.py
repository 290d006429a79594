"""The guide to a gateway is followed word by word: its commands, its settings, and the question at the end."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dpselect.gateway.settings.reading import read_text
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "gateway.md").read_text()
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
SETTINGS = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL).group(1)
UNIT = re.search(r"```ini\n(.*?)```", PAGE, re.DOTALL).group(1)
CONTAINER = (ROOT / "Containerfile").read_text()
PATIENCE = 120  # seconds in which the gateway starts


def block(what: str) -> str:
    """The commands among which this one is."""
    return next(one for one in BLOCKS if what in one)


def shell(commands: str, folder: Path, **more: str) -> str:
    """What they print; each must succeed."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-ec", commands], cwd=folder, env={**os.environ, "PATH": path, **more}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{commands}\n{done.stderr}"
    return done.stdout


@contextmanager
def served(folder: Path) -> Iterator[int]:
    """The command of the page, at a port of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = block("dpselect serve gateway.toml").split()
    command = [sys.executable, "-m", *words, "--port", str(port)]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL) as process:
        try:
            until = time.monotonic() + PATIENCE
            while not ready(port):
                assert process.poll() is None, "the gateway did not start"
                assert time.monotonic() < until, "the gateway is not ready"
                time.sleep(0.1)
            yield port
        finally:
            process.terminate()


def ready(port: int) -> bool:
    """As the container asks for its health."""
    asked = re.search(r"urlopen\('(\S+?)'", CONTAINER).group(1).replace("8080", str(port))
    try:
        with urllib.request.urlopen(asked, timeout=10) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


@pytest.mark.slow
def test_the_way_to_own_data_ends_with_an_answer(tmp_path):
    shell(block("--keep plays.parquet"), tmp_path)
    made = shell(block("gateway token"), tmp_path).splitlines()
    settings = SETTINGS
    for line in made[1::2]:
        settings = re.sub(
            r'^token = "sha256:0{60}.*"', lambda _, line=line: line, settings, count=1, flags=re.MULTILINE
        )
    (tmp_path / "gateway.toml").write_text(settings)
    checked = shell(block("gateway check"), tmp_path)
    assert "every source has the columns that are declared" in checked
    assert "mind" not in checked
    with served(tmp_path) as port:
        asking = (
            block("--gateway").replace("8080", str(port)).replace("DPSELECT_TOKEN=...", f"DPSELECT_TOKEN={made[2]}")
        )
        assert shell(asking, tmp_path).count("\n") > 1
        if shutil.which("sqlite3"):
            shell(block(".backup"), tmp_path)
            assert (tmp_path / "ledger-copy.sqlite").stat().st_size > 0
            assert (tmp_path / "questions-copy.sqlite").stat().st_size > 0


def test_the_settings_of_the_page_say_what_its_text_says(tmp_path):
    declared = read_text(SETTINGS, tmp_path)
    assert set(declared.people) == {"olga", "ann"}
    for line in re.findall(r"```\n(\[server\]\n.*?)```", PAGE, re.DOTALL):  # those of other sections
        one = line.partition("\n")[2]
        keys = {key for key, _, _ in (row.partition(" = ") for row in one.splitlines())}
        kept = [row for row in SETTINGS.splitlines() if row.partition(" = ")[0] not in keys]
        read_text("\n".join([kept[0], one, *kept[1:]]), tmp_path)


def test_the_container_and_the_unit_start_what_there_is():
    copied = re.findall(r"^COPY (?!--)(.*) \S+$", CONTAINER, re.MULTILINE)
    assert all((ROOT / name).exists() for line in copied for name in line.split())
    command = " ".join(re.findall(r'"([^"]*)"', re.search(r"^CMD \[(.*)\]", CONTAINER, re.MULTILINE).group(1)))
    assert command == "serve gateway.toml --host 0.0.0.0 --port 8080"
    assert "bin/dpselect serve gateway.toml\n" in UNIT
    assert "://" not in re.sub(r"http://localhost:\d+", "", CONTAINER)
