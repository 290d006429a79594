"""Where questions are kept: one table, in a SQLite file of the gateway's own, or PostgreSQL (`tables.py`).

The ledger is the memory of what was paid and answered. What is kept here is who asked what, how far it came, and which
entry of the ledger answers it.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpselect.draws import fresh_key
from dpselect.gateway.jobs import NEXT, Job, JobState, cost
from dpselect.gateway.problems import PUT_BACK_DETAIL, problem
from dpselect.gateway.tables import (
    JOB_COLUMNS,
    JOB_FIELDS,
    MICRO,
    changed_cells,
    job_of,
    lock_number,
    open_file,
    open_postgres,
    row_of,
)
from dpselect.ledger import Cell, Entry, Store, StoreDialect

_GRACE = 12.0  # seconds in which a server that lives takes its lock again, after its database went away
PUT_BACK = problem("lost", PUT_BACK_DETAIL)
_UNRECORDED = cost(0.0, "nothing: the ledger that is in use has no record of the question")


class Jobs:
    """The table of jobs. Usable from several threads; reopened if the database went away."""

    def __init__(self, location: Path | str) -> None:
        self._location = location
        self._lock = threading.RLock()
        self.process_id: str = fresh_key().hex()
        self._silent: dict[str, float] = {}  # servers without their lock, and since when
        self._served: dict[str, float] = {}  # when the last question of each person began
        self._grace = _GRACE if self.is_shared else 0.0
        self._store: Store = self._open()

    def _open(self) -> Store:
        store = open_postgres(self._location) if isinstance(self._location, str) else open_file(self._location)
        try:
            if store.dialect is StoreDialect.POSTGRES:
                store.run("SELECT pg_advisory_lock(?)", (lock_number(self.process_id),))
        except BaseException:
            store.close()
            raise
        return store

    @contextlib.contextmanager
    def _using(self, *, writing: bool = False, durable: bool = False) -> Iterator[Store]:
        """Yield the store, in a transaction if something is written. After a failure it is opened anew next time.

        What must outlive a crash of the machine or of the database is `durable`: that a question was taken, which
        reservation is its own, how it ended.
        """
        with self._lock:
            if not self._store.alive:
                self._store = self._open()
            if writing:
                with self._store.transaction(durable=durable):
                    yield self._store
            else:
                yield self._store

    @property
    def is_shared(self) -> bool:
        """Whether other processes may keep questions here too; a file belongs to one alone."""
        return isinstance(self._location, str)

    def close(self) -> None:
        """Close the file or the connection."""
        with self._lock:
            self._store.close()

    # ---- settings -------------------------------------------------------------------------------------------

    @property
    def secret(self) -> bytes:
        """The secret of this gateway, made once."""
        with self._using(writing=True) as store:
            store.run(
                "INSERT INTO setting (name, value) VALUES ('secret', ?) ON CONFLICT (name) DO NOTHING",
                (fresh_key(32).hex(),),
            )
            return bytes.fromhex(str(store.run("SELECT value FROM setting WHERE name = 'secret'")[0][0]))

    def record_once(self, name: str, until: float) -> bool:
        """Record a name until this time; return whether it was not recorded before."""
        with self._using(writing=True) as store:
            store.run("DELETE FROM setting WHERE value < ? AND name <> 'secret'", (f"{int(time.time()):020}",))
            if store.run("SELECT value FROM setting WHERE name = ?", (name,)):
                return False
            store.run("INSERT INTO setting (name, value) VALUES (?, ?)", (name, f"{int(until) + 1:020}"))
            return True

    def is_recorded(self, name: str) -> bool:
        """Return whether this name is recorded."""
        with self._using() as store:
            return bool(store.run("SELECT value FROM setting WHERE name = ?", (name,)))

    # ---- jobs -----------------------------------------------------------------------------------------------

    def add(self, job: Job, admit: Callable[[], None] | None = None) -> None:
        """Add a new job.

        `admit` raises if the job would be one too many: it reads this table in the transaction that adds the job, so
        that no other thread or process adds one in between.
        """
        placeholders = ", ".join("?" * len(JOB_FIELDS))
        with self._using(writing=True, durable=True) as store:
            if admit is not None:
                admit()
            store.run(f"INSERT INTO job ({JOB_COLUMNS}) VALUES ({placeholders})", row_of(job))

    def find(self, number: str) -> Job | None:
        """Return the job of this id."""
        return self._select_one("WHERE id = ?", (number,))

    def find_sent(self, analyst: str, idempotency_key: str) -> Job | None:
        """Return the job that came with this idempotency key."""
        return self._select_one("WHERE analyst = ? AND idempotency_key = ?", (analyst, idempotency_key))

    def find_same(self, analyst: str, key: str) -> Job | None:
        """Return the last job of the same question by the same person that was not asked to be fresh."""
        return self._select_one(
            "WHERE analyst = ? AND key = ? AND fresh = 0 ORDER BY asked_at DESC LIMIT 1", (analyst, key)
        )

    def list_of_person(self, analyst: str, before: float | None, limit: int) -> list[Job]:
        """List the jobs of a person, newest first."""
        condition = "AND asked_at < ?" if before is not None else ""
        values: list[Cell] = [analyst, *([round(before * MICRO)] if before is not None else [])]
        return self._select(f"WHERE analyst = ? {condition} ORDER BY asked_at DESC LIMIT {int(limit)}", values)

    def in_state(self, *states: JobState) -> list[Job]:
        """List all jobs in these states, oldest first."""
        placeholders = ", ".join("?" * len(states))
        return self._select(f"WHERE state IN ({placeholders}) ORDER BY asked_at", [str(state) for state in states])

    def waiting(self, analyst: str) -> tuple[int, int]:
        """Count the questions that wait for a worker, and those of one person that wait for a worker or an approval."""
        with self._using() as store:
            rows = store.run(
                "SELECT sum(CASE WHEN state = 'queued' THEN 1 ELSE 0 END), "
                "sum(CASE WHEN analyst = ? THEN 1 ELSE 0 END) FROM job WHERE state IN ('queued', 'approval')",
                (analyst,),
            )
        (waiting_all, waiting_own) = rows[0]
        return int(str(waiting_all or 0)), int(str(waiting_own or 0))

    def of_day(self, analyst: str, since: float) -> tuple[int, int, int]:
        """Count a person's questions since then, their characters, and the new ones among them.

        One that was answered without beginning had an answer that was paid for before.
        """
        with self._using() as store:
            rows = store.run(
                "SELECT count(*), sum(length(body)), "
                "sum(CASE WHEN state = 'answered' AND started_at IS NULL THEN 0 ELSE 1 END) "
                "FROM job WHERE analyst = ? AND asked_at > ?",
                (analyst, round(since * MICRO)),
            )
        questions, characters, new = (int(str(cell or 0)) for cell in rows[0])
        return questions, characters, new

    def change(self, job: Job, *, durable: bool = True, **changes: Any) -> Job | None:
        """Return the job after the changes, or None if it has moved on, or if its state does not follow the last one.

        A server that lost its database for a while may have been taken for dead: what it writes later comes too late.
        """
        if changes.get("state", job.state) not in (job.state, *NEXT.get(job.state, ())):
            return None
        changed_job, new_cells = changed_cells(job, changes)
        assignments = ", ".join(f"{name} = ?" for name in new_cells)
        identity: list[Cell] = [job.id, str(job.state), job.process_id or ""]
        with self._using(writing=True, durable=durable) as store:
            where = "WHERE id = ? AND state = ? AND coalesce(server, '') = ?"
            if not store.run(f"SELECT id FROM job {where}", identity):
                return None
            store.run(f"UPDATE job SET {assignments} {where}", [*new_cells.values(), *identity])
        return changed_job

    def claim(self, busy_workers: Mapping[str, int] | None = None, *, last: bool = False) -> Job | None:
        """Return the next question to run, never one that is being answered: people take turns.

        First whoever has fewest at work, then whoever was served longest ago, then the oldest. The last free worker
        is for somebody who has none at work (`last`), so that nobody takes all of them. `busy_workers` counts workers
        of whom a question was given up while its work goes on.
        """
        with self._using() as store:
            if not store.run("SELECT id FROM job WHERE state = 'queued' LIMIT 1"):
                return None
        with self._using(writing=True) as store:
            running = [
                (str(analyst), str(key))
                for analyst, key in store.run("SELECT analyst, key FROM job WHERE state = 'running'")
            ]
            oldest = "SELECT analyst, min(asked_at) FROM job WHERE state = 'queued' GROUP BY analyst"
            at_work, keys = Counter(who for who, _ in running), {key for _, key in running}
            at_work.update(busy_workers or {})
            people = sorted(
                (at_work[str(who)], self._served.get(str(who), 0.0), int(str(first)), str(who))
                for who, first in store.run(oldest)
                if not (last and at_work[str(who)])
            )
            for *_, who in people:
                queued = store.run(
                    "SELECT id, key FROM job WHERE state = 'queued' AND analyst = ? ORDER BY asked_at LIMIT 1000",
                    (who,),
                )
                free = next((str(id_) for id_, key in queued if str(key) not in keys), None)
                if free is not None:
                    self._served[who] = time.monotonic()
                    return self._begin(store, free)
        return None

    def _begin(self, store: Store, number: str) -> Job:
        """Start a job, and return it as it runs from now on."""
        job = job_of(store.run(f"SELECT {JOB_COLUMNS} FROM job WHERE id = ?", (number,))[0])
        changes = {"state": JobState.RUNNING, "started_at": time.time(), "process_id": self.process_id}
        started_job, new_cells = changed_cells(job, {**changes, "slips": self._slips_of(store, job.data)})
        assignments = ", ".join(f"{name} = ?" for name in new_cells)
        store.run(f"UPDATE job SET {assignments} WHERE id = ?", [*new_cells.values(), number])
        return started_job

    # ---- slips ----------------------------------------------------------------------------------------------

    def slips_of(self, data: str) -> int:
        """Count the slips of a data set: how often its ticks have doubled."""
        with self._using() as store:
            return self._slips_of(store, data)

    def _slips_of(self, store: Store, data: str) -> int:
        rows = store.run("SELECT value FROM setting WHERE name = ?", (f"late {data}",))
        return int(str(rows[0][0]).split()[1]) if rows else 0

    def declare(self, data: str, tick: Fraction) -> None:
        """Record the tick that the settings have; slips at another tick count no more."""
        with self._using(writing=True) as store:
            rows = store.run("SELECT value FROM setting WHERE name = ?", (f"late {data}",))
            if not rows or str(rows[0][0]).split()[0] != str(tick):
                store.run("DELETE FROM setting WHERE name = ?", (f"late {data}",))
                store.run("INSERT INTO setting (name, value) VALUES (?, ?)", (f"late {data}", f"{tick} 0"))

    def slip(self, job: Job, slips: int) -> bool:
        """Record that a question was not ready after so many slips: one more, for all questions about its data.

        Returns False and changes nothing if there is one more already, because another question was late.
        """
        with self._using(writing=True, durable=True) as store:
            if store.run("SELECT slips FROM job WHERE id = ?", (job.id,)) != [(slips,)]:
                return False
            name = f"late {job.data}"
            ((value,),) = store.run("SELECT value FROM setting WHERE name = ?", (name,))
            tick, late = str(value).split()
            store.run("UPDATE setting SET value = ? WHERE name = ?", (f"{tick} {int(late) + 1}", name))
            store.run("UPDATE job SET slips = slips + 1 WHERE data = ? AND state = 'running'", (job.data,))
            return True

    def slips(self) -> dict[str, int]:
        """Return the slips of each question that runs here."""
        with self._using() as store:
            rows = store.run("SELECT id, slips FROM job WHERE state = 'running' AND server = ?", (self.process_id,))
        return {str(id_): int(str(slips)) for id_, slips in rows}

    def list_running_here(self) -> list[Job]:
        """List the jobs that run here."""
        return [job for job in self.in_state(JobState.RUNNING) if job.process_id == self.process_id]

    def list_abandoned(self) -> list[Job]:
        """List the jobs that run on no living server."""
        running = self.in_state(JobState.RUNNING)
        other_servers = {job.process_id for job in running if job.process_id is not None} - {self.process_id}
        silent = {server for server in other_servers if self._is_silent(server)}
        now = time.monotonic()
        self._silent = {server: self._silent.get(server, now) for server in silent}
        gone = {server for server, since in self._silent.items() if now - since >= self._grace}
        return [job for job in running if job.process_id in gone]

    def _is_silent(self, server: str) -> bool:
        """Return whether a server has gone: any other of a file, and one of PostgreSQL that holds no lock."""
        with self._using() as store:
            if store.dialect is StoreDialect.SQLITE:
                return True
            has_lock = store.run("SELECT pg_try_advisory_lock(?)", (lock_number(server),)) == [(True,)]
            if has_lock:
                store.run("SELECT pg_advisory_unlock(?)", (lock_number(server),))
            return has_lock

    def _select_one(self, clause: str, values: Sequence[Cell]) -> Job | None:
        jobs = self._select(clause, values)
        return jobs[0] if jobs else None

    def _select(self, clause: str, values: Sequence[Cell]) -> list[Job]:
        with self._using() as store:
            return [job_of(row) for row in store.run(f"SELECT {JOB_COLUMNS} FROM job {clause}", values)]

    # ---- answers --------------------------------------------------------------------------------------------

    def record_answer(self, job: Job, settle: Entry) -> str:
        """Return the id of the question that paid for this answer: the first that is recorded."""
        with self._using(writing=True, durable=True) as store:
            for id_, digest in store.run("SELECT id, settle_digest FROM job WHERE settle = ?", (settle.number,)):
                if digest == settle.digest:
                    return str(id_)
                _lose(store, str(id_))  # its entry was in a ledger that was replaced by an older copy
            values = (settle.number, settle.digest, job.id)
            store.run("UPDATE job SET settle = ?, settle_digest = ? WHERE id = ?", values)
        return job.id

    def lose_answer(self, paid_job: Job) -> None:
        """Record that the ledger no longer has the answer that this question paid for: all who were given it lost it.

        A question that is lost is asked again as a new one.
        """
        with self._using(writing=True) as store:
            _lose(store, paid_job.id)

    def follow(self, moved: Mapping[tuple[int, str], tuple[int, str]]) -> None:
        """Name answers as the ledger has them that continues the one in which they were paid for."""
        with self._using(writing=True, durable=True) as store:
            rows = store.run("SELECT id, settle, settle_digest FROM job WHERE settle IS NOT NULL ORDER BY settle DESC")
            new_entries = {str(id_): moved.get((int(str(settle)), str(digest))) for id_, settle, digest in rows}
            numbers_in_use = {entry[0] for entry in new_entries.values() if entry is not None}
            for id_, settle, _ in rows:
                new_entry = new_entries[str(id_)]
                if new_entry is not None:  # numbers only grow, so that of a higher one is free by now
                    store.run("UPDATE job SET settle = ?, settle_digest = ? WHERE id = ?", (*new_entry, str(id_)))
                elif settle in numbers_in_use:
                    _lose(store, str(id_))

    def latest_answer(self) -> Job | None:
        """Return the question whose answer has the highest number in the ledger."""
        return self._select_one("WHERE settle IS NOT NULL ORDER BY settle DESC LIMIT 1", ())

    def answer(self, number: str) -> Job | None:
        """Return the question that paid for the answer of this id."""
        return self._select_one("WHERE id = ? AND settle IS NOT NULL", (number,))

    def answer_to(self, key: str) -> Job | None:
        """Return the question that paid for the latest answer to a question about data in one state."""
        return self._select_one("WHERE key = ? AND settle IS NOT NULL ORDER BY settle DESC LIMIT 1", (key,))

    def answers(self, data: Sequence[str], limit: int) -> list[Job]:
        """List the questions that paid for answers about some data sets, newest first."""
        placeholders = ", ".join("?" * len(data)) or "NULL"
        clause = f"WHERE data IN ({placeholders}) AND settle IS NOT NULL ORDER BY asked_at DESC LIMIT {int(limit)}"
        return self._select(clause, list(data))


def _lose(store: Store, number: str) -> None:
    store.run("UPDATE job SET settle = NULL, settle_digest = NULL WHERE id = ?", (number,))
    values = (str(JobState.LOST), json.dumps(PUT_BACK), json.dumps(_UNRECORDED), number, str(JobState.ANSWERED))
    store.run("UPDATE job SET state = ?, answer = NULL, problem = ?, cost = ? WHERE answer = ? AND state = ?", values)
