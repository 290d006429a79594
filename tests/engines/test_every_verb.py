"""Every verb on every engine: with draws that repeat it releases the same to the last number, so its law is one."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import dpselect as dps
from dpselect.dataset import dataset_of
from dpselect.mechanisms import WeightedLaplace
from dpselect.mechanisms.set_union.by_weight import rounds_of
from dpselect.release.release import Release
from dpselect.testing import SeededDraws
from tests.by_names import by_names
from tests.engines.every_engine import Held, Hold, judge
from tests.engines.typed_rows import AWKWARD, TEXTS
from tests.statistical.judge import FALSE_ALARM, interval, refusal

Verb = Callable[[Held, SeededDraws], Release]

# So many items that no bound bites: what a bounded user keeps hangs on a secret key, and tests of the bound see to it.
ALL = len(TEXTS)
SET = {"epsilon": 60, "delta": "0.3", "max_items_per_user": ALL}
ONE = {"epsilon": "0.5"}
PLACES = {"bounds": (-10, 50), "step": "0.5", "epsilon": 9}
EVERYWHERE = {"by": "text", "max_groups_per_user": ALL}  # so many groups that no bound bites
LISTED = ["tie a", "popular", "nobody's", "CASE", "space "]


def asked(held: Held, user: str = "user", **more: object) -> dps.Dataset:
    """The rows of an engine for a verb."""
    return dataset_of(held.source, table=held.table, user=user, **more)


VERBS: dict[str, Verb] = {
    "top_k": lambda held, draws: by_names(asked(held, item="text")).top_k(
        4, epsilon=15, delta="0.2", counts=True, draws=draws
    ),
    "top_k, discovered": lambda held, draws: by_names(asked(held, item="text", max_items_per_user=ALL)).top_k(
        5, epsilon=15, delta="0.2", method="discover", draws=draws
    ),
    "top_k, discovered in the engine": lambda held, draws: by_names(
        asked(held, item="text", max_items_per_user=ALL)
    ).top_k(5, epsilon=15, delta="0.2", method="discover", counts=True, in_engine=True, draws=draws),
    "top_k of a list": lambda held, draws: by_names(asked(held, item="text")).top_k(
        3, epsilon=1, domain=LISTED, counts=True, draws=draws
    ),
    "top_k, joint": lambda held, draws: by_names(asked(held, item="text")).top_k(
        3, epsilon=1, domain=LISTED, method="joint-sequence", draws=draws
    ),
    "top_k of a range": lambda held, draws: by_names(asked(held, item="small")).top_k(
        3, epsilon=1, domain=range(20), draws=draws
    ),
    "top_k of a number": lambda held, draws: by_names(asked(held, item="text")).top_k(
        3, epsilon=1, domain=10**6, draws=draws
    ),
    "top_k of moments": lambda held, draws: by_names(asked(held, item="zoned")).top_k(
        2, epsilon=9, delta="0.1", draws=draws
    ),
    "top_k of prices": lambda held, draws: by_names(asked(held, item="price")).top_k(
        3, epsilon=9, delta="0.1", draws=draws
    ),
    "top_k of parts": lambda held, draws: by_names(asked(held, item="text", split=" ")).top_k(
        3, epsilon=9, delta="0.1", draws=draws
    ),
    "top_k by prices": lambda held, draws: by_names(asked(held, item="text")).top_k(
        4, epsilon=15, delta="0.2", by_weight="price", at_most=3, weight_unit="0.25", counts=True, draws=draws
    ),
    "top_k of a range by weights": lambda held, draws: by_names(asked(held, item="small")).top_k(
        3, epsilon=1, domain=range(20), by_weight="real", at_most=5, draws=draws
    ),
    "top_k with measures": lambda held, draws: by_names(asked(held, item="text", max_items_per_user=99)).top_k(
        4, epsilon=15, delta="0.2", measures=["users", "sum(price, -3, 9)", "mean(real, 0, 5)"], draws=draws
    ),
    "top_k of a range with measures": lambda held, draws: by_names(asked(held, item="small")).top_k(
        3, epsilon=9, domain=range(20), measures="mean(whole, 0, 20)", draws=draws
    ),
    "choose": lambda held, draws: by_names(asked(held, item="text")).choose(domain=LISTED, **ONE, draws=draws),
    "choose of a column": lambda held, draws: by_names(asked(held, item="text")).choose(
        domain=dps.Column({"name": TEXTS}, "name"), **ONE, draws=draws
    ),
    "choose of a range": lambda held, draws: by_names(asked(held, item="whole")).choose(
        domain=range(-5, 20), **ONE, draws=draws
    ),
    "choose of a number": lambda held, draws: by_names(asked(held, item="text")).choose(domain=100, **ONE, draws=draws),
    "choose of days": lambda held, draws: by_names(asked(held, item="day")).choose(
        domain=AWKWARD.column("day").to_pylist(), **ONE, method="permute-and-flip", draws=draws
    ),
    "histogram of a list": lambda held, draws: by_names(asked(held, item="text")).histogram(
        domain=LISTED, epsilon=1, draws=draws
    ),
    "histogram of a range": lambda held, draws: by_names(asked(held, item="whole")).histogram(
        domain=range(-5, 20), epsilon=1, delta="0.01", draws=draws
    ),
    "quantile, least": lambda held, draws: by_names(asked(held, item="whole")).quantile(
        [0.2, 0.5, 0.9], **PLACES, per_user="min", draws=draws
    ),
    "quantile, mean": lambda held, draws: by_names(asked(held, item="price")).quantile(
        0.7, **PLACES, per_user="mean", draws=draws
    ),
    "median": lambda held, draws: by_names(asked(held, item="real")).median(**PLACES, per_user="max", draws=draws),
    "medians of groups": lambda held, draws: by_names(asked(held, item="whole")).quantile(
        [0.2, 0.5], **EVERYWHERE, bounds=(-10, 50), step="0.5", per_user="mean", epsilon=60, delta="0.3", draws=draws
    ),
    "medians of listed pairs": lambda held, draws: by_names(asked(held, item="price")).median(
        **PLACES,
        per_user="max",
        by=["flag", "small"],
        groups=[(True, 7), (False, 0)],
        max_groups_per_user=9,
        draws=draws,
    ),
    "choose in groups": lambda held, draws: by_names(asked(held, item="small")).choose(
        **EVERYWHERE, domain=range(-2, 20), epsilon=60, delta="0.3", draws=draws
    ),
    "choose in days": lambda held, draws: by_names(asked(held, item="text")).choose(
        domain=LISTED,
        by="day",
        groups=AWKWARD.column("day").to_pylist(),
        max_groups_per_user=99,
        epsilon=9,
        draws=draws,
    ),
    "union": lambda held, draws: by_names(asked(held, item="text")).union(
        **SET, method="policy-laplace", counts=True, draws=draws
    ),
    "union, all chosen": lambda held, draws: by_names(asked(held, item="text")).union(
        epsilon=5, delta="0.1", draws=draws
    ),
    "union of whole numbers": lambda held, draws: by_names(asked(held, item="whole")).union(
        **SET, method="weighted-gaussian", draws=draws
    ),
    "union in the engine": lambda held, draws: by_names(asked(held, item="text")).union(
        **SET, method="weighted-gaussian", in_engine=True, counts=True, draws=draws
    ),
    "union of days in the engine": lambda held, draws: by_names(asked(held, item="day")).union(
        **SET, method="weighted-gaussian", in_engine=True, draws=draws
    ),
    "union in the engine, bound chosen": lambda held, draws: by_names(asked(held, item="flag")).union(
        epsilon=8, delta="0.01", in_engine=True, draws=draws
    ),
}


def check_verb(held: Held, verb: Verb) -> None:
    """Under the same bits the release is that of DuckDB."""
    ours, right = (verb(one, SeededDraws(1)) for one in (held, judge(AWKWARD)))
    assert list(map(repr, ours.items)) == list(map(repr, right.items))
    assert ours.privacy == right.privacy
    assert len(right)


@pytest.mark.parametrize("verb", VERBS.values(), ids=list(VERBS))
def test_the_same_release(elsewhere: Hold, verb: Verb) -> None:
    check_verb(elsewhere(AWKWARD), verb)


def test_the_draws_tell_releases_apart() -> None:
    """That two engines agree says something: other bits, or a user less, give another release."""
    fewer = AWKWARD.filter(pc.not_equal(AWKWARD.column("user"), "everything"))
    for name in ("top_k", "union in the engine"):
        found = [
            [repr(VERBS[name](judge(rows), SeededDraws(seed)).items) for seed in range(2)] for rows in (AWKWARD, fewer)
        ]
        assert len(set(found[0])) > 1
        assert found[0] != found[1]


NOTES = pa.table(
    {
        "user": [f"u{n}" for n in range(200)] * 2 + ["u7", None, "u8"],
        "note": ["The quick FOX, caf\u00e9 \U0001f600 don't"] * 200 + ["quick fox"] * 200 + ["my secret", "x", None],
    }
)


@pytest.mark.parametrize("ngrams", [1, (1, 2)], ids=str)
def test_words_of_texts(elsewhere: Hold, ngrams: object) -> None:
    found = [
        by_names(asked(held, item=dps.Text("note", ngrams=ngrams))).union(
            epsilon=10**3, delta="1e-9", max_items_per_user=20, method="weighted-gaussian"
        )
        for held in (elsewhere(NOTES), judge(NOTES))
    ]
    labels = [sorted(map(str, release.labels)) for release in found]
    assert labels[0] == labels[1]
    assert {"quick", "caf\u00e9"} <= set(labels[0])
    assert "secret" not in labels[0]


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
    (one,) = rounds_of(WeightedLaplace(**price))
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
        out = set(by_names(data).union(**price, method="weighted-laplace", in_engine=True).labels)
        seen.update((f"{block} a" in out, f"{block} b" in out) for block in range(BLOCKS))
    for answer, p in law.items():
        low, high = interval(samples, p, FALSE_ALARM / len(law))
        assert low <= seen[answer] <= high
