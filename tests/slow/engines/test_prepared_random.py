"""Random rows, prepared at once or in parts, or in another engine, and random questions: the same answers.

As a script it asks as many of prepared data as it is told to: `python -m tests.slow.engines.test_prepared_random 10000
SEED`.
"""

from __future__ import annotations

import datetime
import random
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dpselect._ground.periods import parse_periods
from dpselect.aggregates.measures import Mean, Sum
from dpselect.aggregates.totals import Totals
from dpselect.engines import Engine
from tests.engines.opened import open_engine
from tests.engines.test_conformance import pairs
from tests.slow.engines.test_prepared import OTHERS, QUESTIONS, prepared

OF_A_FOLDER = 60  # questions
KEY = b"key of the test."
pytestmark = pytest.mark.usefixtures("one_duckdb")
SORTS = {"day": ("day", "week", "month"), "month": ("month", "quarter"), "week": ("week",)}
NAMES = {
    "day": ["2026-01-03", "2026-01-01..2026-02-03"],
    "week": ["2026-W02", "2026-W01..2026-W09"],
    "month": ["2026-01", "2026-01..2026-03"],
    "quarter": ["2026-Q1", "2025-Q4..2026-Q1"],
}


def table(of: random.Random) -> pa.Table:
    """Few users or many, with repeated rows, missing values, and numbers of all sorts."""
    rows, users, items = of.choice([0, 1, 5, 60, 300]), of.choice([1, 4, 40]), of.choice([1, 3, 25])

    def maybe(value: Any) -> Any:
        return None if of.random() < 0.05 else value

    first = datetime.datetime(2026, 1, 1)
    columns = {
        "user": (pa.string(), lambda: maybe(f"u{of.randrange(users)}")),
        "item": (pa.string(), lambda: maybe(of.choice(["", "Ä", "a b", "'", '"x"', f"i{of.randrange(items)}"]))),
        "number": (pa.int32(), lambda: maybe(of.randrange(-3, 4))),
        "real": (pa.float64(), lambda: maybe(of.choice([0.0, -0.0, float("nan"), 1.5, float("inf")]))),
        "kept": (pa.string(), lambda: maybe(of.choice("pqr"))),
        "flag": (pa.bool_(), lambda: maybe(of.random() < 0.5)),
        "weight": (pa.float64(), lambda: maybe(of.choice([0.5, 1.0, -2.25, 1e9]))),
        "at": (pa.timestamp("us"), lambda: maybe(first + datetime.timedelta(hours=of.randrange(24 * 80)))),
    }
    made = {name: pa.array([draw() for _ in range(rows)], kind) for name, (kind, draw) in columns.items()}
    repeated = pa.table(made)
    return repeated.take(pa.array([place for place in range(rows) for _ in range(of.choice([1, 1, 2]))], pa.int64()))


def rules_of(of: random.Random) -> dict[str, Any]:
    """What may be asked of the rows."""
    rules: dict[str, Any] = {"user": of.choice(["user", "user", ["user", "flag"]])}
    rules["item"] = of.choice(["item", "number", "real", ["item", "number"]])
    taken = {*([rules["user"]] if isinstance(rules["user"], str) else rules["user"])}
    taken |= {*([rules["item"]] if isinstance(rules["item"], str) else rules["item"])}
    keep = [name for name in ("item", "number", "real", "kept", "flag") if name not in taken]
    rules |= {"keep": of.sample(keep, of.randrange(len(keep) + 1)), "weights": "weight"}
    if of.random() < 0.7:
        rules |= {"time": "at", "period": of.choice(list(SORTS))}
    return rules


def condition(of: random.Random, columns: list[str]) -> str:
    one = {
        "item": ["item < 'b'", "item <> ''", "item IS NULL"],
        "number": ["number >= 0", "number IN (1, 2)", "number IS NULL OR number < 0"],
        "real": ["real > 1", "real = 0"],
        "kept": ["kept = 'p'", "kept <> 'q'", "kept LIKE 'r%'", "kept IS NULL"],
        "flag": ["flag", "NOT flag"],
        "user": ["user <> 'u1'", "user > 'u2'"],
        "weight": ["weight > 0"],
    }
    found = [of.choice(one[of.choice(columns)]) for _ in range(of.choice([1, 1, 2]))]
    return f" {of.choice(['AND', 'OR'])} ".join(found)


