"""Asking the data one question, in its turn, from the quota of whoever asked."""

from __future__ import annotations

from collections.abc import Callable

from dpselect.errors import LedgerError, ParameterError, came
from dpselect.gateway.books import Books
from dpselect.gateway.intake import Intake
from dpselect.gateway.jobs import Job
from dpselect.gateway.people import People
from dpselect.gateway.runner import Done
from dpselect.gateway.sources import Sources
from dpselect.gateway.turn import TimedBudget, Turn


class Answering:
    """What a worker does with a question."""

    def __init__(self, people: People, intake: Intake, sources: Sources, books: Books) -> None:
        self._people, self._intake, self._sources, self._books = people, intake, sources, books

    def run(
        self,
        job: Job,
        turn: Turn,
        started: Callable[[], None],
        asking: Callable[[str], None],
        held: Callable[[int], None],
    ) -> Done:
        """Ask. What the settings no longer allow is refused, also if it was taken before."""
        person = self._people.named(job.analyst)
        if person is None:
            raise ParameterError("analyst", "be somebody who may still sign in", came(job.analyst))
        question = self._intake.asked(person, {**job.body, "fresh": job.fresh})
        started()  # all before it follows from parameters
        source, data = self._sources.of(question.settings), question.settings
        ledger = self._books.ledger
        paying = TimedBudget(
            ledger,
            data=data.name,
            analyst=person.name,
            snapshot=data.snapshot,
            turn=turn,
            asking=asking,
            held=held,
        )
        dataset = question.dataset(source.place, prepared=source.prepared, budget=paying)
        release = dataset.ask(question.plan, fresh=job.fresh, progress=turn.check)
        if paying.hold is not None:
            outcome = ledger.outcome(paying.hold)
            settle = None if outcome is None else outcome.settle
        else:
            settle = ledger.stored(data.name, paying.question or "")
        if settle is None:
            raise LedgerError("the ledger does not hold the answer that it was given")
        return Done(release, settle.number)
