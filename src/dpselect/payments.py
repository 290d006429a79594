"""Payments: reserve the ceiling of a question, ask it, settle what its answer cost; only then it comes out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace

from dpselect.archive import archived, restored
from dpselect.errors import ParameterError, came
from dpselect.ledger import Account, Balance, Charge, Ledger
from dpselect.parameters import rounded_down, rounded_up
from dpselect.privacy import ApproxDP, Neighbors
from dpselect.processes import refuse_copy
from dpselect.questions import Question
from dpselect.release import Receipt, Release

Where = str | os.PathLike[str] | Ledger
Answer = tuple[Release, ApproxDP]
"""A release, and what it cost in the end."""


@dataclass(frozen=True)
class Purse:
    """An account of a ledger, from which questions are paid."""

    where: Where
    account: Account

    __reduce_ex__ = refuse_copy

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
        ceiling: ApproxDP,
        question: Question,
        ask: Callable[[], Answer],
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
                try:
                    reservation = ledger.reserve(self.account, Charge.up(ceiling.epsilon, ceiling.delta), question.text)
                    ledger.start(reservation)
                except BaseException:
                    if reservation is not None:
                        ledger.abandon(reservation)
                    raise
                release, spent = ask()
                charge = Charge.up(spent.epsilon, spent.delta)
                balance = ledger.settle(reservation, charge, archived(release))
        return replace(release, charged=release.charged or _charged(charge, balance))


def purse(
    where: Where | None, analyst: str | None, name: str, neighbors: Neighbors = Neighbors.ADD_REMOVE
) -> Purse | None:
    """The purse that `ledger`, `analyst` and the name of the data mean; None without a ledger.

    A budget is about one user coming or going. A promise about replacing one says nothing of that, so the two do not
    add up.
    """
    if where is None and analyst is None:
        return None
    if where is None:
        raise ParameterError("ledger", "be given with analyst", "nothing", "dpselect ledger init FILE makes one")
    if analyst is None:
        raise ParameterError("analyst", "be given with ledger", "nothing", "it names whose budget pays")
    if not isinstance(where, (str, os.PathLike, Ledger)):
        raise ParameterError("ledger", "be a file, a postgresql:// address or a Ledger", type(where).__name__)
    if neighbors is not Neighbors.ADD_REMOVE:
        raise ParameterError("neighbors", "be add-remove where a ledger pays", came(neighbors))
    return Purse(where, Account(dataset=name, analyst=analyst))


def _charged(charge: Charge, balance: Balance) -> Receipt:
    price = f"({rounded_up(charge.epsilon)}, {rounded_up(charge.delta)})"
    sentence = f"{price} to {balance.account.analyst}, who has {left(balance)} left"
    return Receipt(sentence, {**_numbers(balance), "epsilon": charge.epsilon, "delta": charge.delta, "repeated": False})


def _repeated(balance: Balance) -> Receipt:
    sentence = f"nothing: this is the stored answer to the same question; {balance.account.analyst} has "
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
