"""How many users there are, on every engine: by any row that is kept, whatever its item is, or its lack of one."""

from __future__ import annotations

import datetime
from pathlib import Path

import pyarrow as pa
import pytest

import dpselect as dps
from dpselect.errors import ParameterError
from dpselect.flat import dataset_of
from tests.engines.every_engine import Held, Hold
from tests.engines.sources import AWKWARD as PLAIN
from tests.engines.sources import KINDS
from tests.engines.typed_rows import AWKWARD, EMPTY, VALUES, items_of_users, one_form

SURE = 10**4  # an epsilon at which no answer hangs on a draw


def numbers(data: dps.Dataset, **asked: object) -> list[float | None]:
    """The numbers that come back."""
    return [item.count for item in data.users(epsilon=SURE, **asked)]  # type: ignore[arg-type]


def right(rows: pa.Table, *user: str) -> int:
    """How many users have a row, in plain Python."""
    found = zip(*(map(one_form, rows.column(name).to_pylist()) for name in user), strict=True)
    return len({one for one in found if None not in one})


def asked(held: Held, user: str | list[str] = "user", **more: object) -> dps.Dataset:
    """The rows of an engine for a verb."""
    return dataset_of(held.source, table=held.table, user=user, **more)


def check_users(held: Held) -> None:
    """All users, also those who have no item, whatever an item is said to be; of no rows none."""
    everybody = right(AWKWARD, "user")
    assert everybody > len(items_of_users(AWKWARD, "user", "text")) > 0  # some have no item
    assert numbers(asked(held)) == [everybody]
    assert numbers(asked(held, item="text", max_items_per_user=1)) == [everybody]
    assert numbers(asked(held, item="text", split=" ")) == [everybody]
    assert numbers(asked(held, item="text").where("whole IS NULL")) == [
        right(AWKWARD.filter(AWKWARD.column("whole").is_null()), "user")
    ]
    assert numbers(asked(held, item="text").where("whole IS NULL AND whole IS NOT NULL")) == [0]


def check_groups(held: Held) -> None:
    """Each listed group, once however it is asked: a user of one group counts there, and one of several in some."""
    labels = ["nobody's", *dict.fromkeys(text for text in AWKWARD.column("text").to_pylist() if text is not None)]
    held_by: dict[str, set[object]] = {label: set() for label in labels}
    for user, text in zip(AWKWARD.column("user").to_pylist(), AWKWARD.column("text").to_pylist(), strict=True):
        if user is not None and text is not None:
            held_by[text].add(user)
    release = asked(held, item="whole").users(by=dps.By("text", groups=labels), epsilon=SURE)
    assert release.labels == labels
    assert [item.count for item in release] == [len(held_by[label]) for label in labels]
    one = asked(held).users(by=dps.By("text", groups=labels, max_groups_per_user=1), epsilon=SURE)
    assert sum(int(item.count or 0) for item in one) == right(AWKWARD.filter(AWKWARD.column("text").is_valid()), "user")
    both = dps.By(["text", "flag"], groups=[(label, True) for label in labels], max_groups_per_user=len(labels))
    pairs = asked(held).users(by=both, epsilon=SURE)
    assert pairs.labels == [(label, True) for label in labels]
    assert sum(int(item.count or 0) for item in pairs) == len(
        {row for row in zip(*(AWKWARD.column(name).to_pylist() for name in ("user", "text", "flag")), strict=True)
         if None not in row and row[2]}
    )  # fmt: skip


def test_users(hold: Hold) -> None:
    check_users(hold(AWKWARD))
    assert numbers(asked(hold(EMPTY))) == [0]


def test_users_of_groups(hold: Hold) -> None:
    check_groups(hold(AWKWARD))


@pytest.mark.parametrize("user", VALUES)
def test_users_of_every_type(hold: Hold, user: str) -> None:
    assert numbers(asked(hold(AWKWARD), user)) == [right(AWKWARD, user)]


def test_users_of_several_columns(hold: Hold) -> None:
    assert numbers(asked(hold(AWKWARD), ["user", "text"], item="whole")) == [right(AWKWARD, "user", "text")]


@pytest.mark.parametrize("source", KINDS)
def test_users_of_every_source(source: str, tmp_path: Path) -> None:
    place, table = KINDS[source](PLAIN, tmp_path)
    data = dataset_of(place, table=table, user="user", item="item")
    assert numbers(data) == [len({user for user, _, _ in PLAIN if user is not None})]
    known = dps.By("item", groups=["popular", "alone", "zz"], max_groups_per_user=3)
    assert numbers(data, by=known) == [11, 1, 0]


def test_groups_that_do_not_fit_are_refused_before_a_budget_pays(hold: Hold) -> None:
    budget = dps.Budget(epsilon=1)
    with pytest.raises(ParameterError, match="types must declare column 'text'"):
        asked(hold(AWKWARD), budget=budget).users(by=dps.By("text", groups=[1, 2]), epsilon=1)
    assert budget.left == 1


DAYS = ["2026-09-03", "2026-10-03", "2026-10-09", "2026-10-09", "2026-10-10", "2026-10-10", "2026-12-01", None]
TIMED = pa.table(
    {
        "user": ["a", "a", "a", "b", "b", None, "c", "d"],
        "item": ["x", None, "y", None, None, "x", "x", "x"],
        "at": [day and datetime.date.fromisoformat(day) for day in DAYS],
    }
)


def test_of_several_periods_a_user_is_one_in_each(hold: Hold) -> None:
    data = asked(hold(TIMED), item="item", time="at", period="month")
    for during, many in (("2026-09", 1), ("2026-10", 2), ("2026-09..2026-10", 3), ("2026-11", 0)):
        assert numbers(data.during(during)) == [many]
    release = data.during("2026-09..2026-10").users(epsilon=SURE)
    assert release.privacy.parameters["counted"] == {"once_in_each": "month"}
    assert "Each user counts once in each month, so counted users may be more than people." in release.privacy.sentences
