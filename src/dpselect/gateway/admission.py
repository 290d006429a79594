"""Which questions are admitted: those with room in the budget, in the queue, in a day and in their person's limits.

An agent is fast, and may be talked into anything: its quota is all that it can spend, and the limits that an owner sets
for one person, the part of the quota that a question may cost and how many a day, say how fast.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

from dpselect.gateway.asked import AskedQuestion
from dpselect.gateway.books import Books
from dpselect.gateway.jobs import Job, JobState, cost
from dpselect.gateway.log import Metrics
from dpselect.gateway.problems import CLOSED, Refused
from dpselect.gateway.settings.kinds import LATEST
from dpselect.gateway.settings.server import Person, ServerSettings
from dpselect.gateway.store import Jobs
from dpselect.ledger import Account, percent
from dpselect.release import Json

REPEATED = "nothing: this is the stored answer to the same question"
DAY_SECONDS = 24 * 3600.0  # seconds
A_DAY, CHARACTERS_A_DAY = 10_000, 50_000_000  # questions of one person, and what they are written in


class Admission:
    """The decision about each new question."""

    def __init__(self, server: ServerSettings, jobs: Jobs, books: Books, metrics: Metrics) -> None:
        self._server, self._jobs, self._books, self._metrics = server, jobs, books, metrics

    def decide(
        self, person: Person, question: AskedQuestion, job: Job, paid_job: Job | None
    ) -> tuple[Job, Callable[[], None]]:
        """Return the job, answered where somebody paid for that before, and the check whether there is room for it.

        The check runs in the transaction that adds the job. Of the budget only the reservation itself is certain; what
        would be refused later is refused at once.
        """
        account = Account(dataset=job.data, analyst=person.name)
        if paid_job is not None and paid_job.settle_entry is not None:
            free = replace(job, state=JobState.ANSWERED, paid_by=paid_job.id, cost=cost(0.0, REPEATED, repeated=True))
            return free, partial(self._admit_free, person, job, paid_job.settle_entry)
        if job.base_window * 2.0 ** self._jobs.slips_of(job.data) > LATEST:
            raise Refused("unavailable", CLOSED)
        share = Fraction()
        for standing in self._books.ledger.standings(account, question.periods):
            ceiling = standing.ceiling_at(question.plan.price_at)
            if not standing.admits(ceiling):
                raise standing.refusal(ceiling)
            share = max(share, standing.part(ceiling))
        reason = _refusal_reason(person, share)
        if reason is not None:
            raise Refused("budget", f"The question {reason}.", "ask with a smaller share")
        job = replace(job, state=JobState.APPROVAL) if _must_wait(person, share) else job
        return job, partial(self._check_room, person, job)

    def _admit_free(self, person: Person, job: Job, settle: int) -> None:
        """Refuse what the gateway does not store any more today, and record who is given a stored answer."""
        self._check_day(person, job)
        self._books.note_repeat(Account(dataset=job.data, analyst=person.name), settle)
        self._metrics.count("dpselect_repeats_total")
        self._metrics.count("dpselect_questions_total", 'state="answered"')

    def _check_day(self, person: Person, job: Job) -> int:
        """Refuse what the gateway does not store any more today; return the number of new questions of the day."""
        questions, characters, new = self._jobs.of_day(person.name, job.asked_at - DAY_SECONDS)
        if questions >= A_DAY or characters >= CHARACTERS_A_DAY:
            raise Refused("too-many", "You have asked as many questions today as the gateway stores.", after=3600)
        return new

    def _check_room(self, person: Person, job: Job) -> None:
        """Refuse a new question if too many wait, or one too many in a day."""
        new = self._check_day(person, job)
        waiting_all, waiting_own = self._jobs.waiting(person.name)
        if waiting_own >= self._server.waiting_each:
            raise Refused("too-many", f"{waiting_own} of your questions are waiting, the most allowed.", after=5)
        if waiting_all >= self._server.waiting:
            raise Refused("busy", "The gateway's queue is full. Try again soon.", after=5)
        if person.max_a_day is not None and new >= person.max_a_day:
            sentence = f"You asked {new} new questions in 24 hours, and {person.max_a_day} are the most."
            raise Refused("too-many", sentence, "answers that are paid for already are free", after=3600)


def _refusal_reason(person: Person, share: Fraction) -> str | None:
    """Return why a question that costs this part of a whole quota is refused, or None if it may be asked."""
    if person.max_share is None or share <= person.max_share:
        return None
    maximum = percent(person.max_share)
    return f"is {percent(share, up=True)} of a whole budget, and one question may be at most {maximum} of it"


def _must_wait(person: Person, share: Fraction) -> bool:
    """Return whether somebody else must approve a question of this part of the quota."""
    return person.approve_above is not None and share > person.approve_above


def with_limits(person: Person, price: dict[str, Json], share: Fraction) -> dict[str, Json]:
    """Return a price that also says whether a person's limits allow a question of this part of the whole quota."""
    free = price["free"]
    reason = None if free else _refusal_reason(person, share)
    if reason is not None:
        return {**price, "fits": False, "sentence": reason}
    if _must_wait(person, share) and not free:
        return {**price, "sentence": f"{price['sentence']}; somebody else must approve it first"}
    return price
