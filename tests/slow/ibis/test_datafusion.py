"""Questions over DataFusion, whose texts need not be UTF-8: what one row may not do, and how columns may be called."""

from __future__ import annotations

import pyarrow as pa
import pytest

import dpselect as dps
from tests.engines.ibis_tables import in_datafusion


def bytes_as_text(values: list[bytes]) -> pa.Array:
    """Texts that may not be UTF-8."""
    return pa.Array.from_buffers(pa.string(), len(values), pa.array(values, pa.binary()).buffers())


def test_items_that_are_read_alike_are_one_item_of_a_list() -> None:
    """Else a row more would say that somebody has both."""
    rows = [(number, b"a") for number in range(300)] + [(999, b"\xff"), (999, b"\xfe")]
    users, items = zip(*rows, strict=True)
    table = in_datafusion(pa.table({"user": list(users), "item": bytes_as_text(list(items))}))
    release = dps.Dataset(table, user="user", item="item").histogram(["a", "\ufffd"], epsilon=200)
    assert [(one.item, one.count) for one in release] == [("a", 300), ("\ufffd", 1)]


def test_groups_that_are_read_alike_are_left_out() -> None:
    """Each has places of its own, and two of them would be one list with every place twice."""
    rows = [(user, item, group) for user in range(300) for item in (b"a", b"b") for group in (b"x", b"\xff", b"\xfe")]
    users, items, groups = zip(*rows, strict=True)
    columns = {"item": bytes_as_text(list(items)), "group": bytes_as_text(list(groups))}
    table = in_datafusion(pa.table({"user": list(users), **columns}))
    by = dps.By("group", max_groups_per_user=3)
    release = dps.Dataset(table, user="user", item="item").top_k(4, epsilon=200, delta="1e-6", by=by)
    assert sorted((*one.group, one.item) for one in release) == [("x", "a"), ("x", "b")]


@pytest.mark.parametrize(("item", "group"), [("n", "place"), ("users", "N"), ("g", "i"), ("i", "g")])
def test_columns_may_be_called_as_our_numbers_are(item: str, group: str) -> None:
    rows = {"user": [*range(300)] * 2, item: ["a", "b"] * 300, group: ["x"] * 300 + ["y"] * 300}
    data = dps.Dataset(in_datafusion(pa.table(rows)), user="user", item=item)
    assert set(data.top_k(2, epsilon=50, delta="1e-6").labels) == {"a", "b"}
    assert [one.count for one in data.histogram(["a", "b"], epsilon=400)] == [150, 150]
    by = dps.By(group, max_groups_per_user=2)
    release = data.top_k(2, epsilon=400, delta="1e-6", by=by)
    assert sorted((*one.group, one.item) for one in release) == [("x", "a"), ("x", "b"), ("y", "a"), ("y", "b")]
