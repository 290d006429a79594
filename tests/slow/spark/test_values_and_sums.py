"""Values, sums and means on Spark: the tests of tests/engines, whose rows a frame holds here."""

from __future__ import annotations

import pytest

from tests.engines.test_every_value import (  # noqa: F401 - tests run here too
    test_places_without_bounds,
    test_text_that_is_written_as_a_number,
    test_the_key_decides_which_place_is_taken_at_random,
)
from tests.engines.test_measures import (  # noqa: F401
    test_a_bound_keeps_some_of_the_items_that_came_back,
    test_columns_that_hold_no_numbers_are_refused,
    test_domains_and_items_that_were_never_seen,
    test_numbers_of_a_range_that_the_column_cannot_hold,
)
from tests.engines.test_totals import (  # noqa: F401
    test_a_range_as_the_domain,
    test_domains,
    test_items_without_a_unit_use_up_no_bound,
)
from tests.engines.test_values_by_group import (  # noqa: F401
    test_a_user_has_one_random_value_in_each_group,
    test_counts_of_a_domain_are_those_of_plain_python,
    test_listed_groups_of_a_public_source,
    test_which_value_is_apart_from_which_group,
)

pytestmark = pytest.mark.usefixtures("asked_once")
