"""A gateway of this process as an agent's desk: one person's questions, which take the way of everybody's."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from dpselect.gateway.gateway import Gateway
from dpselect.gateway.jobs import FINAL
from dpselect.gateway.problems import of_error
from dpselect.gateway.settings.values import Person
from dpselect.mcp.desk import APPROVAL, Job
from dpselect.release.formatting import Json
from dpselect.release.release import Release
from dpselect.remote.problems import error_of

V = TypeVar("V")
LOOK = 0.1  # seconds between two looks whether a question has ended, which it does at its tick


class Here:
    """The desk of one person."""

    def __init__(self, gateway: Gateway, person: Person) -> None:
        self._gateway, self._person = gateway, person

    def _asked(self, what: Callable[..., V], *given: object) -> V:
        """What the gateway says; its refusals are those that a client of its HTTP has."""
        try:
            return what(self._person, *given)
        except Exception as error:
            raise error_of(of_error(error)) from None

    def described(self) -> list[dict[str, Json]]:
        """The data that may be asked."""
        return self._asked(self._gateway.described)

    def budget(self) -> list[dict[str, Json]]:
        """What is left."""
        return self._asked(self._gateway.budget)

    def answers(self) -> list[dict[str, Json]]:
        """The answers that were paid for."""
        return self._asked(self._gateway.answers)

    def answer(self, number: str) -> Release:
        """One of them."""
        return self._asked(self._gateway.answer, number).release

    def price(self, body: Mapping[str, Json]) -> dict[str, Json]:
        """What a question costs."""
        return self._asked(self._gateway.price, body)

    def ask(self, body: Mapping[str, Json]) -> Job:
        """Take a question."""
        return self._asked(self._gateway.ask, body)

    def ended(self, job: Job) -> Job:
        """The question once it has ended, at its tick."""
        while job["state"] not in (*map(str, FINAL), APPROVAL):
            time.sleep(LOOK)
            job = self._asked(self._gateway.job, job["id"])
        return job
