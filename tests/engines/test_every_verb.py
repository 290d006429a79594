"""Texts and bounded unions in every engine: the words that DuckDB finds, and the law of what comes out."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import pyarrow as pa

import dpselect as dps
from dpselect.flat import dataset_of
from dpselect.mechanisms import CountLaplace
from dpselect.mechanisms.set_union.by_weight import rounds_of
from tests.by_names import by_names
from tests.engines.every_engine import Held, Hold
from tests.statistical.judge import FALSE_ALARM, interval, refusal


def asked(held: Held, user: str = "user", **more: object) -> dps.Dataset:
    """The rows of an engine for a verb."""
    return dataset_of(held.source, table=held.table, user=user, **more)


# Two items a block, and three users who have both of them and keep one.
BLOCKS = 500
PAIRED = pa.table(
    {
        "user": [f"u{user}" for user in range(3 * BLOCKS) for _ in "ab"],
        "item": [f"{user // 3} {side}" for user in range(3 * BLOCKS) for side in "ab"],
    }
)


def law_of_a_block(chances: dict[int, float], weights: dict[tuple[int, int], float]) -> dict[tuple[bool, bool], float]:
    """The law of which of two items come out, from the chance at each weight and the law of both weights."""
    law = dict.fromkeys(itertools.product((False, True), repeat=2), 0.0)
    for (a, b), p in weights.items():
        for out in law:
            heads = (chances[w] if yes else 1 - chances[w] for w, yes in zip((a, b), out, strict=True))
            law[out] += p * next(heads) * next(heads)
    return law


def test_the_law_of_a_bounded_union_in_the_engine(hold: Hold) -> None:
    """Each user's item is a coin of its own: three of them make the weights of a block, which make what comes out."""
    price = {"epsilon": Fraction(3, 2), "delta": Fraction(1, 10), "max_items_per_user": 1}
    (one,) = rounds_of(CountLaplace(**price))
    chances = {w: float(one.law.at(Fraction(w)).ball(64).mid()) if w else 0.0 for w in range(4)}
    law = law_of_a_block(chances, {(0, 3): 1 / 8, (1, 2): 3 / 8, (2, 1): 3 / 8, (3, 0): 1 / 8})
    unbounded = law_of_a_block(chances, {(3, 3): 1.0})
    alike = law_of_a_block(chances, {(0, 3): 1 / 2, (3, 0): 1 / 2})  # all users of a block keep the same
    times = 4
    samples = times * BLOCKS
    assert min(refusal(samples, law, wrong) for wrong in (unbounded, alike)) > 0.999
    seen: Counter[tuple[bool, bool]] = Counter()
    data = asked(hold(PAIRED), item="item")
    for _ in range(times):
        out = set(by_names(data).union(**price, method="count-laplace", in_engine=True).labels)
        seen.update((f"{block} a" in out, f"{block} b" in out) for block in range(BLOCKS))
    for answer, p in law.items():
        low, high = interval(samples, p, FALSE_ALARM / len(law))
        assert low <= seen[answer] <= high
