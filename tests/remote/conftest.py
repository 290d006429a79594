"""A gateway to ask, and the way to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import dpselect as dps
from tests.remote.small_gateway import TOKEN, SmallGateway, serving


@pytest.fixture
def gateway() -> Iterator[SmallGateway]:
    small = SmallGateway()
    with serving(small) as small.url:
        yield small


@pytest.fixture
def remote(gateway: SmallGateway) -> Iterator[dps.Remote]:
    found = dps.connect(gateway.url, token=TOKEN)
    yield found
    found.close()
