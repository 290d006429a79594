"""Which pair is tested in which file, and the page of them all."""

from __future__ import annotations

from typing import Any

import pytest

from tests.pairs.crossing import Pair, pairs
from tests.pairs.states import state

SOURCES, TYPES = {"source"}, {"user", "item"}
CARRIERS = {"surface", "form", "budget", "price"}
OF_ROWS, OF_CARRIERS, OF_QUESTIONS = "of rows", "of carriers", "of questions"


def file_of(pair: Pair) -> str:
    """The file that tests it: three of about the same length, for as many workers."""
    kinds = {one.kind for one in pair}
    if kinds & SOURCES:
        return OF_ROWS
    return OF_CARRIERS if kinds & CARRIERS else OF_QUESTIONS


def ids(pair: Pair) -> str:
    """The name of a test."""
    return " x ".join(map(str, pair))


def pairs_of(file: str) -> list[Any]:
    """The pairs of a file that are a call; those of Spark are slow."""
    found = [pair for pair in pairs() if file_of(pair) == file and state(pair).impossible is None]
    return [
        pytest.param(pair, marks=pytest.mark.slow) if "spark" in ids(pair) else pytest.param(pair) for pair in found
    ]
