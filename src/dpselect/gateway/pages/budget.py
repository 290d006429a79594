"""What is left: of each quota and of each promise, and of one's own quota over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from dpselect.gateway.pages.promises import odds
from dpselect.gateway.pages.rendering import page
from dpselect.gateway.settings.values import Role
from dpselect.ledger.spending import Spent, picture

LAST = 500  # questions that the picture of a quota is made from
Row = Mapping[str, Any]


async def show(request: Request) -> Response:
    """By data set and period, a line for each analyst."""
    gateway, person = request.state.gateway, request.state.person
    rows = await run_in_threadpool(gateway.budget, person)
    own = person.role is Role.ANALYST
    jobs = await run_in_threadpool(gateway.jobs, person, None, LAST) if own else []
    names = list(dict.fromkeys(row["data"] for row in rows))
    accounts = [_account(name, [row for row in rows if row["data"] == name], jobs) for name in names]
    return page(request, "budget.html", accounts=accounts, own=own, twin="/v1/budget")


def _account(name: str, rows: Sequence[Row], jobs: Sequence[Row]) -> dict[str, Any]:
    """One data set: its periods, and what is promised of each."""
    promise = rows[0]["promise"]
    periods = list(dict.fromkeys(row["period"] for row in rows))
    return {
        "name": name,
        "promise": promise,
        "odds": odds(Fraction(str(promise["epsilon"])), Fraction(str(promise["delta"]))),
        "periods": [(period, [row for row in rows if row["period"] == period]) for period in periods],
        "picture": _of_quota(jobs, name),
    }


def _of_quota(jobs: Sequence[Row], name: str) -> Markup | None:
    """What was used after each question that somebody paid, the oldest first, of the period that was asked last."""
    paid = [job for job in jobs if job["data"] == name and job["cost"] and job["cost"]["left"] is not None]
    last = paid[0]["question"].get("during") if paid else None
    same = [job for job in reversed(paid) if job["question"].get("during") == last]
    spent = [
        Spent(place, str(job["asked_at"])[:10], 1 - float(job["cost"]["left"])) for place, job in enumerate(same, 1)
    ]
    return _drawn(spent, "question")


def over_time(used: Sequence[Row]) -> Markup | None:
    """What is used of a promise after each entry of the record, of the period that was used last."""
    same = [one for one in used if one["period"] == used[-1]["period"]]
    return _drawn(
        [Spent(one["number"], str(one["when"])[:10], float(one["used"])) for one in same], "entry of the ledger"
    )


def _drawn(spent: Sequence[Spent], what: str) -> Markup | None:
    return Markup(picture({"": spent}, what).html(style=False)) if len(spent) > 1 else None
