"""A question that somebody asked the gateway, from the moment it is taken to its end.

A job is queued, runs, and ends once: when its answer is due, not when there is one (docs/gateway-threats.md).
"""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum

from dpselect._ground.dataclass import dataclass
from dpselect.release import Json


class JobState(StrEnum):
    """The states of a question."""

    APPROVAL = "approval"  # somebody else must approve first
    QUEUED = "queued"
    RUNNING = "running"
    ANSWERED = "answered"
    REFUSED = "refused"  # the budget does not suffice, or the schema does not fit: nothing was charged
    FAILED = "failed"  # it began and could not be answered; its ceiling may be charged
    LOST = "lost"  # rows may have been read before its server died: charged; or the ledger that was put back lacks it
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
    repeat_key: str  # a digest of the question and of the state of the data, where that is known: a repeat has it too
    body: dict[str, Json]
    state: JobState
    asked_at: float
    base_window: float  # seconds from its beginning to its end, where its data were never late
    slips: int = 0  # how often its data were late while it ran or before, each of which doubles that
    idempotency_key: str | None = None  # the caller's own key, by which a request that is sent twice is one
    fresh: bool = False  # answered anew although an answer is stored
    started_at: float | None = None
    hold_entry: int | None = None  # the reservation in the ledger
    settle_entry: int | None = None  # the entry of the ledger that holds the answer, where this question paid for it
    settle_digest: str | None = None  # its digest: a ledger that is put back gives the number to another entry
    paid_by: str | None = None  # the id of the question that did
    cost: dict[str, Json] | None = None
    problem: dict[str, Json] | None = None
    process_id: str | None = None  # of the process that runs it, by a random name
    approved_by: str | None = None
    question_digest: str | None = None  # of the question as the ledger has it

    @property
    def window(self) -> float:
        """The seconds from its beginning to its end."""
        return self.base_window * 2.0**self.slips

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
            "answer": None if self.paid_by is None else f"/v1/answers/{self.paid_by}",
            "cost": self.cost,
            "problem": self.problem,
        }


def cost(share: float, sentence: str, *, repeated: bool = False, left: float | None = None) -> dict[str, Json]:
    """Return what a question cost, where more is not known."""
    return {"share": share, "left": left, "questions_left": None, "repeated": repeated, "sentence": sentence}


def moment(seconds: float) -> str:
    """Format a time in UTC as ISO 8601, to milliseconds."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
