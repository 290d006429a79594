"""The gateway without HTTP: questions are taken, priced, answered. Methods may wait for disks.

What a person may look at besides, of data, budgets and the record, is in `views.py`.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from dpselect.draws import fresh_key
from dpselect.errors import LedgerError, ParameterError, came
from dpselect.forecast import bound_work
from dpselect.gateway import declared, forecasts
from dpselect.gateway.admission import Admission
from dpselect.gateway.answers import Answers, PaidAnswer
from dpselect.gateway.asked import AskedQuestion, open_data, parse_question
from dpselect.gateway.books import Books
from dpselect.gateway.jobs import FINAL, Job, JobState
from dpselect.gateway.log import Log, Metrics
from dpselect.gateway.people import People, Renewal
from dpselect.gateway.problems import REJECTED, Refused, problem
from dpselect.gateway.recent import PLANNED, Recent
from dpselect.gateway.runner import FREE, Runner
from dpselect.gateway.settings.kinds import Role
from dpselect.gateway.settings.server import Person
from dpselect.gateway.settings.values import DataSettings, Settings
from dpselect.gateway.sources import Sources, has_counts
from dpselect.gateway.store import Jobs
from dpselect.gateway.tables import lock_folder
from dpselect.gateway.turn import window
from dpselect.ledger import Standing
from dpselect.release import Json

_SWITCH = 0.0005  # seconds after which a thread lets others run: one that computes must not hold up who asks little
STOP_SECONDS = 20.0  # seconds that running questions are given when the gateway stops
_LONGEST_KEY = 200  # characters of an idempotency key


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
        self.answers: Answers = Answers(self.jobs, self.books, self.log, self._forget_known)
        self.admission: Admission = Admission(server, self.jobs, self.books, self.metrics)
        self._watchers: set[Callable[[str | None], None]] = set()
        self.runner: Runner = Runner(
            self.jobs,
            self.books,
            self._question_of,
            self.log,
            self.metrics,
            self._notify_watchers,
            server.workers,
        )
        self._waiting = Recent[AskedQuestion](PLANNED)  # planned here, by the ids of their jobs
        self._known: Recent[tuple[AskedQuestion, Job]]
        self._forget_known()
        self._renewal = None if file is None else Renewal(file, self._apply_people, self.log)

    def start(self) -> None:
        """Begin to run questions, first those left by a server that died."""
        from dpselect.engines import load_duckdb

        load_duckdb()  # a third of a second, in no question's window
        sys.setswitchinterval(_SWITCH)
        self.answers.find_lost()
        self.runner.recover()
        self.runner.start()
        self.books.start()

    def stop(self) -> None:
        """Stop after the running questions end, and release everything."""
        if self._renewal is not None:
            self._renewal.stop()
        self.runner.stop(STOP_SECONDS)
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
        self._notify_watchers(None)
        self._begin_books()

    def end_session(self, cookie: str) -> None:
        """End a session; whoever waits with it hears no more."""
        self.people.end_session(cookie)
        self._notify_watchers(None)

    def _begin_books(self) -> None:
        """Make accounts and quotas that the ledger lacks, and log what it has otherwise than the settings."""
        self.books.begin(self.settings)
        for difference in declared.differences(self.settings, self.books.ledger):
            self.log("differs", said=str(difference), hint=declared.APPLY)

    def watch(self, watcher: Callable[[str | None], None]) -> None:
        """Call the watcher with the id of every question that changes, and with None when people do.

        It is called from another thread.
        """
        self._watchers.add(watcher)

    def _notify_watchers(self, number: str | None) -> None:
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
        return {**forecasts.forecast(question, standings), "price": self._price(person, question, standings)}

    def price(self, person: Person, body: object) -> dict[str, Json]:
        """Return what a question costs, and what is left after it."""
        question = self.question(person, body)
        return self._price(person, question, self.books.standings(question.settings, person, question.periods))

    def _price(self, person: Person, question: AskedQuestion, standings: Collection[Standing]) -> dict[str, Json]:
        free = not question.fresh and self.answers.find_paid(self._key(question)) is not None
        sentences = question.dataset().with_rows(question.plan).accuracy.sentences
        return forecasts.price(person, question, standings, sentences, free=free)

    def _key(self, question: AskedQuestion) -> str:
        """Return the key of a question and of the present state of its data."""
        state = self.sources.find_state(question.settings)
        if state is None:  # nobody can tell it: no two questions are the same
            state = fresh_key().hex()
        return hashlib.sha256(f"{question.key} {state}".encode()).hexdigest()

    # ---- asking ---------------------------------------------------------------------------------------------

    def at_hand(self, person: Person, raw: bytes) -> dict[str, Json] | None:
        """Return the answered job of a question that the same person sent in the same bytes, if it is in memory."""
        question, job = self._known.get(_request_key(person, raw)) or (None, None)
        if question is None or job is None or job.repeat_key != self._key(question):
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
        base_window, key = self._find_window(question), self._key(question)
        sent_job = self._find_sent(person, idempotency_key, question)
        if sent_job is not None:
            return sent_job
        paid_job = None if question.fresh else self.answers.find_paid(key)
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
            repeat_key=key,
            body=question.body,
            state=JobState.APPROVAL if question.settings.approve else JobState.QUEUED,
            asked_at=time.time(),
            base_window=base_window,
            idempotency_key=idempotency_key,
            fresh=question.fresh,
        )
        job, admit = self.admission.decide(person, question, job, paid_job)
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

    def _find_window(self, question: AskedQuestion) -> float:
        """Return the seconds from a question's start to its end, by its parameters and the owner's declarations."""
        data, plan = question.settings, question.plan
        periods = 1 if question.periods is None else len(question.periods.all)
        is_counted = question.periods is None and has_counts(data, question.item)
        work = bound_work(plan, question.where, question.item, data, periods, is_counted)
        seconds = window(work, float(data.tick), self.settings.server.workers)
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
        cancelled = self.jobs.change(self.job_of(person, number), state=JobState.CANCELLED, cost=FREE)
        if cancelled is None:
            raise Refused("state", "The question has started and can no longer be cancelled.")
        self._notify_watchers(number)
        return cancelled.to_dict()

    def approve(self, person: Person, number: str) -> dict[str, Json]:
        """Approve a question that waits for approval."""
        return self._decide(person, number, state=JobState.QUEUED, approved_by=person.name)

    def reject(self, person: Person, number: str) -> dict[str, Json]:
        """Reject a question that waits for approval."""
        details = problem("rejected", REJECTED)
        return self._decide(person, number, state=JobState.REJECTED, problem=details, cost=FREE)

    def _decide(self, person: Person, number: str, *, state: JobState, **changes: Any) -> dict[str, Json]:
        job = self.job_of(person, number)
        decided = self.jobs.change(job, state=state, **changes) if job.state is JobState.APPROVAL else None
        if decided is None:
            raise Refused("state", "The question is not waiting for approval.")
        self.log("decided", job=number, by=person.name, approved=state is JobState.QUEUED)
        self._notify_watchers(number)
        self.runner.wake()
        return decided.to_dict()

    def answer(self, person: Person, number: str) -> PaidAnswer:
        """Return a release that was paid for, to everybody who may use its data."""
        return self.answers.find(number, self.open_to(person))

    def answer_at_hand(self, person: Person, number: str) -> PaidAnswer | None:
        """Return an answer if it is in memory, without waiting for a disk."""
        return self.answer(person, number) if self.answers.has_at_hand(number) else None

    def _forget_known(self) -> None:
        self._known = Recent[tuple[AskedQuestion, Job]](PLANNED)


def _request_key(person: Person, raw: bytes) -> tuple[object, ...]:
    return person.name, person.data, hashlib.sha256(raw).digest()
