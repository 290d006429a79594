"""Types on Spark: each with two questions, each question with a few types; elsewhere tests/engines asks all of each.

And of its tests that have many shapes some shapes.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dpselect.engines.port import PerUser
from tests.engines import (
    test_by_group,
    test_every_engine,
    test_every_value,
    test_keys,
    test_measures,
    test_periods,
    test_totals,
    test_values_by_group,
    test_weights,
)
from tests.engines.every_engine import Hold
from tests.engines.test_every_engine import (  # noqa: F401 - tests run here too
    test_a_long_tie_is_cut_in_the_order_of_items,
    test_every_item_of_a_user_is_kept_equally_often,
)
from tests.engines.test_every_verb import (  # noqa: F401
    test_the_law_of_a_bounded_union_in_the_engine,
)
from tests.engines.test_keys import (  # noqa: F401
    test_a_filter_sees_the_columns_themselves,
    test_domains_of_tuples,
    test_no_value_is_taken_for_a_border,
    test_what_names_nothing_is_refused,
)
from tests.engines.typed_rows import AWKWARD, VALUES

pytestmark = pytest.mark.usefixtures("asked_once")

QUESTIONS: dict[str, Callable[[Hold, str], None]] = {
    "counts": lambda hold, item: test_every_engine.check_counts(hold(AWKWARD), AWKWARD, "user", item, tie=(0, 3)),
    "a domain": lambda hold, item: test_every_engine.test_domains(hold, *test_every_engine.DOMAINS[f"listed {item}"]),
    "users": test_every_engine.test_users_of_every_type,
    "sets": test_every_engine.test_sets_of_users,
    "weights": test_weights.test_items_of_every_type,
    "measures": test_measures.test_items_of_every_type_are_found_by_their_labels,
    "groups": test_values_by_group.test_items_of_any_type_have_the_same_name_with_users_and_without,
}
OF_WRITTEN = ("counts", "a domain", "measures", "groups")  # its texts are too long for the others
ASKED = [
    (question, item)
    for place, item in enumerate(VALUES)
    for at, question in enumerate(OF_WRITTEN if item in ("written", "text") else QUESTIONS)
    if (at - place) % (len(OF_WRITTEN) if item in ("written", "text") else len(QUESTIONS)) in (0, 3)
]


def test_every_type_and_every_question_is_among_them() -> None:
    assert {question for question, _ in ASKED} == {*QUESTIONS}
    assert {item for _, item in ASKED} == {*VALUES}


@pytest.mark.parametrize(("question", "item"), ASKED)
def test_a_type_and_a_question(hold: Hold, question: str, item: str) -> None:
    QUESTIONS[question](hold, item)


SHAPES: dict[str, tuple[Callable[..., None], tuple[object, ...]]] = {
    "items of two columns": (test_keys.test_items_of_several_columns, (test_keys.ITEMS[4],)),
    "users of three columns": (test_keys.test_users_of_several_columns, (test_keys.USERS[1],)),
    "a domain of two columns": (test_keys.test_domains_of_every_type, (test_keys.ITEMS[1],)),
    "a domain that does not fit": (test_keys.test_domains_that_do_not_fit, (test_keys.MISFITS["half a number"],)),
    "sets of pairs": (test_keys.test_sets_and_weights, (test_keys.WHO, ("right", "item"))),
    "a bound on pairs": (test_keys.test_every_user_keeps_as_many_as_they_may, (("day", "item"), test_keys.BOTH)),
    "places of prices": (test_every_value.test_one_place_of_every_user, ("price",)),
    "places of many": (test_every_value.test_one_place_of_every_user_of_many, ("real",)),
    "no numbers": (test_every_value.test_what_holds_no_numbers_is_refused, ("day",)),
    "values by group": (test_values_by_group.test_values_are_those_of_plain_python, (PerUser.MEAN,)),
    "a user in two groups": (test_values_by_group.test_a_user_counts_in_so_many_listed_groups, (2,)),
    **{
        f"found {sort}": (test_values_by_group.test_found_groups_of_any_type_are_asked_for_as_they_are, (sort,))
        for sort in ("text", "moments")
    },
    "a span by group": (test_values_by_group.test_counts_of_a_span, ()),
    **{
        f"periods: {case}": (test_periods.test_the_period_of_every_row, (case,))
        for case in ("weeks of clocks", "moments, with many gaps")
    },
    "moments as users in periods": (test_periods.test_users_of_other_types, ("zoned",)),
    "no time": (test_periods.test_a_column_that_tells_no_time, ("real",)),
    "sums": (test_totals.test_sums_and_ties, (test_totals.MINUTES,)),
    **{f"sums of {name}": (test_totals.test_types_of_weights, (name,)) for name in ("float", "decimal")},
    **{f"means of {name}": (test_measures.test_sums_and_means, (name,)) for name in ("double", "small")},
    "dates as groups": (test_by_group.test_groups_of_other_types, ("dates",)),
    "in how many groups": (test_by_group.test_in_how_many_groups_users_are, (*test_by_group.LISTS[0], False)),
    "in listed groups": (test_by_group.test_in_how_many_groups_users_are, (*test_by_group.LISTS[1], True)),
    "two groups kept whole": (test_by_group.test_a_user_keeps_so_many_groups_whole, (2,)),
    **{f"parts at {mark!r}": (test_every_engine.test_parts, (mark,)) for mark in ("|", "\\", "%s")},
    "words of users": (test_every_engine.test_words_of_users, ("words",)),
    **{
        f"a domain: {name}": (test_every_engine.test_domains, test_every_engine.DOMAINS[name])
        for name in ("column", "size")
    },
}


@pytest.mark.parametrize("shape", SHAPES)
def test_some_shapes(hold: Hold, shape: str) -> None:
    test, given = SHAPES[shape]
    test(hold, *given)


def test_every_user_keeps_as_many_as_they_may(hold: Hold) -> None:
    test_every_engine.check_bound(hold(AWKWARD), AWKWARD, "text")
