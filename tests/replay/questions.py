"""What is asked of an engine, and all that can be noticed of its answers: values, types, words, warnings, failures."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

import numpy as np

from dpselect._ground.periods import parse_periods
from dpselect.aggregates.totals import Totals
from dpselect.aggregates.user_sets import UserSets
from dpselect.aggregates.value_counts import Grid
from dpselect.engines import Engine
from dpselect.engines.port import PerUser
from dpselect.errors import DataError, DpselectError, ParameterError
from dpselect.texts.tokenizer import Tokenizer
from tests.engines.opened import open_engine
from tests.replay.kinds import Made
from tests.replay.masks import masked
from tests.replay.sorts import ROLES, SORTS, Sorts

KEY = bytes(range(16))
GRID = Grid.parse((-10, 30), "0.5")
ALL = 1000  # more items than there are
PAIRED = "paired"  # users with another column, as one user each
OF_PARTS = ("split", "filtered")  # items that are a part of a value, or a pair of values
# Of the times of everybody some are in the first, some in others, and some in none.
WEEK = parse_periods("other", "week", "2022-W01", "UTC")
SOME_DAYS = parse_periods("other", "day", ["2022-01-09..2022-01-11", "2022-01-13"], "UTC")
WEIGHTS = Totals.parse("other", 1)  # one user then adds one to a sum, as to a count
WORDS = ("text", "any of texts")
TIMES = [sort for sort in SORTS if sort in ("day", "text") or sort.startswith(("moment", "any"))]

Label = tuple[str, Hashable]
"""An item with the name of its type: 1, '1' and True are three."""


@dataclass
class Noticed:
    """What one source answers. `counts` are users by item, `sets` are users by what they have, `points` by value."""

    counts: dict[str, list[tuple[Label, int]]] = field(default_factory=dict)
    sets: dict[str, Counter[frozenset[Label]]] = field(default_factory=dict)
    points: dict[str, Counter[int]] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    failed: str | None = None
    ours: bool = True  # is a failure one of dpselect's own errors?


def notice(made: Made, sorts: Sorts, few: tuple[str, ...] = ()) -> Noticed:
    """Ask everything of rows whose columns have these sorts; or of these engines alone counts and sets of users."""
    noticed = Noticed()
    printed = io.StringIO()
    with warnings.catch_warnings(record=True) as warned, contextlib.ExitStack() as stack:
        warnings.simplefilter("always")
        stack.enter_context(contextlib.redirect_stdout(printed))
        stack.enter_context(contextlib.redirect_stderr(printed))
        try:
            for name, more in engines(sorts).items():
                if few and name not in few:
                    continue
                try:
                    engine = _opened(made, more)
                except (DataError, ParameterError) as error:
                    # A text holds no weights, and of several columns each must be of a type that names items.
                    if not {"periods", "totals"} & set(more) and name != PAIRED:
                        raise
                    noticed.refused.append(masked(str(error)))
                    continue
                with engine:
                    noticed.counts[f"{name} top"] = _top(engine)
                    if name == "plain":
                        _ask(engine, noticed, few=bool(few))
        except Exception as error:  # a failure is what is looked for
            noticed.failed, noticed.ours = masked(f"{type(error).__name__}: {error}"), isinstance(error, DpselectError)
    noticed.said = [printed.getvalue(), *(f"{one.category.__name__}: {one.message}" for one in warned)]
    return noticed


def _opened(made: Made, more: dict[str, object]) -> Engine:
    source, table = made
    columns: dict[str, object] = {"user": ROLES[0], "item": ROLES[1]}
    return open_engine(source, table=table, key=KEY, **(columns | more))


def engines(sorts: Sorts) -> dict[str, dict[str, object]]:
    """The engines of one source: as it is, with a bound, a filter and pairs, in periods, with weights, with parts."""
    _, item, other = sorts
    # A bound of all the items that a user has keeps them all, and goes through the code of one that does not.
    pairs = {role: {role: (role, ROLES[2])} for role in ROLES[:2]}
    found: dict[str, dict[str, object]] = {
        "plain": {},
        "filtered": {"where": SORTS[other].where, "max_items_per_user": ALL, **pairs["item"]},
        PAIRED: {"periods": WEEK, **pairs["user"]} if other in TIMES else pairs["user"],
    }
    if item in WORDS:
        found["split"] = {"split": " "}
    if other in TIMES:
        found["in some days"] = {"periods": SOME_DAYS}
    if other not in TIMES or other.startswith("any"):
        found["summed"] = {"totals": WEIGHTS}
    return found


def _ask(engine: Engine, noticed: Noticed, *, few: bool) -> None:
    noticed.sets["sets"] = _sets(engine.contributions())
    if few:
        return
    noticed.counts["groups"] = _groups(engine)
    noticed.counts["weights"] = _weights(engine)
    for which in (PerUser.MIN, PerUser.RANDOM):
        if which is PerUser.RANDOM and engine.source.state is not None:
            continue  # drawn by the user's tag in prepared data: another draw of the same law (docs/replay.md)
        _try(noticed, lambda which=which: _points(engine, which, noticed), engine.check_values)
    _try(noticed, lambda: _tokens(engine, noticed), lambda: engine.check_text(Tokenizer()))


def _try(noticed: Noticed, ask: Callable[[], None], check: Callable[[], None]) -> None:
    """Ask it where the schema allows it; what the schema refuses must be refused whatever the rows are."""
    try:
        check()
    except (DataError, ParameterError) as error:
        noticed.refused.append(str(error))
        return
    ask()


def label(value: object) -> Label:
    """An item as the judge compares it, column by column where it has several."""
    if isinstance(value, tuple):
        return "tuple", tuple(map(label, value))
    return type(value).__name__, value if isinstance(value, Hashable) else repr(value)


def _top(engine: Engine) -> list[tuple[Label, int]]:
    found = engine.top(ALL)
    return [(label(found.label(place, 0)), int(count)) for place, count in enumerate(found.counts)]


def _groups(engine: Engine) -> list[tuple[Label, int]]:
    found = engine.grouped()
    return [
        (label(found.label(group, member)), int(count))
        for group, (count, size) in enumerate(zip(found.counts, found.sizes, strict=True))
        for member in range(size)
    ]


def _sets(found: UserSets) -> Counter[frozenset[Label]]:
    labels = [label(item) for item in found.labels(np.arange(found.size))]
    ends = zip(found.offsets[:-1], found.offsets[1:], strict=True)
    return Counter(frozenset(labels[code] for code in found.codes[start:stop].tolist()) for start, stop in ends)


def _weights(engine: Engine) -> list[tuple[Label, int]]:
    """Every item and its users, as a set union in the engine adds them up: a weight of 1 for each."""
    pairs = engine.pairs()
    groups = pairs.weigh(np.ones(ALL, dtype=np.int64), KEY)
    total = int(groups.sizes.sum())
    pairs.release(np.arange(total, dtype=np.int64))
    users = pairs.released_item_counts(ALL, KEY).tolist()
    return sorted(zip(map(label, pairs.names()), users, strict=True), key=repr)


def _points(engine: Engine, which: PerUser, noticed: Noticed) -> None:
    found = engine.users_at(GRID, which)
    points = zip(found.indices.tolist(), found.users.tolist(), strict=True)
    noticed.points[f"values {which}"] = Counter(dict(points))


def _tokens(engine: Engine, noticed: Noticed) -> None:
    noticed.sets["tokens"] = _sets(engine.tokens(Tokenizer()).sets())
