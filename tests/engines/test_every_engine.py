"""One suite on every engine: awkward rows of every type in, the same histogram out, judged by plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from dpselect._ground.domain import Column, Domain, Listed, Size, Span
from dpselect.engines import Engine
from dpselect.texts.tokenizer import Tokenizer
from tests.engines.every_engine import Held, Hold, judge
from tests.engines.test_conformance import kept as kept_of
from tests.engines.test_conformance import named, pairs
from tests.engines.typed_rows import (
    AWKWARD,
    EMPTY,
    TEXTS,
    USERS,
    VALUES,
    counts,
    is_infinite,
    items_of_users,
    pairs_of,
)
from tests.statistical.judge import FALSE_ALARM, interval

TIE = range(9)
"""The tie of texts is cut at each place."""


def check_counts(held: Held, rows: pa.Table, user: str, item: str, tie: Sequence[int] = TIE) -> None:
    """All of a histogram, and every cut through it."""
    right = counts(rows, user, item)
    with held.engine(user, item) as engine:
        for most in {*(tie if item == "text" else (3,)), len(right)}:
            assert pairs(engine.top(most)) == right[:most]
        groups = engine.grouped()
        found = pairs(groups)
        assert found == right
        assert list(groups.counts) == sorted({count for _, count in right}, reverse=True)
    labels = [label for label, _ in found]
    assert [type(label) for label in labels] == [type(label) for label, _ in right]
    assert "-0.0" not in map(repr, labels)


@pytest.mark.parametrize("item", VALUES)
def test_counts_of_every_type(hold: Hold, item: str) -> None:
    check_counts(hold(AWKWARD), AWKWARD, "user", item)


@pytest.mark.parametrize("user", [name for name in VALUES if name not in ("text", "written")])
def test_users_of_every_type(hold: Hold, user: str) -> None:
    with hold(AWKWARD).engine(user, "user") as engine:
        assert pairs(engine.top(100)) == counts(AWKWARD, user, "user")


LONG = pa.table(
    {
        "user": ["u"] * 1000 + ["u", "v"] * 20,
        "item": [f"{n * 7919 % 1000:03}" for n in range(1000)] + [f"z{n:02}" for n in range(20) for _ in "uv"],
    }
)


def test_a_long_tie_is_cut_in_the_order_of_items(hold: Hold) -> None:
    with hold(LONG).engine() as engine:
        for most in (1, 30, 70):
            assert pairs(engine.top(most)) == counts(LONG, "user", "item")[:most]


def test_no_rows_are_an_outcome(hold: Hold) -> None:
    with hold(EMPTY).engine(item="text") as engine:
        assert pairs(engine.top(10)) == []
        assert pairs(engine.grouped()) == []
        assert pairs(engine.grouped(Listed(("b", "a")))) == [("a", 0), ("b", 0)]
        sets = engine.contributions()
        assert (sets.users, sets.size, sets.labels([])) == (0, 0, [])
        assert engine.pairs().weigh(np.array([1]), b"k").weights.tolist() == []


# ---- domains ----------------------------------------------------------------------------------------------

_SPANS = {f"{span} of {item}": (item, span) for item in ("whole", "small") for span in (Span(-3, 13),)}
DOMAINS: dict[str, tuple[str, Domain]] = {
    **{f"listed {item}": (item, Listed(tuple(values[::2]))) for item, (_, values) in VALUES.items()},
    "listed text that nobody has": ("text", Listed(("tie  a", "x", "TIE A", "popular ", None))),
    "column": ("text", Column({"name": ["tie a", None, "CASE", "other"]}, "name")),
    "size": ("text", Size(100)),
    "size too small": ("text", Size(2)),
    **_SPANS,
}


def check_domain(held: Held, item: str, domain: Domain) -> None:
    """The counts of a domain are DuckDB's, and so are the names of all that it holds."""
    with judge(AWKWARD).engine(item=item) as right, held.engine(item=item) as found:
        ours = pairs(found.grouped(domain))
        assert ours == pairs(right.grouped(domain))
    if isinstance(domain, Listed):
        there = dict(counts(AWKWARD, "user", item))
        members = {value for value in domain.items if value is not None and value == value and not is_infinite(value)}
        assert dict(ours) == {value: there.get(value, 0) for value in members}


@pytest.mark.parametrize(("item", "domain"), DOMAINS.values(), ids=list(DOMAINS))
def test_domains(elsewhere: Hold, item: str, domain: Domain) -> None:
    check_domain(elsewhere(AWKWARD), item, domain)


# ---- the bound --------------------------------------------------------------------------------------------

CROWD = pa.table(
    {
        "user": [f"u{user}" for user in range(40) for item in range(13) if (user * item) % 5 != 1] * 2,
        "item": [f"i{item}" for user in range(40) for item in range(13) if (user * item) % 5 != 1] * 2,
    }
)
MORE = pa.concat_tables([CROWD, pa.table({"user": ["new"] * 20, "item": [f"i{n}" for n in range(20)]})])


def own(rows: pa.Table, item: str = "item") -> Counter[object]:
    """How many distinct items every user has."""
    return Counter(user for user, _ in pairs_of(rows, "user", item))


