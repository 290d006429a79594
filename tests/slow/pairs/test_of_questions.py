"""Pairs of the parts of a question with each other."""

from __future__ import annotations

import pytest

from tests.pairs.asking import Asking
from tests.pairs.check import check
from tests.pairs.crossing import Pair
from tests.pairs.table import OF_QUESTIONS, ids, pairs_of


@pytest.mark.parametrize("pair", pairs_of(OF_QUESTIONS), ids=ids)
def test_a_pair(pair: Pair, asking: Asking) -> None:
    check(pair, asking)
