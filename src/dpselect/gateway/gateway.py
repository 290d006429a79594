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
from dpselect.gateway.asked import AskedQuestion, asked, open_data
from dpselect.gateway.books import Books
from dpselect.gateway.jobs import FINAL, Job, JobState, cost, moment
from dpselect.gateway.log import Log, Metrics
from dpselect.gateway.people import People, Renewal
from dpselect.gateway.problems import CLOSED, PUT_BACK_DETAIL, REJECTED, Refused, problem
from dpselect.gateway.recent import PLANNED, Recent
from dpselect.gateway.runner import NOTHING, Runner
from dpselect.gateway.settings.values import LATEST, DataSettings, Person, Role, Settings
from dpselect.gateway.sources import Sources, unpinned
from dpselect.gateway.store import PUT_BACK, Jobs, only_one
from dpselect.ledger import Account, Entry
from dpselect.release.archive import restore_release
from dpselect.release.formatting import Json

SWITCH = 0.0005  # seconds after which a thread lets others run: one that computes must not hold up who asks little
PATIENCE = 20.0  # seconds that running questions are given when the gateway stops
REPEATED = "nothing: this is the stored answer to the same question"
DAY = 24 * 3600.0  # seconds
A_DAY, CHARACTERS_A_DAY = 10_000, 50_000_000  # questions of one person, and what they are written in
LONGEST_KEY = 200  # characters of an idempotency key


@dataclass(frozen=True)
class Answer:
    """A release that was paid for, and what it answers. All who may use the data may read it."""

    id: str
    release: Release
    data: str
    question: dict[str, Any]
    asked_at: str
    by: str

    @cached_property
    def json(self) -> bytes:
        """As a file of it, written once."""
        return self.release.to_json().encode("utf-8", "backslashreplace")


