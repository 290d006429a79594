"""Desks: the ways of asking a gateway, in another process or in this one (`gateway/web/agents.py`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import suggest_parameter
from dpselect.draws import fresh_key
from dpselect.errors import DpselectError, GatewayError, ParameterError
from dpselect.release.release import Release
from dpselect.remote.problems import WHERE_LISTED
from dpselect.remote.remote import Remote
from dpselect.remote.waiting import RUNNING, RemoteJob

Body = Mapping[str, Any]
APPROVAL = "approval"


@dataclass(frozen=True)
class AgentDesk:
    """The requests that one person may send to a gateway, as in its HTTP. Failures are DpselectErrors."""

    described: Callable[[], list[Any]]
    budget: Callable[[], list[Any]]
    answers: Callable[[], list[Any]]  # newest first
    answer: Callable[[str], Release]
    price: Callable[[Body], Body]
    ask: Callable[[Body], Body]  # returns the job of a question, which may not have ended
    look: Callable[[Body], Body]  # returns the job a while later

    def wait_until_ended(self, job: Body) -> Body:
        """Return the job once it has ended, or waits for approval."""
        while is_open(job):
            job = self.look(job)
        return job


def is_open(job: Body) -> bool:
    """Return whether a job will end by itself."""
    return job["state"] in RUNNING and job["state"] != APPROVAL


def remote_desk(remote: Remote) -> AgentDesk:
    """Return the desk of a gateway at an address. Each question has its own key, so a retry is not paid twice."""
    wire = remote.data().wire
    return AgentDesk(
        described=remote.described,
        budget=remote.budget,
        answers=remote.answers,
        answer=remote.answer,
        price=lambda body: dict(wire.post("/v1/price", body)),
        ask=lambda body: RemoteJob.parse(wire.post("/v1/questions", body, key=fresh_key().hex())).fields,
        look=lambda job: RemoteJob.parse(wire.get(f"{RemoteJob.parse(job).path}?wait=25")).fields,
    )


def describe_error(error: DpselectError) -> str:
    """Format an error for an agent: `fix:` if it may correct what it sent, else `refused:`."""
    if isinstance(error, GatewayError) and error.kind == "connection":
        return "refused: the data cannot be reached now; wait a minute. The same question is never paid twice."
    sentence = _use_json_words(error)
    for phrase in ("GET /v1/data has", WHERE_LISTED):  # as this process, and as a gateway, writes it
        sentence = sentence.replace(phrase, "the tool data has")
    is_owners_right = "owner" in getattr(error, "must", "") and "double quotes" not in sentence
    return f"{'fix' if isinstance(error, ParameterError) and not is_owners_right else 'refused'}: {sentence}"


def _use_json_words(error: DpselectError) -> str:
    """Return the text of an error with the booleans and null of JSON."""
    if not isinstance(error, ParameterError):
        return str(error)
    value = {"True": "true", "False": "false", "None": "null"}.get(error.came, error.came)
    text = str(error).replace(f", got {error.came}", f", got {value}", 1)
    return text.replace("True or False", "true or false")


def refuse_unknown(tool: str, arguments: Body, parameters: Body) -> None:
    """Refuse an argument that a tool lacks."""
    for name in arguments:
        if name not in parameters:
            must = f"be left out: {tool} takes {', '.join(parameters) or 'nothing'}"
            raise ParameterError(name, must, "a value", suggest_parameter(name, [*parameters]))