def question(of: random.Random, rules: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """What an engine is opened with, and what it is asked."""
    user, item = rules["user"], rules["item"]
    columns = [*([user] if isinstance(user, str) else user), *([item] if isinstance(item, str) else item)]
    columns += [*rules["keep"], "weight"]
    asked: dict[str, Any] = {"user": tuple(user) if isinstance(user, list) else user, "key": KEY}
    prepared_item = tuple(item) if isinstance(item, list) else item
    others = [name for name in columns if name not in ("user", "flag")]
    asked["item"] = prepared_item if of.random() < 0.8 else of.choice(others)
    if of.random() < 0.6:
        few = rules["keep"] if rules["keep"] and of.random() < 0.5 else columns
        asked["where"] = condition(of, few)
    if "time" in rules and of.random() < 0.6:
        sort = of.choice(SORTS[rules["period"]])
        asked["periods"] = parse_periods("at", sort, of.choice(NAMES[sort]), "UTC")
    how = of.choice(["top", "top", "top", "groups", "domain", "bound", "sets", "values", "by", "totals", "measures"])
    if how == "bound":
        asked["max_items_per_user"] = of.choice([1, 2, 1000])
    if how == "totals":
        asked["totals"] = Totals.parse("weight", 10)
    if how == "measures":
        asked["measures"] = (Sum("weight", -5, 20), Mean("weight", 0, 10))
    if how == "by":
        groups = [name for name in (*rules["keep"], "weight") if name != asked["item"]]
        how = how if groups else "top"
        asked["by"] = tuple(of.sample(groups, min(len(groups), 1)))
    return asked, how


def answer(engine: Engine, how: str, most: int) -> object:
    """What it finds: of a bound that draws, how many pairs are kept, and that no item has more users than it had."""
    if how in ("top", "totals"):
        return pairs(engine.top(most))
    if how == "bound":
        return sum(count for _, count in pairs(engine.top(10**6)))
    return (QUESTIONS | OTHERS)[how](engine)


def said(asked: dict[str, Any], how: str, most: int, source: object, table: str | None = None) -> str:
    """What comes back, or how it was refused."""
    try:
        with open_engine(source, table=table, **asked) as engine:
            return repr(answer(engine, how, most))
    except ValueError as error:
        return f"refused: {error}"
    except Exception as error:
        return f"refused: {type(error).__name__}: {error}"


def compare(questions: int, seed: int) -> int:
    """Ask so many questions of both; how many were refused by both, in the same words."""
    of, refused = random.Random(seed), 0
    for start in range(0, questions, OF_A_FOLDER):
        with tempfile.TemporaryDirectory(prefix="compared-") as place:
            rules, parts = rules_of(of), of.choice([1, 1, 2, 4])
            paths = prepared(table(of), Path(place), parts, **rules)
            for at in range(start, min(start + OF_A_FOLDER, questions)):
                asked, how = question(of, rules)
                most = of.choice([1, 2, 1000])
                raw, ready = (said(asked, how, most, path) for path in paths)
                refused += raw.startswith("refused")
                assert raw == ready, (seed, at, rules, asked, how)
    return refused


@pytest.mark.parametrize("seed", range(4))
def test_random_questions_are_answered_as_of_the_rows(seed):
    assert compare(OF_A_FOLDER, seed) < OF_A_FOLDER / 2


@pytest.mark.parametrize("seed", range(8))
def test_random_questions_are_answered_alike_elsewhere(elsewhere, seed):
    of = random.Random(seed)
    rules, rows = rules_of(of), table(of)
    held = elsewhere(rows)
    for at in range(OF_A_FOLDER // 4):
        asked, how = question(of, rules)
        most = of.choice([1, 2, 1000])
        found = said(asked, how, most, rows), said(asked, how, most, held.source, held.table)
        # Each names its own types, and how they are declared there.
        here, there = (re.sub(r"of type .* holds|\\nhint: .*|[\\'\"]", "", one) for one in found)
        assert here == there, (seed, at, rules, asked, how)


if __name__ == "__main__":
    sys.stdout.write(f"refused: {compare(int(sys.argv[1]), int(sys.argv[2]))}\n")
