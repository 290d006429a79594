"""The gateway without HTTP: what a person may do with data, one method for each thing. Methods may wait for disks."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

from dpselect.draws.entropy import fresh_key
from dpselect.errors import LedgerError, ParameterError, came
from dpselect.gateway import described, forecasts
from dpselect.gateway.asked import Asked, asked
from dpselect.gateway.books import Books
from dpselect.gateway.jobs import Job, State, moment
from dpselect.gateway.log import Log
from dpselect.gateway.metrics import Metrics
from dpselect.gateway.only_one import OnlyOne
from dpselect.gateway.people import People
from dpselect.gateway.problems import REJECTED, Refused, problem
from dpselect.gateway.renewal import Renewal
from dpselect.gateway.runner import Done, Runner, cost
from dpselect.gateway.settings.values import DataSettings, Person, Role, Settings
from dpselect.gateway.sources import Sources, unpinned
from dpselect.gateway.store import Jobs, Place
from dpselect.gateway.turn import TimedBudget, Turn
from dpselect.ledger import Account
from dpselect.ledger.budget import LedgerBudget
from dpselect.periods import Periods, periods_of
from dpselect.queries.query import Query
from dpselect.release.archive import restored
from dpselect.release.formatting import Json
from dpselect.release.release import Release

REPEATED = "nothing: this is the stored answer to the same question"
REMEMBERED = 10_000  # questions and answers that are kept at hand
SHORT = 1 << 14  # bytes of one that is: longer ones would fill the memory
LONGEST_KEY = 200  # characters of an idempotency key
PATIENCE = 20.0  # seconds that running questions are given when the gateway stops
NO_DATA = "There is no such data set, or it is not open to you."
V = TypeVar("V")


class _Recent(Generic[V]):
    """The last values that were wanted, by name."""

    def __init__(self) -> None:
        self._lock, self._kept = threading.Lock(), OrderedDict[Any, V]()

    def get(self, name: object) -> V | None:
        with self._lock:
            if name in self._kept:
                self._kept.move_to_end(name)
            return self._kept.get(name)

    def put(self, name: object, value: V) -> None:
        with self._lock:
            self._kept[name] = value
            if len(self._kept) > REMEMBERED:
                self._kept.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()


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
        self.settings, self.log, self.metrics = settings, log or Log(), Metrics()
        server = settings.server
        server.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._alone = OnlyOne(server.folder) if server.jobs is None else None
        self._renewal = None if file is None else Renewal(file, self._renewed, self.log)
        self._books = Books(server.ledger)
        for sentence in self._books.begin(settings):
            self.log("begun", said=sentence)
        self._jobs = Jobs(server.jobs if server.jobs is not None else server.folder / "questions.sqlite")
        self._people = People(settings.people, self._jobs.secret, self._jobs)
        self._sources = Sources(settings, self.log)
        self._watchers: set[Callable[[str], None]] = set()
        self._runner = Runner(
            self._jobs, self._books, self._run, self.log, self.metrics, self._changed, workers=server.workers
        )
        self._asked, self._ended = _Recent[Asked](), _Recent[Job]()
        self._places, self._answers = _Recent[Place](), _Recent[Answer]()
        self._questions = _Recent[str]()  # by the settles that answered them
        self._told: list[tuple[Account, str, int]] = []
        self._told_lock, self._ending = threading.Lock(), threading.Event()
        self._teller = threading.Thread(target=self._tell, name="repeats", daemon=True)

    def start(self) -> None:
        """Begin to run questions; first those that a server left that died."""
        self._runner.recover()
        self._sources.start()
        self._runner.start()
        self._teller.start()

    def stop(self) -> None:
        """Let running questions end, and give everything back."""
        if self._renewal is not None:
            self._renewal.stop()
        self._sources.stop()
        self._runner.stop(PATIENCE)
        self._ending.set()
        self._teller.join()
        self._jobs.close()
        self._books.close()
        if self._alone is not None:
            self._alone.close()

    def _renewed(self, settings: Settings) -> None:
        """Other people, about the same data."""
        self.settings = replace(self.settings, people=settings.people)
        self._people.replace(settings.people)
        for sentence in self._books.begin(self.settings):
            self.log("begun", said=sentence)

    @property
    def people_who_sign_in(self) -> People:
        """Everybody who may sign in."""
        return self._people

    def watch(self, changed: Callable[[str], None]) -> None:
        """From now on `changed` is told the id of every question that changes; from another thread."""
        self._watchers.add(changed)

    def _changed(self, number: str) -> None:
        for told in tuple(self._watchers):
            told(number)

    # ---- who and what ---------------------------------------------------------------------------------------

    def me(self, person: Person) -> dict[str, Json]:
        """Who is signed in."""
        return {"name": person.name, "role": str(person.role), "data": [*self._open_to(person)]}

    def _open_to(self, person: Person) -> dict[str, DataSettings]:
        return {name: data for name, data in self.settings.data.items() if person.data is None or name in person.data}

    def _data(self, person: Person, name: object) -> DataSettings:
        found = self._open_to(person).get(name) if isinstance(name, str) else None
        if found is None:
            raise Refused("not-found", NO_DATA)
        return found

    def described(self, person: Person) -> list[dict[str, Json]]:
        """What the owner declared of the data that a person may use. Nothing in it was measured."""
        return [described.data(one) for one in self._open_to(person).values()]

    # ---- before asking --------------------------------------------------------------------------------------

    def asked(self, person: Person, body: object) -> Asked:
        """The question of a body, checked."""

        def paying(data: DataSettings) -> LedgerBudget:
            return LedgerBudget(self._books.ledger, data=data.name, analyst=person.name, snapshot=data.snapshot)

        return asked(body, self._open_to(person), paying)

    def forecast(self, person: Person, body: object) -> dict[str, Json]:
        """What to expect, and the price: free, and no row is read."""
        question = self.asked(person, body)
        found = forecasts.forecast(question, lambda query: self._share(person, question, query))
        return {**found, "price": self._price(person, question)}

    def price(self, person: Person, body: object) -> dict[str, Json]:
        """What it costs, and what is left after it."""
        return self._price(person, self.asked(person, body))

    def _share(self, person: Person, question: Asked, query: Query) -> Fraction:
        found = self._books.standings(question.settings, person, _periods(question))
        from dpselect.ledger.charge import Ceiling

        return max(one.part(one.ceiling(Ceiling.of(query.price_at(one.order)))) for one in found)

    def _price(self, person: Person, question: Asked) -> dict[str, Json]:
        free = not question.fresh and self._jobs.answer_to(self._key(question)) is not None
        standings = self._books.standings(question.settings, person, _periods(question))
        return forecasts.price(question, standings, free=free)

    def _key(self, question: Asked) -> str:
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
        key = self._key(question)
        sent = None if again is None else self._jobs.sent(person.name, again)
        if sent is not None:
            return self._sent(sent, question)
        if not question.fresh:
            found = self._same(person, key)
            if found is not None and (again is None or not found.over):
                return found.to_dict(time.time())
        job = Job(
            id=fresh_key().hex(),
            analyst=person.name,
            data=question.settings.name,
            key=key,
            body=question.body,
            state=State.APPROVAL if question.settings.approve else State.QUEUED,
            asked_at=time.time(),
            tick=float(question.settings.tick),
            again=again,
            fresh=question.fresh,
        )
        stored = None if question.fresh else self._stored(job)
        if stored is not None:
            job = stored
        else:
            self._check_room(person)
            self._check_budget(person, question)
        try:
            self._jobs.add(job)
        except LedgerError:
            sent = None if again is None else self._jobs.sent(person.name, again)  # the same request came twice at once
            if sent is None:
                raise
            return self._sent(sent, question)
        if job.state is State.QUEUED:
            self._runner.wake()
        return job.to_dict(time.time())

    def _question(self, person: Person, body: object, raw: bytes | None) -> Asked:
        """The question of a body, which is read once. A share may mean another price tomorrow."""
        if raw is None or (isinstance(body, Mapping) and body.get("share") is not None):
            return self.asked(person, body)
        name = _sent_by(person, raw)
        found = self._asked.get(name)
        if found is None:
            found = self.asked(person, body)
            if _is_short(found.body):
                self._asked.put(name, found)
        return found

    def at_hand(self, person: Person, raw: bytes) -> dict[str, Json] | None:
        """The job of a question that the same person sent in the same bytes, where its answer is known: at once."""
        question = self._asked.get(_sent_by(person, raw))
        if question is None or question.fresh:
            return None
        found = self._ended.get((person.name, self._key(question)))
        if found is None:
            return None
        self.metrics.count("dpselect_repeats_total")
        return found.to_dict(time.time())

    def _sent(self, job: Job, question: Asked) -> dict[str, Json]:
        if job.body != question.body:
            raise Refused("key", "This idempotency key came with another question before. Nothing was asked.")
        return job.to_dict(time.time())

    def _same(self, person: Person, key: str) -> Job | None:
        """The job of the same question by the same person, unless it came to nothing."""
        found = self._ended.get((person.name, key))
        if found is not None:
            self.metrics.count("dpselect_repeats_total")
            return found
        found = self._jobs.same(person.name, key)
        if found is None or (found.over and found.state is not State.ANSWERED):
            return None
        if found.seen(time.time()) and _is_short(found.body):
            self._ended.put((person.name, key), found)
        return found

    def _stored(self, job: Job) -> Job | None:
        """The job as it ends at once, where somebody paid for the answer before."""
        place = self._places.get(job.key)
        if place is None:
            place = self._jobs.answer_to(job.key)
            if place is None:
                return None
            if _is_short(place.body):
                self._places.put(job.key, place)
        account = Account(dataset=job.data, analyst=job.analyst)
        with self._told_lock:
            self._told.append((account, job.key, place.settle))
        self.metrics.count("dpselect_repeats_total")
        self.metrics.count("dpselect_questions_total", 'state="answered"')
        return replace(job, state=State.ANSWERED, answer=place.id, cost=cost(0.0, REPEATED, repeated=True))

    def _check_room(self, person: Person) -> None:
        server = self.settings.server
        of_all, own = self._jobs.waiting(person.name)
        if own >= server.waiting_each:
            raise Refused("too-many", f"{own} questions of yours wait already, which is the most.", after=5)
        if of_all >= server.waiting:
            raise Refused("busy", "As many questions wait as the gateway takes. Try again soon.", after=5)

    def _check_budget(self, person: Person, question: Asked) -> None:
        """Say at once what would be refused later; only the reservation itself is certain."""
        during = _periods(question)
        account = Account(dataset=question.settings.name, analyst=person.name)
        for period, one in self._books.ledger.standings(account, during).items():
            from dpselect.ledger.charge import Ceiling

            ceiling = one.ceiling(Ceiling.of(question.query.price_at(one.order)))
            if not one.admits(ceiling):
                raise one.refusal(ceiling, period)

    def _run(self, job: Job, turn: Turn, asking: Callable[[str], None], held: Callable[[int], None]) -> Done:
        """Ask the data."""
        person = self._people.named(job.analyst)
        if person is None:
            raise ParameterError("analyst", "be somebody who may still sign in", came(job.analyst))
        question = self.asked(person, {**job.body, "fresh": job.fresh})
        source, data = self._sources.of(question.settings), question.settings
        ledger = self._books.ledger
        paying = TimedBudget(
            ledger,
            data=data.name,
            analyst=person.name,
            snapshot=data.snapshot,
            turn=turn,
            asking=asking,
            held=held,
        )
        dataset = question.dataset(source.place, prepared=source.prepared, budget=paying)
        release = dataset.ask(question.query, fresh=job.fresh)
        if paying.hold is not None:
            outcome = ledger.outcome(paying.hold)
            settle = None if outcome is None else outcome.settle
        else:
            settle = ledger.stored(data.name, paying.question or "")
        if settle is None:
            raise LedgerError("the ledger does not hold the answer that it was given")
        return Done(release, settle.number)

    def _tell(self) -> None:
        """Write into the record who was given a stored answer, many at a time."""
        ending = False
        while not ending:
            ending = self._ending.wait(0.2)
            with self._told_lock:
                told = self._told.copy()
                self._told.clear()
            if told:
                try:
                    self._books.ledger.told([(who, self._question_of(settle), settle) for who, _, settle in told])
                except LedgerError as error:
                    self.log.failed("repeated answers are not in the record", error, answers=len(told))

    def _question_of(self, settle: int) -> str:
        """The question that a settle answered."""
        found = self._questions.get(settle)
        if found is None:
            ledger = self._books.ledger
            entry = ledger.entry(settle)
            hold = None if entry is None or entry.refers_to is None else ledger.entry(entry.refers_to)
            found = "" if hold is None else hold.question or ""
            self._questions.put(settle, found)
        return found

    # ---- questions ------------------------------------------------------------------------------------------

    def job(self, person: Person, number: str) -> dict[str, Json]:
        """How far a question has come: one's own, or for the owner any."""
        return self._job(person, number).to_dict(time.time())

    def _job(self, person: Person, number: str) -> Job:
        found = self._jobs.find(number)
        mine = found is not None and (found.analyst == person.name or person.role is Role.OWNER)
        if found is None or not mine or found.data not in self._open_to(person):
            raise Refused("not-found", "There is no question of yours of that number.")
        return found

    def jobs(self, person: Person, after: str | None = None, limit: int = 50) -> list[dict[str, Json]]:
        """One's own questions, newest first, after the one of that number; for the owner those that wait for them."""
        now, before = time.time(), None if after is None else self._job(person, after).asked_at
        found = self._jobs.of(person.name, before, max(1, min(limit, 500)))
        found = [job for job in found if job.data in self._open_to(person)]
        if person.role is Role.OWNER:
            found += [job for job in self._jobs.in_state(State.APPROVAL) if job.data in self._open_to(person)]
        return [job.to_dict(now) for job in found]

    def cancel(self, person: Person, number: str) -> dict[str, Json]:
        """Take a question back that has not begun."""
        job = self._job(person, number)
        changes: dict[str, Any] = {"state": State.CANCELLED, "cost": cost(0.0, "nothing was charged")}
        after = self._jobs.change(job, only=[State.QUEUED, State.APPROVAL], **changes)
        if after is None:
            raise Refused("state", "The question has begun, so it can no longer be taken back.")
        self._changed(number)
        return after.to_dict(time.time())

    def decide(self, person: Person, number: str, approve: bool) -> dict[str, Json]:
        """Agree to a question that waits for it, or not."""
        job = self._job(person, number)
        changes: dict[str, Any] = {"state": State.QUEUED}
        if not approve:
            changes = {"state": State.REJECTED, "problem": problem("rejected", REJECTED)}
            changes["cost"] = cost(0.0, "nothing was charged")
        after = self._jobs.change(job, only=[State.APPROVAL], **changes)
        if after is None:
            raise Refused("state", "The question does not wait for anybody to agree.")
        self.log("decided", job=number, by=person.name, approved=approve)
        self._changed(number)
        self._runner.wake()
        return after.to_dict(time.time())

    # ---- answers --------------------------------------------------------------------------------------------

    def answer(self, person: Person, number: str) -> Answer:
        """A release that was paid for, for everybody who may use the data."""
        found = self._answers.get(number)
        if found is None:
            place = self._jobs.place(number)
            entry = None if place is None else self._books.ledger.entry(place.settle)
            if place is None or entry is None or entry.release is None:
                raise Refused("not-found", "There is no answer of that number.")
            found = Answer(number, restored(entry.release), place.data, place.body, moment(place.asked_at), place.by)
            if len(entry.release) <= SHORT:
                self._answers.put(number, found)
        if found.data not in self._open_to(person):
            raise Refused("not-found", "There is no answer of that number.")
        return found

    def answer_at_hand(self, person: Person, number: str) -> Answer | None:
        """The same, where nothing must be waited for."""
        return None if self._answers.get(number) is None else self.answer(person, number)

    def answers(self, person: Person, limit: int = 200) -> list[dict[str, Json]]:
        """All answers that a person may read, newest first."""
        found = self._jobs.answers(list(self._open_to(person)), limit)
        return [
            {"id": one.id, "data": one.data, "question": one.body, "asked_at": moment(one.asked_at), "by": one.by}
            for one in found
        ]

    # ---- budgets --------------------------------------------------------------------------------------------

    def budget(self, person: Person) -> list[dict[str, Json]]:
        """How budgets stand: one's own, or for owner and auditor those of all."""
        ledger, names = self._books.ledger, self._open_to(person)
        rows: list[dict[str, Json]] = []
        for one in ledger.balances():
            if one.account.dataset not in names:
                continue
            if person.role is Role.ANALYST and one.account.analyst != person.name:
                continue
            standing = ledger.standing(one.account, one.period)
            promise = standing.data.promise
            used = standing.all.total.sums
            rows.append(
                {
                    "data": one.account.dataset,
                    "analyst": one.account.analyst,
                    "period": one.period or None,
                    "granted": {"epsilon": float(one.granted.epsilon), "delta": float(one.granted.delta)},
                    "left": float(standing.left),
                    "promise": {"epsilon": float(promise.epsilon), "delta": float(promise.delta)},
                    "data_left": float(max(Fraction(0), 1 - standing.data.open_to_analysts.part(used))),
                }
            )
        return rows

    def grant(self, person: Person, body: object) -> dict[str, Json]:
        """Add to what an analyst may use of the data, or with `total` set it."""
        if not isinstance(body, Mapping):
            raise ParameterError("body", "be an object", came(body))
        unknown = next((name for name in body if name not in ("data", "analyst", "epsilon", "delta", "total")), None)
        if unknown is not None:
            raise ParameterError("body", "hold data, analyst, epsilon, delta and total", came(unknown))
        data = self._data(person, body.get("data"))
        analyst = self.settings.people.get(str(body.get("analyst")))
        if analyst is None or analyst.role is not Role.ANALYST or data.name not in self._open_to(analyst):
            raise ParameterError("analyst", "be an analyst to whom the data are open", came(body.get("analyst")))
        account = Account(dataset=data.name, analyst=analyst.name)
        epsilon: Any = body.get("epsilon")
        delta, total = body.get("delta", 0), body.get("total", False)
        balance = self._books.ledger.grant(account, epsilon, delta, total=total)
        self.log("granted", data=data.name, analyst=analyst.name, by=person.name)
        granted: dict[str, Json] = {"epsilon": float(balance.granted.epsilon), "delta": float(balance.granted.delta)}
        return {"data": data.name, "analyst": analyst.name, "granted": granted}

    # ---- the record -----------------------------------------------------------------------------------------

    def record(self, person: Person, name: str) -> dict[str, Json]:
        """Everything that was promised, asked and paid of one data set."""
        from dpselect.ledger.report import report

        data = self._data(person, name)
        with self._books.apart() as ledger:
            return report(ledger, data.name)

    def verification(self, person: Person, head: str | None = None) -> dict[str, Json]:  # noqa: ARG002 - the role may
        """The ledger checked from its first entry to its last."""
        with self._books.apart() as ledger:
            problems: list[Json] = [*ledger.verify(head)]
            return {"problems": problems, "entries": ledger.count, "head": ledger.head}

    def people(self, person: Person) -> list[dict[str, Json]]:  # noqa: ARG002 - the role may
        """Everybody, without their tokens."""
        return [described.person(one, list(self._open_to(one))) for one in self.settings.people.values()]

    def waiting(self) -> int:
        """How many questions wait."""
        return self._jobs.waiting("")[0]

    def ready(self) -> bool:
        """Can the ledger and the table of questions be used?"""
        try:
            return self._books.ledger.count >= 0 and self._jobs.find("") is None
        except LedgerError:
            return False


def _is_short(body: Mapping[str, Json]) -> bool:
    """Is a question so short that ten thousand of its like fit into memory?"""
    return len(json.dumps(body)) <= SHORT


def _sent_by(person: Person, raw: bytes) -> tuple[object, ...]:
    return person.name, person.data, hashlib.sha256(raw).digest()


def _periods(question: Asked) -> Periods | None:
    data = question.settings
    if data.period is None:
        return None
    return periods_of(data.time, data.period, list(question.during or ()), data.timezone)
