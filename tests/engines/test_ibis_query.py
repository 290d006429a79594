"""A query of Ibis on DuckDB: one test of each kind of question, for DuckDB itself is asked all of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.engines.every_engine import Hold
from tests.engines.test_by_group import test_counts_are_those_of_plain_python  # noqa: F401 - tests run here too
from tests.engines.test_by_group_weights import test_sums_are_those_of_plain_python  # noqa: F401
from tests.engines.test_counts_of import test_a_list_comes_in_its_own_order  # noqa: F401
from tests.engines.test_every_engine import check_counts, test_every_user_keeps_as_many_as_they_may  # noqa: F401
from tests.engines.test_every_value import test_text_that_is_written_as_a_number  # noqa: F401
from tests.engines.test_keys import test_no_value_is_taken_for_a_border  # noqa: F401
from tests.engines.test_leave_out import test_every_question_is_asked_without_them  # noqa: F401
from tests.engines.test_measures import test_domains_and_items_that_were_never_seen  # noqa: F401
from tests.engines.test_periods import test_a_user_in_one_period_is_the_user_everywhere  # noqa: F401
from tests.engines.test_totals import test_a_range_as_the_domain  # noqa: F401
from tests.engines.test_values_by_group import test_listed_groups_of_a_public_source  # noqa: F401
from tests.engines.test_weights import test_what_was_released_leaves_everybody  # noqa: F401
from tests.engines.typed_rows import AWKWARD, VALUES


@pytest.fixture
def hold(hold_in: Callable[[str], Hold]) -> Hold:
    return hold_in("ibis")


@pytest.mark.parametrize("item", VALUES)
def test_every_type_comes_through(hold: Hold, item: str) -> None:
    check_counts(hold(AWKWARD), AWKWARD, "user", item)
