"""The tables of a gateway: a job as a row, and how what holds them, a file or a schema, is made, opened and locked."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from dpselect.errors import LedgerError, OutputError
from dpselect.gateway.jobs import Job, JobState
from dpselect.ledger import Store, StoreDialect, create_store, open_store

if sys.platform != "win32":
    import fcntl

_LOCK = "gateway.lock"
_SCHEMA = "dpselect_gateway"
_CREATE_TABLES = (
    """CREATE TABLE IF NOT EXISTS job (
        id TEXT PRIMARY KEY, analyst TEXT NOT NULL, data TEXT NOT NULL, key TEXT NOT NULL, body TEXT NOT NULL,
        state TEXT NOT NULL, asked_at {whole} NOT NULL, tick {whole} NOT NULL, slips {whole} NOT NULL,
        idempotency_key TEXT,
        fresh {whole} NOT NULL, started_at {whole}, hold {whole}, settle {whole},
        settle_digest TEXT, answer TEXT, cost TEXT, problem TEXT, server TEXT,
        approved_by TEXT, question TEXT
    )""",
    "CREATE UNIQUE INDEX IF NOT EXISTS job_key ON job (analyst, idempotency_key) WHERE idempotency_key IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS job_asked ON job (analyst, asked_at)",
    "CREATE INDEX IF NOT EXISTS job_same ON job (key, analyst)",
    "CREATE INDEX IF NOT EXISTS job_open ON job (state) WHERE state IN ('approval', 'queued', 'running')",
    "CREATE UNIQUE INDEX IF NOT EXISTS job_settle ON job (settle) WHERE settle IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS job_answer ON job (answer) WHERE answer IS NOT NULL",
    "CREATE TABLE IF NOT EXISTS setting (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS meta (id {whole} PRIMARY KEY)",
    "INSERT INTO meta (id) VALUES (1) ON CONFLICT (id) DO NOTHING",
)
_INTEGER_TYPES = {StoreDialect.SQLITE: "INTEGER", StoreDialect.POSTGRES: "BIGINT"}
JOB_FIELDS = [field.name for field in fields(Job)]
_COLUMN_OF_FIELD = {
    "repeat_key": "key",
    "base_window": "tick",
    "hold_entry": "hold",
    "settle_entry": "settle",
    "paid_by": "answer",
    "process_id": "server",
    "question_digest": "question",
}
"""The columns that have another name than their field: the tables of gateways that exist have them."""
JOB_COLUMNS = ", ".join(_COLUMN_OF_FIELD.get(name, name) for name in JOB_FIELDS)
_JSON_FIELDS = ("body", "cost", "problem")
_TIME_FIELDS = ("asked_at", "base_window", "started_at")
MICRO = 1_000_000


def row_of(job: Job) -> list[str | int | None]:
    """Return a job as a row. Times are whole microseconds, so that every store keeps them alike."""
    return [_format_cell(name, getattr(job, name)) for name in JOB_FIELDS]


def _format_cell(name: str, value: object) -> str | int | None:
    if value is None:
        return None
    if name in _JSON_FIELDS:
        return json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    if name in _TIME_FIELDS and isinstance(value, (int, float)):
        return round(value * MICRO)
    if isinstance(value, bool):
        return int(value)
    return value if isinstance(value, int) else str(value)


def job_of(row: tuple[object, ...]) -> Job:
    """Return the job of a row that `row_of` wrote."""
    values: dict[str, Any] = dict(zip(JOB_FIELDS, row, strict=True))
    for name in _JSON_FIELDS:
        values[name] = None if values[name] is None else json.loads(values[name])
    for name in _TIME_FIELDS:
        values[name] = None if values[name] is None else values[name] / MICRO
    return Job(**(values | {"state": JobState(values["state"]), "fresh": bool(values["fresh"])}))


def changed_cells(job: Job, changes: dict[str, Any]) -> tuple[Job, dict[str, str | int | None]]:
    """Return the job after some changes of its fields, and the cells that they change, by column."""
    changed_job = replace(job, **changes)
    return changed_job, {
        _COLUMN_OF_FIELD.get(name, name): _format_cell(name, getattr(changed_job, name)) for name in changes
    }


# ---- how they are opened ---------------------------------------------------------------------------------------


def lock_number(server: str) -> int:
    """Return a server's lock number: PostgreSQL's locks have 64 bits."""
    return int.from_bytes(bytes.fromhex(server)[:8], "big", signed=True)


def lock_folder(folder: Path) -> int | None:
    """Lock a folder of questions for this process: two would each take the other for dead.

    The system releases the lock however the process ends.
    """
    if sys.platform == "win32":
        return None
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        hint = "stop it first; several processes need jobs = postgresql://..."
        raise OutputError(f"another gateway serves the folder {folder}", hint) from None
    return descriptor


def open_file(path: Path) -> Store:
    """Open the file of a gateway, which is made if it is not there."""
    store = open_store(path) if path.exists() and path.stat().st_size else _new_file(path)
    _make_tables(store)
    return store


def _new_file(path: Path) -> Store:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)  # an empty one, of a process that died while it made it
    store = create_store(path)
    store.run("PRAGMA journal_mode=WAL")
    return store


def open_postgres(address: str) -> Store:
    """Open the schema of a gateway in a database, which is made if it is not there."""
    store = open_store(address)
    try:
        with _store_lock(store):
            store.run(f"CREATE SCHEMA IF NOT EXISTS {_SCHEMA}")
            store.run(f"SET search_path = {_SCHEMA}, pg_temp")
            _make_tables(store)
    except BaseException:
        store.close()
        raise
    return store


@contextlib.contextmanager
def _store_lock(store: Store) -> Iterator[None]:
    """Hold the lock under which one process at a time makes the tables."""
    store.run("SELECT pg_advisory_lock(?)", (lock_number(_SCHEMA.encode().hex()),))
    try:
        yield
    finally:
        with contextlib.suppress(LedgerError):
            store.run("SELECT pg_advisory_unlock(?)", (lock_number(_SCHEMA.encode().hex()),))


def _make_tables(store: Store) -> None:
    """Make the tables that are not there yet."""
    for statement in _CREATE_TABLES[:-1]:
        store.run(statement.replace("{whole}", _INTEGER_TYPES[store.dialect]))
    if not store.run("SELECT id FROM meta"):
        begin = "BEGIN IMMEDIATE" if store.dialect is StoreDialect.SQLITE else "BEGIN"
        store.run(begin)
        store.run(_CREATE_TABLES[-1])
        store.run("COMMIT")
