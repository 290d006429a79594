"""What a person may look at: data as declared, questions, answers, budgets, people, the record; and grants.

Each is a function of the gateway and of who asks.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from dpselect.errors import LedgerError, ParameterError, came
from dpselect.gateway.gateway import Gateway
from dpselect.gateway.jobs import JobState, moment
from dpselect.gateway.problems import Refused
from dpselect.gateway.settings.kinds import ANY_CONDITION, Role
from dpselect.gateway.settings.server import Person
from dpselect.gateway.settings.values import DataSettings
from dpselect.gateway.web.replies import Data
from dpselect.ledger import Account, DataAccount, Ledger, periods_between, rounded_part
from dpselect.release import Json

RECORD_OF_ALL = "The record is not clean. Somebody with access to all data sets can see what is wrong."
MAX_LISTED_CHARACTERS = 1_000  # characters of a parameter that lists of questions have too
_NO_DATA = "There is no such data set, or you may not use it."
_MOST_PERIODS = 60
Body = dict[str, Json]


def me(gateway: Gateway, person: Person) -> Body:
    """Describe who is signed in."""
    return {"name": person.name, "role": str(person.role), "data": [*gateway.open_to(person)]}


def people(gateway: Gateway, person: Person) -> list[Body]:
    """List who may sign in, without their tokens: people who share data with this person."""
    open_data, rows = gateway.open_to(person), list[Body]()
    for member in gateway.settings.people.values():
        names: list[Json] = [name for name in gateway.open_to(member) if name in open_data]
        if names or person.data is None:
            until = None if member.until is None else member.until.isoformat()
            rows.append({"name": member.name, "role": str(member.role), "data": names, "until": until})
    return rows


# ---- data as declared ----------------------------------------------------------------------------------------


def described(gateway: Gateway, person: Person) -> list[Body]:
    """Describe the data that a person may use, as their owner declared them. Nothing in it was measured."""
    ledger, jobs = gateway.books.ledger, gateway.jobs
    return [
        data(settings, jobs.slips_of(settings.name), ledger.data_account(settings.name))
        for settings in gateway.open_to(person).values()
    ]


def data(settings: DataSettings, slips: int, account: DataAccount) -> Body:
    """Describe one data set, whose tick has doubled this many times.

    It has what the settings declare, but the promise and the unit are those of the ledger.
    """
    declared = settings.model_dump(mode="json", include=set(Data.__annotations__))
    return {
        **declared,
        "title": settings.title or settings.name,
        "unit": account.unit,
        "promise": _format_amount(account.promise),
        "filters": {name: ANY_CONDITION if values is None else values for name, values in declared["filters"].items()},
        "sizes": {**declared["sizes"], "rows": settings.sizes.all_rows, "bytes": settings.sizes.all_bytes},
        "timezone": settings.timezone if settings.period is not None else None,
        "periods": [*periods(settings, datetime.now(UTC))],
        "tick": float(settings.tick) * 2**slips,
        "slips": slips,
    }


def periods(settings: DataSettings, now: datetime) -> list[str]:
    """List the periods that are offered, newest first: from the first that the owner names to the present one."""
    if settings.period is None or settings.since is None:
        return []
    first = settings.parse_periods(settings.since).all[0]
    names = [period.name for period in periods_between(settings.period, first.start, now.date())]
    return [*reversed(names)][:_MOST_PERIODS]


def _find_data(gateway: Gateway, person: Person, name: object) -> DataSettings:
    settings = gateway.open_to(person).get(name) if isinstance(name, str) else None
    if settings is None:
        raise Refused("not-found", _NO_DATA)
    return settings


# ---- questions and answers -----------------------------------------------------------------------------------


def questions(gateway: Gateway, person: Person, after: str | None = None, limit: int = 50) -> list[Body]:
    """List one's own questions, newest first, after the one of that id; for the owner also those that wait for them."""
    before_time, open_ = None if after is None else gateway.job_of(person, after).asked_at, gateway.open_to(person)
    jobs = [
        replace(job, body=_without_long_parameters(job.body))
        for job in gateway.jobs.list_of_person(person.name, before_time, limit)
    ]
    if person.role is Role.OWNER:
        jobs += gateway.jobs.in_state(JobState.APPROVAL)
    return [job.to_dict() for job in jobs if job.data in open_]


def answers(gateway: Gateway, person: Person, limit: int = 200) -> list[Body]:
    """List the answers that may be read: all are free."""
    paid_jobs = gateway.jobs.answers(list(gateway.open_to(person)), limit)
    return [
        {
            "id": job.id,
            "data": job.data,
            "question": _without_long_parameters(job.body),
            "asked_at": moment(job.asked_at),
            "by": job.analyst,
        }
        for job in paid_jobs
    ]


