"""Workers: each takes a question, runs it, and is free again when the answer has left, never before.

So the time at which the next question begins tells nothing about how long the one before it took. A clock of its own
sees who is late, at the time at which they are.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

from dpselect import Release
from dpselect.errors import LedgerError
from dpselect.gateway import turn as turns
from dpselect.gateway.asked import AskedQuestion
from dpselect.gateway.books import Books
from dpselect.gateway.jobs import Job, JobState, cost
from dpselect.gateway.log import Log, Metrics
from dpselect.gateway.problems import CLOSED, FAILED, LATE, LOST_JOB, TooLateError, problem, problem_of_asker
from dpselect.gateway.settings.kinds import LATEST
from dpselect.gateway.store import Jobs
from dpselect.gateway.turn import TimedBudget, Turn
from dpselect.ledger import Account, Entry, EntryKind, format_cost, hash_question
from dpselect.release import Json

V = TypeVar("V")
SECONDS_BETWEEN_QUEUES = 0.25  # seconds between two looks for questions of other processes
_RECOVER = 4.0  # seconds between two looks for servers that died
STORE_PAUSE = 2.0  # seconds for which a store that fails is left alone


class Runner:
    """The threads that run questions."""

    def __init__(
        self,
        jobs: Jobs,
        books: Books,
        plan_question: Callable[[Job], AskedQuestion],
        log: Log,
        metrics: Metrics,
        notify: Callable[[str], None],
        workers: int,
    ) -> None:
        self._jobs, self._books, self._plan_question = jobs, books, plan_question
        self._log, self._metrics, self._notify = log, metrics, notify
        self._wake = threading.Condition()
        self._claiming = threading.Lock()
        self._turns: dict[str, tuple[Job, Turn]] = {}  # of the questions that run
        self._ending, self._over = threading.Event(), threading.Event()
        self._threads = [
            threading.Thread(target=self._work, name=f"question-{number}", daemon=True) for number in range(workers)
        ]
        self._recovery_thread = threading.Thread(target=self._recover, name="recover", daemon=True)
        self._lateness_thread = threading.Thread(target=self._find_late, name="clock", daemon=True)

    def start(self) -> None:
        """Start the threads."""
        for thread in (*self._threads, self._recovery_thread, self._lateness_thread):
            thread.start()

    def wake(self) -> None:
        """Wake a worker, because there is a new question."""
        with self._wake:
            self._wake.notify()

    def stop(self, patience: float) -> None:
        """Take no more questions, and wait up to `patience` seconds for those that run."""
        with self._wake:
            self._ending.set()
            self._wake.notify_all()
        deadline = time.monotonic() + patience
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        self._over.set()

    # ---- questions ------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while not self._ending.is_set():
            try:
                job = self._claim()
            except Exception as error:
                self._log.failed("the table of questions cannot be used", error)
                self._ending.wait(STORE_PAUSE)
                continue
            if job is None:
                with self._wake:
                    if not self._ending.is_set():
                        self._wake.wait(SECONDS_BETWEEN_QUEUES)
                continue
            try:
                self.run_question(job)
            except BaseException as error:  # a worker stays, whatever an engine does
                self._log.failed("a question was left open", error, job=job.id)

    def _claim(self) -> Job | None:
        """Return the next question, which runs from now on."""
        with self._claiming:
            free = len(self._threads) - len(self._turns)
            busy_workers = Counter(
                job.analyst for job, turn in self._turns.values() if turn.ended_for_asker
            )  # workers, not questions
            job = self._jobs.claim(busy_workers, last=free == 1 < len(self._threads))
            if job is not None:
                self._turns[job.id] = job, Turn(job.base_window, job.slips)
            return job

    def run_question(self, job: Job) -> None:
        """Run one question to its end."""
        turn = self._turns.setdefault(job.id, (job, Turn(job.base_window, job.slips)))[1]
        try:
            changes: dict[str, Any] | None = {"state": JobState.REFUSED, "problem": _CLOSED_NOW, "cost": FREE}
            if job.window <= LATEST:
                changes = self._run_to_end(job, turn)
            if changes is None:
                return  # what it cost is not known: it stays as it is, for the next server
            if turn.may_have_read:
                turn.wait()
            if not self._write_end(job, changes):
                return
        finally:
            self._turns.pop(job.id, None)
        self._announce(job, turn, changes["state"])

    def _answer(self, job: Job, turn: Turn) -> dict[str, Any]:
        """Ask the data, in the question's turn, from the quota of whoever asked."""

        def note(*, durable: bool = True, **changes: Any) -> None:
            if self._jobs.change(job, durable=durable, **changes) is None:
                raise LedgerError("another server took the question over", "it runs there")

        question = self._plan_question(job)
        turn.began = time.monotonic()  # all before it follows from parameters
        note(durable=False, started_at=time.time())
        data = question.settings
        budget = TimedBudget(
            self._books.ledger,
            turn,
            note,
            data=data.name,
            analyst=job.analyst,
            snapshot=data.snapshot,
            approved_by=job.approved_by,
        )
        # A package may read rows as it opens a source: what follows is told when an answer would be.
        turn.may_have_read = data.outside is not None
        release = question.dataset(budget).ask(question.plan, fresh=job.fresh, progress=turn.check)
        turn.work_ended = True
        answer = self._jobs.record_answer(job, budget.settlement)
        return {"state": JobState.ANSWERED, "paid_by": answer, "cost": cost_of(release), "problem": None}

    def _announce(self, job: Job, turn: Turn, state: JobState) -> None:
        """Wake who waits for the question, count it and log it."""
        self._notify(job.id)
        self._metrics.count("dpselect_questions_total", f'state="{state}"')
        # How long it took is not in the log: its tick is, which everybody sees.
        self._log("question", job=job.id, data=job.data, analyst=job.analyst, state=str(state), tick=turn.window)

    def _find_late(self) -> None:
        """Give data whose question is late one more slip, when it is, and tell all that run."""
        while not self._over.wait(turns.SECONDS_BETWEEN_TURNS):
            if self._turns:
                try:
                    self.record_slips()
                except Exception as error:  # the clock stays
                    self._log.failed("late questions cannot be recorded", error)
                    self._over.wait(STORE_PAUSE)

    def record_slips(self) -> None:
        """Record the slips of questions that are late now, and end those that were late twice."""
        self._refresh()
        for job, turn in list(self._turns.values()):
            # of several that are late at once, one misses its turn
            if turn.is_late and self._jobs.slip(job, turn.slips):
                turn.times_late += 1
                self._metrics.count("dpselect_slips_total")
                self._log("late", data=job.data, slips=turn.slips + 1)
            elif turn.is_abandoned:
                turn.ended_for_asker = True
                threading.Thread(target=self._give_up, args=(job, turn), name="give-up", daemon=True).start()
        self._refresh()

    def _give_up(self, job: Job, turn: Turn) -> None:
        """End a question whose work goes on; its worker is free when that ends."""
        changes = self._after_failure(job, problem("late", LATE))
        if changes is not None and self._write_end(job, changes):
            self._announce(job, turn, changes["state"])

    def _refresh(self) -> None:
        """Update the slips of the questions that run."""
        running = list(self._turns.values())
        slips = self._jobs.slips()
        for job, turn in running:
            if job.id not in slips:  # it has ended, or another server has it
                turn.times_late = 2
            elif slips[job.id] != turn.slips:
                turn.slips = slips[job.id]
                self._notify(job.id)

    def _run_to_end(self, job: Job, turn: Turn) -> dict[str, Any] | None:
        """Run a question; return its changes: an answer, a mistake of the asker's, or a failure, which has one text."""
        failure = problem("failed", FAILED)
        try:
            return self._answer(job, turn)
        except TooLateError:
            failure = problem("late", LATE)
        except BaseException as error:  # what an engine's own language raises may be no Exception
            refusal = problem_of_asker(error)
            if refusal is not None and not turn.may_have_read:
                return {"state": JobState.REFUSED, "problem": refusal, "cost": FREE}
            self._log.failed("a question failed", error, job=job.id)
        finally:
            turn.work_ended = True
        return self._after_failure(job, failure)

    def _after_failure(self, job: Job, failure: dict[str, Json]) -> dict[str, Any] | None:
        """Return the end of a failed question by the ledger, once it can be read; None if another server has it."""

        def read_end() -> dict[str, Any] | None:
            current = self._jobs.find(job.id)
            if current is None or current.state is not JobState.RUNNING or current.process_id != job.process_id:
                return None
            entry = self._find_entry(current)
            if entry is not None and entry.kind is EntryKind.SETTLE:
                return self._answer_changes(current, entry)  # after all, and only the word of it got lost
            spent = FREE if entry is None else self._cost_of_entry(entry)
            return {"state": JobState.FAILED, "problem": failure, "cost": spent}

        return self._insist(job, read_end, "what a question cost cannot be read")

    def _insist(self, job: Job, action: Callable[[], V], event: str) -> V | None:
        """Return the value of an action, however often it takes; None if the gateway stops before."""
        while True:
            try:
                return action()
            except LedgerError as error:
                self._log.failed(event, error, job=job.id)
                if self._ending.wait(STORE_PAUSE):
                    return None

    def _find_entry(self, job: Job) -> Entry | None:
        """Return the entry of a question that broke off: its settlement, or a hold under which rows may have been read.

        Returns None if the ledger has neither: a hold under which no row was read is given back.
        """

        def belongs(entry: Entry) -> bool:
            account = Account(dataset=job.data, analyst=job.analyst)
            return entry.account == account and hash_question(entry.question or "") == job.question_digest

        ledger = self._books.ledger
        outcome = None if job.hold_entry is None else self._books.find_outcome(job.hold_entry, belongs)
        if outcome is None:  # a crash of the ledger may have taken the hold with it
            for reservation in ledger.pending():
                if belongs(reservation.entry) and not reservation.may_have_read:
                    ledger.give_back(reservation)
            return None
        if outcome.settle is not None:
            return outcome.settle
        if outcome.reservation.may_have_read:
            return outcome.reservation.entry
        if not outcome.given_back:
            ledger.give_back(outcome.reservation)
        return None

    def _write_end(self, job: Job, changes: dict[str, Any]) -> bool:
        """Write down the end of a question, however often that takes, because the ledger has the answer already.

        Returns False if that was not done: the gateway stops, or another server took the question over.
        """
        event = "the end of a question cannot be written"
        return self._insist(job, lambda: self._jobs.change(job, **changes), event) is not None

    # ---- questions of servers that died ---------------------------------------------------------------------

    def _recover(self) -> None:
        while not self._ending.is_set():
            pause = _RECOVER
            try:
                self.recover()
            except Exception as error:
                self._log.failed("questions of a dead server were left open", error)
                pause = STORE_PAUSE
            self._ending.wait(pause)

    def recover(self) -> None:
        """End what dead servers and workers here left, or run it again if certainly no row was read."""
        with self._claiming:
            left_open = [job for job in self._jobs.list_running_here() if job.id not in self._turns]
        for job in [*self._jobs.list_abandoned(), *left_open]:
            try:
                changes = self._recovery_changes(job)
                changed_job = self._jobs.change(job, **changes)
            except LedgerError as error:  # another server may do the same at this moment
                self._log.failed("a question of a dead server was left open", error, job=job.id)
                continue
            if changed_job is not None:
                self._log("recovered", job=job.id, state=str(changes["state"]))
                self._notify(job.id)
                self.wake()

    def _recovery_changes(self, job: Job) -> dict[str, Any]:
        entry = self._find_entry(job)
        if entry is None:
            return {"state": JobState.QUEUED, "process_id": None, "started_at": None, "hold_entry": None}
        if entry.kind is EntryKind.SETTLE:
            return self._answer_changes(job, entry)
        return {"state": JobState.LOST, "problem": problem("lost", LOST_JOB), "cost": self._cost_of_entry(entry)}

    def _answer_changes(self, job: Job, settle: Entry) -> dict[str, Any]:
        answer = self._jobs.record_answer(job, settle)
        return {"state": JobState.ANSWERED, "paid_by": answer, "cost": self._cost_of_entry(settle), "problem": None}

    def _cost_of_entry(self, entry: Entry) -> dict[str, Json]:
        share, left = self._books.cost_of(entry) or (0.0, None)
        cost_text, _, left_text = format_cost(share, left_after=left or 0.0)
        suffix = "" if left is None else f"; {left_text} left"
        return cost(share, f"{cost_text} of the budget of {entry.account.analyst}{suffix}", left=left)


FREE = cost(0.0, "nothing was charged")
_CLOSED_NOW = problem("unavailable", CLOSED)


def cost_of(release: Release) -> dict[str, Json]:
    """Return what a question cost, as its receipt states it."""
    receipt = release.charged
    if receipt is None:
        return FREE
    fields = receipt.to_dict()
    names = ("share", "left", "questions_left", "repeated")
    return {**{name: fields.get(name) for name in names}, "sentence": receipt.sentence}
