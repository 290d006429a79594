"""Session: many adaptive questions under one promise, each paid by what it returned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpselect import parameters
from dpselect.accounting.price import plan_of
from dpselect.accounting.privacy_filters import Terms, by_pick, by_total
from dpselect.accounting.session_accountant import Cost, QuestionsLeft, Remaining, SessionAccountant, in_words
from dpselect.dataset import Dataset
from dpselect.draws import Draws
from dpselect.engines.port import Engine, PerUser
from dpselect.errors import ParameterError, came
from dpselect.ledger.budget import Budget, LedgerBudget, Where, budget_of
from dpselect.ledger.deposits import Deposit
from dpselect.mechanisms.candidates import Input
from dpselect.mechanisms.port import check_call, secure
from dpselect.mechanisms.top_k.limited_domain import default_k_bar
from dpselect.methods import AUTO
from dpselect.parameters import Number, Progress, rounded_down, rounded_up
from dpselect.privacy import ApproxDP, Neighbors, warn_if_weak
from dpselect.processes import refuse_copy
from dpselect.queries.choose import ChooseQuery
from dpselect.queries.identity import question
from dpselect.queries.quantile import Bounds, QuantileQuery
from dpselect.queries.query import Query
from dpselect.queries.top_k import TopKQuery
from dpselect.queries.union import UnionQuery
from dpselect.release import formatting
from dpselect.release.release import Receipt, Release, Statement

NOTHING = ApproxDP(Fraction(0), Fraction(0))


class Session:
    """Many questions under one (epsilon, delta): open it with that total, or with the prices of a pick and a query.

    A top-k question takes from `k_star` the picks it made: one for each item that came back, and one for bottom
    where that ended it; and one of `l_star` queries where the domain is unknown. It is refused, before any data is
    touched, when the picks left do not cover all k, or no query is left. So a session goes on for as long as it has
    picks, and pays for what it gets.

    Guarantee: (epsilon, delta)-DP for one user with all of their rows in all data sets that are asked, however the
        questions depend on earlier answers.
    Neighbors: add-remove.
    Source: Durfee and Rogers 2019, Algorithm 2 and Theorem 2. Ours: l_star delta in place of 2 l_star delta,
        the bounds, and other verbs in the same session; proofs in docs/budgets.md.

    With a total, `k_star` and `l_star` say by how many picks and queries it is divided, and verbs of any epsilon share
    the session. With `epsilon_per_pick` and `delta_per_query` the total is the smallest bound for k_star equal picks;
    where that bound cannot tell steps apart, every step must be at most one pick. `delta_composition` is what composing
    may use of delta; as much as the queries together, unless it is given.

    With a durable `budget` the total is reserved there when the session opens, each answer is kept there, and
    `close` gives back what surely was not spent. Use it in a `with` block. It may be shared by threads, and belongs to
    the process that opened it: a forked child can neither ask, nor close it, nor give anything back.
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
        budget: Budget | Where | None = None,
    ) -> None:
        k_star = parameters.whole("k_star", k_star, least=1)
        l_star = parameters.whole("l_star", l_star, least=1)
        whole = {"epsilon": epsilon, "delta": delta}
        pieces = {
            "epsilon_per_pick": epsilon_per_pick,
            "delta_per_query": delta_per_query,
            "delta_composition": delta_composition,
        }
        self.terms = _terms(whole, pieces, k_star, l_star)
        warn_if_weak(ApproxDP(self.terms.epsilon, self.terms.delta))
        self._accountant = SessionAccountant(self.terms)
        paying = budget_of(budget)
        if paying is not None and not isinstance(paying, LedgerBudget):
            must = "be durable in a session, which is a budget in memory itself: Budget.open(...)"
            raise ParameterError("budget", must, "one in memory")
        self._budget = paying
        self._deposit = None if paying is None else self._set_aside(paying)

    # ---- questions ------------------------------------------------------------------------------------------

    def top_k(
        self,
        dataset: Dataset,
        k: int = 10,
        *,
        domain: object = None,
        counts: bool = False,
        k_bar: int | None = None,
        fresh: bool = False,
        progress: Progress | None = None,
        draws: Draws | None = None,
    ) -> Release:
        """The k items that most distinct users share, best first: `Dataset.top_k` at this session's price of a pick.

        A count costs one pick too. With a domain exactly k come back, and no query is taken.
        """
        query = TopKQuery(
            k=k,
            domain=domain,
            counts=counts,
            k_bar=k_bar,
            max_items_per_user=_without_budget(dataset).max_items_per_user,
            epsilon_per_pick=self.terms.epsilon_per_pick,
            delta_threshold=self.terms.delta_per_query,
        )
        return self._ask(query, dataset, 0 if query.known else 1, fresh=fresh, progress=progress, draws=draws)

    def choose(
        self,
        data: Dataset | Input,
        *,
        epsilon: Number | None = None,
        domain: object = None,
        sensitivity: Number = 1,
        monotonic: bool = False,
        method: str = "exponential",
        fresh: bool = False,
        progress: Progress | None = None,
        draws: Draws | None = None,
    ) -> Release:
        """The best one: of a domain by its users where `data` is a Dataset, else of candidates by their scores.

        `epsilon` is that of one pick unless it is given. What it takes goes by its kind: where picks are counted by
        zCDP, permute-and-flip takes four times as many as the exponential mechanism of the same epsilon.
        """
        price = self.terms.epsilon_per_pick if epsilon is None else epsilon
        if isinstance(data, Dataset):
            most = data.max_items_per_user
            query = ChooseQuery(domain=domain, epsilon=price, method=method, max_items_per_user=most)
        else:
            query = ChooseQuery(
                epsilon=price, sensitivity=sensitivity, monotonic=monotonic, method=method, of_scores=True
            )
        return self._ask(query, data, 0, fresh=fresh, progress=progress, draws=draws)

    def quantile(
        self,
        data: Dataset | object,
        q: Number | Sequence[Number] = 0.5,
        *,
        bounds: Bounds,
        epsilon: Number | None = None,
        step: Number | None = None,
        per_user: PerUser | str = PerUser.RANDOM,
        fresh: bool = False,
        progress: Progress | None = None,
        draws: Draws | None = None,
    ) -> Release:
        """One or several quantiles of a Dataset's item column, or of an array of one value per user.

        Each takes one pick, whose price `epsilon` sets for each of them.
        """
        price = self.terms.epsilon_per_pick if epsilon is None else epsilon
        which = PerUser(parameters.one_of("per_user", per_user, PerUser)) if isinstance(data, Dataset) else None
        query = QuantileQuery(q=q, bounds=bounds, step=step, epsilon_per_pick=price, per_user=which)
        return self._ask(query, data, 0, fresh=fresh, progress=progress, draws=draws)

    def union(
        self,
        dataset: Dataset,
        *,
        epsilon: Number,
        queries: int = 1,
        max_items_per_user: int | str | None = None,
        method: str = AUTO,
        counts: bool = False,
        shares: Sequence[Number] | None = None,
        fresh: bool = False,
        progress: Progress | None = None,
        draws: Draws | None = None,
    ) -> Release:
        """All items that enough distinct users share: `Dataset.union`, with the delta of that many `queries`.

        It takes the picks of one step of `epsilon`: a union is no bounded-range step, so where picks are counted by
        zCDP it takes four times as many as one of the exponential mechanism.
        """
        data, many = _without_budget(dataset), parameters.whole("queries", queries, least=1)
        query = UnionQuery(
            epsilon=epsilon,
            delta=many * self.terms.delta_per_query,
            method=method,
            max_items_per_user=data.max_items_per_user if max_items_per_user is None else max_items_per_user,
            counts=counts,
            shares=shares,
            words=data.words,
        )
        return self._ask(query, data, many, fresh=fresh, progress=progress, draws=draws)

    def _ask(
        self,
        query: Query,
        data: Any,
        queries: int,
        *,
        fresh: bool,
        progress: Progress | None,
        draws: Draws | None,
    ) -> Release:
        """Take the ceiling, answer, give back what was not needed; a ledger keeps the answer."""
        check_call(draws, progress)
        parameters.flag("fresh", fresh)
        if not isinstance(data, Dataset):
            selecting: Any = query  # of values of the caller's
            return self._pay(query, queries, None, lambda: selecting.select(data, secure(draws)), draws, fresh)
        query = query.of(_without_budget(data))
        with data.engine() as engine:
            query.check(engine)
            return self._pay(
                query, queries, (data, engine), lambda: query.run(engine, secure(draws), progress), draws, fresh
            )

    def _pay(
        self,
        query: Query,
        queries: int,
        rows: tuple[Dataset, Engine] | None,
        answer: Callable[[], Release],
        draws: Draws | None,
        fresh: bool,
    ) -> Release:
        taking = self._accountant.question(Cost(query.price.steps, queries))

        def ask() -> Release:
            if self._deposit is not None:
                self._deposit.start()
            taking.start()
            release = answer()
            return replace(release, charged=self._receipt(taking.settle(query.steps(release))))

        if self._budget is None:
            with taking:
                return ask()
        price = {"epsilon_per_pick": self.terms.epsilon_per_pick, "delta_per_query": self.terms.delta_per_query}
        asked = {**query.key, **price, "secure": draws is None or draws.secure}
        if rows is None:
            what = question(query.verb, asked, {"source": "scores"}, False)
        else:
            data, engine = rows
            what = data.question(query.verb, asked, engine, self._budget.snapshot)
        return self._budget.pay(NOTHING, what, lambda: (ask(), NOTHING), fresh=fresh, agree=taking)

    def _receipt(self, spent: Cost) -> Receipt:
        picks, left = self._accountant.picks(spent.steps), self.remaining
        sentence = f"{in_words(rounded_up(picks), spent.queries)}; the session has {left} left"
        numbers = {"picks": picks, "queries": spent.queries, "picks_left": left.picks, "queries_left": left.queries}
        return Receipt(sentence, numbers)

    # ---- what is left -----------------------------------------------------------------------------------------

    @property
    def remaining(self) -> Remaining:
        """Picks and queries that no question has taken."""
        return self._accountant.left

    def what_if(self, k: int = 10, *, counts: bool = False, known_domain: bool = False) -> QuestionsLeft:
        """How many more top-k questions of this kind can be asked. Asking this costs nothing."""
        k, known = parameters.listed("k", k), parameters.flag("known_domain", known_domain)
        counted = parameters.flag("counts", counts)
        pick = self.terms.epsilon_per_pick
        ceiling = Cost(plan_of(k, k if counted else 0)(pick), 0 if known else 1)
        return self._accountant.questions_left(ceiling, ceiling if known else Cost(plan_of(1)(pick), 1))

    def statement(self) -> Statement:
        """What the whole session promises, and what its questions have taken so far."""
        t, left = self.terms, self.remaining
        return Statement(
            epsilon=t.epsilon,
            delta=t.delta,
            neighbors=Neighbors.ADD_REMOVE,
            mechanism="Session",
            parameters={
                "epsilon_per_pick": t.epsilon_per_pick,
                "delta_per_query": t.delta_per_query,
                "k_star": t.k_star,
                "l_star": t.l_star,
            },
            bound=t.bound,
            sentences=(
                f"All answers of this session together keep this promise; picks are counted by {t.filter.name}.",
                f"Left: {rounded_down(left.picks)} of {t.k_star} picks and {left.queries} of {t.l_star} queries.",
            ),
        )

    # ---- the ledger ---------------------------------------------------------------------------------------

    def _set_aside(self, paying: LedgerBudget) -> Deposit:
        """The whole promise, until the session is closed."""
        t = self.terms
        asked = {"epsilon": t.epsilon, "delta": t.delta, "k_star": t.k_star, "l_star": t.l_star}
        return Deposit(paying, ApproxDP(t.epsilon, t.delta), question("session", asked, {}, False))

    def close(self) -> None:
        """No more questions; a ledger gets back what was surely not spent."""
        spent = self._accountant.close()
        if self._deposit is not None:
            self._deposit.close(spent)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        if self._accountant.is_here:  # a forked child leaves the block as well, and settles nothing
            self.close()

    __reduce_ex__ = refuse_copy

    def __repr__(self) -> str:
        price = f"epsilon={formatting.number(self.terms.epsilon)}, delta={formatting.number(self.terms.delta)}"
        return f"Session({price}, {self.remaining} left)"


def _without_budget(dataset: object) -> Dataset:
    """A data set whose questions are paid here, and nowhere else."""
    if not isinstance(dataset, Dataset):
        raise ParameterError("dataset", "be a Dataset", came(dataset))
    if dataset.paying is not None:
        raise ParameterError("dataset", "have no budget of its own in a session", "one", "give it to the Session")
    return dataset


def _terms(whole: Mapping[str, Number | None], pieces: Mapping[str, Number | None], k_star: int, l_star: int) -> Terms:
    """One of the two ways to open a session, checked."""
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
