"""Workers: each takes a question, runs it, and is free again when the answer has left, never before.

So the time at which the next question begins tells nothing about how long the one before it took. A clock of its own
sees who is late, at the time at which they are.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from dpselect import Release
from dpselect._ground.budget_parts import format_cost
from dpselect.errors import LedgerError
from dpselect.gateway import turn as turns
from dpselect.gateway.asked import AskedQuestion
from dpselect.gateway.books import Books
from dpselect.gateway.jobs import Job, JobState, cost
from dpselect.gateway.log import Log, Metrics
from dpselect.gateway.problems import CLOSED, FAILED, LATE, LOST, TooLateError, mistake, problem
from dpselect.gateway.settings.values import LATEST
from dpselect.gateway.sources import Sources
from dpselect.gateway.store import Jobs
from dpselect.gateway.turn import TimedBudget, Turn
from dpselect.ledger import Account, Entry, EntryKind, hash_question
from dpselect.release.formatting import Json

LOOK = 0.25  # seconds between two looks for questions of other processes
RECOVER = 4.0  # seconds between two looks for servers that died
PAUSE = 2.0  # seconds for which a store that fails is left alone


class Runner:
    """The threads that run questions."""

    def __init__(
        self,
        jobs: Jobs,
        books: Books,
        sources: Sources,
        question: Callable[[Job], AskedQuestion],
        log: Log,
        metrics: Metrics,
        changed: Callable[[str], None],
        workers: int,
    ) -> None:
        self._jobs, self._books, self._sources, self._question = jobs, books, sources, question
        self._log, self._metrics, self._changed = log, metrics, changed
        self._wake = threading.Condition()
        self._claiming = threading.Lock()
        self._turns: dict[str, tuple[Job, Turn]] = {}  # of the questions that run
        self._ending, self._over = threading.Event(), threading.Event()
        self._threads = [
            threading.Thread(target=self._work, name=f"question-{place}", daemon=True) for place in range(workers)
        ]
        self._watch = threading.Thread(target=self._recover, name="recover", daemon=True)
        self._clock = threading.Thread(target=self._find_late, name="clock", daemon=True)

    def start(self) -> None:
        """Begin."""
        for thread in (*self._threads, self._watch, self._clock):
            thread.start()

    def wake(self) -> None:
        """There is a new question."""
        with self._wake:
            self._wake.notify()

    def stop(self, patience: float) -> None:
        """Take no more questions, and wait so long for those that run."""
        with self._wake:
            self._ending.set()
            self._wake.notify_all()
        until = time.monotonic() + patience
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        self._over.set()

    # ---- questions ------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while not self._ending.is_set():
            try:
                job = self._claimed()
            except Exception as error:
                self._log.failed("the table of questions cannot be used", error)
                self._ending.wait(PAUSE)
                continue
            if job is None:
                with self._wake:
                    if not self._ending.is_set():
                        self._wake.wait(LOOK)
                continue
            try:
                self.one(job)
            except BaseException as error:  # a worker stays, whatever an engine does
                self._log.failed("a question was left open", error, job=job.id)

    def _claimed(self) -> Job | None:
        """The next question, at work from now on."""
        with self._claiming:
            free = len(self._threads) - len(self._turns)
            kept = Counter(job.analyst for job, turn in self._turns.values() if turn.ended)  # workers, not questions
            job = self._jobs.claim(kept, last=free == 1 < len(self._threads))
            if job is not None:
                self._turns[job.id] = job, Turn(job.tick, job.slips)
            return job

    def one(self, job: Job) -> None:
        """Run one question to its end."""
        turn = self._turns.setdefault(job.id, (job, Turn(job.tick, job.slips)))[1]
        try:
            changes: dict[str, Any] | None = {"state": JobState.REFUSED, "problem": CLOSED_NOW, "cost": NOTHING}
            if job.window <= LATEST:
                changes = self._ended(job, turn)
            if changes is None:
                return  # what it cost is not known: it stays as it is, for the next server
            if turn.read:
                turn.wait()
            if not self._put(job, changes):
                return
        finally:
            self._turns.pop(job.id, None)
        self._announce(job, turn, changes["state"])

    def _answer(self, job: Job, turn: Turn) -> dict[str, Any]:
        """Ask the data, in their turn, from the quota of whoever asked."""

        def note(*, durable: bool = True, **changes: Any) -> None:
            if self._jobs.change(job, durable=durable, **changes) is None:
                raise LedgerError("another server took the question over", "it runs there")

        question = self._question(job)
        turn.began = time.monotonic()  # all before it follows from parameters
        note(durable=False, started_at=time.time())
        data, source = question.settings, self._sources.of(question.settings)
        paying = TimedBudget(
            self._books.ledger,
            turn,
            note,
            data=data.name,
            analyst=job.analyst,
            snapshot=data.snapshot,
            approved_by=job.approved_by,
        )
        dataset = question.dataset(source.place, prepared=source.prepared, budget=paying)
        release = dataset.ask(question.plan, fresh=job.fresh, progress=turn.check)
        turn.over = True
        answer = self._jobs.settled(job, paying.settle)
        return {"state": JobState.ANSWERED, "answer": answer, "cost": cost_of(release), "problem": None}

    def _announce(self, job: Job, turn: Turn, state: JobState) -> None:
        """Wake who waits for the question, count it and log it."""
        self._changed(job.id)
        self._metrics.count("dpselect_questions_total", f'state="{state}"')
        # How long it took is not in the log: its tick is, which everybody sees.
        self._log("question", job=job.id, data=job.data, analyst=job.analyst, state=str(state), tick=turn.window)

    def _find_late(self) -> None:
        """Give data whose question is late one more slip, when it is, and tell all that run."""
        while not self._over.wait(turns.LOOK):
            if self._turns:
                try:
                    self.record_slips()
                except Exception as error:  # the clock stays
                    self._log.failed("late questions cannot be recorded", error)
                    self._over.wait(PAUSE)

    def record_slips(self) -> None:
        """The same, once."""
        self._refresh()
        for job, turn in list(self._turns.values()):
            if turn.late and self._jobs.slip(job, turn.slips):  # of several that are late at once, one misses its turn
                turn.missed += 1
                self._metrics.count("dpselect_slips_total")
                self._log("late", data=job.data, slips=turn.slips + 1)
            elif turn.gone:
                turn.ended = True
                threading.Thread(target=self._give_up, args=(job, turn), name="give-up", daemon=True).start()
        self._refresh()

    def _give_up(self, job: Job, turn: Turn) -> None:
        """End a question whose work goes on; its worker is free when that ends."""
        changes = self._after_failure(job, problem("late", LATE))
        if changes is not None and self._put(job, changes):
            self._announce(job, turn, changes["state"])

    def _refresh(self) -> None:
        """The slips of the questions that run, as they are by now."""
        at_work = list(self._turns.values())
        slips = self._jobs.slips()
        for job, turn in at_work:
            if job.id not in slips:  # it has ended, or another server has it
                turn.missed = 2
            elif slips[job.id] != turn.slips:
                turn.slips = slips[job.id]
                self._changed(job.id)

    def _ended(self, job: Job, turn: Turn) -> dict[str, Any] | None:
        """What became of it: an answer, a mistake of the asker's, or anything else, which has one text."""
        said = problem("failed", FAILED)
        try:
            return self._answer(job, turn)
        except TooLateError:
            said = problem("late", LATE)
        except BaseException as error:  # what an engine's own language raises may be no Exception
            wrong = mistake(error)
            if wrong is not None and not turn.read:
                return {"state": JobState.REFUSED, "problem": wrong, "cost": NOTHING}
            self._log.failed("a question failed", error, job=job.id)
        finally:
            turn.over = True
        return self._after_failure(job, said)

    def _after_failure(self, job: Job, said: dict[str, Json]) -> dict[str, Any] | None:
        """What the ledger holds of a question that failed, once it can be asked; None if it is ours no more."""
        while True:
            try:
                found = self._jobs.find(job.id)
                if found is None or found.state is not JobState.RUNNING or found.server != job.server:
                    return None
                left = self._left(found)
                if left is not None and left.kind is EntryKind.SETTLE:
                    return self._settled(found, left)  # after all, and only the word of it got lost
                spent = NOTHING if left is None else self._spent(left)
            except LedgerError as error:
                self._log.failed("what a question cost cannot be read", error, job=job.id)
                if self._ending.wait(PAUSE):
                    return None
            else:
                return {"state": JobState.FAILED, "problem": said, "cost": spent}

    def _left(self, job: Job) -> Entry | None:
        """What the ledger holds of a question that broke off: its settle, or a hold whose rows may have been read.

        Without either it has nothing: a hold under which no row was read is given back.
        """

        def its(entry: Entry) -> bool:
            account = Account(dataset=job.data, analyst=job.analyst)
            return entry.account == account and hash_question(entry.question or "") == job.question

        ledger = self._books.ledger
        outcome = None if job.hold is None else self._books.outcome(job.hold, its)
        if outcome is None:  # a crash of the ledger may have taken the hold with it
            for one in ledger.pending():
                if its(one.entry) and not one.may_have_read:
                    ledger.give_back(one)
            return None
        if outcome.settle is not None:
            return outcome.settle
        if outcome.reservation.may_have_read:
            return outcome.reservation.entry
        if not outcome.given_back:
            ledger.give_back(outcome.reservation)
        return None

    def _put(self, job: Job, changes: dict[str, Any]) -> bool:
        """Write it down, however often that takes: the ledger has the answer, and only the word of it is missing.

        False where that was not done: the gateway stops, or another server took the question over.
        """
        while True:
            try:
                return self._jobs.change(job, **changes) is not None
            except LedgerError as error:
                self._log.failed("the end of a question cannot be written", error, job=job.id)
                if self._ending.wait(PAUSE):
                    return False

    # ---- questions of servers that died ---------------------------------------------------------------------

    def _recover(self) -> None:
        while not self._ending.is_set():
            pause = RECOVER
            try:
                self.recover()
            except Exception as error:
                self._log.failed("questions of a dead server were left open", error)
                pause = PAUSE
            self._ending.wait(pause)

    def recover(self) -> None:
        """End, or run again, what dead servers left, and workers here: again only if certainly no row was read."""
        with self._claiming:
            left_open = [job for job in self._jobs.mine() if job.id not in self._turns]
        for job in [*self._jobs.dead(), *left_open]:
            try:
                changes = self._recovered(job)
                after = self._jobs.change(job, **changes)
            except LedgerError as error:  # another server may do the same at this moment
                self._log.failed("a question of a dead server was left open", error, job=job.id)
                continue
            if after is not None:
                self._log("recovered", job=job.id, state=str(changes["state"]))
                self._changed(job.id)
                self.wake()

    def _recovered(self, job: Job) -> dict[str, Any]:
        left = self._left(job)
        if left is None:
            return {"state": JobState.QUEUED, "server": None, "started_at": None, "hold": None}
        if left.kind is EntryKind.SETTLE:
            return self._settled(job, left)
        return {"state": JobState.LOST, "problem": problem("lost", LOST), "cost": self._spent(left)}

    def _settled(self, job: Job, settle: Entry) -> dict[str, Any]:
        answer = self._jobs.settled(job, settle)
        return {"state": JobState.ANSWERED, "answer": answer, "cost": self._spent(settle), "problem": None}

    def _spent(self, entry: Entry) -> dict[str, Json]:
        share, left = self._books.cost_of(entry) or (0.0, None)
        taken, _, rest = format_cost(share, left_after=left or 0.0)
        more = "" if left is None else f"; {rest} left"
        return cost(share, f"{taken} of the budget of {entry.account.analyst}{more}", left=left)


NOTHING = cost(0.0, "nothing was charged")
CLOSED_NOW = problem("unavailable", CLOSED)


def cost_of(release: Release) -> dict[str, Json]:
    """What a question cost, as its receipt has it."""
    receipt = release.charged
    if receipt is None:
        return NOTHING
    found = receipt.to_dict()
    names = ("share", "left", "questions_left", "repeated")
    return {**{name: found.get(name) for name in names}, "sentence": receipt.sentence}
