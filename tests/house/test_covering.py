"""The cases that stand for a product hold every two of its values, and are few."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product

import pytest

from tests.covering import covering

FACTORS = {
    "two": ["abc", "xy"],
    "one of each": ["a", "b", "c"],
    "kinds, types and questions": [range(3), range(13), range(8)],
    "four": [range(54), range(3), range(2), range(2)],
    "many small ones": [range(2)] * 9,
}


def met(cases: Sequence[tuple[object, ...]]) -> set[tuple[object, ...]]:
    """Which values of which factors are in one case."""
    return {two for case in cases for two in combinations(enumerate(case), 2)}


@pytest.mark.parametrize("factors", FACTORS.values(), ids=list(FACTORS))
def test_every_two_values_meet_in_few_cases(factors: Sequence[Sequence[object]]) -> None:
    cases = covering(*factors)
    assert cases == covering(*factors)
    assert met(cases) == met(list(product(*factors)))
    largest = sorted(map(len, factors))[-2:]
    assert len(cases) <= 1.25 * largest[0] * largest[1] + 2 * len(factors)
    if len(factors) > 2 and min(largest) > 1:
        assert met(cases[: largest[0] * largest[1] - 1]) < met(cases)
