"""Short ways to write charges, budgets and questions in tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpselect._ground.parameters import Number
from dpselect._ground.privacy import ApproxDP, Neighbors, Privacy, PureDP, Steps
from dpselect.accounting.prices import Price, ceiling, of_outcome
from dpselect.ledger import Account, Charge, Ledger, Reservation, Standing
from dpselect.release.release import Release


@dataclass(frozen=True)
class Costing:
    """What a budget must know of a question: a ceiling, and what the answer costs where that is less."""

    ceiling: ApproxDP
    less: ApproxDP | None = None

    @property
    def price(self) -> Privacy:
        return Privacy(
            epsilon=self.ceiling.epsilon,
            delta=self.ceiling.delta,
            neighbors=Neighbors.ADD_REMOVE,
            steps=(Steps(PureDP(self.ceiling.epsilon), 1),),
            failure=self.ceiling.delta,
            bound="basic",
        )

    def spent(self, _: Release) -> ApproxDP:
        return self.less or self.ceiling

    def steps(self, release: Release) -> Sequence[Steps]:
        return (Steps(PureDP(self.spent(release).epsilon), 1),)

    def price_at(self, order: int | None) -> Price:
        return ceiling(self.price, order)

    def cost_at(self, release: Release, order: int | None) -> Price:
        return of_outcome(self.price, self.steps(release), order)


def charge(epsilon: str, delta: str = "0") -> Charge:
    return Charge.round_up(Fraction(epsilon), Fraction(delta))


def started(ledger: Ledger, account: Account, ceiling: Charge, question: str = "{}") -> Reservation:
    """A question that may read rows."""
    reservation = ledger.reserve(account, ceiling, question)
    ledger.start(reservation)
    return reservation


def ask(ledger: Ledger, account: Account, price: Charge, question: str = "{}", release: str | None = "[]") -> Standing:
    """One whole life: reserve, read, then settle for all of it."""
    return ledger.settle(started(ledger, account, price, question), price, release)


def grant(
    ledger: Ledger, account: Account, epsilon: Number, delta: Number, *, total: bool = False, of: str = "1000"
) -> Standing:
    """A quota in an account that has room for all that tests ask; it is made where there is none."""
    if all(data.dataset != account.dataset for data, _ in ledger.data_accounts()):
        ledger.data(account.dataset, of, "0.1")
    return ledger.grant(account, epsilon, delta, total=total)


def rest(standing: Standing) -> Charge:
    """What is left of a quota by adding up."""
    granted, used = standing.granted, standing.own.total
    return Charge(max(granted.epsilon - used.epsilon, Fraction(0)), max(granted.delta - used.delta, Fraction(0)))
