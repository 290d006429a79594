"""What `dpselect doctor` finds, one line each, and how long it looks at most."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from dpselect.errors import DpselectError, ParameterError

T = TypeVar("T")


class State(StrEnum):
    """How well something is."""

    OK = "ok"
    BETTER = "could be better"
    ABSENT = "not there"
    FAILS = "fails"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. `status` is the exit status that it asks for where it fails."""

    about: str
    state: State
    found: str
    status: int = 0

    def to_dict(self) -> dict[str, str]:
        """JSON types only."""
        return {"about": self.about, "state": str(self.state), "found": self.found}


class NoAnswerError(Exception):
    """It took too long."""


def ok(about: str, found: str) -> Finding:
    """All is well."""
    return Finding(about, State.OK, found)


def better(about: str, found: str) -> Finding:
    """It works, and something about it may not be meant."""
    return Finding(about, State.BETTER, found)


def failed(about: str, error: Exception, status: int) -> Finding:
    """What an error says, in one line. Of one that is not ours only the class is shown: its text may say anything."""
    if isinstance(error, NoAnswerError):
        return Finding(about, State.FAILS, "no answer in time", status)
    if not isinstance(error, DpselectError):
        return Finding(about, State.FAILS, f"unexpected {type(error).__name__}", status)
    said = "; ".join(str(error).splitlines())
    return Finding(about, State.FAILS, said, 2 if isinstance(error, ParameterError) else status)


def within(seconds: float, work: Callable[[], T]) -> T:
    """What the work gives, or NoAnswerError: it is then left alone, and ends with the process."""
    given: list[T] = []
    raised: list[Exception] = []

    def run() -> None:
        try:
            given.append(work())
        except Exception as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if raised:
        raise raised[0]
    if not given:
        raise NoAnswerError
    return given[0]


def table(findings: Iterable[Finding]) -> str:
    """A line for each."""
    rows = list(findings)
    first = max(len(one.state) for one in rows)
    second = max(len(one.about) for one in rows)
    return "".join(f"{one.state:<{first}}  {one.about:<{second}}  {one.found}\n" for one in rows)