def check_bound(held: Held, rows: pa.Table, item: str = "item") -> None:
    """Every user keeps as many as they may, inside a domain too; the key alone says which."""
    inside = {f"i{n}" for n in range(0, 13, 2)} | {*TEXTS[::2]}
    theirs = Counter(user for user, what in pairs_of(rows, "user", item) if what in inside)
    for most in (3, 50):
        with held.engine(item=item, max_items_per_user=most) as engine:
            found = kept_of(engine)
            assert sum(found.values()) == sum(min(most, n) for n in own(rows, item).values())
            domain = dict(pairs(engine.counts_of(Listed(tuple(inside)))))
            assert sum(domain.values()) == sum(min(most, n) for n in theirs.values())
            assert {what: n for what, n in domain.items() if n} == kept_of(engine, tuple(inside))
        assert all(count <= dict(counts(rows, "user", item))[what] for what, count in found.items())


def test_every_user_keeps_as_many_as_they_may(hold: Hold) -> None:
    check_bound(hold(CROWD), CROWD)
    check_bound(hold(AWKWARD), AWKWARD, "text")


def test_the_filter_comes_before_the_bound(hold: Hold) -> None:
    where = {"where": "item IN ('i3', 'i4')"}
    with hold(CROWD).engine(**where) as every, hold(CROWD).engine(max_items_per_user=2, **where) as bounded:
        assert kept_of(bounded) == dict(pairs(every.top(9))) != {}


def kept(held: Held, most: int, key: bytes) -> dict[object, int]:
    with held.engine(max_items_per_user=most, key=key) as engine:
        return kept_of(engine)


def check_key(hold: Hold) -> None:
    """The same key, the same items, whoever else comes; another key, others."""
    without, again, other = (kept(hold(CROWD), 3, key) for key in (b"k" * 16, b"k" * 16, b"o" * 16))
    assert without == again != other
    moved = Counter(kept(hold(MORE), 3, b"k" * 16))
    moved.subtract(without)
    assert sorted(n for n in moved.values() if n) == [1, 1, 1]


def test_the_key_and_a_users_own_rows_decide_which(hold: Hold) -> None:
    check_key(hold)


EVEN = pa.table({"user": [f"u{n // 10}" for n in range(10_000)], "item": [f"i{n % 10}" for n in range(10_000)]})


def in_band(found: dict[object, int], users: int, chance: float) -> bool:
    """Exact tails of the binomial law of every item, together below the suite's false alarm."""
    low, high = interval(users, chance, FALSE_ALARM / len(found))
    return all(low <= n <= high for n in found.values())


def check_even(held: Held) -> None:
    """Every user of ten items keeps three, each equally often."""
    for key in (b"1" * 16, b"2" * 16):
        found = kept(held, 3, key)
        assert len(found) == 10
        assert in_band(found, 1000, 0.3)
        assert not in_band({**found, "i0": found["i0"] * 3 // 2}, 1000, 0.3)  # it could be refused
    with held.engine() as engine:
        held_pairs = engine.pairs()
        weights = held_pairs.weigh(np.array([1, 1, 1]), b"3" * 16)
        assert in_band(dict(enumerate(np.repeat(weights.weights, weights.sizes).tolist())), 1000, 0.3)
        held_pairs.release(np.arange(10))
        users = held_pairs.released_item_counts(3, b"4" * 16).tolist()
        assert sum(users) == 3000
        assert in_band(dict(enumerate(users)), 1000, 0.3)


def test_every_item_of_a_user_is_kept_equally_often(hold: Hold) -> None:
    check_even(hold(EVEN))


# ---- sets, parts, words -----------------------------------------------------------------------------------


@pytest.mark.parametrize("item", [name for name in VALUES if name != "written"])
def test_sets_of_users(hold: Hold, item: str) -> None:
    with hold(AWKWARD).engine(item=item, max_items_per_user=1) as engine:  # no bound here
        sets = engine.contributions()
        assert named(sets) == items_of_users(AWKWARD, "user", item)
        labels = sets.labels(range(sets.size))
    right = {what for _, what in pairs_of(AWKWARD, "user", item)}
    assert len(labels) == len(right)
    with judge(AWKWARD).engine(item=item) as engine:
        there = engine.contributions()
        assert labels == there.labels(range(there.size))
        assert sets.codes.tolist() == there.codes.tolist()
        assert sets.offsets.tolist() == there.offsets.tolist()


@pytest.mark.parametrize("separator", [" ", "i", "e\u0301", ".", "|", "\\", "'", "%s", "\n"])
def test_parts(hold: Hold, separator: str) -> None:
    parts = {
        (user, part) for user, text in pairs_of(AWKWARD, "user", "text") for part in str(text).split(separator) if part
    }
    found = Counter(part for _, part in parts)
    with hold(AWKWARD).engine(item="text", split=separator) as engine:
        assert pairs(engine.top(1000)) == sorted(found.items(), key=lambda pair: (-pair[1], str(pair[0]).encode()))


@pytest.mark.parametrize("tokenizer", ["words", "spaces", "re:[a-z]+"])
def test_words_of_users(elsewhere: Hold, tokenizer: str) -> None:
    def words(engine: Engine) -> list[list[object]]:
        with engine:
            return sorted(map(sorted, named(engine.tokens(Tokenizer(tokenizer)).sets())))

    assert words(elsewhere(AWKWARD).engine(item="text")) == words(judge(AWKWARD).engine(item="text"))
    assert len(words(judge(AWKWARD).engine(item="text"))) == len(USERS)
