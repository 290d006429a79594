"""A gateway to ask, and the way to it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

import dpselect as dps
from dpselect.remote import waiting, wire
from tests.remote.small_gateway import TOKEN, SmallGateway, serving


@pytest.fixture(autouse=True)
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the client would have waited before it asked again."""
    told: list[float] = []
    for module in (waiting, wire):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=time.monotonic, sleep=told.append))
    return told


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
