"""What type checkers must say of answers: mypy and basedpyright read this file, and nobody runs it."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np

import dpselect as dps
from dpselect import accounting

data = dps.Dataset("plays.parquet", user="user", item="artist")

assert_type(data.top_k(3, epsilon=1).labels, list[Any])
assert_type(data.top_k(3, epsilon=1), dps.Release[Any])
assert_type(data.quantile(0.5, bounds=(0, 1), epsilon=1).labels, list[int | float])
assert_type(data.median(bounds=(0, 1), epsilon=1)[0].item, int | float)

one = dps.choose({"left": 3, "right": 90}, epsilon=1)
assert_type(one, dps.Release[str])
assert_type(one[0], dps.Item[str])
assert_type([item.item for item in one], list[str])
assert_type(one[:1], tuple[dps.Item[str], ...])
assert_type(dps.choose(np.arange(3), epsilon=1), dps.Release[Any])
assert_type(dps.choose([1, 2, 3], epsilon=1).labels, list[Any])
assert_type(dps.quantile([1, 2], bounds=(0, 9), epsilon=1), dps.Release[int | float])
assert_type(dps.median([1, 2], bounds=(0, 9), epsilon=1).labels[0], int | float)
assert_type(dps.Release.from_json("{}"), dps.Release[Any])
assert_type(one.to_json(), str)


def words(release: dps.Release[str]) -> list[str]:
    """A release of texts is one of objects, but not the other way round."""
    anything: dps.Release[object] = release
    return [str(label) for label in anything.labels]


def plain(release: dps.Release) -> int:
    """Without the type of its labels, as written before there was one."""
    return len(release.labels)


accounting.compose([], "1e-6")  # a number as its text, as everywhere
plain(one)
words(data.top_k(3, epsilon=1))
