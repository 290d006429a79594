"""Hostile numbers, and numbers of every type, where every knock reads rows or samples users."""

import pytest

from tests.border.test_numbers import SLOW, check_doors, check_types

pytestmark = pytest.mark.usefixtures("one_duckdb")


def test_every_door_answers_or_refuses_every_number() -> None:
    check_doors(*SLOW)


@pytest.mark.parametrize("part", SLOW)
def test_a_number_of_any_type_means_the_same(part: str) -> None:
    check_types(part)
