"""A PostgreSQL server of our own for the length of a test run: a private cluster in a temporary folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

DEBIAN = Path("/usr/lib/postgresql")
PATIENCE = 600  # seconds: on a busy machine stopping has taken 48
NEW = "DPSELECT_TESTS_NEW_CLUSTER"  # a variable of the environment: a cluster that nobody has started, to be copied


class NoServerError(Exception):
    """There is no PostgreSQL server to start, or nobody who may run it."""


@contextmanager
def server() -> Iterator[str]:
    """The address of a running server, up to the name of the database; everything is removed at the end."""
    programs, runner = _programs(), _runner()
    with new_cluster() as data:
        folder = data.parent
        # Tests kill clients, never the server's machine: it need not wait for the disk.
        options = f"-k {folder} -c listen_addresses='' -c max_connections=40 -c fsync=off -c full_page_writes=off"
        wait = ["-w", "-t", str(PATIENCE)]
        start = [programs / "pg_ctl", "start", *wait, "-D", data, "-l", folder / "log", "-o", options]
        _run([*runner, *start])
        try:
            yield f"postgresql://dpselect@/{{name}}?host={folder}"
        finally:
            _run([*runner, programs / "pg_ctl", "stop", *wait, "-m", "immediate", "-D", data])


@contextmanager
def new_cluster() -> Iterator[Path]:
    """The files of a cluster, in a folder that has room for a socket beside them."""
    programs, runner = _programs(), _runner()
    # A socket's path must be short, so the folder lies where temporary folders do.
    folder = Path(tempfile.mkdtemp(prefix="dpselect-pg-"))
    try:
        if runner:
            shutil.chown(folder, "postgres")
        data = folder / "data"
        made = ["--auth=trust", "--username=dpselect", "--encoding=UTF8", "--no-sync"]
        copied = os.environ.get(NEW)
        _run([*runner, *(["cp", "-a", copied, data] if copied else [programs / "initdb", *made, "-D", data])])
        yield data
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def restart(address: str) -> None:
    """Crash the server of this address, and start it again: what it had not written is gone."""
    folder = Path(parse_qs(urlsplit(address).query)["host"][0])
    how = ["-w", "-t", str(PATIENCE), "-m", "immediate", "-D", folder / "data", "-l", folder / "log"]
    _run([*_runner(), _programs() / "pg_ctl", "restart", *how])


def _programs() -> Path:
    """The folder of initdb and pg_ctl: the newest of Debian's, else what the PATH has."""
    versions = sorted(DEBIAN.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3].split(".")[0]))
    found = versions[-1] if versions else shutil.which("initdb")
    if found is None:
        raise NoServerError("needs PostgreSQL's initdb and pg_ctl, which are not there")
    return Path(found).parent


def _runner() -> list[str]:
    """What to put before a command: the server refuses to run as root."""
    if sys.platform == "win32":
        raise NoServerError("needs a Unix system: the server is reached through a socket in a folder")
    if os.geteuid():
        return []
    import pwd

    try:
        pwd.getpwnam("postgres")
    except KeyError:
        raise NoServerError("PostgreSQL does not run as root, and there is no user postgres") from None
    return ["runuser", "-u", "postgres", "--"]


def _run(command: list[str | Path]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=2 * PATIENCE, cwd="/")
