"""A gateway in a process of its own: the demonstration, with data sets beside it for what it has not."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from dpselect.gateway import demo

PEOPLE = demo.PEOPLE
PATIENCE = 120  # seconds in which a server starts
HOSTILE = (
    '<img src=x onerror="document.title=1">',
    "</script><script>document.title=2</script>",
    '" onmouseover="document.title=3" x="',
    "</text></svg><h1>four</h1>",
    "\N{RIGHT-TO-LEFT OVERRIDE}evif\N{POP DIRECTIONAL FORMATTING} \N{HEBREW LETTER ALEF}",
    "six " + "long" * 49,
    "\N{OCTOPUS}\N{ZERO WIDTH JOINER}\N{ROCKET} {{ 7 * 7 }} &amp;",
)
"""Labels that would be markup, script or a mess wherever somebody forgot to write them as text."""

GENEROUS = {
    'promise = { epsilon = 3, delta = "1e-5" }': 'promise = { epsilon = 5000, delta = "1e-3" }',
    'quota = { epsilon = 2, delta = "5e-6" }': 'quota = { epsilon = 500, delta = "1e-4" }',
}
"""What the demonstration says, and what lets few users give sure answers, soon."""

SAME = """
[data.{name}]
source = "plays.parquet"
user = "user"
items = ["artist"]
groups = ["country"]
promise = {{ epsilon = 5000, delta = "1e-3" }}
sizes = {{ users = 3000, items = 300, items_per_user = 13 }}
tick = 0.2
{more}

[data.{name}.filters]
country = ["Germany", "Brazil"]
minutes = "any"
"""
LABELS = """
[data.labels]
source = "labels.parquet"
user = "user"
items = ["label"]
groups = ["group"]
promise = { epsilon = 5000, delta = "1e-3" }
tick = 0.2
"""


@dataclass(frozen=True)
class Site:
    """Where it is, and how everybody signs in."""

    url: str
    links: dict[str, str]
    tokens: dict[str, str]


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Site]:
    """The gateway, until the block ends."""
    tokens = made(folder)
    process, url, said = started(folder)
    try:
        yield Site(url, {name: re.search(rf"as {name}: (\S+)", said).group(1) for name in PEOPLE}, tokens)
    finally:
        process.terminate()
        process.wait(PATIENCE)


def made(folder: Path) -> dict[str, str]:
    """Rows and settings; the tokens."""
    tokens = demo.make(folder, 3000)
    path = folder / demo.SETTINGS_FILE
    generous = path.read_text()
    for meagre, more in GENEROUS.items():
        assert meagre in generous
        generous = generous.replace(meagre, more)
    copies = [SAME.format(name=name, more="") for name in ("script", "plain", "keys")]
    copies += [SAME.format(name=f"careful-{name}", more="approve = true") for name in ("script", "plain")]
    path.write_text(generous + "".join(copies) + LABELS)
    pq.write_table(pa.table(hostile()), folder / "labels.parquet")
    return tokens


def hostile() -> dict[str, list[object]]:
    """Every label, with 1,000 users and more, in two groups that are named as badly."""
    rows = [(user, label, HOSTILE[user % 2]) for at, label in enumerate(HOSTILE) for user in range(1000 + 200 * at)]
    return {name: [row[at] for row in rows] for at, name in enumerate(("user", "label", "group"))}


def started(folder: Path) -> tuple[subprocess.Popen[str], str, str]:
    """The process, once it listens; its address; and what it said."""
    command = [sys.executable, "-m", "dpselect", "serve", "--demo", "--folder", folder, "--port", "0"]
    with tempfile.TemporaryFile("w+") as words:
        process = subprocess.Popen(command, stderr=words, text=True)
        until = time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < until:
            words.seek(0)
            said = words.read()
            if "tokens for programs" in said:
                return process, re.search(r"serves (\S+);", said).group(1), said
            time.sleep(0.05)
        process.kill()
        words.seek(0)
        raise AssertionError(f"the gateway did not start: {words.read()}")
