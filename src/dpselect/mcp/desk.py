"""Where questions go: to a gateway of this process, or of another. Bodies and replies are those of its HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from dpselect._ground.parameters import near
from dpselect.draws import fresh_key
from dpselect.errors import DpselectError, GatewayError, ParameterError
from dpselect.release.formatting import Json
from dpselect.release.release import Release
from dpselect.remote.remote import Remote
from dpselect.remote.waiting import RUNNING, RemoteJob

Job = Mapping[str, Any]
APPROVAL = "approval"


class Desk(Protocol):
    """What one person may do with a gateway. Everything that goes wrong is a DpselectError."""

    def described(self) -> list[dict[str, Json]]:
        """The data that may be asked, as declared."""
        ...

    def budget(self) -> list[dict[str, Json]]:
        """What is left."""
        ...

    def answers(self) -> list[dict[str, Json]]:
        """The answers that were paid for, newest first."""
        ...

    def answer(self, number: str) -> Release:
        """One of them."""
        ...

    def price(self, body: Mapping[str, Json]) -> dict[str, Json]:
        """What a question costs."""
        ...

    def ask(self, body: Mapping[str, Json]) -> Job:
        """Take a question, which may not have ended."""
        ...

    def ended(self, job: Job) -> Job:
        """The question once it has ended, or waits for somebody to agree."""
        ...


class Afar:
    """A gateway at an address."""

    def __init__(self, remote: Remote) -> None:
        self._remote, self._wire = remote, remote.data().wire
        self.described, self.budget = remote.described, remote.budget
        self.answers, self.answer = remote.answers, remote.answer

    def price(self, body: Mapping[str, Json]) -> dict[str, Json]:
        """By its reply."""
        return dict(self._wire.post("/v1/price", body))

    def ask(self, body: Mapping[str, Json]) -> Job:
        """Under a key of its own: what is sent twice is asked once."""
        return RemoteJob.of(self._wire.post("/v1/questions", body, key=fresh_key().hex())).found

    def ended(self, job: Job) -> Job:
        """Looked at again whenever the gateway lets go of the request."""
        while job["state"] in RUNNING and job["state"] != APPROVAL:
            job = RemoteJob.of(self._wire.get(f"{RemoteJob.of(job).path}?wait=25")).found
        return job


def words_of(error: DpselectError) -> str:
    """An error for an agent: `fix:` where it may correct what it sent, and `refused:` where that would be no use."""
    if isinstance(error, GatewayError) and error.kind == "connection":
        return "refused: the data cannot be reached now; wait a minute. The same question is never paid twice."
    said = str(error).replace("GET /v1/data has", "the tool data has")
    right = "owner" in getattr(error, "must", "") and "double quotes" not in said
    return f"{'fix' if isinstance(error, ParameterError) and not right else 'refused'}: {said}"


def refuse_unknown(tool: str, given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """A name that a tool has not."""
    for name in given:
        if name not in known:
            must = f"be left out: {tool} takes {', '.join(known) or 'nothing'}"
            raise ParameterError(name, must, "a value", near(name, [*known]))