class Gateway:
    """Everything behind the routes. Usable from many threads."""

    def __init__(self, settings: Settings, log: Log | None = None, file: Path | None = None) -> None:
        """`file` is where the settings come from: people are read again when it is written."""
        self.settings: Settings = settings
        self.log: Log = log or Log()
        self.metrics: Metrics = Metrics()
        server = settings.server
        server.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._alone = only_one(server.folder) if server.jobs is None else None
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
            self._changed,
            server.workers,
        )
        self._waiting = Recent[AskedQuestion](PLANNED)  # planned here, by the ids of their jobs
        self._known: Recent[tuple[AskedQuestion, Job]]
        self._answers: Recent[Answer]
        self._forget_known()
        self._renewal = None if file is None else Renewal(file, self._renewed, self.log)

    def start(self) -> None:
        """Begin to run questions; first those that a server left that died."""
        import dpselect.engines.duckdb.engine  # noqa: F401 # a third of a second, in no question's window

        sys.setswitchinterval(SWITCH)
        self._lose_answers()
        self.runner.recover()
        self.runner.start()
        self.books.start()

    def stop(self) -> None:
        """Let running questions end, and give everything back."""
        if self._renewal is not None:
            self._renewal.stop()
        self.runner.stop(PATIENCE)
        self.jobs.close()
        self.books.close()
        if self._alone is not None:
            os.close(self._alone)

    def _renewed(self, settings: Settings) -> None:
        """Other people, about the same data."""
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

    def watch(self, changed: Callable[[str], None]) -> None:
        """From now on `changed` is told the id of every question that changes; from another thread."""
        self._watchers.add(changed)

    def _changed(self, number: str) -> None:
        for told in tuple(self._watchers):
            told(number)

    def open_to(self, person: Person) -> dict[str, DataSettings]:
        """The data that a person may use."""
        data = self.settings.data
        return {name: one for name, one in data.items() if person.data is None or name in person.data}

    # ---- what a question costs: free, and no row is read ----------------------------------------------------

    def question(self, person: Person, body: object) -> AskedQuestion:
        """The question of a body, checked, with its plan."""
        return asked(body, self.open_to(person), lambda data: self.books.paying(data, person))

    def _question_of(self, job: Job) -> AskedQuestion:
        """Return the question of a job: as it was planned when it was taken, else planned from the body that was kept.

        Whoever asked may have lost the right to it since, and is refused then. All else of the settings stays as it is
        while the gateway runs.
        """
        person = self.people.named(job.analyst)
        if person is None:
            raise ParameterError("analyst", "be somebody who may still sign in", came(job.analyst))
        planned = self._waiting.get(job.id)
        if planned is None:  # taken by another process, or long ago
            return self.question(person, {**job.body, "fresh": job.fresh})
        open_data(job.data, self.open_to(person))
        return planned

    def forecast(self, person: Person, body: object) -> dict[str, Json]:
        """What to expect, and the price."""
        question = self.question(person, body)
        standings = self.books.standings(question.settings, person, question.periods)
        return {**forecasts.forecast(question, standings), "price": self._price(person, question)}

    def price(self, person: Person, body: object) -> dict[str, Json]:
        """What it costs, and what is left after it."""
        return self._price(person, self.question(person, body))

    def _price(self, person: Person, question: AskedQuestion) -> dict[str, Json]:
        free = not question.fresh and self._answer_to(self._key(question)) is not None
        standings = self.books.standings(question.settings, person, question.periods)
        share = forecasts.part_of_whole(question.plan, standings)
        source = self.sources.of(question.settings)
        plan = question.dataset(source.place, prepared=source.prepared).with_rows(question.plan)
        return limits.priced(person, forecasts.price(question, standings, plan.accuracy.sentences, free=free), share)

    def _key(self, question: AskedQuestion) -> str:
        """By what two askings are the same."""
        state = self.sources.of(question.settings).state
        return hashlib.sha256(f"{question.key} {unpinned() if state is None else state}".encode()).hexdigest()

    # ---- asking ---------------------------------------------------------------------------------------------

    def at_hand(self, person: Person, raw: bytes) -> dict[str, Json] | None:
        """The job of a question that the same person sent in the same bytes, where its answer is known: at once."""
        question, job = self._known.get(_sent_by(person, raw)) or (None, None)
        if question is None or job is None or job.key != self._key(question):
            return None
        self.metrics.count("dpselect_repeats_total")
        return job.to_dict()

    def ask(
        self, person: Person, body: object, idempotency_key: str | None = None, *, raw: bytes | None = None
    ) -> dict[str, Json]:
        """Take a question: a job. The same question by the same person is the same job.

        `idempotency_key` is the caller's own: a request that is sent twice is one. `raw` are the bytes of the body, by
        which it is recognised once it is answered; but for a share, which may be another price tomorrow.
        """
        if idempotency_key is not None and not (
            0 < len(idempotency_key) <= LONGEST_KEY and idempotency_key.isprintable()
        ):
            raise ParameterError(
                "Idempotency-Key", f"be a text of 1 to {LONGEST_KEY} characters", came(idempotency_key)
            )
        question = self.question(person, body)
        job = self._taken(person, question, idempotency_key)
        of_today = isinstance(body, Mapping) and body.get("share") is not None
        if raw is not None and job.state is JobState.ANSWERED and not question.fresh and not of_today:
            self._known.put(_sent_by(person, raw), (question, job), len(json.dumps(job.body)))
        return job.to_dict()

    def _taken(self, person: Person, question: AskedQuestion, idempotency_key: str | None) -> Job:
        """The job of a question. Nothing is remembered of one that is refused."""
        self.books.check_quota(question.settings, person)
        tick, key = self._tick(question), self._key(question)
        sent = self._sent(person, idempotency_key, question)
        if sent is not None:
            return sent
        paid = None if question.fresh else self._answer_to(key)
        same = None if question.fresh else self.jobs.same(person.name, key)
        if same is not None and same.state is JobState.ANSWERED and idempotency_key is None:
            self.metrics.count("dpselect_repeats_total")
            return same
        if same is not None and same.state not in FINAL:
            return self._joined(person, same, idempotency_key, question)
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
        job, admit = self._admitted(person, question, job, paid)
        try:
            self.jobs.add(job, admit)
        except LedgerError:
            sent = self._sent(person, idempotency_key, question)  # the same request came twice at once
            if sent is None:
                raise
            return sent
        if job.state not in FINAL:
            self._waiting.put(job.id, question, len(json.dumps(job.body)))
        self.runner.wake()
        return job

    def _sent(self, person: Person, idempotency_key: str | None, question: AskedQuestion) -> Job | None:
        """The job that came with this key."""
        job = None if idempotency_key is None else self.jobs.sent(person.name, idempotency_key)
        if job is not None and job.body != question.body:
            raise Refused("key", "This idempotency key was used for another question. Nothing was asked.")
        return job

    def _joined(self, person: Person, job: Job, idempotency_key: str | None, question: AskedQuestion) -> Job:
        """A question that is under way, from now on also known by this key, unless it has one already."""
        if idempotency_key is None or job.idempotency_key is not None:
            return job
        try:
            return self.jobs.change(job, idempotency_key=idempotency_key) or job
        except LedgerError:
            sent = self._sent(person, idempotency_key, question)  # the key came with two questions at once
            if sent is None:
                raise
            return sent

    def _admitted(
        self, person: Person, question: AskedQuestion, job: Job, paid: Job | None
    ) -> tuple[Job, Callable[[], None]]:
        """Return the job, answered where somebody paid for that before, and the check whether there is room for it.

        The check runs in the transaction that adds the job. Of the budget only the reservation itself is certain; what
        would be refused later is refused at once.
        """
        account = Account(dataset=job.data, analyst=person.name)
        if paid is not None and paid.settle is not None:
            free = replace(job, state=JobState.ANSWERED, answer=paid.id, cost=cost(0.0, REPEATED, repeated=True))
            return free, partial(self._admit_free, person, job, paid.settle)
        if job.tick * 2.0 ** self.jobs.slips_of(job.data) > LATEST:
            raise Refused("unavailable", CLOSED)
        share = Fraction()
        for period, one in self.books.ledger.standings(account, question.periods).items():
            ceiling = one.ceiling_at(question.plan.price_at)
            if not one.admits(ceiling):
                raise one.refusal(ceiling, period)
            share = max(share, one.part(ceiling))
        limits.check_share(person, share)
        job = replace(job, state=JobState.APPROVAL) if limits.must_wait(person, share) else job
        return job, partial(self._check_room, person, job)

    def _admit_free(self, person: Person, job: Job, settle: int) -> None:
        """Refuse what the gateway does not store any more today, and record who is given a stored answer."""
        self._check_day(person, job)
        self.books.repeated(Account(dataset=job.data, analyst=person.name), settle)
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
        of_all, own = self.jobs.waiting(person.name)
        if own >= server.waiting_each:
            raise Refused("too-many", f"{own} of your questions are waiting, the most allowed.", after=5)
        if of_all >= server.waiting:
            raise Refused("busy", "The gateway's queue is full. Try again soon.", after=5)
        limits.check_day(person, new)

    def _tick(self, question: AskedQuestion) -> float:
        """How long after its beginning it ends, by its parameters and by what the owner declared."""
        data, plan = question.settings, question.plan
        periods = 1 if question.periods is None else len(question.periods.all)
        most = work.bound(plan, question.where, question.item, data, periods)
        found = work.window(most, float(data.tick), self.settings.server.workers)
        if found > max(data.longest, data.tick):
            must = f"take at most {float(data.longest):g} s by what the owner declared of the data"
            hint = "ask of fewer groups or items, or with a shorter filter"
            raise ParameterError("body", must, f"one that takes up to {found:g} s", hint)
        return found

    # ---- questions that were asked, and their answers --------------------------------------------------------

    def job(self, person: Person, number: str) -> dict[str, Json]:
        """How far a question has come: one's own, or for the owner any."""
        return self.job_of(person, number).to_dict()

    def job_of(self, person: Person, number: str) -> Job:
        """The same, not yet as JSON. Here it is decided who may see a question."""
        found = self.jobs.find(number)
        mine = found is not None and (found.analyst == person.name or person.role is Role.OWNER)
        if found is None or not mine or found.data not in self.open_to(person):
            raise Refused("not-found", "You have no question with that id.")
        return found

    def cancel(self, person: Person, number: str) -> dict[str, Json]:
        """Take a question back that has not begun."""
        after = self.jobs.change(self.job_of(person, number), state=JobState.CANCELLED, cost=NOTHING)
        if after is None:
            raise Refused("state", "The question has started and can no longer be cancelled.")
        self._changed(number)
        return after.to_dict()

    def decide(self, person: Person, number: str, approve: bool) -> dict[str, Json]:
        """Agree to a question that waits for it, or not."""
        job = self.job_of(person, number)
        changes: dict[str, Any] = {"state": JobState.QUEUED, "approved_by": person.name}
        if not approve:
            changes = {"state": JobState.REJECTED, "problem": problem("rejected", REJECTED), "cost": NOTHING}
        after = self.jobs.change(job, **changes) if job.state is JobState.APPROVAL else None
        if after is None:
            raise Refused("state", "The question is not waiting for approval.")
        self.log("decided", job=number, by=person.name, approved=approve)
        self._changed(number)
        self.runner.wake()
        return after.to_dict()

    def answer(self, person: Person, number: str) -> Answer:
        """A release that was paid for. Here it is decided who may see an answer: everybody who may use the data."""
        found = self._answers.get(number)
        if found is None:
            paid = self.jobs.answer(number)
            settle = None if paid is None else self._settle_of(paid)
            release = None if settle is None else settle.release
            if paid is None or release is None:
                raise self._not_found(person, number)
            found = Answer(number, restore_release(release), paid.data, paid.body, moment(paid.asked_at), paid.analyst)
            self._answers.put(number, found, len(release))
        if found.data not in self.open_to(person):
            raise Refused("not-found", "There is no answer with that id.")
        return found

    def _not_found(self, person: Person, number: str) -> Refused:
        """Return why there is no such answer: to those who may use the data also that it was lost."""
        job = self.jobs.find(number)
        if job is None or job.problem != PUT_BACK or job.data not in self.open_to(person):
            return Refused("not-found", "There is no answer with that id.")
        self._forget_known()  # another process may have noticed it
        return Refused("not-found", PUT_BACK_DETAIL)

    # ---- answers that an older copy of the ledger lacks ------------------------------------------------------

    def _settle_of(self, paid: Job) -> Entry | None:
        """Return the entry of the ledger with the answer that this question paid for.

        Where there is none, an older copy of the ledger was put in its place, and whoever was given the answer lost it.
        """
        entry = self._is_here(paid)
        if entry is not None:
            return entry
        self.jobs.lose_answer(paid)
        self._forget_known()
        self.log("lost", job=paid.id, data=paid.data, said="the ledger has no record of this answer")
        return None

    def _is_here(self, paid: Job) -> Entry | None:
        entry = None if paid.settle is None else self.books.ledger.entry(paid.settle)
        return entry if entry is not None and entry.digest == paid.settle_digest else None

    def _answer_to(self, key: str) -> Job | None:
        """Return the question that paid for the latest answer to a question about data in one state."""
        paid = self.jobs.answer_to(key)
        while paid is not None and self._settle_of(paid) is None:
            paid = self.jobs.answer_to(key)
        return paid

    def _lose_answers(self) -> None:
        """Find all answers that the ledger lacks: entries are chained, so those before the last that is there are."""
        paid = self.jobs.latest_answer()
        if paid is not None and not self._is_here(paid):  # the ledger may continue the one that was in use
            self.jobs.follow(self.books.former_answers())
            paid = self.jobs.latest_answer()
        while paid is not None and self._settle_of(paid) is None:
            paid = self.jobs.latest_answer()

    def _forget_known(self) -> None:
        self._known, self._answers = Recent[tuple[AskedQuestion, Job]](PLANNED), Recent[Answer]()

    def answer_at_hand(self, person: Person, number: str) -> Answer | None:
        """The same, where nothing must be waited for."""
        return None if self._answers.get(number) is None else self.answer(person, number)


def _sent_by(person: Person, raw: bytes) -> tuple[object, ...]:
    return person.name, person.data, hashlib.sha256(raw).digest()
