"""The declaration of pairs is whole, the page says what it says, and triples that held a bug hold none."""

from __future__ import annotations

import re

import pytest

from tests.pairs.asking import Asking
from tests.pairs.check import answered
from tests.pairs.crossing import crossed, pairs
from tests.pairs.features import FEATURES
from tests.pairs.states import state, unused
from tests.pairs.table import OF_CARRIERS, OF_QUESTIONS, OF_ROWS, ON_SPARK, page, pairs_of
from tests.pairs.triples import TRIPLES, features_of


def test_every_pair_is_tested_once_or_impossible_for_a_reason() -> None:
    tested = [pair for file in (OF_ROWS, OF_CARRIERS, OF_QUESTIONS, ON_SPARK) for pair in pairs_of(file)]
    impossible = [pair for pair in pairs() if state(pair).impossible is not None]
    assert sorted(map(str, tested + impossible)) == sorted(map(str, pairs()))
    assert all(state(pair).impossible for pair in impossible)


def test_every_feature_is_a_call_by_itself_and_has_a_name_of_its_own() -> None:
    assert len({str(one) for one in FEATURES}) == len(FEATURES)
    assert all(crossed(one) for one in FEATURES)


def test_every_refusal_that_is_declared_is_met_by_a_pair() -> None:
    calls = [found.call for found in map(state, pairs()) if found.call is not None]
    assert unused(calls) == []


def test_the_page_has_a_line_for_every_feature_and_counts_every_pair() -> None:
    said = page()
    assert [one.name for one in FEATURES if f"\n| {one.name} | " not in said] == []
    total, *parts = (
        int(number.replace(",", "")) for number in re.findall(r"[\d,]+", said.partition("---: |\n")[2])[:4]
    )
    assert total == sum(parts) == len(list(pairs()))


@pytest.mark.parametrize("names", TRIPLES, ids=" x ".join)
def test_three_that_once_held_a_bug(names: tuple[str, str, str], asking: Asking) -> None:
    found = state(features_of(names))
    assert found.answered, found
    assert found.call is not None
    answered(found.call, asking)
