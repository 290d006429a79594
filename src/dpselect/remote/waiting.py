"""One question from afar: asked once, waited for, its answer read. What the gateway sends is checked first."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Progress
from dpselect.draws import fresh_key
from dpselect.errors import BudgetError, DpselectError, GatewayError, ParameterError, came
from dpselect.release.accuracy import Accuracy
from dpselect.release.release import Receipt, Release
from dpselect.remote.problems import error_of, escape_json, escape_text
from dpselect.remote.wire import Wire

LONG_HOLD, SHORT_HOLD = 25, 1  # seconds that the gateway holds a question back; the shorter where somebody watches
LEAST_PAUSE = 0.2  # seconds between two looks, should it not hold it back
_CANCEL_PATIENCE = 5.0  # seconds for a last word after Ctrl-C
RUNNING = ("approval", "queued", "running")
FINAL = ("answered", "refused", "failed", "lost", "cancelled", "rejected")
_VALID_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")
_UNKNOWN_REPLY = "this version does not understand the gateway's reply"


@dataclass(frozen=True)
class RemoteJob:
    """A question that a gateway works on. Its id and state are what they must be, all else is as it came."""

    id: str
    state: str
    fields: Mapping[str, Any]

    @classmethod
    def parse(cls, reply: Any) -> RemoteJob:
        """Parse a gateway's description of a question."""
        id_, state = (reply.get("id"), reply.get("state")) if isinstance(reply, dict) else (None, None)
        if (
            not isinstance(id_, str)
            or not _VALID_ID.fullmatch(id_)
            or not isinstance(state, str)
            or state not in (*RUNNING, *FINAL)
        ):
            raise GatewayError(_UNKNOWN_REPLY, kind="reply")
        return cls(id_, state, reply)

    @property
    def path(self) -> str:
        """The path of the question."""
        return f"/v1/questions/{self.id}"


def parse_id(name: str, argument: object) -> str:
    """Check the id of a question or an answer, which becomes part of a path."""
    if not isinstance(argument, str) or not _VALID_ID.fullmatch(argument):
        raise ParameterError(name, "be an id that the gateway gave", came(argument))
    return argument


def ask_question(wire: Wire, body: Mapping[str, Any], progress: Progress | None) -> Release:
    """Ask a question and return its answer. A key of its own makes sure that what is sent twice is asked once.

    Whoever gives up waiting takes the question back, if that is possible.
    """
    job, idempotency_key = None, fresh_key().hex()
    try:
        job = RemoteJob.parse(wire.post("/v1/questions", body, key=idempotency_key))
        job = _wait_until_ended(wire, job, progress)
        return _read_answer(wire, job)
    except GatewayError as error:
        if job is None or error.kind != "connection":
            raise
        raise GatewayError(
            str(error), f"the question is still running: Remote.wait({job.id!r}) returns its answer"
        ) from None
    except DpselectError:
        raise
    except BaseException as error:
        outcome = _cancel_abandoned(wire, job)
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt(outcome) from None
        raise


def wait_for_answer(wire: Wire, name: str, progress: Progress | None) -> Release:
    """Return the answer to a question that was asked before; Ctrl-C leaves it alone."""
    return _read_answer(wire, _wait_until_ended(wire, RemoteJob.parse(wire.get(f"/v1/questions/{name}")), progress))


def fetch_release(wire: Wire, name: str) -> Release:
    """Return an answer by its id."""
    reply = wire.reply("GET", f"/v1/answers/{name}")
    try:
        text = reply.body.decode("utf-8")
        if not text.startswith("{"):  # any other text would be taken for the path of a file
            raise ValueError
        return _escape_release(Release.from_json(text))
    except ValueError:  # of which a ParameterError is one
        raise GatewayError("this version cannot read the answer", kind="reply") from None


def _wait_until_ended(wire: Wire, job: RemoteJob, progress: Progress | None) -> RemoteJob:
    """Wait until a question has ended, and return it."""
    hold = LONG_HOLD if progress is None else SHORT_HOLD
    while job.state not in FINAL:
        if job.state == "approval":
            hint = f"after that, Remote.wait({job.id!r}) returns the answer"
            raise GatewayError("somebody else must approve this question first", hint, kind="approval")
        if progress is not None:
            progress(None)
        asked_at = time.monotonic()
        job = RemoteJob.parse(wire.get(f"{job.path}?wait={hold}"))
        if job.state not in FINAL:
            time.sleep(max(0.0, LEAST_PAUSE - (time.monotonic() - asked_at)))
    return job


def _read_answer(wire: Wire, job: RemoteJob) -> Release:
    """Return the release of a question that was answered; raise the error that explains why there is none."""
    if job.state == "answered":
        match = re.fullmatch(r"/v1/answers/([A-Za-z0-9_-]{1,100})", str(job.fields.get("answer")))
        if match is None:
            raise GatewayError(_UNKNOWN_REPLY, kind="reply")
        return replace(fetch_release(wire, match[1]), charged=_parse_receipt(job.fields.get("cost")))
    problem = job.fields.get("problem")
    if isinstance(problem, dict):
        raise error_of({"type": f"/problems/{job.state}", **problem})
    if job.state == "refused":
        raise BudgetError("the question was refused; nothing was charged")
    raise error_of({"type": f"/problems/{job.state}", "detail": f"there is no answer: the question is {job.state}"})


def _cancel_abandoned(wire: Wire, job: RemoteJob | None) -> str:
    """Cancel a question that nobody waits for any more; return a sentence about the outcome."""
    if job is None:
        return "the question may have been asked: look in Remote.questions() before asking again"
    way_to_answer = f"Remote.wait({job.id!r}) returns its answer at no further cost"
    if job.state in FINAL:
        return f"the question is done; {way_to_answer}"
    try:
        cancelled = RemoteJob.parse(wire.delete(job.path, patience=_CANCEL_PATIENCE))
    except DpselectError as error:
        if isinstance(error, GatewayError) and error.kind == "state":
            return f"the question still runs and is charged, because rows may have been read; {way_to_answer}"
        return f"the gateway could not be reached: the question may still run; {way_to_answer}"
    return (
        "the question was cancelled; nothing was charged"
        if cancelled.state == "cancelled"
        else f"too late; {way_to_answer}"
    )


# ---- what a gateway says is shown as text -----------------------------------------------------------------


def _parse_receipt(cost: object) -> Receipt | None:
    """Return the receipt of a cost in the gateway's words."""
    if not isinstance(cost, dict):
        return None
    kinds = (bool, int, float, str)
    numbers = {
        escape_text(name): value for name, value in cost.items() if isinstance(value, kinds) and name != "sentence"
    }
    return Receipt(escape_text(cost.get("sentence")) or "the gateway does not say", escape_json(numbers))


def _escape_release(release: Release) -> Release:
    """Return the release without sentences that steer a terminal. Its items never do: all their forms are escaped."""
    statement, accuracy = release.privacy, release.accuracy
    privacy = replace(
        statement,
        mechanism=escape_text(statement.mechanism),
        bound=escape_text(statement.bound),
        unit=escape_text(statement.unit),
        sentences=_escape_sentences(statement.sentences),
    )
    charged = release.charged
    if charged is not None:
        charged = replace(charged, sentence=escape_text(charged.sentence))
    return replace(
        release,
        privacy=privacy,
        accuracy=Accuracy(_escape_sentences(accuracy.sentences), accuracy.numbers),
        charged=charged,
    )


def _escape_sentences(sentences: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(escape_json(list(sentences)))
