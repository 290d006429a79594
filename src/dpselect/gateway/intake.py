"""Taking questions: what one costs, whether it may be asked, and whether its answer is known already."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

from dpselect.draws.entropy import fresh_key
from dpselect.errors import LedgerError, ParameterError, came
from dpselect.gateway import forecasts, limits, work
from dpselect.gateway.asked import AskedQuestion, asked
from dpselect.gateway.books import Books
from dpselect.gateway.jobs import Job, JobState
from dpselect.gateway.log import Metrics
from dpselect.gateway.problems import CLOSED, Refused
from dpselect.gateway.recent import PLANNED, Recent
from dpselect.gateway.repeats import Repeats
from dpselect.gateway.runner import cost
from dpselect.gateway.settings.values import LATEST, DataSettings, Person, Settings
from dpselect.gateway.sources import Sources, unpinned
from dpselect.gateway.store import AnswerPlace, Jobs
from dpselect.ledger import Account
from dpselect.ledger.budget import LedgerBudget
from dpselect.ledger.charge import Ceiling
from dpselect.queries.plan import Plan
from dpselect.release.formatting import Json

REPEATED = "nothing: this is the stored answer to the same question"
DAY = 24 * 3600.0  # seconds
A_DAY, CHARACTERS_A_DAY = 10_000, 50_000_000  # questions of one person, and what they are written in
OPEN = (JobState.APPROVAL, JobState.QUEUED, JobState.RUNNING)
LONGEST_KEY = 200  # characters of an idempotency key


def open_to(data: Mapping[str, DataSettings], person: Person) -> dict[str, DataSettings]:
    """The data that a person may use."""
    return {name: one for name, one in data.items() if person.data is None or name in person.data}


class Intake:
    """Where questions come in."""

    def __init__(
        self,
        settings: Settings,
        books: Books,
        jobs: Jobs,
        sources: Sources,
        repeats: Repeats,
        metrics: Metrics,
        wake: Callable[[], None],
    ) -> None:
        self._data, self._server = settings.data, settings.server
        self._books, self._jobs, self._sources = books, jobs, sources
        self._repeats, self._metrics, self._wake = repeats, metrics, wake
        self._asked, self._ended, self._places = Recent[AskedQuestion](PLANNED), Recent[Job](), Recent[AnswerPlace]()

    # ---- before it is asked --------------------------------------------------------------------------------------

    def asked(self, person: Person, body: object) -> AskedQuestion:
        """The question of a body, checked."""

        def paying(data: DataSettings) -> LedgerBudget:
            return self._books.paying(data, person)

        return asked(body, open_to(self._data, person), paying)

    def forecast(self, person: Person, body: object) -> dict[str, Json]:
        """What to expect, and the price: free, and no row is read."""
        question = self.asked(person, body)
        found = forecasts.forecast(question, lambda plan: self._share(person, question, plan))
        return {**found, "price": self._price(person, question)}

    def price(self, person: Person, body: object) -> dict[str, Json]:
        """What it costs, and what is left after it."""
        return self._price(person, self.asked(person, body))

    def _share(self, person: Person, question: AskedQuestion, plan: Plan) -> Fraction:
        found = self._books.standings(question.settings, person, question.periods)
        return max(one.part(one.ceiling(Ceiling.of(plan.price_at(one.order)))) for one in found)

    def _price(self, person: Person, question: AskedQuestion) -> dict[str, Json]:
        free = not question.fresh and self._jobs.answer_to(self._key(question)) is not None
        standings = self._books.standings(question.settings, person, question.periods)
        return limits.told(person, forecasts.price(question, standings, free=free))

    def _key(self, question: AskedQuestion) -> str:
        """By what two askings are the same."""
        state = self._sources.of(question.settings).state
        return hashlib.sha256(f"{question.key} {unpinned() if state is None else state}".encode()).hexdigest()

    # ---- asking ---------------------------------------------------------------------------------------------

    def ask(
        self, person: Person, body: object, again: str | None = None, *, raw: bytes | None = None
    ) -> dict[str, Json]:
        """Take a question: a job. The same question by the same person is the same job.

        `again` is the caller's own key: a request that is sent twice is one. `raw` are the bytes that the body was read
        from, by which it is recognised.
        """
        if again is not None and not (0 < len(again) <= LONGEST_KEY and again.isprintable()):
            raise ParameterError("Idempotency-Key", f"be a text of 1 to {LONGEST_KEY} characters", came(again))
        question = self._question(person, body, raw)
        job = self._taken(person, question, again)
        if raw is not None and not _of_today(body):
            self._asked.put(_sent_by(person, raw), question, _size(question.body))
        return job.to_dict()

    def _taken(self, person: Person, question: AskedQuestion, again: str | None) -> Job:
        """The job of a question. Nothing is remembered of one that is refused."""
        self._books.check_quota(question.settings, person)
        tick = self._tick(question)
        key = self._key(question)
        sent = None if again is None else self._jobs.sent(person.name, again)
        if sent is not None:
            return self._sent(sent, question)
        if not question.fresh:
            found = self._same(person, key)
            if found is not None and (again is None or not found.over):
                return self._known_by(found, again, question)
        job = Job(
            id=fresh_key().hex(),
            analyst=person.name,
            data=question.settings.name,
            key=key,
            body=question.body,
            state=JobState.APPROVAL if question.settings.approve else JobState.QUEUED,
            asked_at=time.time(),
            tick=tick,
            again=again,
            fresh=question.fresh,
        )
        self._check_day(person)
        stored = None if question.fresh else self._stored(job)
        if stored is not None:
            job = stored
        else:
            self._check_late(question.settings, tick)
            self._check_room(person)
            self._check_budget(person, question)
            share = self._share(person, question, question.plan)
            limits.check(person, share, self._jobs.of_day(person.name, time.time() - DAY)[0])
            job = replace(job, state=JobState.APPROVAL) if limits.must_wait(person, share) else job
        try:
            self._jobs.add(job)
        except LedgerError:
            sent = None if again is None else self._jobs.sent(person.name, again)  # the same request came twice at once
            if sent is None:
                raise
            return self._sent(sent, question)
        if job.state is JobState.QUEUED:
            self._wake()
        return job

    def _tick(self, question: AskedQuestion) -> float:
        """How long after its beginning it ends, by its parameters and by what the owner declared."""
        data, plan = question.settings, question.plan
        periods = 1 if question.periods is None else len(question.periods.all)
        most = work.bound(plan, question.where, question.item, data, periods)
        found = work.window(most, float(data.tick), self._server.workers)
        if found > max(data.longest, data.tick):
            must = f"take at most {float(data.longest):g} s by what the owner declared of the data"
            hint = "ask of fewer groups or items, or with a shorter filter"
            raise ParameterError("body", must, f"one that takes up to {found:g} s", hint)
        return found

    def _known_by(self, job: Job, again: str | None, question: AskedQuestion) -> Job:
        """A question that is under way, from now on also known by this key, unless it has one already."""
        if again is None or job.again is not None:
            return job
        try:
            return self._jobs.change(job, only=OPEN, again=again) or job
        except LedgerError:
            sent = self._jobs.sent(job.analyst, again)  # the key came with two questions at once
            if sent is None:
                raise
            return self._sent(sent, question)

    def _question(self, person: Person, body: object, raw: bytes | None) -> AskedQuestion:
        """The question of a body; the same bytes are read once."""
        found = None if raw is None or _of_today(body) else self._asked.get(_sent_by(person, raw))
        return found or self.asked(person, body)

    def at_hand(self, person: Person, raw: bytes) -> dict[str, Json] | None:
        """The job of a question that the same person sent in the same bytes, where its answer is known: at once."""
        question = self._asked.get(_sent_by(person, raw))
        if question is None or question.fresh:
            return None
        found = self._ended.get((person.name, self._key(question)))
        if found is None:
            return None
        self._metrics.count("dpselect_repeats_total")
        return found.to_dict()

    def _sent(self, job: Job, question: AskedQuestion) -> Job:
        if job.body != question.body:
            raise Refused("key", "This idempotency key came with another question before. Nothing was asked.")
        return job

    def _same(self, person: Person, key: str) -> Job | None:
        """The job of the same question by the same person, unless it came to nothing."""
        found = self._ended.get((person.name, key))
        if found is not None:
            self._metrics.count("dpselect_repeats_total")
            return found
        found = self._jobs.same(person.name, key)
        if found is None or (found.over and found.state is not JobState.ANSWERED):
            return None
        if found.over:
            self._ended.put((person.name, key), found, _size(found.body))
        return found

    def _stored(self, job: Job) -> Job | None:
        """The job as it ends at once, where somebody paid for the answer before."""
        place = self._places.get(job.key)
        if place is None:
            place = self._jobs.answer_to(job.key)
            if place is None:
                return None
            self._places.put(job.key, place, _size(place.body))
        self._repeats.add(Account(dataset=job.data, analyst=job.analyst), place.settle)
        self._metrics.count("dpselect_repeats_total")
        self._metrics.count("dpselect_questions_total", 'state="answered"')
        return replace(job, state=JobState.ANSWERED, answer=place.id, cost=cost(0.0, REPEATED, repeated=True))

    def _check_day(self, person: Person) -> None:
        """What one person may leave on the disk in a day: every question stays there."""
        questions, characters = self._jobs.of_day(person.name, time.time() - DAY)
        if questions >= A_DAY or characters >= CHARACTERS_A_DAY:
            raise Refused("too-many", "You asked as many questions in a day as the gateway keeps.", after=3600)

    def _check_late(self, data: DataSettings, tick: float) -> None:
        if tick * 2.0 ** self._jobs.late(data.name) > LATEST:
            raise Refused("unavailable", CLOSED)

    def _check_room(self, person: Person) -> None:
        server = self._server
        of_all, own = self._jobs.waiting(person.name)
        if own >= server.waiting_each:
            raise Refused("too-many", f"{own} questions of yours wait already, which is the most.", after=5)
        if of_all >= server.waiting:
            raise Refused("busy", "As many questions wait as the gateway takes. Try again soon.", after=5)

    def _check_budget(self, person: Person, question: AskedQuestion) -> None:
        """Say at once what would be refused later; only the reservation itself is certain."""
        during = question.periods
        account = Account(dataset=question.settings.name, analyst=person.name)
        for period, one in self._books.ledger.standings(account, during).items():
            ceiling = one.ceiling(Ceiling.of(question.plan.price_at(one.order)))
            if not one.admits(ceiling):
                raise one.refusal(ceiling, period)


def _size(body: Mapping[str, Json]) -> int:
    return len(json.dumps(body))


def _of_today(body: object) -> bool:
    """Is its price a share, which may be another one tomorrow?"""
    return isinstance(body, Mapping) and body.get("share") is not None


def _sent_by(person: Person, raw: bytes) -> tuple[object, ...]:
    return person.name, person.data, hashlib.sha256(raw).digest()
