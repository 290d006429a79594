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
from dpselect.mcp import Body, Desk, error_of

LOOK = 0.1  # seconds between two looks whether a question has ended, which it does at its tick


def open_desk(gateway: Gateway, person: Person) -> Desk:
    """Return the desk of one person, whose refusals are those that an HTTP client has."""

    def with_problems(action: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: object) -> Any:
            try:
                current_person = gateway.people.find(person.name)  # as they are now, where their owner has changed it
                if current_person is None or current_person.role is not Role.ANALYST:
                    raise Refused("role", f"Only analysts may ask, and {person.name} is not an analyst now.")
                return action(current_person, *arguments)
            except Exception as error:
                if mistake(error) is None:
                    gateway.log.failed("a tool failed", error)
                raise error_of(of_error(error)) from None

        return call

    def wait_briefly(job: Body) -> Any:
        time.sleep(LOOK)
        return with_problems(gateway.job)(job["id"])

    return Desk(
        with_problems(partial(views.described, gateway)),
        with_problems(partial(views.budget, gateway)),
        with_problems(partial(views.answers, gateway)),
        with_problems(lambda current_person, number: gateway.answer(current_person, number).release),
        with_problems(gateway.price),
        with_problems(gateway.ask),
        wait_briefly,
    )
