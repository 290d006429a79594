"""What a person may look at: data as declared, questions, answers, budgets, people, the record; and grants.

Each is a function of the gateway and of who asks.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from dpselect._ground.budget_parts import rounded_part
from dpselect._ground.periods import parse_periods
from dpselect.errors import LedgerError, ParameterError, came
from dpselect.gateway.gateway import Gateway
from dpselect.gateway.jobs import JobState, moment
from dpselect.gateway.problems import Refused
from dpselect.gateway.settings.kinds import ANY
from dpselect.gateway.settings.values import DataSettings, Person, Role
from dpselect.gateway.web.replies import Data
from dpselect.ledger import Account, DataAccount, Ledger
from dpselect.release.formatting import Json

OF_ALL = "The record is not clean. Somebody with access to all data sets can see what is wrong."
LISTED = 1_000  # characters of a parameter that lists of questions have too
NO_DATA = "There is no such data set, or you may not use it."
MOST_PERIODS = 60
FORMS = {"day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m", "year": "%Y"}
Found = dict[str, Json]


def me(gateway: Gateway, person: Person) -> Found:
    """Who is signed in."""
    return {"name": person.name, "role": str(person.role), "data": [*gateway.open_to(person)]}


def people(gateway: Gateway, person: Person) -> list[Found]:
    """Who may use what a person may, without their tokens."""
    mine, found = gateway.open_to(person), list[Found]()
    for one in gateway.settings.people.values():
        names: list[Json] = [name for name in gateway.open_to(one) if name in mine]
        if names or person.data is None:
            until = None if one.until is None else one.until.isoformat()
            found.append({"name": one.name, "role": str(one.role), "data": names, "until": until})
    return found


# ---- data as declared ----------------------------------------------------------------------------------------


def described(gateway: Gateway, person: Person) -> list[Found]:
    """What the owner declared of the data that a person may use. Nothing in it was measured."""
    ledger, jobs = gateway.books.ledger, gateway.jobs
    return [
        data(one, jobs.slips_of(one.name), ledger.data_account(one.name)) for one in gateway.open_to(person).values()
    ]


def data(settings: DataSettings, late: int, account: DataAccount) -> Found:
    """Return the description of one data set, whose tick has doubled so often.

    It has what the settings declare, but the promise and the unit are those of the ledger.
    """
    found = settings.model_dump(mode="json", include=set(Data.__annotations__))
    return {
        **found,
        "title": settings.title or settings.name,
        "unit": account.unit,
        "promise": _amount(account.promise),
        "filters": {name: ANY if values is None else values for name, values in found["filters"].items()},
        "sizes": {**found["sizes"], "rows": settings.sizes.all_rows, "bytes": settings.sizes.all_bytes},
        "timezone": settings.timezone if settings.period is not None else None,
        "periods": [*periods(settings, datetime.now(UTC))],
        "tick": float(settings.tick) * 2**late,
        "slips": late,
    }


def periods(settings: DataSettings, now: datetime) -> list[str]:
    """The periods that are offered, newest first: from the first that the owner names to the one that is now."""
    if settings.period is None or settings.since is None:
        return []
    today = now.date()
    name = today.strftime(FORMS.get(settings.period, f"%Y-Q{(today.month + 2) // 3}"))
    found = parse_periods(settings.time, settings.period, f"{settings.since}..{name}", settings.timezone).names
    return [*reversed(found)][:MOST_PERIODS]


def _data(gateway: Gateway, person: Person, name: object) -> DataSettings:
    found = gateway.open_to(person).get(name) if isinstance(name, str) else None
    if found is None:
        raise Refused("not-found", NO_DATA)
    return found


# ---- questions and answers -----------------------------------------------------------------------------------


def questions(gateway: Gateway, person: Person, after: str | None = None, limit: int = 50) -> list[Found]:
    """One's own questions, newest first, after the one of that number; for the owner those that wait for them."""
    before, open_ = None if after is None else gateway.job_of(person, after).asked_at, gateway.open_to(person)
    found = [replace(job, body=_listed(job.body)) for job in gateway.jobs.of(person.name, before, limit)]
    if person.role is Role.OWNER:
        found += gateway.jobs.in_state(JobState.APPROVAL)
    return [job.to_dict() for job in found if job.data in open_]


