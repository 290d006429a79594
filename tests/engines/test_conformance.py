"""One suite on every kind of source: awkward rows in, the same histogram out, judged by a plain Python count."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from dpselect.dataset import Dataset
from dpselect.engines.duckdb_engine import DuckDBEngine
from dpselect.histogram import Histogram
from tests.engines.sources import AWKWARD, KINDS, Row, counts

TEXT_KINDS = ("csv", "tsv", "json", "ndjson", "dict of lists")


@contextmanager
def opened(kind: str, rows: Sequence[Row], folder: Path, **more: object):
    source, table = KINDS[kind](rows, folder)
    dataset = Dataset(source, user="user", item="item", table=table, **more)
    with dataset.engine() as engine:
        yield engine


def pairs(histogram: Histogram) -> list[tuple[object, int]]:
    """All items with their counts, in the order of the histogram."""
    return [
        (histogram.label(group, member), int(count))
        for group, count in enumerate(histogram.counts)
        for member in range(histogram.sizes[group])
    ]


@pytest.fixture(params=KINDS)
def kind(request) -> str:
    return request.param


def test_top_is_the_plain_count(kind, tmp_path):
    with opened(kind, AWKWARD, tmp_path) as engine:
        assert pairs(engine.top(1000)) == counts(AWKWARD)


@pytest.mark.parametrize("most", [0, 1, 2, 3, 4])
def test_ties_are_cut_in_the_order_of_items(kind, tmp_path, most):
    with opened(kind, AWKWARD, tmp_path) as engine:
        assert pairs(engine.top(most)) == counts(AWKWARD)[:most]


def test_groups_hold_all_items(kind, tmp_path):
    with opened(kind, AWKWARD, tmp_path) as engine:
        histogram = engine.grouped()
        assert pairs(histogram) == counts(AWKWARD)
        assert list(histogram.counts) == sorted({count for _, count in counts(AWKWARD)}, reverse=True)


def test_order_of_rows_and_users_changes_nothing(kind, tmp_path):
    other = [(user and f"x{user[::-1]}", item, age) for user, item, age in AWKWARD[::-1]]
    with opened(kind, other, tmp_path) as engine:
        assert pairs(engine.top(1000)) == counts(AWKWARD)


def test_no_rows_are_an_outcome(kind, tmp_path):
    if kind == "duckdb relation":
        assert DuckDBEngine  # covered by the Parquet file it stands on
    with opened(kind, [], tmp_path) as engine:
        assert pairs(engine.top(10)) == []
        assert pairs(engine.grouped()) == []


def test_rows_without_user_or_item_are_no_rows(kind, tmp_path):
    rows: list[Row] = [(None, "a", 1), ("u", None, 1), (None, None, 1)]
    with opened(kind, rows, tmp_path) as engine:
        assert pairs(engine.top(10)) == []


def test_filter(kind, tmp_path):
    kept = [row for row in AWKWARD if row[2] > 24]
    with opened(kind, AWKWARD, tmp_path, where="AGE::INT > 24 AND item IS NOT NULL") as engine:
        assert pairs(engine.top(1000)) == counts(kept)


def test_filter_on_text_with_every_character(kind, tmp_path):
    kept = [row for row in AWKWARD if row[1] == 'a "quoted" word' or row[1] == "'"]
    with opened(kind, AWKWARD, tmp_path, where="""item = 'a "quoted" word' or item = '''' -- that's it""") as engine:
        assert pairs(engine.top(1000)) == counts(kept)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_bound_holds_exactly(kind, tmp_path, most):
    with opened(kind, AWKWARD, tmp_path, max_items_per_user=most) as engine:
        bounded = dict(pairs(engine.grouped()))
    wanted: dict[str, set[str]] = {}
    for user, item, _ in AWKWARD:
        if user is not None and item is not None:
            wanted.setdefault(user, set()).add(item)
    assert sum(bounded.values()) == sum(min(most, len(items)) for items in wanted.values())
    assert all(count <= dict(counts(AWKWARD))[item] for item, count in bounded.items())
