"""The suite of all engines over the databases that count for Ibis."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dpselect._ground.domain import Domain
from tests.engines.every_engine import Hold, judge
from tests.engines.test_by_group import test_counts_are_those_of_plain_python  # noqa: F401 - tests run here too
from tests.engines.test_by_group_weights import test_sums_are_those_of_plain_python as sums_are_those_of_plain_python
from tests.engines.test_conformance import named, pairs
from tests.engines.test_counts_of import test_a_list_comes_in_its_own_order as a_list_comes_in_its_own_order
from tests.engines.test_every_engine import (  # noqa: F401
    DOMAINS,
    check_counts,
    check_domain,
    test_a_long_tie_is_cut_in_the_order_of_items,
    test_every_item_of_a_user_is_kept_equally_often,
    test_every_user_keeps_as_many_as_they_may,
    test_no_rows_are_an_outcome,
    test_the_filter_comes_before_the_bound,
    test_the_key_and_a_users_own_rows_decide_which,
    test_words_of_users,
)
from tests.engines.test_keys import test_no_value_is_taken_for_a_border  # noqa: F401
from tests.engines.test_leave_out import test_every_question_is_asked_without_them  # noqa: F401
from tests.engines.test_measures import test_domains_and_items_that_were_never_seen  # noqa: F401
from tests.engines.test_totals import test_a_range_as_the_domain  # noqa: F401
from tests.engines.test_values_by_group import test_listed_groups_of_a_public_source  # noqa: F401
from tests.engines.test_weights import test_what_was_released_leaves_everybody  # noqa: F401
from tests.engines.typed_rows import AWKWARD, counts, items_of_users

HELD = {
    "datafusion": ("text", "whole", "small", "price", "long", "flag", "day", "written", "real"),
    "sqlite": ("text", "whole", "small", "written", "real"),
    "mariadb": ("text", "whole", "small", "price", "long", "day"),
}
COLUMNS = [(kind, name) for kind, names in HELD.items() for name in names]
Holds = Callable[[str], Hold]


def test_parts_of_texts(hold: Hold) -> None:
    with hold(AWKWARD).engine(item="text", split="i") as engine, judge(AWKWARD).engine(item="text", split="i") as right:
        assert pairs(engine.top(1000)) == pairs(right.top(1000))


@pytest.mark.parametrize("kind", ["datafusion", "sqlite"])
def test_sums_of_infinities_too(hold_in: Holds, kind: str) -> None:
    sums_are_those_of_plain_python(hold_in(kind))


@pytest.mark.parametrize("kind", ["datafusion", "mariadb"])
def test_a_list_comes_in_its_own_order_for_users_of_dates(hold_in: Holds, kind: str) -> None:
    a_list_comes_in_its_own_order(hold_in(kind))


@pytest.mark.parametrize(("kind", "item"), COLUMNS)
def test_counts_of_every_type(hold_in: Holds, kind: str, item: str) -> None:
    check_counts(hold_in(kind)(AWKWARD), AWKWARD, "user", item)


@pytest.mark.parametrize(("kind", "user"), [pair for pair in COLUMNS if pair[1] not in ("text", "written")])
def test_users_of_every_type(hold_in: Holds, kind: str, user: str) -> None:
    with hold_in(kind)(AWKWARD).engine(user, "user") as engine:
        assert pairs(engine.top(100)) == counts(AWKWARD, user, "user")


@pytest.mark.parametrize(("kind", "item"), COLUMNS)
def test_sets_of_users(hold_in: Holds, kind: str, item: str) -> None:
    with hold_in(kind)(AWKWARD).engine(item=item) as engine, judge(AWKWARD).engine(item=item) as right:
        sets, theirs = engine.contributions(), right.contributions()
        assert named(sets) == items_of_users(AWKWARD, "user", item)
        assert sets.labels(range(sets.size)) == theirs.labels(range(theirs.size))


@pytest.mark.parametrize(
    ("kind", "item", "domain"),
    [
        (kind, item, domain)
        for kind in HELD
        for item, domain in DOMAINS.values()
        if item in {*HELD[kind]} - {"long", "written"}
    ],
    ids=str,
)
def test_domains(hold_in: Holds, kind: str, item: str, domain: Domain) -> None:
    check_domain(hold_in(kind)(AWKWARD), item, domain)
