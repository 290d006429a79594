"""The guide to a gateway is followed word by word: its commands, its settings, and the question at the end."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpselect.gateway.settings.reading import read_text
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "gateway.md").read_text()
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
SETTINGS = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL).group(1)
UNIT = re.search(r"```ini\n(.*?)```", PAGE, re.DOTALL).group(1)
CONTAINER = (ROOT / "Containerfile").read_text()


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
def served(folder: Path) -> Iterator[str]:
    """The command of the page, at a port that is free; where it is."""
    command = [sys.executable, "-m", *block("dpselect serve gateway.toml").split(), "--port", "0", "--quiet"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()


def test_the_way_to_own_data_ends_with_an_answer(tmp_path):
    shell(block("--keep plays.parquet"), tmp_path)
    made = shell(block("gateway token"), tmp_path).splitlines()
    settings = SETTINGS
    for line in made[1::2]:
        settings = re.sub(r'(?m)^token = "sha256:0{60}.*"', lambda _, line=line: line, settings, count=1)
    (tmp_path / "gateway.toml").write_text(settings)
    checked = shell(block("gateway check"), tmp_path)
    assert "every source has the columns that are declared" in checked
    assert "mind" not in checked
    with served(tmp_path) as url:
        health = re.search(r'CMD \["python", "-c", "(.*)"\]', CONTAINER).group(1)
        shell(f'python -c "{health.replace("127.0.0.1:8080", url.removeprefix("http://"))}"', tmp_path)
        asking = block("--gateway").replace("http://127.0.0.1:8080", url).replace("=...", f"={made[2]}")
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
    assert "://" not in re.sub(r"http://127.0.0.1:\d+", "", CONTAINER)
