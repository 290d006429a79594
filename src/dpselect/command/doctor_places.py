"""What `dpselect doctor` finds out about a ledger and about engines elsewhere. It changes nothing, nor waits long.

Of an address only host, port and database are ever shown.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import sqlite3
import subprocess
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from dpselect.command.doctor_findings import Finding, NoAnswerError, State, better, failed, ok, within
from dpselect.errors import DpselectError, LedgerError, ParameterError

if TYPE_CHECKING:
    from dpselect.ledger.port import Store

PATIENCE = 15.0  # seconds for a server; connecting itself gives up after 10
SOON = 5.0
LEAST_JAVA = 17
LEDGER, DATA = 6, 3  # exit statuses
AHEAD = timedelta(minutes=1)  # how far an entry may lie ahead of this clock

# ---- a ledger -------------------------------------------------------------------------------------------------


def ledger(where: str) -> Iterator[Finding]:
    """Can it be opened, by whom, is it locked, and is its last entry the one that it says?"""
    try:
        found = within(PATIENCE, lambda: list(_opened(where)))
    except (DpselectError, NoAnswerError) as error:
        yield failed("ledger", error, LEDGER)
        return
    yield from found
    if "://" not in where:
        yield from _rights(Path(where))
        yield _lock(Path(where))


def _opened(where: str) -> Iterator[Finding]:
    """Without taking up a newer form, which is for whoever spends from it."""
    from dpselect.ledger.places import open_store

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        store = open_store(where)
    try:
        able = "can be read and written" if store.writable else "can be read, and not written, by you"
        state = State.OK if store.writable else State.BETTER
        yield Finding("ledger", state, f"{store.place} {able}")
        for one in told:
            yield better("ledger", "; ".join(str(one.message).splitlines()))
        yield from _last_entry(store)
    finally:
        store.close()


def _last_entry(store: Store) -> Iterator[Finding]:
    """The head that the ledger states is the digest of its last entry, and that of what this entry says."""
    from dpselect.ledger import sql
    from dpselect.ledger.rows import DamagedRowError, intact_entry_from, meta_from
    from dpselect.ledger.tables import check_form

    check_form(store)
    with store.snapshot():
        rows = store.run(sql.END)
        if not rows:
            raise LedgerError(f"the ledger at {store.place} does not say what it is")
        try:
            meta = meta_from(rows[0])
            last = store.run(sql.ONE_ENTRY, (meta.entries,))
            entry = intact_entry_from(last[0]) if last else None
        except DamagedRowError:
            raise LedgerError(f"the ledger at {store.place} is damaged", "dpselect ledger verify") from None
    number, digest = rows[0][4], rows[0][5]
    if (number or 0) != meta.entries or (digest is not None and digest != meta.head):
        raise LedgerError(f"the last entry of the ledger at {store.place} is not its head", "dpselect ledger verify")
    yield ok("ledger's head", "is its last entry, which is whole; dpselect ledger verify checks all of them")
    if entry is not None and datetime.fromisoformat(entry.at) > datetime.now(UTC) + AHEAD:
        yield better("ledger's clock", "its last entry is later than this machine's clock")


def _rights(path: Path) -> Iterator[Finding]:
    """Who may get at the file and its folder."""
    if os.name != "posix":
        return
    file, folder = path.resolve().stat().st_mode & 0o7777, path.resolve().parent.stat().st_mode & 0o7777
    told = f"file {file:03o}, folder {folder:03o}"
    if file & 0o077:
        yield better("ledger's rights", f"{told}: others than you may open the file; chmod 600 keeps it to you")
    else:
        yield ok("ledger's rights", f"{told}: nobody but its owner may open the file")


def _lock(path: Path) -> Finding:
    """Does anybody hold it just now? A question holds it for moments only."""
    real = path.resolve()
    if not (os.access(real, os.W_OK) and os.access(real.parent, os.W_OK)):
        return Finding("ledger's lock", State.ABSENT, "not tried: you may not write to it")
    connection = sqlite3.connect(f"{real.as_uri()}?mode=rw", uri=True, timeout=1, isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
    except sqlite3.OperationalError:
        return better("ledger's lock", "somebody has held it for a second; a question waits for a minute")
    finally:
        connection.close()
    return ok("ledger's lock", "is free")


# ---- engines elsewhere ----------------------------------------------------------------------------------------


def java() -> Iterator[Finding]:
    """What Spark needs, where PySpark is there."""
    try:
        metadata.version("pyspark")
    except metadata.PackageNotFoundError:
        return
    yield _java()


def _java() -> Finding:
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java", path=os.path.join(home, "bin") if home else None)
    if program is None:
        return Finding("Java", State.ABSENT, f"Spark needs Java {LEAST_JAVA} or newer")
    try:
        done = subprocess.run([program, "-version"], capture_output=True, timeout=PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return better("Java", "does not start")
    found = re.search(rb'version "(\d+)', done.stderr + done.stdout)
    if found is None:
        return better("Java", "does not say its version")
    told = found[1].decode()
    return ok("Java", told) if int(told) >= LEAST_JAVA else better("Java", f"{told}, Spark needs {LEAST_JAVA} or newer")


def engine(address: str) -> Finding:
    """Does the engine at an address answer?"""
    from dpselect.engines.postgres.address import is_postgres
    from dpselect.engines.spark.source import is_spark

    if is_postgres(address):
        return _postgres(address)
    if is_spark(address) or address.startswith("spark://"):
        return _spark(address.removeprefix("spark:") if not address.startswith("spark://") else address)
    must = "be an address: postgresql://USER@HOST/DATABASE or spark:MASTER"
    return failed("engine", ParameterError("--engine", must, "something else"), 2)


def _postgres(address: str) -> Finding:
    from dpselect.engines.postgres.connection import PostgresWorkspace

    def reached() -> str:
        workspace = PostgresWorkspace(address)
        try:
            version = workspace.fetch("SELECT current_setting('server_version')")[0][0]
            return f"{workspace.place} answers, version {version}"
        finally:
            workspace.close()

    try:
        return ok("engine PostgreSQL", within(PATIENCE, reached))
    except Exception as error:
        return failed("engine PostgreSQL", error, DATA)


def _spark(master: str) -> Finding:
    """Is there what starts one here, or does the port of one elsewhere answer? No session is started."""
    about = "engine Spark"
    try:
        metadata.version("pyspark")
    except metadata.PackageNotFoundError:
        return Finding(about, State.FAILS, "PySpark is not there: pip install 'dpselect[spark]'", DATA)
    found = _java()
    if found.state is not State.OK:
        return Finding(about, State.FAILS, f"Java: {found.found}", DATA)
    server = re.fullmatch(r"spark://(?:[^@]*@)?([^:/,]+):(\d+)", master)
    if server is None:
        return ok(about, "PySpark and Java are there; no session was started")
    place = f"spark://{server[1]}:{server[2]}"
    try:
        within(SOON, lambda: socket.create_connection((server[1], int(server[2])), timeout=SOON).close())
    except (OSError, OverflowError, NoAnswerError):
        return Finding(about, State.FAILS, f"{place} does not answer", DATA)
    return ok(about, f"the port of {place} answers; no session was started")
