"""A question that somebody asked the gateway, from the moment it is taken to its end.

A job is queued, runs, and ends once. What may be known of it before its time is decided here alone: a job that has
ended looks as if it still ran until its answer is due (docs/gateway-time.md).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from dpselect.release.formatting import Json


class State(StrEnum):
    """How far a question has come."""

    APPROVAL = "approval"  # somebody else must agree first
    QUEUED = "queued"
    RUNNING = "running"
    ANSWERED = "answered"
    REFUSED = "refused"  # the budget does not suffice, or the schema does not fit: nothing was charged
    FAILED = "failed"  # it began and could not be answered; its ceiling may be charged
    LOST = "lost"  # the server died while rows may have been read: its ceiling is charged
    CANCELLED = "cancelled"
    REJECTED = "rejected"  # who had to agree did not


OPEN = (State.APPROVAL, State.QUEUED, State.RUNNING)
FINAL = tuple(state for state in State if state not in OPEN)


@dataclass(frozen=True)
class Job:
    """One question of one person. Times are seconds since 1970, by the clock of the server."""

    id: str
    analyst: str
    data: str
    key: str  # the question, and the state of the data where that is known
    body: dict[str, Json]
    state: State
    asked_at: float
    tick: float
    again: str | None = None  # the caller's own key, by which a request that is sent twice is one
    fresh: bool = False
    started_at: float | None = None
    ready_at: float | None = None  # when it may be seen that it has ended
    hold: int | None = None  # the reservation in the ledger
    answer: str | None = None
    cost: dict[str, Json] | None = None
    problem: dict[str, Json] | None = None
    server: str | None = None
    question: str | None = None  # the digest of the question as the ledger has it

    @property
    def over(self) -> bool:
        """Has it ended, whether or not that may be seen yet?"""
        return self.state in FINAL

    def seen(self, now: float) -> bool:
        """Has it ended, and may that be seen? A clock that was set back hides nothing for longer than its turn took."""
        if not self.over or self.ready_at is None:
            return self.over
        whole = self.tick if self.started_at is None else self.ready_at - self.started_at
        return not 0 < self.ready_at - now <= whole

    def due(self, now: float) -> float | None:
        """When the answer is expected, from what may be known by now: 1, 2, 4, 8 ticks after it began."""
        if self.started_at is None or self.state is State.QUEUED:
            return None
        return self.ready_at if self.seen(now) else next_due(self.started_at, self.tick, now)

    def to_dict(self, now: float) -> dict[str, Json]:
        """What its owner may see of it now."""
        seen = not self.over or self.seen(now)
        state = self.state if seen else State.RUNNING
        due = self.due(now)
        return {
            "id": self.id,
            "state": str(state),
            "data": self.data,
            "question": self.body,
            "by": self.analyst,
            "asked_at": moment(self.asked_at),
            "ready_at": None if due is None else moment(due),
            "tick": self.tick,
            "slips": 0 if due is None or self.started_at is None else slips(self.started_at, self.tick, due),
            "answer": f"/v1/answers/{self.answer}" if seen and self.answer is not None else None,
            "cost": self.cost if seen else None,
            "problem": self.problem if seen else None,
        }


def next_due(started: float, tick: float, now: float) -> float:
    """The first of 1, 2, 4, 8 ... ticks after the start that has not passed."""
    ticks = 1
    while started + ticks * tick < now:
        ticks *= 2
    return started + ticks * tick


def slips(started: float, tick: float, due: float) -> int:
    """How often the answer was not ready when it was due."""
    return max(0, round((due - started) / tick).bit_length() - 1)


def moment(at: float) -> str:
    """A time as people and programs read it, in UTC."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


# ---- as a row -----------------------------------------------------------------------------------------------

COLUMNS = (
    "id, analyst, data, key, body, state, asked_at, tick, again, fresh, started_at, ready_at, hold, answer, cost, "
    "problem, server, question"
)
_JSON = ("body", "cost", "problem")
_TIMES = ("asked_at", "tick", "started_at", "ready_at")
MICRO = 1_000_000


def row_of(job: Job) -> list[str | int | None]:
    """Times are whole microseconds, so that every store keeps them alike."""
    return [_cell(name, getattr(job, name)) for name in COLUMNS.split(", ")]


def _cell(name: str, value: object) -> str | int | None:
    if value is None:
        return None
    if name in _JSON:
        return json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    if name in _TIMES and isinstance(value, (int, float)):
        return round(value * MICRO)
    if isinstance(value, bool):
        return int(value)
    return value if isinstance(value, int) else str(value)


def job_of(row: tuple[object, ...]) -> Job:
    """The job that `row_of` wrote."""
    given: dict[str, Any] = dict(zip(COLUMNS.split(", "), row, strict=True))
    for name in _JSON:
        given[name] = None if given[name] is None else json.loads(given[name])
    for name in _TIMES:
        given[name] = None if given[name] is None else given[name] / MICRO
    return Job(**(given | {"state": State(given["state"]), "fresh": bool(given["fresh"])}))


def cells(job: Job, changes: dict[str, Any]) -> tuple[Job, dict[str, str | int | None]]:
    """The job after some changes, and the cells that they change."""
    after = replace(job, **changes)
    return after, {name: _cell(name, getattr(after, name)) for name in changes}
