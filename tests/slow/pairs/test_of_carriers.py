"""Pairs of who carries a question or its answer, or pays for it, with questions."""

from __future__ import annotations

import pytest

from tests.pairs.asking import Asking
from tests.pairs.check import check
from tests.pairs.crossing import Pair
from tests.pairs.table import OF_CARRIERS, ids, pairs_of


@pytest.mark.parametrize("pair", pairs_of(OF_CARRIERS), ids=ids)
def test_a_pair(pair: Pair, asking: Asking) -> None:
    check(pair, asking)
