"""Where questions go: to a gateway of another process here, or of this one (`gateway/agents.py`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dpselect._ground.parameters import suggest_parameter
from dpselect.draws import fresh_key
from dpselect.errors import DpselectError, GatewayError, ParameterError
from dpselect.release.release import Release
from dpselect.remote.problems import LISTS
from dpselect.remote.remote import Remote
from dpselect.remote.waiting import RUNNING, RemoteJob

Body = Mapping[str, Any]
APPROVAL = "approval"


@dataclass(frozen=True)
class Desk:
    """What one person may do with a gateway, in the bodies and replies of its HTTP. What goes wrong is ours."""

    described: Callable[[], list[Any]]
    budget: Callable[[], list[Any]]
    answers: Callable[[], list[Any]]  # newest first
    answer: Callable[[str], Release]
    price: Callable[[Body], Body]
    ask: Callable[[Body], Body]  # the job of a question, which may not have ended
    look: Callable[[Body], Body]  # a job, a while later

    def ended(self, job: Body) -> Body:
        """The job once it has ended, or waits for somebody to agree."""
        while is_open(job):
            job = self.look(job)
        return job


def is_open(job: Body) -> bool:
    """Will it end by itself?"""
    return job["state"] in RUNNING and job["state"] != APPROVAL


def afar(remote: Remote) -> Desk:
    """A gateway at an address. A question has a key of its own, so what is sent twice is asked once."""
    wire = remote.data().wire
    return Desk(
        remote.described,
        remote.budget,
        remote.answers,
        remote.answer,
        lambda body: dict(wire.post("/v1/price", body)),
        lambda body: RemoteJob.of(wire.post("/v1/questions", body, key=fresh_key().hex())).found,
        lambda job: RemoteJob.of(wire.get(f"{RemoteJob.of(job).path}?wait=25")).found,
    )


def words_of(error: DpselectError) -> str:
    """An error for an agent: `fix:` where it may correct what it sent, and `refused:` where that would be no use."""
    if isinstance(error, GatewayError) and error.kind == "connection":
        return "refused: the data cannot be reached now; wait a minute. The same question is never paid twice."
    said = _in_json_words(error)
    for where in ("GET /v1/data has", LISTS):  # of this process, and as an error of a gateway says it
        said = said.replace(where, "the tool data has")
    right = "owner" in getattr(error, "must", "") and "double quotes" not in said
    return f"{'fix' if isinstance(error, ParameterError) and not right else 'refused'}: {said}"


def _in_json_words(error: DpselectError) -> str:
    """The text of an error whose booleans and nothing are those of JSON."""
    if not isinstance(error, ParameterError):
        return str(error)
    came = {"True": "true", "False": "false", "None": "null"}.get(error.came, error.came)
    said = str(error).replace(f", got {error.came}", f", got {came}", 1)
    return said.replace("True or False", "true or false")


def refuse_unknown(tool: str, given: Body, known: Body) -> None:
    """A name that a tool has not."""
    for name in given:
        if name not in known:
            must = f"be left out: {tool} takes {', '.join(known) or 'nothing'}"
            raise ParameterError(name, must, "a value", suggest_parameter(name, [*known]))
