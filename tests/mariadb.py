"""A MariaDB server of our own for the length of a test run: private data in a temporary folder, reached by a socket."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

PATIENCE = 600  # seconds
DRIVER = Path(__file__).resolve().parents[1] / ".mariadb"
"""Where .ci/run installs mysqlclient, which is compiled."""
if DRIVER.is_dir():
    sys.path.append(str(DRIVER))


class NoServerError(Exception):
    """There is no MariaDB server to start, or nothing that speaks to it."""


@contextmanager
def server() -> Iterator[str]:
    """The socket of a running server; everything is removed at the end."""
    if find_spec("MySQLdb") is None:
        raise NoServerError("needs mysqlclient, which is not there: pip install -r requirements/mariadb.txt")
    install, run = (_program(name) for name in ("mariadb-install-db", "mariadbd"))
    folder = Path(tempfile.mkdtemp(prefix="dpselect-maria-"))
    as_root = [] if os.geteuid() else ["--user=root"]
    common = ["--no-defaults", f"--datadir={folder}/data", *as_root]
    try:
        made = [*common, "--auth-root-authentication-method=normal", "--skip-test-db"]
        subprocess.run([install, *made], check=True, stdout=subprocess.DEVNULL, timeout=PATIENCE)
        # Tests kill clients, never the server's machine: it need not wait for the disk.
        options = [f"--socket={folder}/s", f"--pid-file={folder}/pid", "--skip-networking", "--skip-log-bin"]
        options += ["--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=32M", f"--log-error={folder}/log"]
        with subprocess.Popen(
            [run, *common, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            try:
                _wait_for(folder / "s", process)
                yield f"{folder}/s"
            finally:
                process.terminate()
                process.wait(PATIENCE)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def connected(socket: str, database: str | None = None) -> Any:
    """A connection of the server's administrator."""
    import MySQLdb

    connection = MySQLdb.connect(unix_socket=socket, user="root", charset="utf8mb4", autocommit=True)
    if database is not None:
        cursor = connection.cursor()
        cursor.execute(f"CREATE DATABASE IF NOT EXISTS {database} CHARACTER SET utf8mb4")
        cursor.execute(f"USE {database}")
        cursor.close()
    return connection


def _program(name: str) -> str:
    found = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"]))
    if found is None:
        raise NoServerError(f"needs MariaDB's {name}, which is not there")
    return found


def _wait_for(socket: Path, process: subprocess.Popen[bytes]) -> None:
    """Wait until the server answers."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and process.poll() is None:
        if socket.exists():
            connected(str(socket)).close()
            return
        time.sleep(0.05)
    raise NoServerError("the server of MariaDB did not start")