def answers(gateway: Gateway, person: Person, limit: int = 200) -> list[Found]:
    """All answers that a person may read, newest first."""
    found = gateway.jobs.answers(list(gateway.open_to(person)), limit)
    return [
        {
            "id": one.id,
            "data": one.data,
            "question": _listed(one.body),
            "asked_at": moment(one.asked_at),
            "by": one.analyst,
        }
        for one in found
    ]


def _listed(body: Mapping[str, Json]) -> Found:
    """A question as lists have it: without long parameters, or one person's would fill everybody's lists."""
    return {name: value for name, value in body.items() if len(json.dumps(value)) <= LISTED}


# ---- budgets -------------------------------------------------------------------------------------------------


def _amount(of: Any) -> Found:
    return {"epsilon": float(of.epsilon), "delta": float(of.delta)}


def budget(gateway: Gateway, person: Person) -> list[Found]:
    """How budgets stand: one's own, or for owner and auditor those of all."""
    ledger, open_, rows = gateway.books.ledger, gateway.open_to(person), list[Found]()
    for one in ledger.balances():
        mine = person.role is not Role.ANALYST or one.account.analyst == person.name
        if one.account.dataset not in open_ or not mine:
            continue
        standing = ledger.standing(one.account, one.period)
        used = standing.data.open_to_analysts.part(standing.all.total.as_spent)
        rows.append(
            {
                "data": one.account.dataset,
                "analyst": one.account.analyst,
                "period": one.period or None,
                "granted": _amount(one.granted),
                "left": rounded_part(standing.left),
                "promise": _amount(standing.data.promise),
                "data_left": rounded_part(1 - used),
            }
        )
    return rows


def grant(gateway: Gateway, person: Person, body: object) -> Found:
    """Add to what an analyst may use of the data, or with `total` set it."""
    if not isinstance(body, Mapping):
        raise ParameterError("body", "be an object", came(body))
    unknown = next((name for name in body if name not in ("data", "analyst", "epsilon", "delta", "total")), None)
    if unknown is not None:
        raise ParameterError("body", "hold data, analyst, epsilon, delta and total", came(unknown))
    about = _data(gateway, person, body.get("data"))
    analyst = gateway.settings.people.get(str(body.get("analyst")))
    if analyst is None or analyst.role is not Role.ANALYST or about.name not in gateway.open_to(analyst):
        raise ParameterError("analyst", "be an analyst to whom the data are open", came(body.get("analyst")))
    epsilon: Any = body.get("epsilon")
    delta, total = body.get("delta", 0), body.get("total", False)
    account = Account(dataset=about.name, analyst=analyst.name)
    balance = gateway.books.ledger.grant(account, epsilon, delta, total=total, by=person.name)
    gateway.log("granted", data=about.name, analyst=analyst.name, by=person.name)
    return {"data": about.name, "analyst": analyst.name, "granted": _amount(balance.granted)}


# ---- the record ----------------------------------------------------------------------------------------------


def record(gateway: Gateway, person: Person, name: str) -> Found:
    """Everything that was promised, asked and paid of one data set."""
    from dpselect.audit.report import report

    about = _data(gateway, person, name)
    with gateway.books.apart() as ledger:
        found = report(ledger, about.name)
        return {**found, "verification": _visible_to(person, found["verification"], [about.name], ledger)}


def verification(gateway: Gateway, person: Person, head: str | None = None) -> Found:
    """The ledger checked from its first entry to its last."""
    with gateway.books.apart() as ledger:
        found = {"problems": [*ledger.verify(head)], "entries": ledger.count, "head": ledger.head}
        return _visible_to(person, found, gateway.open_to(person), ledger)


def _visible_to(person: Person, found: Any, names: Collection[str], ledger: Ledger) -> Found:
    """A verification as far as it is about these data: the chain is one for all, and its problems may name others."""
    if person.data is None:
        return dict(found)
    entries = sum(entry.account.dataset in names for entry in ledger.entries())
    return {**found, "problems": [OF_ALL] if found["problems"] else [], "entries": entries}


# ---- of the server itself ------------------------------------------------------------------------------------


def numbers(gateway: Gateway, person: Person) -> str:
    """Metrics, which are of all data."""
    if person.data is not None:
        raise Refused(
            "role", "These numbers cover all data sets. Only somebody with access to all of them may read them."
        )
    return gateway.metrics.text(gateway.jobs.waiting("")[0])


def ready(gateway: Gateway) -> bool:
    """Can the ledger and the table of questions be used?"""
    try:
        gateway.books.ledger.check_open()
        return gateway.jobs.find("") is None
    except LedgerError:
        return False
