"""Load from several people at once who go on when servers die, and what must be true of all they saw at the end."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dpselect.gateway.jobs import Job, JobState
from dpselect.gateway.store import Jobs
from dpselect.ledger import Entry, EntryKind, Ledger
from tests.gateway.processes import PATIENCE, Caller, GoneError, Server, World

FINAL = {"answered", "refused", "failed", "lost", "cancelled"}
CHARGED = "1/2000"  # epsilon of a question


@dataclass
class Seen:
    """What one person saw: questions by number, and answers by address."""

    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    answers: dict[str, bytes] = field(default_factory=dict)


class Hammer:
    """People who ask, wait, read and cancel until they are told to stop."""

    def __init__(self, world: World, servers: Sequence[Server], seed: int, *, pause: float = 0.0) -> None:
        self._servers, self._pause = servers, pause
        self._ending = threading.Event()
        self._waits = random.Random(seed)
        self.errors: list[BaseException] = []
        self.statuses: Counter[int] = Counter()
        self.seen = {name: Seen() for name in world.tokens if name != "olga"}
        self._threads = [
            threading.Thread(target=self._person, args=(name, world.tokens[name], f"{seed} {name}"), daemon=True)
            for name in self.seen
        ]

    @property
    def days(self) -> set[str]:
        """On which questions were asked, by the server's clock."""
        return {job["asked_at"][:10] for seen in list(self.seen.values()) for job in list(seen.jobs.values())}

    def __enter__(self) -> Hammer:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join(2 * PATIENCE)
        if self.errors:
            raise self.errors[0]

    def _person(self, name: str, token: str, seed: str) -> None:
        rng = random.Random(seed)
        callers = [Caller(server, token, self.statuses) for server in self._servers]
        try:
            while not self._ending.is_set():
                self._ask(rng, rng.choice(callers), self.seen[name])
                self._ending.wait(rng.random() * self._pause)
        except BaseException as error:
            self.errors.append(error)
        finally:
            for caller in callers:
                caller.close()

    def _ask(self, rng: random.Random, caller: Caller, seen: Seen) -> None:
        """Ask once, under a key, so that a request whose answer got lost can be sent again."""
        body = {"verb": "top_k", "k": rng.randint(1, 40), "epsilon": CHARGED, "fresh": rng.random() < 0.3}
        key = {"Idempotency-Key": f"{rng.getrandbits(64):x}"} if rng.random() < 0.9 else {}
        if not key:
            body["fresh"] = False  # without a key a question that is sent again is known only where it is not fresh
        status, job = caller.until_answered("POST", "/v1/questions", body, key)
        if status == 409 and job["type"] == "/problems/budget":
            return
        assert status == 202, (status, job)
        before = seen.jobs.setdefault(job["id"], job)
        assert before["question"] == job["question"]
        if rng.random() < 0.3:
            return  # and look after it at the end
        if rng.random() < 0.1:
            caller.until_answered("DELETE", f"/v1/questions/{job['id']}")
        self.follow(caller, job["id"], seen, patience=3.0)

    def follow(self, caller: Caller, number: str, seen: Seen, patience: float = PATIENCE) -> None:
        """Until the question has ended, and its answer is read; or patience ends."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            wait = f"?wait={self._waits.randint(1, 2)}" if self._waits.random() < 0.3 else ""
            status, job = caller.until_answered("GET", f"/v1/questions/{number}{wait}")
            assert status == 200, (status, job)
            before = seen.jobs[number]
            if before["state"] in FINAL:
                same = ("state", "answer", "cost")
                assert [job[name] for name in same] == [before[name] for name in same], (before, job)
            seen.jobs[number] = job
            if job["state"] in FINAL:
                if job["answer"] is not None:
                    self._read(caller, job["answer"], seen)
                return
            time.sleep(0.1)
        assert patience < PATIENCE, f"question {number} never ended: {seen.jobs[number]}"

    def _read(self, caller: Caller, address: str, seen: Seen) -> None:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                status, content = caller.call("GET", address)
            except GoneError:
                status = 503
            if status != 503:
                break
            assert time.monotonic() < end, "an answer could not be read"
            time.sleep(0.05)
        assert status == 200, (status, content)
        assert seen.answers.setdefault(address, content) == content

    def finish(self, world: World, server: Server) -> None:
        """Everything that was ever seen is seen again, and everything has ended."""
        for name, seen in self.seen.items():
            caller = Caller(server, world.tokens[name], self.statuses)
            for number in list(seen.jobs):
                self.follow(caller, number, seen)
            for address in list(seen.answers):
                self._read(caller, address, seen)
            caller.close()

    @property
    def states(self) -> Counter[str]:
        """How questions ended."""
        return Counter(str(job["state"]) for seen in self.seen.values() for job in seen.jobs.values())


def check_books(
    ledger: Ledger, tables: Sequence[Jobs], hammers: Sequence[Hammer], *, apart: bool = False
) -> Counter[str]:
    """The record and the questions agree; how many questions ended how. Nobody may be asking any more.

    Servers that know nothing of each other's questions stand `apart`: each may ask what another asks at that moment.
    """
    assert ledger.verify() == []
    entries = list(ledger.entries())
    jobs = {job.id: job for table in tables for job in table.in_state(*JobState)}
    places = {f"/v1/answers/{one.id}": one for table in tables for one in table.answers(["plays"], 10**6)}
    _check_promise(ledger)
    _check_holds(entries, jobs)
    if not apart:
        _check_once(entries, jobs)
    by_number = {entry.number: entry for entry in entries}
    for seen in (one for hammer in hammers for one in hammer.seen.values()):
        for number, told in seen.jobs.items():
            assert number in jobs, f"question {number} is nowhere"
            job = jobs[number]
            assert str(job.state) == told["state"]
            assert job.state in FINAL, job
        for address, content in seen.answers.items():  # nothing left that is not settled
            entry = by_number[places[address].settle_entry]
            assert entry.kind is EntryKind.SETTLE
            assert (entry.release or "").encode() == content or _same_release(entry, content)
    return Counter(str(job.state) for job in jobs.values())


def _same_release(entry: Entry, content: bytes) -> bool:
    from dpselect.release.archive import restore_release

    return restore_release(entry.release or "").to_json().encode() == content


def _check_promise(ledger: Ledger) -> None:
    for standing in ledger.all_standings():
        assert standing.left >= 0
        assert standing.data.open_to_analysts.part(standing.all.total.as_spent) <= Fraction(1)


def _check_holds(entries: Sequence[Entry], jobs: dict[str, Job]) -> None:
    """Each hold under which rows were read is that of one question, which is answered, or charged and said to be."""
    read = {entry.refers_to for entry in entries if entry.kind is EntryKind.READ}
    settled = {entry.refers_to: entry.number for entry in entries if entry.kind is EntryKind.SETTLE}
    returned = {entry.refers_to for entry in entries if entry.kind is EntryKind.RETURN}
    held = {entry.number for entry in entries if entry.kind is EntryKind.HOLD}
    assert set(settled) <= read
    assert not read & returned
    assert held == read | returned, f"open for nothing: {held - read - returned}"
    of_jobs = Counter(job.hold_entry for job in jobs.values() if job.hold_entry in read)
    assert of_jobs == Counter(dict.fromkeys(read, 1)), "a hold of no question, or of two"
    for job in jobs.values():
        if job.hold_entry in settled:
            assert job.state in (JobState.ANSWERED, JobState.LOST), job
        elif job.hold_entry in read:
            assert job.state in (JobState.LOST, JobState.FAILED), job
            assert job.cost is not None, job
            assert float(str(job.cost["share"])) > 0, job
        if job.state is JobState.LOST:
            assert job.hold_entry in read


def _check_once(entries: Sequence[Entry], jobs: dict[str, Job]) -> None:
    """A question that was not asked anew is settled once, and again only after one that was lost or failed."""
    holds = {entry.number: entry for entry in entries if entry.kind is EntryKind.HOLD}
    anew = {job.hold_entry for job in jobs.values() if job.fresh}
    settled = Counter(
        holds[entry.refers_to].question
        for entry in entries
        if entry.kind is EntryKind.SETTLE and entry.refers_to in holds and entry.refers_to not in anew
    )
    assert all(number == 1 for number in settled.values()), [one for one in settled.items() if one[1] > 1]
