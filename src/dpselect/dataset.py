"""Dataset: which rows are meant, who a user is and what an item is. It holds no rows and no connection."""

from __future__ import annotations

import os
from dataclasses import KW_ONLY, dataclass

from dpselect import verbs
from dpselect.draws import Draws, fresh_key
from dpselect.engines.domain import domain_of
from dpselect.engines.duckdb_engine import DuckDBEngine
from dpselect.engines.port import Progress
from dpselect.errors import ParameterError
from dpselect.mechanisms.port import secure
from dpselect.parameters import Number, whole
from dpselect.privacy import Neighbors
from dpselect.release import Release


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Rows of users and items, wherever they are.

    `source` is a Parquet, CSV, TSV or JSON lines file (the texts also .gz), a folder, a glob or a list of such
    files, a DuckDB database file or connection with `table=`, a DuckDB relation, a pandas or polars frame, a
    PyArrow table, or a dict of arrays. `user` names the column that says whose row it is: the guarantee is for all
    rows of one user. `item` names the column that is counted. Rows without a user or an item do not count.

    `where` keeps the rows for which an SQL condition (DuckDB's dialect) holds. It looks at one row at a time;
    where it fails for a row, the row is left out. `max_items_per_user` keeps that many distinct items of each user,
    chosen at random anew for every question. `split` makes the parts of a text the items: with `split=" "` the words
    of a message count, each once for a user who wrote it.

    Text files are read as text: `where="age::INT > 30"` makes a number. A line that does not fit is left out.
    The schema is checked here; rows are read when a question is asked, each time anew.
    """

    source: object
    _: KW_ONLY
    user: str
    item: str
    where: str | None = None
    max_items_per_user: int | None = None
    split: str | None = None
    table: str | None = None

    def __post_init__(self) -> None:
        for name in ("user", "item"):
            _text(name, getattr(self, name), "be the name of a column")
        if self.user == self.item:
            raise ParameterError("item", "be another column than user", repr(self.item))
        if self.where is not None:
            _text("where", self.where, "be an SQL condition on one row")
        if self.split is not None:
            _text("split", self.split, "be the text that stands between items", blank=True)
        if self.table is not None:
            _text("table", self.table, "be the name of a table")
        if self.max_items_per_user is not None:
            most = whole("max_items_per_user", self.max_items_per_user, least=1)
            object.__setattr__(self, "max_items_per_user", most)
        self.engine().close()

    def __repr__(self) -> str:
        given = [f"user={self.user!r}", f"item={self.item!r}"]
        for name in ("where", "max_items_per_user", "split", "table"):
            if getattr(self, name) is not None:
                given.append(f"{name}={getattr(self, name)!r}")
        return f"Dataset({_shown(self.source)}, {', '.join(given)})"

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
        progress: Progress | None = None,
        draws: Draws | None = None,
    ) -> Release:
        """The k items that most distinct users share, best first.

        Guarantee: (epsilon, delta)-DP for one whole user coming or going, for all that the release shows. Without
        `domain` the items are found by limited domain, which needs delta > 0 and may return fewer than k ("bottom");
        it looks only at the `k_bar` + 1 items with most users. With `domain` (a list, a range, a number of items, a
        `Column` of another source) exactly k come back, by peeling, and delta may be left out. `counts=True` adds
        noisy counts at the same total price. `method` is "auto", "limited-domain", "chosen-k-bar" or "peeling".

        Raises ParameterError for a bad parameter, before any row is read, and DataError where the source cannot be
        read. No data, or none that fit, are an outcome: a release without items.
        """
        known = None if domain is None else domain_of(domain)
        plan = verbs.plan_top_k(
            k,
            epsilon=epsilon,
            delta=delta,
            domain=known,
            counts=counts,
            k_bar=k_bar,
            max_items_per_user=self.max_items_per_user,
            method=method,
        )
        with self.engine() as engine:
            if plan.rows is None:
                histogram = engine.grouped(known, progress=progress)
            else:
                histogram = engine.top(plan.rows, progress=progress)
            return plan.select(histogram, secure(draws))

    def choose(
        self,
        *,
        domain: object,
        epsilon: Number,
        method: str = "exponential",
        neighbors: Neighbors | str = Neighbors.ADD_REMOVE,
        progress: Progress | None = None,
        draws: Draws | None = None,
    ) -> Release:
        """The item of a known domain that most distinct users share: epsilon-DP for one whole user.

        Counts are monotonic when a user comes or goes, so the 2 of general scores is paid only for
        `neighbors="replace-one"`. `method` is "exponential", "permute-and-flip" or "noisy-max".
        """
        known = domain_of(domain)
        plan = verbs.plan_choice(epsilon=epsilon, method=method, neighbors=neighbors)
        with self.engine() as engine:
            return plan.select(engine.grouped(known, progress=progress), secure(draws))

    def engine(self) -> DuckDBEngine:
        """An engine for one question, with a key of its own. Opening it reads the schema, never a row."""
        return DuckDBEngine(
            self.source,
            user=self.user,
            item=self.item,
            where=self.where,
            max_items_per_user=self.max_items_per_user,
            split=self.split,
            table=self.table,
            key=fresh_key(),
        )


def _text(name: str, value: object, must: str, *, blank: bool = False) -> None:
    if not isinstance(value, str) or not (value if blank else value.strip()):
        raise ParameterError(name, must, repr(value))


def _shown(source: object) -> str:
    """A source without its rows."""
    if isinstance(source, (str, os.PathLike)):
        return repr(os.fsdecode(source))
    if isinstance(source, (list, tuple)):
        return f"<{len(source)} files>"
    return f"<{type(source).__module__.partition('.')[0]} {type(source).__name__}>"
