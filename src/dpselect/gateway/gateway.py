"""The gateway without HTTP: what a person may do with data, one method for each thing. Methods may wait for disks."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from dpselect.errors import LedgerError, ParameterError, came
from dpselect.gateway import described
from dpselect.gateway.answering import Answering
from dpselect.gateway.asked import AskedQuestion
from dpselect.gateway.books import Books
from dpselect.gateway.intake import Intake, open_to
from dpselect.gateway.jobs import Job, JobState, moment
from dpselect.gateway.log import Log, Metrics
from dpselect.gateway.only_one import OnlyOne
from dpselect.gateway.people import People, Renewal
from dpselect.gateway.problems import REJECTED, Refused, problem
from dpselect.gateway.recent import Recent
from dpselect.gateway.repeats import Repeats
from dpselect.gateway.runner import Runner, cost
from dpselect.gateway.settings.values import DataSettings, Person, Role, Settings
from dpselect.gateway.sources import Sources
from dpselect.gateway.store import Jobs
from dpselect.gateway.web.identity import check_installed
from dpselect.ledger import Account, Ledger
from dpselect.release.archive import restored
from dpselect.release.formatting import Json
from dpselect.release.release import Release

SWITCH = 0.0005  # seconds after which a thread lets others run: one that computes must not hold up who asks little
PATIENCE = 20.0  # seconds that running questions are given when the gateway stops
OF_ALL = "The record is not clean. Somebody to whom all data sets are open is told what is wrong."
LISTED = 1_000  # characters of a parameter that lists of questions have too
NO_DATA = "There is no such data set, or it is not open to you."


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


def _listed(body: Mapping[str, Json]) -> dict[str, Json]:
    """A question as lists have it: without long parameters, or one person's would fill everybody's lists."""
    return {name: value for name, value in body.items() if len(json.dumps(value)) <= LISTED}


class Gateway:
    """Everything behind the routes. Usable from many threads."""

    def __init__(self, settings: Settings, log: Log | None = None, file: Path | None = None) -> None:
        """`file` is where the settings come from: people are read again when it is written."""
        self.settings: Settings = settings
        self.log: Log = log or Log()
        self.metrics: Metrics = Metrics()
        server = settings.server
        if server.oidc is not None:
            check_installed()
        server.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._alone = OnlyOne(server.folder) if server.jobs is None else None
        self._books = Books(server.ledger)
        for sentence in self._books.begin(settings):
            self.log("begun", said=sentence)
        self._jobs = Jobs(server.jobs if server.jobs is not None else server.folder / "questions.sqlite")
        for data in settings.data.values():
            self._jobs.declare(data.name, data.tick)
        self._people = People(settings.people, self._jobs.secret, self._jobs)
        self._sources = Sources(settings, self.log)
        self._repeats = Repeats(self._books, self.log)
        self._intake = Intake(settings, self._books, self._jobs, self._sources, self._repeats, self.metrics, self._wake)
        self._watchers: set[Callable[[str], None]] = set()
        answering = Answering(self._people, self._intake, self._sources, self._books)
        self._runner = Runner(
            self._jobs, self._books, answering.run, self.log, self.metrics, self._changed, workers=server.workers
        )
        self._answers = Recent[Answer]()
        self._renewal = None if file is None else Renewal(file, self._renewed, self.log)

    def start(self) -> None:
        """Begin to run questions; first those that a server left that died."""
        import dpselect.engines.duckdb.engine  # noqa: F401 # a third of a second, in no question's window

        sys.setswitchinterval(SWITCH)
        self._runner.recover()
        self._sources.start()
        self._runner.start()
        self._repeats.start()

    def stop(self) -> None:
        """Let running questions end, and give everything back."""
        if self._renewal is not None:
            self._renewal.stop()
        self._sources.stop()
        self._runner.stop(PATIENCE)
        self._repeats.stop()
        self._jobs.close()
        self._books.close()
        if self._alone is not None:
            self._alone.close()

    def _renewed(self, settings: Settings) -> None:
        """Other people, about the same data."""
        self.settings = self.settings.model_copy(update={"people": settings.people})
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

    def _wake(self) -> None:
        self._runner.wake()

    def _changed(self, number: str) -> None:
        for told in tuple(self._watchers):
            told(number)

    # ---- who and what ---------------------------------------------------------------------------------------

    def me(self, person: Person) -> dict[str, Json]:
        """Who is signed in."""
        return {"name": person.name, "role": str(person.role), "data": [*self._open_to(person)]}

    def _open_to(self, person: Person) -> dict[str, DataSettings]:
        return open_to(self.settings.data, person)

    def _data(self, person: Person, name: object) -> DataSettings:
        found = self._open_to(person).get(name) if isinstance(name, str) else None
        if found is None:
            raise Refused("not-found", NO_DATA)
        return found

    def described(self, person: Person) -> list[dict[str, Json]]:
        """What the owner declared of the data that a person may use. Nothing in it was measured."""
        return [described.data(one, self._jobs.late(one.name)) for one in self._open_to(person).values()]

    # ---- asking ---------------------------------------------------------------------------------------------

    def asked(self, person: Person, body: object) -> AskedQuestion:
        """The question of a body, checked."""
        return self._intake.asked(person, body)

    def forecast(self, person: Person, body: object) -> dict[str, Json]:
        """What to expect, and the price: free, and no row is read."""
        return self._intake.forecast(person, body)

    def price(self, person: Person, body: object) -> dict[str, Json]:
        """What it costs, and what is left after it."""
        return self._intake.price(person, body)

    def ask(
        self, person: Person, body: object, again: str | None = None, *, raw: bytes | None = None
    ) -> dict[str, Json]:
        """Take a question: a job (`Intake.ask`)."""
        return self._intake.ask(person, body, again, raw=raw)

    def at_hand(self, person: Person, raw: bytes) -> dict[str, Json] | None:
        """The job of a question that is known, at once."""
        return self._intake.at_hand(person, raw)

    # ---- questions ------------------------------------------------------------------------------------------

    def job(self, person: Person, number: str) -> dict[str, Json]:
        """How far a question has come: one's own, or for the owner any."""
        return self._job(person, number).to_dict()

    def _job(self, person: Person, number: str) -> Job:
        found = self._jobs.find(number)
        mine = found is not None and (found.analyst == person.name or person.role is Role.OWNER)
        if found is None or not mine or found.data not in self._open_to(person):
            raise Refused("not-found", "There is no question of yours of that number.")
        return found

    def jobs(self, person: Person, after: str | None = None, limit: int = 50) -> list[dict[str, Json]]:
        """One's own questions, newest first, after the one of that number; for the owner those that wait for them."""
        before = None if after is None else self._job(person, after).asked_at
        found = self._jobs.of(person.name, before, max(1, min(limit, 500)))
        found = [replace(job, body=_listed(job.body)) for job in found if job.data in self._open_to(person)]
        if person.role is Role.OWNER:
            found += [job for job in self._jobs.in_state(JobState.APPROVAL) if job.data in self._open_to(person)]
        return [job.to_dict() for job in found]

    def cancel(self, person: Person, number: str) -> dict[str, Json]:
        """Take a question back that has not begun."""
        job = self._job(person, number)
        changes: dict[str, Any] = {"state": JobState.CANCELLED, "cost": cost(0.0, "nothing was charged")}
        after = self._jobs.change(job, only=[JobState.QUEUED, JobState.APPROVAL], **changes)
        if after is None:
            raise Refused("state", "The question has begun, so it can no longer be taken back.")
        self._changed(number)
        return after.to_dict()

    def decide(self, person: Person, number: str, approve: bool) -> dict[str, Json]:
        """Agree to a question that waits for it, or not."""
        job = self._job(person, number)
        changes: dict[str, Any] = {"state": JobState.QUEUED}
        if not approve:
            changes = {"state": JobState.REJECTED, "problem": problem("rejected", REJECTED)}
            changes["cost"] = cost(0.0, "nothing was charged")
        after = self._jobs.change(job, only=[JobState.APPROVAL], **changes)
        if after is None:
            raise Refused("state", "The question does not wait for anybody to agree.")
        self.log("decided", job=number, by=person.name, approved=approve)
        self._changed(number)
        self._runner.wake()
        return after.to_dict()

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
            self._answers.put(number, found, len(entry.release))
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
            {
                "id": one.id,
                "data": one.data,
                "question": _listed(one.body),
                "asked_at": moment(one.asked_at),
                "by": one.by,
            }
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
            found = report(ledger, data.name)
            return {**found, "verification": _told_to(person, found["verification"], [data.name], ledger)}

    def verification(self, person: Person, head: str | None = None) -> dict[str, Json]:
        """The ledger checked from its first entry to its last."""
        with self._books.apart() as ledger:
            found = {"problems": [*ledger.verify(head)], "entries": ledger.count, "head": ledger.head}
            return _told_to(person, found, self._open_to(person), ledger)

    def people(self, person: Person) -> list[dict[str, Json]]:
        """Who may use what a person may, without their tokens."""
        mine = self._open_to(person)
        everybody = [
            (one, [name for name in self._open_to(one) if name in mine]) for one in self.settings.people.values()
        ]
        return [described.person(one, names) for one, names in everybody if names or person.data is None]

    def numbers(self, person: Person) -> str:
        """Metrics, which are of all data."""
        if person.data is not None:
            raise Refused(
                "role", "These numbers are of all data sets. Only somebody to whom all are open may read them."
            )
        return self.metrics.text(self._jobs.waiting("")[0])

    def ready(self) -> bool:
        """Can the ledger and the table of questions be used?"""
        try:
            return self._books.ledger.count >= 0 and self._jobs.find("") is None
        except LedgerError:
            return False


def _told_to(person: Person, found: Any, names: Collection[str], ledger: Ledger) -> dict[str, Json]:
    """A verification as far as it is about these data: the chain is one for all, and its problems may name others."""
    if person.data is None:
        return dict(found)
    entries = sum(entry.account.dataset in names for entry in ledger.entries())
    return {**found, "problems": [OF_ALL] if found["problems"] else [], "entries": entries}
