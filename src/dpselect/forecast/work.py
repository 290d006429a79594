"""How long a question may take: from its parameters and from what the owner of data declared, never from rows.

The bound is in seconds of one processor. By it a gateway decides when the answer leaves, so a question that costs more
leaves later, and no filter can place its end near the time at which it is due (docs/gateway-threats.md). The figures
are several times what was measured (`benchmarks/gateway_work.py`): they need not be right, they must not be too small.
"""

from __future__ import annotations

from typing import Protocol

from dpselect._ground.dataclass import dataclass
from dpselect._ground.domain import Listed, Span
from dpselect._ground.keys import Key, key_columns
from dpselect.engines.address import Address, SourceKind
from dpselect.engines.filters.cost import MAX_BYTES, RowCost
from dpselect.engines.row_filter import parse as parse_filter
from dpselect.queries.plan import Plan

ROWS_OF_ONE_USER = 10_000
"""Rows of one user: an answer has room for MARGIN_USERS times as many, or for all of them at the longest texts."""
MARGIN_USERS = 10
BYTES_OF_A_ROW = 100
"""Bytes of a row, where the owner does not say more."""

ITEM_SECONDS = 1e-5  # seconds for an item of a domain, looked up, counted and drawn from
CELL_SECONDS = 1e-6  # for an item in a group
GROUP_SECONDS = 5e-4  # for one number of one group
PICK_SECONDS = 2e-3  # for each of k


@dataclass(frozen=True)
class EngineWork:
    """The work of an engine at most, in seconds."""

    start: float  # to be opened, and to plan
    row: float  # to be read, joined and counted
    byte: float  # to be read
    operator: float  # of a filter, on one row
    letter: float  # of a filter: a byte of a text, read once


FILES_WORK = EngineWork(start=0.25, row=1e-6, byte=1e-8, operator=2e-7, letter=5e-9)
POSTGRES_WORK = EngineWork(start=0.5, row=8e-6, byte=4e-8, operator=8e-7, letter=1e-8)
SPARK_WORK = EngineWork(start=60.0, row=8e-6, byte=8e-8, operator=2e-6, letter=4e-8)


@dataclass(frozen=True)
class WorkBound:
    """An upper bound on the work of a question, in seconds of one processor."""

    python_seconds: float  # in this interpreter
    engine_seconds: float


class DeclaredSizes(Protocol):
    """The sizes of data as their owner declared them."""

    @property
    def items(self) -> int:
        """The most items."""
        ...

    @property
    def groups(self) -> int:
        """The most groups."""
        ...

    @property
    def all_rows(self) -> int:
        """The most rows."""
        ...

    @property
    def all_bytes(self) -> int:
        """The most bytes."""
        ...


class DeclaredData(Protocol):
    """The data of a question as their owner declared them."""

    @property
    def source(self) -> object:
        """The place of the rows."""
        ...

    @property
    def sizes(self) -> DeclaredSizes:
        """The sizes of the data."""
        ...


def bound_work(
    plan: Plan, where: str | None, item: Key, data: DeclaredData, periods: int = 1, has_counts: bool = False
) -> WorkBound:
    """Bound the work of a question; a user has rows in each of the periods.

    `has_counts` says that the source has a number of users for each item, so that a plain top k reads no row.
    """
    engine, sizes, user_rows = _engine_work(data), data.sizes, ROWS_OF_ONE_USER * periods
    cost = RowCost() if where is None else parse_filter(where).cost
    seconds_per_row = engine.row * _count_passes(plan, item) + engine.operator * cost.operators
    seconds_per_letter = engine.letter * cost.readings

    def work(rows: int, text: int) -> float:
        return rows * seconds_per_row + text * (engine.byte + seconds_per_letter)

    longest = (
        work(user_rows, user_rows * BYTES_OF_A_ROW) + user_rows * (MAX_BYTES - BYTES_OF_A_ROW) * seconds_per_letter
    )
    margin = max(MARGIN_USERS * work(user_rows, user_rows * BYTES_OF_A_ROW), longest)
    rows, text = sizes.all_rows, sizes.all_bytes
    if has_counts and plan.verb == "top_k" and where is None and plan.domain is None and _count_passes(plan, item) == 1:
        rows, text = sizes.items, sizes.items * BYTES_OF_A_ROW
    return WorkBound(python_seconds=engine.start + _draw_seconds(plan, data), engine_seconds=work(rows, text) + margin)


def _engine_work(data: DeclaredData) -> EngineWork:
    work_of_servers = {SourceKind.POSTGRES: POSTGRES_WORK, SourceKind.SPARK: SPARK_WORK}
    return work_of_servers.get(Address.parse(data.source).kind, FILES_WORK)


def _count_passes(plan: Plan, item: Key) -> int:
    """Count how many times the work of a plain top k is done on each row."""
    by = getattr(plan.question, "by", None)
    plan_options = (plan.by, plan.totals, plan.measures, plan.compared_periods)
    facts = (plan.facts.max_items_per_user, plan.facts.exclude)
    options = (plan.requested_method.in_engine, getattr(by, "sizes", None), plan.chooses_bound)
    added_passes = sum(map(bool, plan_options + facts + options))
    needs_sets = plan.verb == "union" or plan.items_are_pairs or plan.method == "discover"
    items = item if plan.items is None else plan.items
    columns = max(len(key_columns(items)) - 1, 0)
    return 1 + added_passes + columns + (3 if needs_sets else 0)


def _draw_seconds(plan: Plan, data: DeclaredData) -> float:
    """Bound the seconds of draws: from items of a domain, groups, numbers of each, and each of k; and of lists."""
    q = getattr(plan.question, "q", ())
    groups, items = _count_groups(plan, data), _domain_size(plan.domain) + (plan.requested_method.k_bar or 0)
    listed = items + _domain_size(plan.facts.exclude)
    seconds = ITEM_SECONDS * listed + CELL_SECONDS * items * groups + PICK_SECONDS * getattr(plan.question, "k", 0)
    return seconds + GROUP_SECONDS * groups * len(q)


def _count_groups(plan: Plan, data: DeclaredData) -> int:
    """Count the groups that are answered: the listed ones, or as many as the owner declared."""
    return (_domain_size(plan.groups) or data.sizes.groups) if plan.by and plan.items is None else 0


def _domain_size(domain: object) -> int:
    match domain:
        case Listed():
            return len(domain.items)
        case Span():
            return domain.stop - domain.start
        case _:
            return 0
