"""Every kind of question on Spark, each with a shape or two: tests of tests/engines, whose rows a frame holds here."""

from __future__ import annotations

import pytest

from tests.engines.test_by_group import (  # noqa: F401 - tests run here too
    test_counts_are_those_of_plain_python,
    test_in_how_many_groups_users_give_a_unit,
    test_listed_groups_are_there_and_no_others,
    test_listed_groups_have_the_labels_of_those_of_rows,
    test_no_rows_are_no_groups,
    test_of_the_winners_of_a_group_a_user_keeps_some,
    test_pairs_of_group_and_item_in_the_groups_that_are_kept,
    test_parts_of_a_text_are_items_of_a_group,
    test_winners_of_groups_and_items_of_several_columns,
    test_winners_of_listed_groups,
)
from tests.engines.test_by_group_weights import (  # noqa: F401
    test_listed_groups_come_before_the_bound,
    test_sums_are_those_of_plain_python,
    test_what_is_no_unit_uses_up_no_group_and_no_item,
)
from tests.engines.test_counts_of import (  # noqa: F401
    test_a_bound_counts_items_of_the_domain_alone,
    test_a_list_comes_in_its_own_order,
    test_days_and_columns,
    test_numbers_of_a_span,
    test_prices_and_truths,
)
from tests.engines.test_leave_out import (  # noqa: F401
    test_every_question_is_asked_without_them,
    test_their_rows_do_not_exist,
    test_they_take_no_place_of_a_bound,
)
from tests.engines.test_periods import (  # noqa: F401
    test_a_user_in_one_period_is_the_user_everywhere,
    test_one_period_is_a_filter,
    test_what_a_user_keeps_in_one_period_hangs_on_no_other,
    test_what_items_gained,
    test_where_and_periods_hold_together,
)
from tests.engines.test_weights import (  # noqa: F401
    test_items_of_one_weight_stand_in_their_own_order_wherever_their_rows_stood,
    test_neither_groups_nor_pairs_show_anything,
    test_of_a_user_the_bound_keeps_so_many_and_the_key_says_which,
    test_of_several_lists_of_shares_an_item_has_a_weight_by_each,
    test_rows_that_are_there_twice_and_rows_without_user_or_item_change_nothing,
    test_sums_above_what_floats_hold_are_exact,
    test_what_a_user_keeps_depends_on_nobody_else,
)

pytestmark = pytest.mark.usefixtures("asked_once")
