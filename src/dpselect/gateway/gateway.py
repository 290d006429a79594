"""The gateway without HTTP: questions are taken, priced, answered. Methods may wait for disks.

What a person may look at besides, of data, budgets and the record, is in `views.py`.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from dpselect import Release
from dpselect.draws.entropy import fresh_key
from dpselect.errors import LedgerError, ParameterError, came
from dpselect.gateway import declared, forecasts, limits, work
from dpselect.gateway.asked import AskedQuestion, open_data, parse_question
from dpselect.gateway.books import Books
from dpselect.gateway.jobs import FINAL, Job, JobState, cost, moment
from dpselect.gateway.log import Log, Metrics
from dpselect.gateway.people import People, Renewal
from dpselect.gateway.problems import CLOSED, PUT_BACK_DETAIL, REJECTED, Refused, problem
from dpselect.gateway.recent import PLANNED, Recent
from dpselect.gateway.runner import NOTHING, Runner
from dpselect.gateway.settings.values import LATEST, DataSettings, Person, Role, Settings
from dpselect.gateway.sources import Sources, unpinned
from dpselect.gateway.store import PUT_BACK, Jobs, lock_folder
from dpselect.ledger import Account, Entry
from dpselect.release.archive import restore_release
from dpselect.release.formatting import Json

_SWITCH = 0.0005  # seconds after which a thread lets others run: one that computes must not hold up who asks little
PATIENCE = 20.0  # seconds that running questions are given when the gateway stops
REPEATED = "nothing: this is the stored answer to the same question"
DAY = 24 * 3600.0  # seconds
A_DAY, CHARACTERS_A_DAY = 10_000, 50_000_000  # questions of one person, and what they are written in
_LONGEST_KEY = 200  # characters of an idempotency key


@dataclass(frozen=True)
class Answer:
    """A release that was paid for, with its question. All who may use the data may read it."""

    id: str
    release: Release
    data: str
    question: dict[str, Any]
    asked_at: str
    by: str

    @cached_property
    def json(self) -> bytes:
        """The release as JSON, written once."""
        return self.release.to_json().encode("utf-8", "backslashreplace")


class Gateway:
    """A gateway: everything behind the routes. Usable from many threads."""

    def __init__(self, settings: Settings, log: Log | None = None, file: Path | None = None) -> None:
        """`file` is where the settings come from: people are read again when it is written."""
        self.settings: Settings = settings
        self.log: Log = log or Log()
        self.metrics: Metrics = Metrics()
        server = settings.server
        server.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder_lock = lock_folder(server.folder) if server.jobs is None else None
        self.books: Books = Books(server.ledger, self.log)
        self._begin_books()
        self.jobs: Jobs = Jobs(server.jobs if server.jobs is not None else server.folder / "questions.sqlite")
        for data in settings.data.values():
            self.jobs.declare(data.name, data.tick)
        self.people: People = People(settings.people, self.jobs.secret, self.jobs, server)
        self.sources: Sources = Sources()
        self._watchers: set[Callable[[str], None]] = set()
        self.runner: Runner = Runner(
            self.jobs,
            self.books,
            self.sources,
            self._question_of,
            self.log,
            self.metrics,
            self._notify_watchers,
            server.workers,
        )
        self._waiting = Recent[AskedQuestion](PLANNED)  # planned here, by the ids of their jobs
        self._known: Recent[tuple[AskedQuestion, Job]]
        self._answers: Recent[Answer]
        self._forget_known()
        self._renewal = None if file is None else Renewal(file, self._apply_people, self.log)

    def start(self) -> None:
        """Begin to run questions, first those left by a server that died."""
        import dpselect.engines.duckdb.engine  # noqa: F401 # a third of a second, in no question's window

        sys.setswitchinterval(_SWITCH)
        self._find_lost_answers()
        self.runner.recover()
        self.runner.start()
        self.books.start()

    def stop(self) -> None:
        """Stop after the running questions end, and release everything."""
        if self._renewal is not None:
            self._renewal.stop()
        self.runner.stop(PATIENCE)
        self.jobs.close()
        self.books.close()
        if self._folder_lock is not None:
            os.close(self._folder_lock)

    def _apply_people(self, settings: Settings) -> None:
        """Use other people, about the same data."""
        if settings.data != self.settings.data:
            self.log("unread", said="settings of data have changed, and are read at the next start")
        self.settings = self.settings.model_copy(update={"people": settings.people})
        self.people.replace(settings.people)
        self._begin_books()

    def _begin_books(self) -> None:
        """Make accounts and quotas that the ledger lacks, and log what it has otherwise than the settings."""
        self.books.begin(self.settings)
        for difference in declared.differences(self.settings, self.books.ledger):
            self.log("differs", said=str(difference), hint=declared.APPLY)

    def watch(self, watcher: Callable[[str], None]) -> None:
        """Call the watcher with the id of every question that changes, from another thread."""
        self._watchers.add(watcher)

    def _notify_watchers(self, number: str) -> None:
        for watcher in tuple(self._watchers):
            watcher(number)

    def open_to(self, person: Person) -> dict[str, DataSettings]:
        """Return the data that a person may use."""
        data = self.settings.data
        return {name: settings for name, settings in data.items() if person.data is None or name in person.data}

    # ---- what a question costs: free, and no row is read ----------------------------------------------------

    def question(self, person: Person, body: object) -> AskedQuestion:
        """Parse a request body into a question with its plan."""
        return parse_question(body, self.open_to(person), lambda data: self.books.budget_for(data, person))

    def _question_of(self, job: Job) -> AskedQuestion:
        """Return the question of a job: as it was planned when it was taken, else planned from the body that was kept.

        Whoever asked may have lost the right to it since, and is refused then. All else of the settings stays as it is
        while the gateway runs.
        """
        person = self.people.find(job.analyst)
        if person is None:
            raise ParameterError("analyst", "be somebody who may still sign in", came(job.analyst))
        planned = self._waiting.get(job.id)
        if planned is None:  # taken by another process, or long ago
            return self.question(person, {**job.body, "fresh": job.fresh})
        open_data(job.data, self.open_to(person))
        return planned

    def forecast(self, person: Person, body: object) -> dict[str, Json]:
        """Return what to expect of a question, and its price."""
        question = self.question(person, body)
        standings = self.books.standings(question.settings, person, question.periods)
        return {**forecasts.forecast(question, standings), "price": self._price(person, question)}

    def price(self, person: Person, body: object) -> dict[str, Json]:
        """Return what a question costs, and what is left after it."""
        return self._price(person, self.question(person, body))

    def _price(self, person: Person, question: AskedQuestion) -> dict[str, Json]:
        free = not question.fresh and self._find_answer(self._key(question)) is not None
        standings = self.books.standings(question.settings, person, question.periods)
        share = forecasts.part_of_whole(question.plan, standings)
        source = self.sources.find_source(question.settings)
        plan = question.dataset(source.location, prepared=source.prepared).with_rows(question.plan)
        return limits.with_limits(
            person, forecasts.price(question, standings, plan.accuracy.sentences, free=free), share
        )

    def _key(self, question: AskedQuestion) -> str:
        """Return the key of a question and of the present state of its data."""
        state = self.sources.find_source(question.settings).state
        return hashlib.sha256(f"{question.key} {unpinned() if state is None else state}".encode()).hexdigest()

    # ---- asking ---------------------------------------------------------------------------------------------

    def at_hand(self, person: Person, raw: bytes) -> dict[str, Json] | None:
        """Return the answered job of a question that the same person sent in the same bytes, if it is in memory."""
        question, job = self._known.get(_request_key(person, raw)) or (None, None)
        if question is None or job is None or job.key != self._key(question):
            return None
        self.metrics.count("dpselect_repeats_total")
        return job.to_dict()

    def ask(
        self, person: Person, body: object, idempotency_key: str | None = None, *, raw: bytes | None = None
    ) -> dict[str, Json]:
        """Take a question and return its job. The same question by the same person is the same job.

        `idempotency_key` is the caller's own: a request that is sent twice is one. `raw` are the bytes of the body, by
        which it is recognised once it is answered, unless it has a share, which may be another price tomorrow.
        """
        if idempotency_key is not None and not (
            0 < len(idempotency_key) <= _LONGEST_KEY and idempotency_key.isprintable()
        ):
            raise ParameterError(
                "Idempotency-Key", f"be a text of 1 to {_LONGEST_KEY} characters", came(idempotency_key)
            )
        question = self.question(person, body)
        job = self._take(person, question, idempotency_key)
        has_share = isinstance(body, Mapping) and body.get("share") is not None
        if raw is not None and job.state is JobState.ANSWERED and not question.fresh and not has_share:
            self._known.put(_request_key(person, raw), (question, job), len(json.dumps(job.body)))
        return job.to_dict()

    def _take(self, person: Person, question: AskedQuestion, idempotency_key: str | None) -> Job:
        """Return the job of a question. Nothing is remembered of one that is refused."""
        self.books.check_quota(question.settings, person)
        tick, key = self._find_tick(question), self._key(question)
        sent_job = self._find_sent(person, idempotency_key, question)
        if sent_job is not None:
            return sent_job
        paid_job = None if question.fresh else self._find_answer(key)
        same_job = None if question.fresh else self.jobs.find_same(person.name, key)
        if same_job is not None and same_job.state is JobState.ANSWERED and idempotency_key is None:
            self.metrics.count("dpselect_repeats_total")
            return same_job
        if same_job is not None and same_job.state not in FINAL:
            return self._join(person, same_job, idempotency_key, question)
        job = Job(
            id=fresh_key().hex(),
            analyst=person.name,
            data=question.settings.name,
            key=key,
            body=question.body,
            state=JobState.APPROVAL if question.settings.approve else JobState.QUEUED,
            asked_at=time.time(),
            tick=tick,
            idempotency_key=idempotency_key,
            fresh=question.fresh,
        )
        job, admit = self._admit(person, question, job, paid_job)
        try:
            self.jobs.add(job, admit)
        except LedgerError:
            sent_job = self._find_sent(person, idempotency_key, question)  # the same request came twice at once
            if sent_job is None:
                raise
            return sent_job
        if job.state not in FINAL:
            self._waiting.put(job.id, question, len(json.dumps(job.body)))
        self.runner.wake()
        return job

    def _find_sent(self, person: Person, idempotency_key: str | None, question: AskedQuestion) -> Job | None:
        """Return the job that came with this idempotency key; refuse a key that came with another question."""
        job = None if idempotency_key is None else self.jobs.find_sent(person.name, idempotency_key)
        if job is not None and job.body != question.body:
            raise Refused("key", "This idempotency key was used for another question. Nothing was asked.")
        return job

    def _join(self, person: Person, job: Job, idempotency_key: str | None, question: AskedQuestion) -> Job:
        """Return a job under way, which this key names from now on unless it has one already."""
        if idempotency_key is None or job.idempotency_key is not None:
            return job
        try:
            return self.jobs.change(job, idempotency_key=idempotency_key) or job
        except LedgerError:
            sent_job = self._find_sent(person, idempotency_key, question)  # the key came with two questions at once
            if sent_job is None:
                raise
            return sent_job

    def _admit(
        self, person: Person, question: AskedQuestion, job: Job, paid_job: Job | None
    ) -> tuple[Job, Callable[[], None]]:
        """Return the job, answered where somebody paid for that before, and the check whether there is room for it.

        The check runs in the transaction that adds the job. Of the budget only the reservation itself is certain; what
        would be refused later is refused at once.
        """
        account = Account(dataset=job.data, analyst=person.name)
        if paid_job is not None and paid_job.settle is not None:
            free = replace(job, state=JobState.ANSWERED, answer=paid_job.id, cost=cost(0.0, REPEATED, repeated=True))
            return free, partial(self._admit_free, person, job, paid_job.settle)
        if job.tick * 2.0 ** self.jobs.slips_of(job.data) > LATEST:
            raise Refused("unavailable", CLOSED)
        share = Fraction()
        for standing in self.books.ledger.standings(account, question.periods):
            ceiling = standing.ceiling_at(question.plan.price_at)
            if not standing.admits(ceiling):
                raise standing.refusal(ceiling)
            share = max(share, standing.part(ceiling))
        limits.check_share(person, share)
        job = replace(job, state=JobState.APPROVAL) if limits.must_wait(person, share) else job
        return job, partial(self._check_room, person, job)

    def _admit_free(self, person: Person, job: Job, settle: int) -> None:
        """Refuse what the gateway does not store any more today, and record who is given a stored answer."""
        self._check_day(person, job)
        self.books.note_repeat(Account(dataset=job.data, analyst=person.name), settle)
        self.metrics.count("dpselect_repeats_total")
        self.metrics.count("dpselect_questions_total", 'state="answered"')

    def _check_day(self, person: Person, job: Job) -> int:
        """Refuse what the gateway does not store any more today; return the number of new questions of the day."""
        questions, characters, new = self.jobs.of_day(person.name, job.asked_at - DAY)
        if questions >= A_DAY or characters >= CHARACTERS_A_DAY:
            raise Refused("too-many", "You have asked as many questions today as the gateway stores.", after=3600)
        return new

    def _check_room(self, person: Person, job: Job) -> None:
        """Refuse a new question if too many wait, or one too many in a day."""
        new, server = self._check_day(person, job), self.settings.server
        waiting_all, waiting_own = self.jobs.waiting(person.name)
        if waiting_own >= server.waiting_each:
            raise Refused("too-many", f"{waiting_own} of your questions are waiting, the most allowed.", after=5)
        if waiting_all >= server.waiting:
            raise Refused("busy", "The gateway's queue is full. Try again soon.", after=5)
        limits.check_day(person, new)

    def _find_tick(self, question: AskedQuestion) -> float:
        """Return the seconds from a question's start to its end, by its parameters and the owner's declarations."""
        data, plan = question.settings, question.plan
        periods = 1 if question.periods is None else len(question.periods.all)
        work_bound = work.bound(plan, question.where, question.item, data, periods)
        seconds = work.window(work_bound, float(data.tick), self.settings.server.workers)
        if seconds > max(data.longest, data.tick):
            requirement = f"take at most {float(data.longest):g} s by what the owner declared of the data"
            hint = "ask of fewer groups or items, or with a shorter filter"
            raise ParameterError("body", requirement, f"one that takes up to {seconds:g} s", hint)
        return seconds

    # ---- questions that were asked, and their answers --------------------------------------------------------

    def job(self, person: Person, number: str) -> dict[str, Json]:
        """Return how far a question has come: one's own, or for the owner any."""
        return self.job_of(person, number).to_dict()

    def job_of(self, person: Person, number: str) -> Job:
        """Return a job that this person may see: their own, or for the owner any."""
        job = self.jobs.find(number)
        may_see = job is not None and (job.analyst == person.name or person.role is Role.OWNER)
        if job is None or not may_see or job.data not in self.open_to(person):
            raise Refused("not-found", "You have no question with that id.")
        return job

    def cancel(self, person: Person, number: str) -> dict[str, Json]:
        """Cancel a question that has not begun."""
        cancelled = self.jobs.change(self.job_of(person, number), state=JobState.CANCELLED, cost=NOTHING)
        if cancelled is None:
            raise Refused("state", "The question has started and can no longer be cancelled.")
        self._notify_watchers(number)
        return cancelled.to_dict()

    def decide(self, person: Person, number: str, approve: bool) -> dict[str, Json]:
        """Approve or reject a question that waits for approval."""
        job = self.job_of(person, number)
        changes: dict[str, Any] = {"state": JobState.QUEUED, "approved_by": person.name}
        if not approve:
            changes = {"state": JobState.REJECTED, "problem": problem("rejected", REJECTED), "cost": NOTHING}
        decided = self.jobs.change(job, **changes) if job.state is JobState.APPROVAL else None
        if decided is None:
            raise Refused("state", "The question is not waiting for approval.")
        self.log("decided", job=number, by=person.name, approved=approve)
        self._notify_watchers(number)
        self.runner.wake()
        return decided.to_dict()

    def answer(self, person: Person, number: str) -> Answer:
        """Return a release that was paid for, to everybody who may use its data."""
        answer = self._answers.get(number)
        if answer is None:
            paid_job = self.jobs.answer(number)
            settle = None if paid_job is None else self._find_settlement(paid_job)
            release = None if settle is None else settle.release
            if paid_job is None or release is None:
                raise self._not_found(person, number)
            answer = Answer(
                number,
                restore_release(release),
                paid_job.data,
                paid_job.body,
                moment(paid_job.asked_at),
                paid_job.analyst,
            )
            self._answers.put(number, answer, len(release))
        if answer.data not in self.open_to(person):
            raise Refused("not-found", "There is no answer with that id.")
        return answer

    def _not_found(self, person: Person, number: str) -> Refused:
        """Return why there is no such answer: to those who may use the data also that it was lost."""
        job = self.jobs.find(number)
        if job is None or job.problem != PUT_BACK or job.data not in self.open_to(person):
            return Refused("not-found", "There is no answer with that id.")
        self._forget_known()  # another process may have noticed it
        return Refused("not-found", PUT_BACK_DETAIL)

    # ---- answers that an older copy of the ledger lacks ------------------------------------------------------

    def _find_settlement(self, paid_job: Job) -> Entry | None:
        """Return the entry of the ledger with the answer that this question paid for.

        Where there is none, an older copy of the ledger was put in its place, and whoever was given the answer lost it.
        """
        entry = self._find_entry(paid_job)
        if entry is not None:
            return entry
        self.jobs.lose_answer(paid_job)
        self._forget_known()
        self.log("lost", job=paid_job.id, data=paid_job.data, said="the ledger has no record of this answer")
        return None

    def _find_entry(self, paid_job: Job) -> Entry | None:
        entry = None if paid_job.settle is None else self.books.ledger.entry(paid_job.settle)
        return entry if entry is not None and entry.digest == paid_job.settle_digest else None

    def _find_answer(self, key: str) -> Job | None:
        """Return the question that paid for the latest answer to a question about data in one state."""
        paid_job = self.jobs.answer_to(key)
        while paid_job is not None and self._find_settlement(paid_job) is None:
            paid_job = self.jobs.answer_to(key)
        return paid_job

    def _find_lost_answers(self) -> None:
        """Find all answers that the ledger lacks: entries are chained, so those before the last that is there are."""
        paid_job = self.jobs.latest_answer()
        if paid_job is not None and not self._find_entry(paid_job):  # the ledger may continue the one that was in use
            self.jobs.follow(self.books.former_answers())
            paid_job = self.jobs.latest_answer()
        while paid_job is not None and self._find_settlement(paid_job) is None:
            paid_job = self.jobs.latest_answer()

    def _forget_known(self) -> None:
        self._known, self._answers = Recent[tuple[AskedQuestion, Job]](PLANNED), Recent[Answer]()

    def answer_at_hand(self, person: Person, number: str) -> Answer | None:
        """Return an answer if it is in memory, without waiting for a disk."""
        return None if self._answers.get(number) is None else self.answer(person, number)


def _request_key(person: Person, raw: bytes) -> tuple[object, ...]:
    return person.name, person.data, hashlib.sha256(raw).digest()
