"""A release's place in a ledger: who paid for it, when, and whether that was enough."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dpselect.checking.finding import Finding, fails, follows, stated
from tests.judge import by_group, histograms, in_groups, sparse, tails, unions
from tests.judge.balls import at_most, ball, precision, told
from tests.judge.numbers import Parameters
from tests.judge.picks import failure_of, steps_of, told_of
from tests.judge.promise import ONE_DRAW, PICKS
from tests.judge.steps import Kind, Step, added, renyi_divergence

if TYPE_CHECKING:
    from dpselect.ledger import Ledger
    from dpselect.ledger.charge import Charge
    from dpselect.ledger.entry import Entry
    from dpselect.release.release import Release
    from dpselect.release.statement import Statement

NEAR = Fraction(1, 2**20)
BY_PICK = {"LimitedDomain", "Peeling"}  # an answer that ends early took fewer picks
OWN_CURVE = {"RenyiShaped", "DiscoverThenPeel", "HittingSet"}  # whose divergence is not in the release


@dataclass(frozen=True)
class Cost:
    """What an answer costs at least: `epsilon` with all of `delta`, or `added` with `failure` alone."""

    epsilon: Fraction
    delta: Fraction
    added: Fraction
    failure: Fraction
    steps: tuple[Step, ...] | None
    rho: Fraction | None = None  # of noise whose zCDP is known, and may be charged in place of the steps
    beside: Fraction | None = None  # the rho of Gaussian noise after the steps whose epsilons are added

    @classmethod
    def of(cls, release: Release) -> Cost:
        """Read from the answer alone (docs/composing.md, "What steps cost")."""
        statement, said = release.privacy, Parameters(release.privacy.parameters)
        whole, delta, name = statement.epsilon, statement.delta, statement.mechanism
        if name == by_group.NAME:
            return cls._by_steps(statement, tuple(by_group.taken(said, release.found)), by_group.failure(said))
        if name in in_groups.NAMES:
            return cls._by_steps(statement, tuple(in_groups.steps_of(name, said)), in_groups.failure(said))
        if name == sparse.NAME:
            shown, told = sparse.shown(said, len(release)), told_of(said, len(release))
            return cls._by_steps(statement, told, said.delta("delta_threshold"), shown, sparse.steps_of(said))
        if name == histograms.LAPLACE:
            return cls._by_steps(statement, tuple(histograms.steps_of(said)), Fraction(0))
        if name == histograms.SHARED_LAPLACE:
            return cls._by_steps(statement, tuple(histograms.shared_steps_of(said)), Fraction(0))
        if name in (histograms.GAUSSIAN, histograms.SHARED_GAUSSIAN):
            return cls(whole, delta, whole, delta, (Step(Kind.PURE, whole, 1),), histograms.rho_of(name, said))
        if name == unions.LAPLACE and not said.has("epsilon_of_counts"):
            return cls(whole, delta, whole, delta, tuple(unions.laplace_steps_of(said)))
        if name not in PICKS:
            kind = Kind.PICK if name == "ExponentialMechanism" else Kind.PURE
            steps = None if name in OWN_CURVE else (Step(kind, whole, 1),)
            return cls(whole, delta, whole, Fraction(0) if name in ONE_DRAW else delta, steps)
        first, *counts = steps_of(name, said)
        if name in BY_PICK:
            first = Step(first.kind, first.epsilon, min(first.times, len(release) + 1))
            counts = told_of(said, len(release))
        return cls._by_steps(statement, (first, *counts), failure_of(name, said))

    @classmethod
    def _by_steps(
        cls,
        statement: Statement,
        taken: Sequence[Step],
        failure: Fraction,
        more: Fraction = Fraction(0),
        every: Sequence[Step] = (),
    ) -> Cost:
        """By the epsilons of what was taken, and `more`, and the divergences of it, or of `every` step."""
        sums = more + added([one for one in taken if one.kind is not Kind.NOISE])
        rhos = [one.epsilon for one in taken if one.kind is Kind.NOISE]
        whole = statement.epsilon if rhos else min(statement.epsilon, sums)
        return cls(whole, statement.delta, sums, failure, tuple(every or taken), beside=sum(rhos) if rhos else None)

    def covered(self, charge: Charge) -> bool:
        """Is it paid by one of its two prices?"""
        if charge.epsilon >= self.epsilon and charge.delta >= self.delta:
            return True
        if self.beside is None:
            return charge.epsilon >= self.added and charge.delta >= self.failure
        left, fails_by = charge.epsilon - self.added, charge.delta - self.failure
        if left <= 0 or fails_by <= 0:
            return False
        with precision():  # the order that is best in floats may be another
            return at_most(tails.zcdp_delta(self.beside, left), fails_by * (1 + NEAR))

    def diverges_more(self, charge: Charge, order: int | None) -> bool:
        """Is its divergence certainly above what was charged?"""
        if order is None or self.steps is None:
            return False
        with precision():
            needed = sum((one.times * renyi_divergence(one, order) for one in self.steps), ball(0))
            if self.rho is not None:
                needed = needed.min(ball(order * self.rho))
            return bool(ball(charge.renyi) < needed)


def paid(release: Release, ledger: Ledger) -> tuple[Finding, ...]:
    """Everything that was looked at in the ledger."""
    problems = ledger.verify()
    if problems:
        more = f", and {len(problems) - 1:,} more" if len(problems) > 1 else ""
        return (fails(f"the ledger is not clean: {problems[0]}{more}"),)
    places = list(_places(release, ledger))
    if not places:
        return (fails("the ledger is clean, and no question in it was answered with exactly this release"),)
    cost = Cost.of(release)
    return (
        follows(f"the chain of {ledger.count:,} entries is whole; its head is {ledger.head}"),
        *(finding for hold, settle in places for finding in _payment(release, cost, ledger, hold, settle)),
    )


def _places(release: Release, ledger: Ledger) -> Iterator[tuple[Entry, Entry]]:
    """The question and its answer, wherever this release is the answer."""
    from dpselect.ledger.entry import EntryKind as Entered
    from dpselect.release.archive import archive_release

    text, asked = archive_release(release), dict[int, "Entry"]()
    for entry in ledger.entries():
        if entry.kind is Entered.HOLD:
            asked[entry.number] = entry
        elif entry.kind in (Entered.SETTLE, Entered.RETURN):
            hold = asked.pop(entry.refers_to or 0, None)
            if hold is not None and entry.release == text:
                yield hold, entry


def _payment(release: Release, cost: Cost, ledger: Ledger, hold: Entry, settle: Entry) -> Iterator[Finding]:
    whose = settle.account
    by = f"entry {settle.number:,}: {whose.analyst} paid for it from the account of {whose.dataset} on {settle.at}"
    order = ledger.data_account(whose.dataset).promise.order
    for period, charge in settle.parts.items():
        amount = f"epsilon {told(charge.epsilon)}, delta {told(charge.delta)}{f' in {period}' if period else ''}"
        needs = f"epsilon {told(cost.epsilon)}, delta {told(cost.delta)}"
        if not cost.covered(charge):
            yield fails(f"{by}, {amount}, and it costs {needs}")
        elif cost.diverges_more(charge, order):
            yield fails(f"{by}, and a divergence of order {order} below what it costs")
        elif order is not None and cost.steps is None:
            yield stated(
                f"{by}, {amount}: no less than it costs; its divergence of order {order} is not in the release"
            )
        else:
            yield follows(f"{by}, {amount}: no less than it costs")
    asked = _asked(hold.question)
    if asked is not None and asked != release.privacy.epsilon:
        yield fails(f"the question of entry {hold.number:,} asked for epsilon {told(asked)}")


def _asked(question: str | None) -> Fraction | None:
    """The epsilon that a question names, where it does."""
    try:
        return Fraction(json.loads(question or "")["asked"]["epsilon"])
    except (ValueError, KeyError, TypeError, ZeroDivisionError):
        return None
