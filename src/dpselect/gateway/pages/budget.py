"""What is left: of each quota, of each promise, and for those who see the record, over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from dpselect.gateway import pictures
from dpselect.gateway.pages import errors
from dpselect.gateway.pages.promises import odds
from dpselect.gateway.pages.rendering import page
from dpselect.gateway.settings.values import Role


async def show(request: Request) -> Response:
    """By data set and period, a line for each analyst."""
    gateway, person = request.state.gateway, request.state.person
    try:
        rows = await run_in_threadpool(gateway.budget, person)
        names = list(dict.fromkeys(row["data"] for row in rows))
        pictures_of = {}
        if person.role is not Role.ANALYST:
            for name in names:
                pictures_of[name] = over_time((await run_in_threadpool(gateway.record, person, name))["used"], name)
    except errors.TOLD as error:
        return errors.of_details(request, errors.told(error))
    accounts = [_account(name, [row for row in rows if row["data"] == name], pictures_of.get(name)) for name in names]
    return page(request, "budget.html", accounts=accounts, twin="/v1/budget")


def _account(name: str, rows: Sequence[Mapping[str, Any]], picture: object) -> dict[str, Any]:
    """One data set: its periods, and what is promised of each."""
    promise = rows[0]["promise"]
    said = odds(Fraction(str(promise["epsilon"])), Fraction(str(promise["delta"])))
    periods = list(dict.fromkeys(row["period"] for row in rows))
    of_periods = [(period, [row for row in rows if row["period"] == period]) for period in periods]
    return {"name": name, "promise": promise, "odds": said, "periods": of_periods, "picture": picture}


def over_time(used: Sequence[Mapping[str, Any]], name: str) -> Markup | None:
    """What is left after each entry of the period that was used last."""
    last = used[-1]["period"] if used else None
    points = [(str(one["when"]), 1 - float(one["used"])) for one in used if one["period"] == last]
    if len(points) < 2:
        return None
    return Markup(pictures.inline(pictures.left(points), f"left-{name}"))