def _without_long_parameters(body: Mapping[str, Json]) -> Body:
    """Return a question for a list: without long parameters, or one person's would fill everybody's lists."""
    return {name: value for name, value in body.items() if len(json.dumps(value)) <= MAX_LISTED_CHARACTERS}


# ---- budgets -------------------------------------------------------------------------------------------------


def _format_amount(amount: Any) -> Body:
    return {"epsilon": float(amount.epsilon), "delta": float(amount.delta)}


def budget(gateway: Gateway, person: Person) -> list[Body]:
    """List what is left of your quotas; owners and auditors see all."""
    ledger, open_, rows = gateway.books.ledger, gateway.open_to(person), list[Body]()
    for standing in ledger.all_standings():
        account = standing.account
        may_see = person.role is not Role.ANALYST or account.analyst == person.name
        if account.dataset not in open_ or not may_see:
            continue
        used = standing.data.open_to_analysts.part(standing.all.total.as_spent)
        rows.append(
            {
                "data": account.dataset,
                "analyst": account.analyst,
                "period": standing.period or None,
                "granted": _format_amount(standing.granted),
                "left": rounded_part(standing.left),
                "promise": _format_amount(standing.data.promise),
                "data_left": rounded_part(1 - used),
            }
        )
    return rows


def grant(gateway: Gateway, person: Person, body: object) -> Body:
    """Add to what an analyst may use of the data, or with `total` set it."""
    if not isinstance(body, Mapping):
        raise ParameterError("body", "be an object", came(body))
    unknown = next((name for name in body if name not in ("data", "analyst", "epsilon", "delta", "total")), None)
    if unknown is not None:
        raise ParameterError("body", "hold data, analyst, epsilon, delta and total", came(unknown))
    settings = _find_data(gateway, person, body.get("data"))
    analyst = gateway.settings.people.get(str(body.get("analyst")))
    if analyst is None or analyst.role is not Role.ANALYST or settings.name not in gateway.open_to(analyst):
        raise ParameterError("analyst", "be an analyst to whom the data are open", came(body.get("analyst")))
    epsilon: Any = body.get("epsilon")
    delta, total = body.get("delta", 0), body.get("total", False)
    account = Account(dataset=settings.name, analyst=analyst.name)
    standing = gateway.books.ledger.grant(account, epsilon, delta, total=total, by=person.name)
    gateway.log("granted", data=settings.name, analyst=analyst.name, by=person.name)
    return {"data": settings.name, "analyst": analyst.name, "granted": _format_amount(standing.granted)}


# ---- the record ----------------------------------------------------------------------------------------------


def record(gateway: Gateway, person: Person, name: str) -> Body:
    """Return the record of one data set: everything that was promised, asked and paid."""
    from dpselect.audit import report_on_data

    settings = _find_data(gateway, person, name)
    with gateway.books.open_separately() as ledger:
        report_of_data = report_on_data(ledger, settings.name)
        return {
            **report_of_data,
            "verification": _limit_to_data(person, report_of_data["verification"], [settings.name], ledger),
        }


def verification(gateway: Gateway, person: Person, head: str | None = None) -> Body:
    """Check the ledger from its first entry to its last."""
    with gateway.books.open_separately() as ledger:
        findings = {"problems": [*ledger.verify(head)], "entries": ledger.count, "head": ledger.head}
        return _limit_to_data(person, findings, gateway.open_to(person), ledger)


def _limit_to_data(person: Person, findings: Any, names: Collection[str], ledger: Ledger) -> Body:
    """Return a verification limited to these data: the chain is one for all, and its problems may name others."""
    if person.data is None:
        return dict(findings)
    entries = sum(entry.account.dataset in names for entry in ledger.entries())
    return {**findings, "problems": [RECORD_OF_ALL] if findings["problems"] else [], "entries": entries}


# ---- of the server itself ------------------------------------------------------------------------------------


def numbers(gateway: Gateway, person: Person) -> str:
    """Return the metrics, which are of all data."""
    if person.data is not None:
        raise Refused(
            "role", "These numbers cover all data sets. Only somebody with access to all of them may read them."
        )
    return gateway.metrics.text(gateway.jobs.waiting("")[0])


def is_ready(gateway: Gateway) -> bool:
    """Return whether the ledger and the table of questions can be used."""
    try:
        gateway.books.ledger.check_open()
        return gateway.jobs.find("") is None
    except LedgerError:
        return False
