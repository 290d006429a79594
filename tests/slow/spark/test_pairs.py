"""Pairs of Spark as the source with everything else."""

from __future__ import annotations

import pytest

from tests.pairs.asking import Asking
from tests.pairs.check import check
from tests.pairs.conftest import asking
from tests.pairs.crossing import Pair
from tests.pairs.table import ON_SPARK, ids, pairs_of

__all__ = ["asking"]

pytestmark = pytest.mark.usefixtures("asked_once")


@pytest.mark.parametrize("pair", pairs_of(ON_SPARK), ids=ids)
def test_a_pair(pair: Pair, asking: Asking) -> None:
    check(pair, asking)
