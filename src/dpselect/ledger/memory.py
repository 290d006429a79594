"""The account of a budget that lives in one process: what is promised and taken, and the stored answers."""

from __future__ import annotations

import threading
from fractions import Fraction

from dpselect._ground.parameters import DEFAULT_DELTA, rounded_down, rounded_up
from dpselect._ground.processes import process_identity
from dpselect.accounting.limits import Taken
from dpselect.accounting.prices import Price, Spent
from dpselect.accounting.promise import Promise, at_least
from dpselect.errors import BudgetError
from dpselect.ledger.account import OneUnit
from dpselect.ledger.question import Fingerprint
from dpselect.ledger.receipts import Priced
from dpselect.ledger.standing import HOLD_HINT, format_hold
from dpselect.ledger.stated import Stated
from dpselect.release.archive import archive_release, restore_release
from dpselect.release.release import Release

_DELTA_SHARE = Fraction(1, 1000)  # of a budget's delta: the default of a question that needs one


def usual_delta(delta: Fraction) -> Fraction:
    """Return the delta of a question that needs one and names none, of a budget with this delta."""
    return min(DEFAULT_DELTA, delta * _DELTA_SHARE)


class MemoryAccount:
    """The promise, its sums and its answers, for all threads of the process that made it."""

    def __init__(self, epsilon: Fraction, delta: Fraction) -> None:
        self.promise: Promise = Promise.for_account(epsilon, delta)
        self.taken: Taken = Taken()
        self.unit: OneUnit = OneUnit()
        self._is_promise_settled = False  # the first question may change what is set apart
        self._answers: dict[str, str] = {}  # archived, since a caller may alter a release
        self._lock = threading.Lock()
        self._process = process_identity()

    def check_process(self) -> None:
        """Refuse another process, before the lock, which a fork may have copied locked."""
        if self._process != process_identity():
            raise BudgetError("the budget belongs to another process", "make one in this process")

    def promise_for(self, plan: Priced | Stated) -> Promise:
        """Return the promise; before the first question, the one that this question would settle."""
        promise = self.promise
        if self._is_promise_settled or not promise.apart:
            return promise
        return Promise.for_account(promise.epsilon, promise.delta, first=plan.price_at(promise.order).whole.failure)

    def left_for(self, promise: Promise, price: Price) -> int:
        """Return how many more questions of this price fit at least."""
        totals = self.taken
        return at_least(promise, price, settled=totals.settled, pending=totals.pending)

    def reserve(self, plan: Priced | Stated) -> Spent:
        """Reserve the ceiling of a question, or raise BudgetError if it does not fit.

        The first that fits settles the order and what is set apart, for good and before a row is read.
        """
        with self._lock:
            promise, totals = self.promise_for(plan), self.taken
            ceiling = promise.charge(totals.settled, plan.price_at(promise.order))
            if not promise.admits(totals.settled, totals.pending, ceiling):
                raise _refusal(promise, totals.total, ceiling)
            self.promise = promise
            self._is_promise_settled = True
            self.taken = totals.opening(ceiling)
        return ceiling

    def settle(self, ceiling: Spent, spent: Spent) -> None:
        """Charge what the question cost in place of its ceiling."""
        self.check_process()  # a forked child has drawn an answer that nothing was charged for
        with self._lock:
            self.taken = self.taken.settling(ceiling, spent)

    def stored(self, question: Fingerprint, *, fresh: bool) -> Release | None:
        """Return the stored answer to the same question, unless a fresh one is wanted."""
        if fresh or not question.repeatable:
            return None
        with self._lock:
            stored = self._answers.get(question.text)
        return None if stored is None else restore_release(stored)

    def store(self, question: Fingerprint, release: Release) -> None:
        """Store the answer as text, which a caller cannot alter."""
        if question.repeatable:
            archived_release = archive_release(release)
            with self._lock:
                self._answers[question.text] = archived_release


def _refusal(promise: Promise, total: Spent, ceiling: Spent) -> BudgetError:
    """Return the error for a ceiling that does not fit, with its part of what is left."""
    room = max(Fraction(0), promise.limits.failure - total.failure)
    if ceiling.failure > room:
        set_aside = ", besides what is reserved for composition" if promise.apart else ""
        remaining = f"the budget has {rounded_down(room)} left for that{set_aside}"
        default = usual_delta(promise.delta)
        example = f"{rounded_down(default)} for example" if 0 < default <= room else "or make one with a larger delta"
        return BudgetError(
            f"the question needs a delta of {rounded_up(ceiling.failure)}, and {remaining}",
            f"ask with a smaller delta, {example}",
        )
    hold, left = format_hold(promise.limits, total, ceiling)
    return BudgetError(
        f"the question must reserve up to {hold} of the budget while it runs, but only {left} is left",
        f"{HOLD_HINT}, or make a larger budget",
    )
