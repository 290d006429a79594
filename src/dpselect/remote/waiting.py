"""One question from afar: asked once, waited for, its answer read. What the gateway sends is checked first."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dpselect._ground.parameters import Progress
from dpselect.draws import fresh_key
from dpselect.errors import BudgetError, DpselectError, GatewayError, ParameterError, came
from dpselect.release.accuracy import Accuracy
from dpselect.release.release import Receipt, Release
from dpselect.remote.body import Body
from dpselect.remote.problems import error_of, plainly, tidied
from dpselect.remote.wire import Wire

LONG, SHORT = 25, 1  # seconds that the gateway holds a question back; the shorter where somebody watches
LEAST = 0.2  # seconds between two looks, should it not hold it back
FAREWELL = 5.0  # seconds for a last word after Ctrl-C
RUNNING = ("approval", "queued", "running")
FINAL = ("answered", "refused", "failed", "lost", "cancelled", "rejected")
_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")
_REPLY = "this version does not understand the gateway's reply"


@dataclass(frozen=True)
class RemoteJob:
    """A question that a gateway works on. Its id and state are what they must be, all else is as it came."""

    id: str
    state: str
    found: Mapping[str, Any]

    @classmethod
    def of(cls, found: Any) -> RemoteJob:
        """What the gateway says of a question."""
        name, state = (found.get("id"), found.get("state")) if isinstance(found, dict) else (None, None)
        if (
            not isinstance(name, str)
            or not _ID.fullmatch(name)
            or not isinstance(state, str)
            or state not in (*RUNNING, *FINAL)
        ):
            raise GatewayError(_REPLY, kind="reply")
        return cls(name, state, found)

    @property
    def path(self) -> str:
        """Where it is."""
        return f"/v1/questions/{self.id}"


def identifier(name: str, given: object) -> str:
    """The id of a question or an answer, which becomes part of a path."""
    if not isinstance(given, str) or not _ID.fullmatch(given):
        raise ParameterError(name, "be an id that the gateway gave", came(given))
    return given


def answer(wire: Wire, body: Body, progress: Progress | None) -> Release:
    """The answer to a question. A key of its own sees to it that what is sent twice is asked once.

    Whoever gives up waiting takes the question back, where it can be.
    """
    job, key = None, fresh_key().hex()
    try:
        job = RemoteJob.of(wire.post("/v1/questions", body, key=key))
        job = _ended(wire, job, progress)
        return _read(wire, job)
    except GatewayError as error:
        if job is None or error.kind != "connection":
            raise
        raise GatewayError(
            str(error), f"the question is still running: Remote.wait({job.id!r}) returns its answer"
        ) from None
    except DpselectError:
        raise
    except BaseException as error:
        told = _taken_back(wire, job)
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt(told) from None
        raise


def answer_of(wire: Wire, name: str, progress: Progress | None) -> Release:
    """The answer to a question that was asked before; Ctrl-C leaves it alone."""
    return _read(wire, _ended(wire, RemoteJob.of(wire.get(f"/v1/questions/{name}")), progress))


def released(wire: Wire, name: str) -> Release:
    """An answer by its id."""
    reply = wire.reply("GET", f"/v1/answers/{name}")
    try:
        text = reply.body.decode("utf-8")
        if not text.startswith("{"):  # any other text would be taken for the path of a file
            raise ValueError
        return _plain(Release.from_json(text))
    except ValueError:  # of which a ParameterError is one
        raise GatewayError("this version cannot read the answer", kind="reply") from None


def _ended(wire: Wire, job: RemoteJob, progress: Progress | None) -> RemoteJob:
    """The question once it has come to an end."""
    hold = LONG if progress is None else SHORT
    while job.state not in FINAL:
        if job.state == "approval":
            hint = f"after that, Remote.wait({job.id!r}) returns the answer"
            raise GatewayError("somebody else must approve this question first", hint, kind="approval")
        if progress is not None:
            progress(None)
        begun = time.monotonic()
        job = RemoteJob.of(wire.get(f"{job.path}?wait={hold}"))
        if job.state not in FINAL:
            time.sleep(max(0.0, LEAST - (time.monotonic() - begun)))
    return job


def _read(wire: Wire, job: RemoteJob) -> Release:
    """The release of a question that was answered; else the error that says why there is none."""
    if job.state == "answered":
        where = re.fullmatch(r"/v1/answers/([A-Za-z0-9_-]{1,100})", str(job.found.get("answer")))
        if where is None:
            raise GatewayError(_REPLY, kind="reply")
        return replace(released(wire, where[1]), charged=_receipt(job.found.get("cost")))
    problem = job.found.get("problem")
    if isinstance(problem, dict):
        raise error_of({"type": f"/problems/{job.state}", **problem})
    if job.state == "refused":
        raise BudgetError("the question was refused; nothing was charged")
    raise error_of({"type": f"/problems/{job.state}", "detail": f"there is no answer: the question is {job.state}"})


def _taken_back(wire: Wire, job: RemoteJob | None) -> str:
    """What became of a question that nobody waits for any more."""
    if job is None:
        return "the question may have been asked: look in Remote.questions() before asking again"
    again = f"Remote.wait({job.id!r}) returns its answer at no further cost"
    if job.state in FINAL:
        return f"the question is done; {again}"
    try:
        left = RemoteJob.of(wire.delete(job.path, patience=FAREWELL))
    except GatewayError as error:
        if error.kind == "state":
            return f"the question still runs and is charged, because rows may have been read; {again}"
        return f"the gateway could not be reached: the question may still run; {again}"
    except DpselectError:
        return f"the gateway could not be reached: the question may still run; {again}"
    return "the question was cancelled; nothing was charged" if left.state == "cancelled" else f"too late; {again}"


# ---- what a gateway says is shown as text -----------------------------------------------------------------


def _receipt(cost: object) -> Receipt | None:
    """What it cost, as the gateway says."""
    if not isinstance(cost, dict):
        return None
    kinds = (bool, int, float, str)
    numbers = {plainly(name): value for name, value in cost.items() if isinstance(value, kinds) and name != "sentence"}
    return Receipt(plainly(cost.get("sentence")) or "the gateway does not say", tidied(numbers))


def _plain(release: Release) -> Release:
    """The same release; no sentence of it steers a terminal. Its items never did: every form of them is escaped."""
    said, how = release.privacy, release.accuracy
    privacy = replace(
        said,
        mechanism=plainly(said.mechanism),
        bound=plainly(said.bound),
        unit=plainly(said.unit),
        sentences=_lines(said.sentences),
    )
    charged = release.charged
    if charged is not None:
        charged = replace(charged, sentence=plainly(charged.sentence))
    return replace(release, privacy=privacy, accuracy=Accuracy(_lines(how.sentences), how.numbers), charged=charged)


def _lines(sentences: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(tidied(list(sentences)))
