"""A gateway of this process as an agent's desk: one person's questions, which take the way of everybody's."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from dpselect.gateway import views
from dpselect.gateway.gateway import Gateway
from dpselect.gateway.problems import Refused, mistake, of_error
from dpselect.gateway.settings.values import Person, Role
from dpselect.mcp.desk import Body, Desk
from dpselect.remote.problems import error_of

LOOK = 0.1  # seconds between two looks whether a question has ended, which it does at its tick


def here(gateway: Gateway, person: Person) -> Desk:
    """The desk of one person, whose refusals are those that a client of HTTP has."""

    def way(what: Callable[..., Any]) -> Callable[..., Any]:
        def asked(*given: object) -> Any:
            try:
                who = gateway.people.named(person.name)  # as they are now, where their owner has changed it
                if who is None or who.role is not Role.ANALYST:
                    raise Refused("role", f"Only analysts may ask, and {person.name} is not an analyst now.")
                return what(who, *given)
            except Exception as error:
                if mistake(error) is None:
                    gateway.log.failed("a tool failed", error)
                raise error_of(of_error(error)) from None

        return asked

    def look(job: Body) -> Any:
        time.sleep(LOOK)
        return way(gateway.job)(job["id"])

    return Desk(
        way(partial(views.described, gateway)),
        way(partial(views.budget, gateway)),
        way(partial(views.answers, gateway)),
        way(lambda who, number: gateway.answer(who, number).release),
        way(gateway.price),
        way(gateway.ask),
        look,
    )
