"""Keys of several columns on every engine: the histogram is that of tuples in plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from dpselect._ground.domain import Column, Listed, Size, Span
from dpselect.aggregates.count_groups import CountGroups
from dpselect.engines.duckdb import database
from dpselect.engines.sql import keys
from dpselect.errors import DataError, ParameterError
from tests.engines.every_engine import Held, Hold, judge
from tests.engines.keyed_rows import PAIRS, TEXTS, TRICKY, TYPED, sets_of
from tests.engines.test_conformance import kept as kept_of
from tests.engines.test_conformance import named, pairs
from tests.engines.typed_rows import counts, in_order, pairs_of

ALL = 10_000
MOST_GROUPS = 2
ITEMS = [
    ("text", "whole"), ("real", "raw"), ("price", "flag", "text"), ("moment", "long"), ("zoned", "day", "small"),
    ("written", "short"),
]  # fmt: skip
USERS = [("real", "text", "flag"), ("raw", "price", "moment"), ("zoned", "whole", "short", "long")]
BOTH, WHO = ("left", "right"), ("left", "day")


def types_of(label: object) -> object:
    """The type of a label, or those of its columns."""
    return tuple(map(type, label)) if isinstance(label, tuple) else type(label)


def check_counts(held: Held, rows: pa.Table, user: str | tuple[str, ...], item: str | tuple[str, ...]) -> None:
    """All of a histogram with the types of its labels, and cuts through it."""
    right = counts(rows, user, item)
    assert len(right) > 2
    with held.engine(user, item) as engine:
        found = pairs(engine.top(ALL))
        assert found == right
        assert [types_of(label) for label, _ in found] == [types_of(label) for label, _ in right]
        assert "-0.0" not in repr([label for label, _ in found])
        for most in (3, len(right) // 2):
            assert pairs(engine.top(most)) == right[:most]
        check_groups(engine.grouped(), right)


def check_groups(found: CountGroups, right: list[tuple[object, int]]) -> None:
    """How many items have each count, and some of their labels: a database is asked for each of them."""
    sizes = Counter(count for _, count in right)
    assert dict(zip(found.counts.tolist(), map(int, found.sizes), strict=True)) == sizes
    starts = dict(zip(found.counts.tolist(), np.cumsum([0, *found.sizes]).tolist(), strict=False))
    for group, count in enumerate(found.counts.tolist()):
        for place in {0, sizes[count] - 1} if group < MOST_GROUPS else ():
            assert found.label(group, place) == right[starts[count] + place][0]


@pytest.mark.parametrize("item", ITEMS, ids="+".join)
def test_items_of_several_columns(hold: Hold, item: tuple[str, ...]) -> None:
    check_counts(hold(TYPED), TYPED, "user", item)


@pytest.mark.parametrize("user", USERS, ids="+".join)
def test_users_of_several_columns(hold: Hold, user: tuple[str, ...]) -> None:
    check_counts(hold(TYPED), TYPED, user, "small")


def test_both_of_several_columns(hold: Hold) -> None:
    check_counts(hold(TYPED), TYPED, ("user", "real"), ("text", "price"))


def check_borders(held: Held) -> None:
    """Texts that hold whatever may stand between two of them, as items and as users."""
    check_counts(held, TEXTS, "user", BOTH)
    check_counts(held, TEXTS, BOTH, "item")


def test_no_value_is_taken_for_a_border(hold: Hold) -> None:
    check_borders(hold(TEXTS))


JOINED = {
    "a comma": "concat_ws(',', {})",
    "nothing": "concat({})",
    "a control": "concat_ws(chr(1), {})",
}


@pytest.mark.parametrize("how", JOINED.values(), ids=list(JOINED))
def test_a_twin_that_joins_texts_is_refused(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def joined(forms: Sequence[str], _types: object, _dialect: object) -> str:
        return how.replace("{}", ", ".join(forms))

    for module in (keys, database):
        monkeypatch.setattr(module, "concatenate_values", joined)
    with judge(TEXTS).engine(BOTH, "item") as engine:
        assert sum(count for _, count in pairs(engine.top(ALL))) < len(pairs_of(TEXTS, BOTH, "item"))
    with pytest.raises(AssertionError):
        check_counts(judge(TEXTS), TEXTS, BOTH, "item")


def test_one_row_says_nothing_of_how_others_are_read(hold: Hold) -> None:
    """Without the rows of one user all other counts are what they were."""
    rest = TEXTS.filter(pa.array([user != "u0" for user in TEXTS.column("user").to_pylist()]))
    with hold(TEXTS).engine("user", BOTH) as whole, hold(rest).engine("user", BOTH) as less:
        before, after = dict(pairs(whole.top(ALL))), dict(pairs(less.top(ALL)))
    theirs = {what for who, what in pairs_of(TEXTS, "user", BOTH) if who == "u0"}
    assert {what: count - (what in theirs) for what, count in before.items() if count > (what in theirs)} == after


# ---- domains ----------------------------------------------------------------------------------------------

DOMAIN = [*PAIRS[:60:7], ("nobody", "has it"), ("a", "b"), ("a", "b"), None, ("a", None)]


def test_domains_of_tuples(hold: Hold) -> None:
    there = dict(counts(TEXTS, "user", BOTH))
    members = {item for item in DOMAIN if item is not None and None not in item}
    right = sorted(((item, there.get(item, 0)) for item in members), key=lambda one: (-one[1], in_order(one[0])))
    with hold(TEXTS).engine("user", BOTH) as engine:
        assert pairs(engine.grouped(Listed(tuple(DOMAIN)))) == right
        sized = engine.grouped(Size(len(there) + 2))
        assert [int(size) for size in sized.sizes][-1] == 2
        assert sized.label(0, 0) == pairs(engine.top(1))[0][0]


@pytest.mark.parametrize("item", ITEMS, ids="+".join)
def test_domains_of_every_type(hold: Hold, item: tuple[str, ...]) -> None:
    right = counts(TYPED, "user", item)
    listed = Listed(tuple(label for label, _ in right[::3]))
    with hold(TYPED).engine("user", item) as engine:
        check_groups(engine.grouped(listed), right[::3])


MISFITS = {
    "single values": Listed(("a", "b")),
    "tuples of three": Listed((("a", 1, 2),)),
    "a column": Column({"x": ["a"]}, "x"),
    "a range": Span(0, 3),
    "a text for a number": Listed((("a", "seven"),)),
    "a number for a text": Listed(((1, 1),)),
    "half a number": Listed((("a", 1.5),)),
    "mixed": Listed((("a", 1), ("b", "x"))),
    "nothing there": Listed((("a", float("nan")),)),
}


@pytest.mark.parametrize("domain", MISFITS.values(), ids=list(MISFITS))
def test_domains_that_do_not_fit(hold: Hold, domain: Listed) -> None:
    number = domain is MISFITS["a number for a text"]
    must = "types must declare column 'text'" if number else "domain must"
    with hold(TYPED).engine("user", ("text", "whole")) as engine, pytest.raises(ParameterError, match=must):
        engine.check(domain)


def test_tuples_do_not_fit_a_single_column(hold: Hold) -> None:
    must = "domain must list single values"
    with hold(TYPED).engine("user", "text") as engine, pytest.raises(ParameterError, match=must):
        engine.check(Listed((("a", "b"),)))


# ---- bounds, sets, weights, periods -------------------------------------------------------------------------


@pytest.mark.parametrize(("user", "item"), [("user", BOTH), (WHO, "item"), (("day", "item"), BOTH)], ids=str)
def test_every_user_keeps_as_many_as_they_may(hold: Hold, user: str, item: str) -> None:
    theirs = Counter(who for who, _ in pairs_of(TEXTS, user, item))
    there = dict(counts(TEXTS, user, item))
    for most in (1, 2, ALL):
        with hold(TEXTS).engine(user, item, max_items_per_user=most) as engine:
            kept = kept_of(engine)
        assert sum(kept.values()) == sum(min(most, number) for number in theirs.values())
        assert all(count <= there[what] for what, count in kept.items())


@pytest.mark.parametrize(("user", "item"), [("user", BOTH), (BOTH, "item"), (WHO, ("right", "item"))], ids=str)
def test_sets_and_weights(hold: Hold, user: str, item: str) -> None:
    right = sets_of(TEXTS, user, item)
    items = sorted({what for _, what in pairs_of(TEXTS, user, item)}, key=in_order)
    with hold(TEXTS).engine(user, item) as engine:
        sets = engine.contributions()
        assert Counter(map(frozenset, named(sets))) == right
        assert sets.labels(range(sets.size)) == items
        found = engine.pairs()
        weighed = found.weigh(np.ones(ALL, dtype=np.int64), b"k" * 16)
        assert (weighed.weights * weighed.sizes).sum() == len(pairs_of(TEXTS, user, item))
        found.release(np.arange(0, int(weighed.sizes.sum()), 2))
        released = found.names()
        assert len(released) == -(-len(items) // 2)
        assert released == [what for what in items if what in set(released)]
        users = dict(zip(released, found.released_item_counts(ALL, b"k" * 16).tolist(), strict=True))
        assert users == {what: count for what, count in counts(TEXTS, user, item) if what in set(released)}
        left = found.weigh(np.ones(ALL, dtype=np.int64), b"l" * 16)
        assert left.sizes.sum() == len(items) - len(released)


def test_a_filter_sees_the_columns_themselves(hold: Hold) -> None:
    keep = pa.array([left == "a" for left in TEXTS.column("left").to_pylist()])
    with hold(TEXTS).engine("user", BOTH, where="left = 'a'") as engine:
        found = pairs(engine.top(ALL))
    assert found == counts(TEXTS.filter(keep), "user", BOTH)
    assert len(found) == len(TRICKY)


def test_what_names_nothing_is_refused(hold: Hold) -> None:
    for user, item, name in (("user", ("text", "nope"), "item"), (("user", "nope"), "text", "user")):
        with pytest.raises(ParameterError, match=f"{name} must be a column of the source, got 'nope'"):
            hold(TYPED).engine(user, item)
    with hold(TYPED).engine("user", ("whole", "real")) as engine, pytest.raises(DataError, match="holds no numbers"):
        engine.check_values()
