"""A question that somebody asked the gateway, from the moment it is taken to its end.

A job is queued, runs, and ends once: when its answer is due, not when there is one (docs/gateway-threats.md).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from dpselect.release import Json


class JobState(StrEnum):
    """The states of a question."""

    APPROVAL = "approval"  # somebody else must approve first
    QUEUED = "queued"
    RUNNING = "running"
    ANSWERED = "answered"
    REFUSED = "refused"  # the budget does not suffice, or the schema does not fit: nothing was charged
    FAILED = "failed"  # it began and could not be answered; its ceiling may be charged
    LOST = "lost"  # the server died while rows may have been read: its ceiling is charged
    CANCELLED = "cancelled"
    REJECTED = "rejected"  # who had to agree did not


NEXT = {
    JobState.APPROVAL: (JobState.QUEUED, JobState.REJECTED, JobState.CANCELLED),
    JobState.QUEUED: (JobState.RUNNING, JobState.CANCELLED),
    JobState.RUNNING: (JobState.QUEUED, JobState.ANSWERED, JobState.REFUSED, JobState.FAILED, JobState.LOST),
}
"""What may follow on what. A question begins in one of the first two, or is answered at once by what is stored.

From running it is queued again only where its server died and certainly no row was read. An answer that an older copy
of the ledger lacks is lost, which is no step of a question (`Jobs.lose_answer`).
"""
FINAL = tuple(state for state in JobState if state not in NEXT)


@dataclass(frozen=True)
class Job:
    """A question of one person. Times are seconds since 1970, by the clock of the server."""

    id: str
    analyst: str
    data: str
    key: str  # the question, and the state of the data where that is known
    body: dict[str, Json]
    state: JobState
    asked_at: float
    tick: float  # seconds from its beginning to its end, where its data were never late
    slips: int = 0  # how often they were, each of which doubles that
    idempotency_key: str | None = None  # the caller's own key, by which a request that is sent twice is one
    fresh: bool = False
    started_at: float | None = None
    hold: int | None = None  # the reservation in the ledger
    settle: int | None = None  # the entry of the ledger that holds the answer, where this question paid for it
    settle_digest: str | None = None  # its digest: a ledger that is put back gives the number to another entry
    answer: str | None = None  # the id of the question that did
    cost: dict[str, Json] | None = None
    problem: dict[str, Json] | None = None
    server: str | None = None
    approved_by: str | None = None
    question: str | None = None  # the digest of the question as the ledger has it

    @property
    def window(self) -> float:
        """The seconds from its beginning to its end."""
        return self.tick * 2.0**self.slips

    @property
    def due(self) -> float | None:
        """The time at which it ends, once it has begun."""
        return None if self.started_at is None or self.state is JobState.QUEUED else self.started_at + self.window

    def to_dict(self) -> dict[str, Json]:
        """Return what its owner may see of it."""
        return {
            "id": self.id,
            "state": str(self.state),
            "data": self.data,
            "question": self.body,
            "by": self.analyst,
            "asked_at": moment(self.asked_at),
            "ready_at": None if self.due is None else moment(self.due),
            "tick": self.window,
            "slips": self.slips,
            "answer": None if self.answer is None else f"/v1/answers/{self.answer}",
            "cost": self.cost,
            "problem": self.problem,
        }


def cost(share: float, sentence: str, *, repeated: bool = False, left: float | None = None) -> dict[str, Json]:
    """Return what a question cost, where more is not known."""
    return {"share": share, "left": left, "questions_left": None, "repeated": repeated, "sentence": sentence}


def moment(seconds: float) -> str:
    """Format a time in UTC as ISO 8601, to milliseconds."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


# ---- as a row -----------------------------------------------------------------------------------------------

NAMES = [field.name for field in fields(Job)]
COLUMNS = ", ".join(NAMES)
_JSON = ("body", "cost", "problem")
_TIMES = ("asked_at", "tick", "started_at")
MICRO = 1_000_000


def row_of(job: Job) -> list[str | int | None]:
    """Return a job as a row. Times are whole microseconds, so that every store keeps them alike."""
    return [_format_cell(name, getattr(job, name)) for name in NAMES]


def _format_cell(name: str, value: object) -> str | int | None:
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
    """Return the job of a row that `row_of` wrote."""
    values: dict[str, Any] = dict(zip(NAMES, row, strict=True))
    for name in _JSON:
        values[name] = None if values[name] is None else json.loads(values[name])
    for name in _TIMES:
        values[name] = None if values[name] is None else values[name] / MICRO
    return Job(**(values | {"state": JobState(values["state"]), "fresh": bool(values["fresh"])}))


def changed_cells(job: Job, changes: dict[str, Any]) -> tuple[Job, dict[str, str | int | None]]:
    """Return the job after some changes, and the cells that they change."""
    changed_job = replace(job, **changes)
    return changed_job, {name: _format_cell(name, getattr(changed_job, name)) for name in changes}
