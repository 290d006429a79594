"""The answers that were paid for: releases that the ledger holds, each by the id of the question that paid for it.

An older copy of the ledger may lack some. Whoever was given one of these has lost it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property
from typing import Any

from dpselect import Release
from dpselect._ground.dataclass import dataclass
from dpselect.gateway.books import Books
from dpselect.gateway.jobs import Job, moment
from dpselect.gateway.log import Log
from dpselect.gateway.problems import PUT_BACK_DETAIL, Refused
from dpselect.gateway.recent import Recent
from dpselect.gateway.store import PUT_BACK, Jobs
from dpselect.ledger import Entry
from dpselect.release import restore_release

_NO_ANSWER = "There is no answer with that id."


@dataclass(frozen=True)
class PaidAnswer:
    """A release that was paid for, with its question. All who may use the data may read it."""

    id: str
    release: Release
    data: str
    question: dict[str, Any]
    asked_at: str
    by: str

    @cached_property
    def json(self) -> bytes:
        """The release as JSON, written once."""
        return self.release.to_json().encode("utf-8", "backslashreplace")


class Answers:
    """All answers of a gateway, those that were read last in memory."""

    def __init__(self, jobs: Jobs, books: Books, log: Log, forget: Callable[[], None]) -> None:
        """`forget` is called when an answer is lost, after which nothing may be known from memory."""
        self._jobs, self._books, self._log, self._forget = jobs, books, log, forget
        self._read = Recent[PaidAnswer]()

    def has_at_hand(self, number: str) -> bool:
        """Return whether an answer is in memory."""
        return self._read.get(number) is not None

    def find(self, number: str, open_data: Collection[str]) -> PaidAnswer:
        """Return the answer of this id, which must be about open data."""
        answer = self._read.get(number)
        if answer is None:
            paid_job = self._jobs.answer(number)
            settle = None if paid_job is None else self._find_settlement(paid_job)
            release = None if settle is None else settle.release
            if paid_job is None or release is None:
                raise Refused("not-found", PUT_BACK_DETAIL if self._was_lost(number, open_data) else _NO_ANSWER)
            asked_at = moment(paid_job.asked_at)
            answer = PaidAnswer(
                number, restore_release(release), paid_job.data, paid_job.body, asked_at, paid_job.analyst
            )
            self._read.put(number, answer, len(release))
        if answer.data not in open_data:
            raise Refused("not-found", _NO_ANSWER)
        return answer

    def find_paid(self, key: str) -> Job | None:
        """Return the question that paid for the latest answer to a question about data in one state."""
        return self._latest(lambda: self._jobs.answer_to(key))

    def find_lost(self) -> None:
        """Find all answers that the ledger lacks: entries are chained, so those before the last that is there are."""
        paid_job = self._jobs.latest_answer()
        if paid_job is not None and not self._find_entry(paid_job):  # the ledger may continue the one that was in use
            self._jobs.follow(self._books.former_answers())
        self._latest(self._jobs.latest_answer)

    def _latest(self, next_job: Callable[[], Job | None]) -> Job | None:
        """Return the first of these questions whose answer the ledger has; those before it lose theirs."""
        paid_job = next_job()
        while paid_job is not None and self._find_settlement(paid_job) is None:
            paid_job = next_job()
        return paid_job

    def _was_lost(self, number: str, open_data: Collection[str]) -> bool:
        """Return whether there was such an answer, for those who may use the data."""
        job = self._jobs.find(number)
        if job is None or job.problem != PUT_BACK or job.data not in open_data:
            return False
        self._forget_all()  # another process may have noticed it
        return True

    def _find_settlement(self, paid_job: Job) -> Entry | None:
        """Return the entry with the answer that a question paid for; the answer is lost if the ledger has none."""
        entry = self._find_entry(paid_job)
        if entry is None:
            self._jobs.lose_answer(paid_job)
            self._forget_all()
            self._log("lost", job=paid_job.id, data=paid_job.data, said="the ledger has no record of this answer")
        return entry

    def _find_entry(self, paid_job: Job) -> Entry | None:
        entry = None if paid_job.settle_entry is None else self._books.ledger.entry(paid_job.settle_entry)
        return entry if entry is not None and entry.digest == paid_job.settle_digest else None

    def _forget_all(self) -> None:
        self._read = Recent[PaidAnswer]()
        self._forget()
