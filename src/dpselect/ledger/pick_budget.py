"""PickBudget: a budget that counts picks, so that a top k pays for the items that came back and not for k."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NoReturn, SupportsIndex

from dpselect import parameters
from dpselect.accounting.calibration import plan_of
from dpselect.accounting.pick_accountant import Cost, PickAccountant, QuestionsLeft, Remaining, in_words
from dpselect.accounting.privacy_filters import Terms, by_pick, by_total
from dpselect.accounting.two_prices import Price
from dpselect.errors import BudgetError, ParameterError, came
from dpselect.ledger.budget import (
    REPEATED,
    Budget,
    LedgerBudget,
    Priced,
    Where,
    budget_of,
    priced,
    rounded_part,
)
from dpselect.ledger.charge import Charge
from dpselect.ledger.question import Question, question
from dpselect.ledger.standing import check_one_period
from dpselect.mechanisms.top_k.limited_domain import default_k_bar
from dpselect.parameters import Number, rounded_down, rounded_up
from dpselect.privacy import ApproxDP, Neighbors, warn_if_weak
from dpselect.processes import refuse_copy
from dpselect.release import formatting
from dpselect.release.release import Receipt, Release, Statement

FREE = Price(Fraction(0), Fraction(0))


class PickBudget(Budget):
    """A budget of so many equal picks: make it of a total (epsilon, delta), or of the prices of a pick and a query.

    A question that names no epsilon costs this budget's own price. A top k takes from `k_star` the picks it made, one
    for each item that came back and one for bottom where that ended it, and one of `l_star` queries where the domain
    is unknown. A question of another epsilon takes as many picks as its steps are worth, and as many queries as cover
    its delta. What does not fit is refused before a row is read. So it pays for what comes back, for as long as it has
    picks.

    Guarantee: (epsilon, delta)-DP for one user with all of their rows in all data sets that are asked, however the
        questions depend on earlier answers.
    Neighbors: add-remove.
    Source: Durfee and Rogers 2019, Algorithm 2 and Theorem 2. Ours: l_star delta in place of 2 l_star delta,
        the bounds, and other verbs on the same budget; proofs in docs/budgets.md.

    With a total, `k_star` and `l_star` say by how many picks and queries it is divided, and steps of any epsilon share
    it. With `epsilon_per_pick` and `delta_per_query` the total is the smallest bound for k_star equal picks; where that
    bound cannot tell steps apart, every step must be at most one pick. `delta_composition` is what composing may use of
    delta; as much as the queries together, unless it is given.

    With `of`, a durable budget, the total is reserved there at once, each answer is kept there, and `close` gives back
    what surely was not spent: use it in a `with` block. It may be shared by threads, and belongs to the process that
    made it: a forked child can neither ask, nor close it, nor give anything back.

        >>> budget = PickBudget(epsilon=2, delta="1e-6", k_star=40)
        >>> print(budget.remaining)
        40 picks and 20 queries
    """

    def __init__(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        epsilon_per_pick: Number | None = None,
        delta_per_query: Number | None = None,
        delta_composition: Number | None = None,
        k_star: int = 100,
        l_star: int = 20,
        of: Budget | Where | None = None,
    ) -> None:
        k_star = parameters.whole("k_star", k_star, least=1)
        l_star = parameters.whole("l_star", l_star, least=1)
        whole = {"epsilon": epsilon, "delta": delta}
        pieces = {
            "epsilon_per_pick": epsilon_per_pick,
            "delta_per_query": delta_per_query,
            "delta_composition": delta_composition,
        }
        self.terms: Terms = _terms(whole, pieces, k_star, l_star)
        total = ApproxDP(self.terms.epsilon, self.terms.delta)
        warn_if_weak(total)
        super().__init__(epsilon=total.epsilon, delta=total.delta)
        self._accountant = PickAccountant(self.terms)
        self._deposit = None if of is None else Deposit(_durable(of), self.terms)
        self.snapshot: str | None = None if self._deposit is None else self._deposit.budget.snapshot

    # ---- questions ------------------------------------------------------------------------------------------

    def price(self, verb: str, epsilon: Number | None, delta: Number | None, *, needed: bool = False) -> dict[str, Any]:
        """One pick, and the delta of one query, where a question names neither."""
        pick, query = self.terms.epsilon_per_pick, self.terms.delta_per_query
        if verb == "union":
            return {"epsilon": epsilon, "delta": query if delta is None else delta}
        if epsilon is not None:
            return parameters.price(epsilon, query if delta is None and needed else delta)
        own = verb in ("quantile", "histogram")  # which have a delta of 0 by themselves
        nothing = own and delta is not None and parameters.probability("delta", delta, zero=True) == 0
        if delta is not None and not nothing:
            raise ParameterError("epsilon", "be given where delta is", "nothing")
        if verb == "top_k":
            return {"epsilon_per_pick": pick, "delta_threshold": query}
        return {"epsilon": pick} if verb in ("choose", "histogram") else {"epsilon_per_pick": pick}

    def pay(self, asked: Priced, question: Question, ask: Callable[[], Release], *, fresh: bool) -> Release:
        """The answer, paid by the picks it made. The ceiling is taken before `ask`, the rest given back after it."""
        check_one_period(question.periods)
        taking = self._accountant.question(self._cost(asked))
        deposit = self._deposit
        if deposit is None:
            self._unit.check(question.user)

        def answer() -> Release:
            if deposit is not None:
                deposit.start()
            taking.start()
            release = ask()
            return replace(release, charged=self._picks_receipt(taking.settle(asked.steps(release))))

        if deposit is not None:
            return deposit.budget.pay(_Reserved(), question, answer, fresh=fresh, agree=taking)
        self._accountant.check_here()
        stored = self._stored(question, fresh=fresh)
        if stored is not None:
            return replace(stored, charged=self._picks_receipt(None))
        with taking:
            release = answer()
        self._store(question, release)
        return release

    @property
    def _usual_delta(self) -> Fraction:
        return self.terms.delta_per_query

    @property
    def sharing(self) -> PickSharing:
        """Of its picks; queries are counted for themselves."""
        return PickSharing(self._accountant)

    def _cost(self, asked: Priced) -> Cost:
        """The steps of a question, and as many queries as cover the delta with which it may fail."""
        return Cost(asked.price.steps, -(-asked.price.failure // self.terms.delta_per_query))

    def _picks_receipt(self, spent: Cost | None) -> Receipt:
        """What was taken; None for an answer that was kept."""
        picks, queries = (Fraction(0), 0) if spent is None else (self._accountant.picks(spent.steps), spent.queries)
        took, left = REPEATED if spent is None else in_words(rounded_up(picks), queries), self.remaining
        numbers: dict[str, object] = {"picks": picks, "queries": queries, "repeated": spent is None}
        left_over = {"picks_left": left.picks, "queries_left": left.queries}
        return Receipt(f"{took}; the budget has {left} left", numbers | left_over)

    # ---- what is left ---------------------------------------------------------------------------------------

    @property
    def left(self) -> float:
        """The part of the picks that no question has taken, from 0 to 1."""
        return rounded_part(self.remaining.picks / self.terms.k_star)

    @property
    def remaining(self) -> Remaining:
        """Picks and queries that no question has taken."""
        return self._accountant.left

    def share_of(self, query: Priced) -> float:
        """Which part of the picks a question takes at most, from 0 to 1."""
        self.check(priced(query).price.neighbors)
        return float(self._accountant.picks(self._cost(query).steps) / self.terms.k_star)

    def left_for(self, query: Priced | Release) -> int:
        """How many more questions like this one can be asked, if each costs its ceiling."""
        asked = self.at_usual_delta(priced(query))
        self.check(asked.price.neighbors)
        cost = self._cost(asked)
        return self._accountant.questions_left(cost, cost).at_least

    def what_if(self, k: int = 10, *, counts: bool = False, known_domain: bool = False) -> QuestionsLeft:
        """How many more top-k questions of this kind can be asked. Asking this costs nothing."""
        k, known = parameters.listed("k", k), parameters.flag("known_domain", known_domain)
        counted = parameters.flag("counts", counts)
        pick = self.terms.epsilon_per_pick
        ceiling = Cost(plan_of(k, k if counted else 0)(pick), 0 if known else 1)
        return self._accountant.questions_left(ceiling, ceiling if known else Cost(plan_of(1)(pick), 1))

    def statement(self) -> Statement:
        """What all answers promise together, and what the questions have taken so far."""
        t, left = self.terms, self.remaining
        return Statement(
            epsilon=t.epsilon,
            delta=t.delta,
            neighbors=Neighbors.ADD_REMOVE,
            mechanism="PickBudget",
            parameters={
                "epsilon_per_pick": t.epsilon_per_pick,
                "delta_per_query": t.delta_per_query,
                "k_star": t.k_star,
                "l_star": t.l_star,
            },
            bound=t.bound,
            sentences=(
                f"All answers that this budget pays keep this promise together; picks are counted by {t.filter.name}.",
                f"Left: {rounded_down(left.picks)} of {t.k_star} picks and {left.queries} of {t.l_star} queries.",
            ),
        )

    def close(self) -> None:
        """No more questions; a durable budget gets back what was surely not spent."""
        spent = self._accountant.close()
        if self._deposit is not None:
            self._deposit.close(spent)

    def __enter__(self) -> PickBudget:
        return self

    def __exit__(self, *_: object) -> None:
        if self._accountant.is_here:  # a forked child leaves the block as well, and settles nothing
            self.close()

    def __repr__(self) -> str:
        price = f"epsilon={formatting.number(self.terms.epsilon)}, delta={formatting.number(self.terms.delta)}"
        return f"PickBudget({price}, {self.remaining} left)"


@dataclass(frozen=True)
class PickSharing:
    """Shares of the picks of a budget."""

    accountant: PickAccountant

    def part(self, query: Priced) -> Fraction | None:
        """The part of the picks that a question takes at most; None where a step is larger than this budget counts."""
        try:
            return self.accountant.picks(query.price.steps) / self.accountant.terms.k_star
        except ParameterError:
            return None

    def delta(self, share: Fraction) -> Fraction:  # noqa: ARG002
        """That of one query."""
        return self.accountant.terms.delta_per_query

    def start(self, share: Fraction) -> Fraction:
        """The epsilon of so many picks."""
        return self.accountant.terms.epsilon_per_pick * self.accountant.terms.k_star * share

    def check_failure(self, query: Priced, share: Fraction) -> None:
        """A larger delta takes more queries."""


class Deposit:
    """The total, set aside in a ledger when it is made; started before the first row is read; closed once.

    May be shared by threads. A question that comes to `start` after the close is refused.
    """

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        refuse_copy(self, protocol)

    def __init__(self, budget: LedgerBudget, terms: Terms) -> None:
        self.budget = budget
        self._lock = threading.Lock()
        self._started = self._closed = False
        asked = {"epsilon": terms.epsilon, "delta": terms.delta, "k_star": terms.k_star, "l_star": terms.l_star}
        with budget.ledger() as ledger:
            total, what = Charge.up(terms.epsilon, terms.delta), question("picks", asked, {}, False)
            column = ledger.data_account(budget.account.dataset).user  # which each question is asked for again
            self._reservation = ledger.reserve(budget.account, total, what.text, user=column)

    def start(self) -> None:
        """The ledger knows from now on that rows may be read, so that the total can no longer go back whole."""
        with self._lock:
            if self._closed:
                raise BudgetError("the budget is closed", "make another one")
            if not self._started:
                with self.budget.ledger() as ledger:
                    ledger.start(self._reservation)
                self._started = True

    def close(self, spent: ApproxDP) -> None:
        """What was not spent is free again: all of it, where no row was read."""
        with self._lock:
            if self._closed:
                return
            with self.budget.ledger() as ledger:
                if self._started:
                    ledger.settle(self._reservation, Charge.up(spent.epsilon, spent.delta), None)
                else:
                    ledger.abandon(self._reservation)
            self._closed = True


class _Reserved:
    """A question whose price a deposit has reserved with the total."""

    def price_at(self, order: int | None) -> Price:  # noqa: ARG002
        """Nothing more."""
        return FREE

    def cost_at(self, release: Release, order: int | None) -> Price:  # noqa: ARG002
        """Nothing more."""
        return FREE


def _durable(given: Budget | Where) -> LedgerBudget:
    """The budget that the total is reserved in."""
    found = budget_of(given)
    if not isinstance(found, LedgerBudget):
        raise ParameterError("of", "be durable: Budget.open(...)", "one in memory")
    return found


def _terms(whole: Mapping[str, Number | None], pieces: Mapping[str, Number | None], k_star: int, l_star: int) -> Terms:
    """One of the two ways to make the budget, checked."""
    given = [[name for name, value in group.items() if value is not None] for group in (whole, pieces)]
    if bool(given[0]) == bool(given[1]):
        both = f"{given[0][0]} with {given[1][0]}" if given[0] else "neither"
        either = "be given, or epsilon_per_pick and delta_per_query in its place"
        raise ParameterError("epsilon", either, both)
    if given[0]:
        epsilon = parameters.epsilon("epsilon", whole["epsilon"])
        delta = parameters.delta_or_default(whole["delta"], needed=True)
        return by_total(epsilon, delta, k_star, l_star, default_k_bar(1))
    pick = parameters.epsilon("epsilon_per_pick", pieces["epsilon_per_pick"])
    query = parameters.probability("delta_per_query", pieces["delta_per_query"])
    share = l_star * query
    if pieces["delta_composition"] is not None:
        share = parameters.probability("delta_composition", pieces["delta_composition"], zero=True)
    if l_star * query + share >= 1:
        raise ParameterError(
            "delta_per_query", f"be so small that {l_star} of them stay below 1", came(pieces["delta_per_query"])
        )
    return by_pick(pick, query, k_star, l_star, share)
