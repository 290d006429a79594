"""Budgets: reserve the ceiling of a question, ask it, settle what its answer cost; only then it comes out."""

from __future__ import annotations

import getpass
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from fractions import Fraction
from typing import Any, Protocol

from dpselect import parameters
from dpselect.errors import BudgetError, ParameterError, came
from dpselect.ledger import Account, Balance, Charge, Ledger
from dpselect.ledger.question import Question
from dpselect.parameters import MOST_BITS, Number, rounded_down, rounded_up
from dpselect.privacy import ApproxDP, Neighbors, Privacy, Steps
from dpselect.processes import here, refuse_copy
from dpselect.release.archive import archived, restored
from dpselect.release.release import Receipt, Release

LONGEST_PLACE = 1000  # characters of a path or an address, which messages repeat
Where = str | os.PathLike[str] | Ledger
NOTHING = ApproxDP(Fraction(0), Fraction(0))


class Payable(Protocol):
    """What a budget must know of a question to add its price up."""

    @property
    def ceiling(self) -> ApproxDP:
        """What any answer costs at most."""
        ...

    def spent(self, release: Release) -> ApproxDP:
        """What an answer cost, read from the answer alone."""
        ...


class Priced(Payable, Protocol):
    """A question with its price in steps."""

    @property
    def price(self) -> Privacy:
        """What any answer promises, and costs at most."""
        ...

    def steps(self, release: Release) -> Sequence[Steps]:
        """The steps that an answer took, read from the answer alone."""
        ...


