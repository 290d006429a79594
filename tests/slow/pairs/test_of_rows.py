"""Pairs of a source, or of a type of users or items, with everything else."""

from __future__ import annotations

import pytest

from tests.pairs.asking import Asking
from tests.pairs.check import check
from tests.pairs.crossing import Pair
from tests.pairs.table import OF_ROWS, ids, pairs_of


@pytest.mark.parametrize("pair", pairs_of(OF_ROWS), ids=ids)
def test_a_pair(pair: Pair, asking: Asking) -> None:
    check(pair, asking)
