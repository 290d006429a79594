"""Dataset: which rows are meant, who a user is and what an item is. It holds no rows and no connection."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial

from dpselect import answers, engine_unions, parameters, planning, quantiles, unions, verbs
from dpselect.draws import Draws, fresh_key
from dpselect.engines.domain import domain_of
from dpselect.engines.opening import Engine, open_engine
from dpselect.engines.port import PerUser, Progress
from dpselect.engines.shown import shown
from dpselect.engines.warehouse_source import is_warehouse
from dpselect.errors import ParameterError, came
from dpselect.mechanisms.port import check_call, secure
from dpselect.parameters import DELTA, Number, delta_or_default, whole
from dpselect.payments import Answer, Where, purse
from dpselect.privacy import ApproxDP, Neighbors, warn_if_weak
from dpselect.questions import Question, question, source_of
from dpselect.release import Release
from dpselect.texts.level_shares import level_shares
from dpselect.texts.tokenizer import WORDS, Tokenizer, ngram_levels
from dpselect.texts.words import Words


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Rows of users and items, wherever they are.

    `source` is a Parquet, CSV, TSV or JSON lines file (the texts also .gz), a folder, a glob or a list of such
    files, a DuckDB database file or connection with `table=`, a DuckDB relation, a pandas or polars frame, a
    PyArrow table, what narwhals wraps or reads, an object that streams Arrow data, a dict of arrays, a Spark frame,
    or, with `table=`, a Spark session, a `Warehouse`, a spark: or a postgresql:// address. `user` names the column
    that says whose row it is: the guarantee is for all rows of one user. `item` names the column that is counted, or
    whose quantiles are asked. Rows without a user or an item do not count. In place of `item` a column of `text` may
    be named, for `union`: its tokens are the items, and with `ngrams=(1, 3)` up to three of them in a row.
    `tokenizer` is "words", "spaces", "sentences", or "re:" and a pattern; `lower=False` keeps capitals.

    `where` keeps the rows for which a condition holds, as SQL writes it. It is one small language for every source,
    which looks at one row at a time and fails for none (docs/filters.md). `max_items_per_user` keeps that many
    distinct items of each user, chosen at random anew for every question. `split` makes the parts of a text the
    items: with `split=" "` the words of a message count, each once for a user who wrote it.

    Text files are read as text: `where="age::INT > 30"` makes a number. One line is one record, and a line that does
    not fit is left out. `newlines_in_values=True` is for CSV files in which a value in quotes may run over several
    lines: whoever sets it says that all quotes in the files match, or one row may hide others (docs/data.md).
    The schema is checked here; rows are read when a question is asked, each time anew.

    With `ledger` (a file that `dpselect ledger init` made, a postgresql:// address, or a Ledger) and `analyst` every
    question is paid from that analyst's budget for the data called `name`; what does not fit is refused before a row
    is read. The same question of the same files is answered from the ledger and costs nothing; `snapshot` names the
    state of data that are no files, so that it can be known again.
    """

    source: object
    _: KW_ONLY
    user: str
    item: str | None = None
    where: str | None = None
    max_items_per_user: int | None = None
    split: str | None = None
    table: str | None = None
    text: str | None = None
    ngrams: int | Sequence[int] = 1
    tokenizer: str = WORDS
    lower: bool = True
    newlines_in_values: bool = False
    ledger: Where | None = None
    analyst: str | None = None
    name: str = "default"
    snapshot: str | None = None

    def __post_init__(self) -> None:
        what = "item" if self.text is None else "text"
        for name in ("user", what):
            _text(name, getattr(self, name), "be the name of a column")
        if self.user == getattr(self, what):
            raise ParameterError(what, "be another column than user", came(self.user))
        self._check_text()
        if self.where is not None:
            _text("where", self.where, "be an SQL condition on one row")
        if self.split is not None:
            _text("split", self.split, "be the text that stands between items", blank=True)
        if self.table is not None:
            _text("table", self.table, "be the name of a table")
        if self.max_items_per_user is not None:
            most = whole("max_items_per_user", self.max_items_per_user, least=1)
            object.__setattr__(self, "max_items_per_user", most)
        if self.snapshot is not None:
            _text("snapshot", self.snapshot, "be a text that names the state of the data")
            if is_warehouse(self.source) and self.source.name is None:
                hint = "write Warehouse(..., name=...), or two warehouses would be taken for one"
                raise ParameterError("snapshot", "go with a warehouse that has a name", "one without", hint)
        parameters.flag("newlines_in_values", self.newlines_in_values)
        purse(self.ledger, self.analyst, self.name)
        self.engine().close()

    def _check_text(self) -> None:
        """What speaks of text goes with a column of text, and the other way round."""
        cutter = Tokenizer(self.tokenizer, self.lower)
        ngram_levels(self.ngrams, cutter)
        if self.text is None:
            if (self.ngrams, cutter) != (1, Tokenizer()):
                raise ParameterError("text", "name a column where ngrams, tokenizer or lower is given", "nothing")
            return
        for name in ("item", "split"):
            if getattr(self, name) is not None:
                hint = "the tokens of the text are the items; tokenizer= says how it is cut"
                raise ParameterError(name, "be left out where text is given", came(getattr(self, name)), hint)

    @property
    def words(self) -> Words | None:
        """Which n-grams of the text are meant; None where items are."""
        if self.text is None:
            return None
        cutter = Tokenizer(self.tokenizer, self.lower)
        return Words(cutter, *ngram_levels(self.ngrams, cutter))

    def __repr__(self) -> str:
        given = [f"user={self.user!r}"]
        for name in ("item", "text", "where", "max_items_per_user", "split", "table"):
            if getattr(self, name) is not None:
                given.append(f"{name}={getattr(self, name)!r}")
        given += ["newlines_in_values=True"] if self.newlines_in_values else []
        return f"Dataset({shown(self.source)}, {', '.join(given)})"

    def top_k(
        self,
        k: int = 10,
        *,
        epsilon: Number,
        delta: Number | None = None,
        domain: object = None,
        counts: bool = False,
        k_bar: int | None = None,
        method: str = "auto",
        ranked: bool = True,
        fresh: bool = False,
        progress: Progress | None = None,
        draws: Draws | None = None,
    ) -> Release:
        """The k items that most distinct users share, best first.

        Guarantee: (epsilon, delta)-DP for one whole user coming or going, for all that the release shows. Without
        `domain` the items are found by limited domain, which looks only at the `k_bar` + 1 items with most users, or,
        for a k that is large for epsilon, by "discover": a set union finds items that enough users share, peeling ranks
        the best of them by all of their users. Both need delta > 0 and may return fewer than k. With `domain` (a list,
        a range, a number of items, a `Column` of another source) exactly k come back, by peeling. A delta that is left
        out is 1e-6 where it is needed, which is without a domain, and else 0. `counts=True` adds noisy counts at the
        same total price. `method` is "auto", "limited-domain", "discover",
        "chosen-k-bar", or, for users of few items, "limited-domain-laplace" or "limited-domain-gaussian"; with a domain
        "peeling", "joint-sequence", "one-shot-laplace", "gamma", or one of "joint-set", "canonical-set",
        "joint-permute-and-flip" and "canonical-permute-and-flip". These four choose a set in no order, which is often
        nearer to the true one; they need `ranked=False`, which also lets "auto" take one of them.
        `fresh=True` pays again for a question whose answer the ledger holds.

        Raises ParameterError for a bad parameter, before any row is read, and DataError where the source cannot be
        read. No data, or none that fit, are an outcome: a release without items.
        """
        check_call(draws, progress)
        known = None if domain is None else domain_of(domain)
        plan = planning.plan_top_k(
            k,
            epsilon=epsilon,
            delta=delta,
            domain=known,
            counts=counts,
            k_bar=k_bar,
            max_items_per_user=self.max_items_per_user,
            method=method,
            ranked=ranked,
        )
        asked = {
            "k": plan.selector.k,
            "epsilon": plan.privacy.epsilon,
            "delta": delta_or_default(delta, needed=known is None),
            "domain": known,
            "counts": counts,
            "k_bar": None if plan.rows is None else plan.rows - 1,
            "method": type(plan.selector).__name__,
            "loss": str(getattr(plan.selector, "loss", "")),
            "secure": draws is None or draws.secure,
        }

        def ask(engine: Engine) -> Answer:
            release = answers.top(plan, known, engine, progress, draws)
            return release, plan.charge(len(release))

        return self._paid("top_k", asked, plan.privacy.approx, partial(answers.check_top, plan, known), ask, fresh)

    def union(
        self,
        *,
        epsilon: Number,
        delta: Number = DELTA,
        max_items_per_user: int | str | None = None,
        method: str = unions.AUTO,
        counts: bool = False,
        shares: Sequence[Number] | None = None,
        popular: Sequence[object] | Release | None = None,
        in_engine: bool = False,
        fresh: bool = False,
        progress: Progress | None = None,
        draws: Draws | None = None,
    ) -> Release:
        """All items that enough distinct users share: a vocabulary, or the keys of a GROUP BY. They have no ranks.

        Guarantee: (epsilon, delta)-DP for one whole user coming or going, for all that the release shows. Every user
        takes part with `max_items_per_user` random items; without that (here or in the Dataset), or with "auto", the
        number is chosen privately, for 1/20 of epsilon. `counts=True` adds noisy numbers of users, for a quarter of the
        price. `method` is "auto" or the name of a mechanism, such as "renyi-shaped", "sips", "policy-gaussian" or
        "weighted-laplace" (docs/set-union.md has them all). Where the Dataset names a `text`, n-grams are released
        level by level, and `shares` says how the levels share the budget: by default three levels 1/2, 1/3 and 1/6.
        `popular` is a public list of items that are likely to be shared, or an earlier release: users who give to one
        item each ("shaped-pouring", "greedy-pouring") then choose those first. `in_engine=True` leaves users and
        their items in the engine, which spills to disk what does not fit into memory (docs/set-union.md).

        Raises ParameterError for a bad parameter, before any row is read, and DataError where the source cannot be
        read or is too large for this machine. No data are an outcome: a release without items.
        """
        check_call(draws, progress)
        terms = self.union_terms(epsilon, delta, max_items_per_user, method, counts, shares, popular)
        asked = {**terms.asked, "secure": draws is None or draws.secure}
        if parameters.flag("in_engine", in_engine):
            engine_unions.check(terms, text=self.text is not None)
            asked["in_engine"] = True

        def ask(engine: Engine) -> Answer:
            if in_engine:
                return answers.union_in_engine(terms, engine, progress, draws), terms.privacy.approx
            return answers.union(terms, self.words, engine, progress, draws), terms.privacy.approx

        check = partial(answers.check_union, self.words)
        return self._paid("union", asked, terms.privacy.approx, check, ask, fresh)

    def union_terms(
        self,
        epsilon: Number,
        delta: Number,
        max_items_per_user: int | str | None,
        method: str,
        counts: bool,
        shares: Sequence[Number] | None,
        popular: Sequence[object] | Release | None = None,
    ) -> unions.UnionTerms:
        """Check every parameter of a union, and fix the price of each part of it."""
        words = self.words
        if words is None and shares is not None:
            raise ParameterError("shares", "be left out where the items are no n-grams", "shares")
        shortest, longest = (1, 1) if words is None else (words.shortest, words.longest)
        return unions.plan_union(
            epsilon=epsilon,
            delta=delta,
            max_items_per_user=self.max_items_per_user if max_items_per_user is None else max_items_per_user,
            method=method,
            counts=counts,
            shares=level_shares(longest, shares),
            popular=popular,
            first=shortest - 1,
        )

    def check_verb(self, verb: str) -> None:
        """Refuse a column of text where items are counted: every whole text would be an item."""
        if self.text is not None and verb != "union":
            hint = "for the words of a message use item= and split=' '"
            raise ParameterError("text", f"be left out for {verb}, which counts items", came(self.text), hint)

    def choose(
        self,
        *,
        domain: object,
        epsilon: Number,
        method: str = "exponential",
        neighbors: Neighbors | str = Neighbors.ADD_REMOVE,
        fresh: bool = False,
        progress: Progress | None = None,
        draws: Draws | None = None,
    ) -> Release:
        """The item of a known domain that most distinct users share: epsilon-DP for one whole user.

        Counts are monotonic when a user comes or goes, so the 2 of general scores is paid only for
        `neighbors="replace-one"`. `method` is "exponential", "permute-and-flip" or "noisy-max".
        """
        check_call(draws, progress)
        known = domain_of(domain)
        most = self.max_items_per_user
        plan = verbs.plan_choice(epsilon=epsilon, method=method, neighbors=neighbors, most=most)
        price = plan.chooser.privacy
        asked = {
            "epsilon": price.epsilon,
            "domain": known,
            "method": type(plan.chooser).__name__,
            "neighbors": str(price.neighbors),
            "secure": draws is None or draws.secure,
        }

        purse(self.ledger, self.analyst, self.name, price.neighbors)

        def ask(engine: Engine) -> Answer:
            return plan.select(engine.grouped(known, progress=progress), secure(draws)), price.approx

        return self._paid("choose", asked, price.approx, lambda engine: engine.check(known), ask, fresh)

    def quantile(
        self,
        q: Number | Sequence[Number] = 0.5,
        *,
        bounds: quantiles.Bounds,
        epsilon: Number,
        delta: Number = 0,
        step: Number | None = None,
        per_user: PerUser | str = PerUser.RANDOM,
        fresh: bool = False,
        progress: Progress | None = None,
        draws: Draws | None = None,
    ) -> Release:
        """The value in the `item` column below which a share q of all users lies, or several such values, ascending.

        Guarantee: (epsilon, delta)-DP for one whole user coming or going. Every user takes part with one value: with
        `per_user` a "random" one of their distinct values, their "min", "max" or "mean". `bounds` are two numbers
        chosen without looking at the data; what lies beyond counts as the bound. The answer is a point low + i `step`;
        without a step the points are very dense. Several q share the price; a small delta makes them more accurate.
        """
        check_call(draws, progress)
        which = quantiles.chosen(per_user)
        plan = quantiles.plan_quantile(q, bounds=bounds, step=step, epsilon=epsilon, delta=delta, per_user=which)
        price = plan.mechanism.privacy.approx
        self.check_one_each()

        def ask(engine: Engine) -> Answer:
            return answers.values(plan, which, engine, progress, draws), price

        asked = quantiles.asked(plan, draws, which)
        return self._paid("quantile", asked, price, lambda engine: engine.check_values(), ask, fresh)

    def median(
        self,
        *,
        bounds: quantiles.Bounds,
        epsilon: Number,
        step: Number | None = None,
        per_user: PerUser | str = PerUser.RANDOM,
        fresh: bool = False,
        progress: Progress | None = None,
        draws: Draws | None = None,
    ) -> Release:
        """The middle one of all users' values: `quantile` with q = 1/2, which is epsilon-DP."""
        return self.quantile(
            quantiles.MEDIAN,
            bounds=bounds,
            epsilon=epsilon,
            step=step,
            per_user=per_user,
            fresh=fresh,
            progress=progress,
            draws=draws,
        )

    def check_one_each(self) -> None:
        """Refuse what speaks of several items of a user, who takes part in a quantile with one value."""
        for name in ("split", "max_items_per_user"):
            if getattr(self, name) is not None:
                raise ParameterError(name, "be left out for a quantile", came(getattr(self, name)))

    def question(self, verb: str, asked: Mapping[str, object], engine: Engine) -> Question:
        """What is asked of which rows, as a ledger knows it again; the engine is open for it."""
        source, pinned = source_of(self.source)
        names = ["user", "item", "where", "split", "table", "max_items_per_user", "snapshot"]
        names += [] if self.text is None else ["text", "ngrams", "tokenizer", "lower"]
        names += ["newlines_in_values"] if self.newlines_in_values else []
        data = {"source": source} | {name: getattr(self, name) for name in names}
        return question(verb, asked, data, (pinned and engine.fixed) or self.snapshot is not None)

    def _paid(
        self,
        verb: str,
        asked: Mapping[str, object],
        ceiling: ApproxDP,
        check: Callable[[Engine], None],
        ask: Callable[[Engine], Answer],
        fresh: bool,
    ) -> Release:
        """The answer, paid from the purse if there is one; `check` refuses before that what does not fit the schema."""
        parameters.flag("fresh", fresh)
        self.check_verb(verb)
        warn_if_weak(ceiling)
        paying = purse(self.ledger, self.analyst, self.name)
        with self.engine() as engine:
            check(engine)
            if paying is None:
                return ask(engine)[0]
            return paying.pay(ceiling, self.question(verb, asked, engine), lambda: ask(engine), fresh=fresh)

    def engine(self) -> Engine:
        """An engine for one question, with a key of its own. Opening it reads the schema, never a row."""
        return open_engine(
            self.source,
            user=self.user,
            item=self.text or self.item or "",
            where=self.where,
            max_items_per_user=self.max_items_per_user,
            split=self.split,
            table=self.table,
            newlines_in_values=self.newlines_in_values,
            key=fresh_key(),
        )


def _text(name: str, value: object, must: str, *, blank: bool = False) -> None:
    if not isinstance(value, str) or not (value if blank else value.strip()):
        raise ParameterError(name, must, came(value))