class Budget:
    """What questions are paid from: an (epsilon, delta) for this process, or an analyst's account in a ledger.

    `Budget(epsilon=3, delta="1e-6")` lives as long as the object; give it to every Dataset whose questions it shall
    pay. `Budget.open("budget.sqlite", data="plays", analyst="ann")` is durable: `dpselect ledger` makes the file and
    grants what may be spent. A question that does not fit raises BudgetError before a row is read, and costs nothing.

    Guarantee: all answers that a budget paid for are together (epsilon, delta)-DP, for one user coming or going with
        all of their rows in all data sets asked, however the questions depend on earlier answers.
    Neighbors: add-remove.
    Source: the epsilons and deltas that answers cost add up (docs/budgets.md has the proof for prices that depend on
        the outcome).

    The same question of the same files is answered again for nothing. It may be shared by threads, and belongs to the
    process that made it. Nothing is lost or half charged where a question fails: it costs its ceiling then.

        >>> budget = Budget(epsilon=1, delta="1e-6")
        >>> budget.left
        (epsilon = 1, delta = 1e-06)
    """

    snapshot: str | None = None
    __reduce_ex__ = refuse_copy

    def __init__(self, *, epsilon: Number, delta: Number = 0) -> None:
        epsilon = parameters.epsilon("epsilon", epsilon)
        self._total = ApproxDP(epsilon, parameters.probability("delta", delta, zero=True))
        self._taken = ApproxDP(Fraction(0), Fraction(0))
        self._answers: dict[str, str] = {}  # archived, since whoever has a release may alter it
        self._lock = threading.Lock()
        self._home = here()

    @staticmethod
    def open(
        where: Where, *, data: str = "default", analyst: str | None = None, snapshot: str | None = None
    ) -> LedgerBudget:
        """The account of an analyst in a ledger: a file, a postgresql:// address, or a Ledger.

        `data` is what the ledger calls the data; `analyst` is this computer's name for the user unless it is given.
        `snapshot` names the state of data that are no files, so that the answer to the same question can be found
        again. Nothing is opened yet; LedgerError where the ledger cannot be used, when a question is asked.
        """
        return LedgerBudget(where, data=data, analyst=analyst, snapshot=snapshot)

    @property
    def left(self) -> Left:
        """What no question has taken."""
        return Left(self._total.epsilon - self._taken.epsilon, self._total.delta - self._taken.delta)

    def __repr__(self) -> str:
        return f"Budget({self.left} left)"

    def check(self, neighbors: Neighbors) -> None:
        """A budget is about one user coming or going; a promise about replacing one says nothing of that."""
        if neighbors is not Neighbors.ADD_REMOVE:
            raise ParameterError("neighbors", "be add-remove where a budget pays", came(neighbors))

    def price(self, verb: str, epsilon: Number | None, delta: Number | None) -> dict[str, Any]:  # noqa: ARG002
        """The price of a question as its parameters; a budget may have one of its own where none is named."""
        return parameters.price(epsilon, delta)

    def pay(self, asked: Priced, question: Question, ask: Callable[[], Release], *, fresh: bool) -> Release:
        """The answer, paid. What ends it once it is being asked leaves the ceiling taken: never too little."""
        self._check_process()
        stored = self._stored(question, fresh=fresh)
        if stored is not None:
            return replace(stored, charged=self._receipt(NOTHING, repeated=True))
        ceiling = asked.ceiling
        self._take(ceiling)
        release = ask()
        spent = asked.spent(release)
        self._check_process()  # a child that was forked meanwhile has drawn an answer that nothing was taken for
        with self._lock:
            self._add(spent.epsilon - ceiling.epsilon, spent.delta - ceiling.delta)
        self._store(question, release)
        return replace(release, charged=self._receipt(spent))

    def _check_process(self) -> None:
        """Before the lock, which a fork may have copied locked."""
        if self._home != here():
            raise BudgetError("the budget belongs to the process that made it", "make another one in this process")

    def _stored(self, question: Question, *, fresh: bool) -> Release | None:
        """The answer to the same question, if it was kept and is wanted."""
        if fresh or not question.repeatable:
            return None
        with self._lock:
            stored = self._answers.get(question.text)
        return None if stored is None else restored(stored)

    def _store(self, question: Question, release: Release) -> None:
        """Keep the answer as text, which nobody who has the release can alter."""
        if question.repeatable:
            kept = archived(release)
            with self._lock:
                self._answers[question.text] = kept

    def _take(self, ceiling: ApproxDP) -> None:
        with self._lock:
            left = self.left
            if ceiling.epsilon > left.epsilon or ceiling.delta > left.delta:
                raise BudgetError(
                    f"the question costs up to ({rounded_up(ceiling.epsilon)}, {rounded_up(ceiling.delta)}), and the "
                    f"budget has ({rounded_down(left.epsilon)}, {rounded_down(left.delta)}) left",
                    "ask for less, or make a larger budget",
                )
            self._add(ceiling.epsilon, ceiling.delta)

    def _add(self, epsilon: Fraction, delta: Fraction) -> None:
        taken, total = self._taken, self._total
        epsilon, delta = _short(taken.epsilon + epsilon, total.epsilon), _short(taken.delta + delta, total.delta)
        self._taken = ApproxDP(epsilon, delta)

    def _receipt(self, spent: ApproxDP, *, repeated: bool = False) -> Receipt:
        left = self.left
        has = f"the budget has ({rounded_down(left.epsilon)}, {rounded_down(left.delta)}) left"
        price = f"({rounded_up(spent.epsilon)}, {rounded_up(spent.delta)})"
        sentence = f"{REPEATED}; {has}" if repeated else f"{price}; {has}"
        numbers: dict[str, object] = {"epsilon_left": left.epsilon, "delta_left": left.delta}
        return Receipt(sentence, {**numbers, "epsilon": spent.epsilon, "delta": spent.delta, "repeated": repeated})


def _short(taken: Fraction, total: Fraction) -> Fraction:
    """No less than was taken, in few digits: a sum of prices of many denominators could not be written down."""
    if taken.denominator.bit_length() <= MOST_BITS:
        return taken
    return min(total, Charge.up(taken, taken).epsilon)


class Left(ApproxDP):
    """What is left, which a person reads rounded down."""

    def __repr__(self) -> str:
        return f"(epsilon = {rounded_down(self.epsilon)}, delta = {rounded_down(self.delta)})"


class LedgerBudget(Budget):
    """An account of a ledger, from which questions are paid. `Budget.open` makes it."""

    def __init__(
        self, where: Where, *, data: str = "default", analyst: str | None = None, snapshot: str | None = None
    ) -> None:
        if not isinstance(where, (str, os.PathLike, Ledger)):
            raise ParameterError("budget", "be a Budget, a file, a postgresql:// address or a Ledger", came(where))
        if not isinstance(where, Ledger) and len(os.fspath(where)) > LONGEST_PLACE:
            raise ParameterError("budget", f"be a place of at most {LONGEST_PLACE} characters", came(str(where)))
        given: object = snapshot
        if given is not None and not (isinstance(given, str) and given.strip()):
            raise ParameterError("snapshot", "be a text that names the state of the data", came(snapshot))
        self.where = where
        self.account = _account(data, user() if analyst is None else analyst)
        self.snapshot = snapshot

    @property
    def left(self) -> Left:
        """What no question has reserved or spent; the ledger is asked."""
        with self.ledger() as ledger:
            balance = ledger.balance(self.account).left
        return Left(balance.epsilon, balance.delta)

    def __repr__(self) -> str:
        return f"Budget.open(..., data={self.account.dataset!r}, analyst={self.account.analyst!r})"

    @contextmanager
    def ledger(self) -> Iterator[Ledger]:
        """The ledger, opened for one question where it was given as a path or an address."""
        if isinstance(self.where, Ledger):
            yield self.where
        else:
            with Ledger(self.where) as opened:
                yield opened

    def pay(
        self,
        asked: Payable,
        question: Question,
        ask: Callable[[], Release],
        *,
        fresh: bool,
        agree: AbstractContextManager[object] | None = None,
    ) -> Release:
        """The answer, paid. A stored answer to the same question is free, unless a `fresh` one is wanted.

        The ceiling is reserved, and the ledger knows that rows are read, before `ask` touches data; the answer leaves
        only after the ledger holds it. Whatever ends this before `ask` gives the whole ceiling back, and whatever ends
        it later leaves the ceiling reserved: too much is charged then, never too little. What is not free is asked
        within `agree`, which may refuse it before anything is reserved.
        """
        with self.ledger() as ledger:
            if question.repeatable and not fresh:
                stored = ledger.repeat(self.account, question.text)
                if stored is not None:
                    return replace(restored(stored), charged=_repeated(ledger.balance(self.account)))
            with agree or nullcontext():
                reservation = None
                ceiling = asked.ceiling
                try:
                    reservation = ledger.reserve(self.account, Charge.up(ceiling.epsilon, ceiling.delta), question.text)
                    ledger.start(reservation)
                except BaseException:
                    if reservation is not None:
                        ledger.abandon(reservation)
                    raise
                release = ask()
                spent = asked.spent(release)
                charge = Charge.up(spent.epsilon, spent.delta)
                balance = ledger.settle(reservation, charge, archived(release))
        return replace(release, charged=release.charged or _charged(charge, balance))


def budget_of(given: object) -> Budget | None:
    """The budget that a caller means: one as it is, a path as that file with this computer's name for the user."""
    if given is None or isinstance(given, Budget):
        return given
    return LedgerBudget(given)  # type: ignore[arg-type] # which looks at what it is


def user() -> str:
    """This computer's name for the user."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        raise ParameterError("analyst", "be given where this computer has no name for the user", "nothing") from None


def _account(data: str, analyst: str) -> Account:
    try:
        return Account(dataset=data, analyst=analyst)
    except ParameterError as error:
        if error.parameter != "dataset":
            raise
        raise ParameterError("data", error.must, error.came, error.hint) from None


REPEATED = "nothing: this is the stored answer to the same question"


def _charged(charge: Charge, balance: Balance) -> Receipt:
    price = f"({rounded_up(charge.epsilon)}, {rounded_up(charge.delta)})"
    sentence = f"{price} to {balance.account.analyst}, who has {left(balance)} left"
    return Receipt(sentence, {**_numbers(balance), "epsilon": charge.epsilon, "delta": charge.delta, "repeated": False})


def _repeated(balance: Balance) -> Receipt:
    sentence = f"{REPEATED}; {balance.account.analyst} has "
    sentence += f"{left(balance)} left"
    return Receipt(sentence, {**_numbers(balance), "epsilon": 0, "delta": 0, "repeated": True})


def _numbers(balance: Balance) -> dict[str, object]:
    return {
        "analyst": balance.account.analyst,
        "dataset": balance.account.dataset,
        "epsilon_left": balance.left.epsilon,
        "delta_left": balance.left.delta,
    }


def left(balance: Balance) -> str:
    """What is left, as (epsilon, delta) for a person."""
    return f"({rounded_down(balance.left.epsilon)}, {rounded_down(balance.left.delta)})"
