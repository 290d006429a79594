"""A text or bytes value of more than 1 MiB is missing, in every column and source; one of 1 MiB is a value."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpselect.engines.values import MAX_VALUE_BYTES
from tests.engines.opened import open_engine
from tests.engines.test_conformance import pairs
from tests.replay.cells import KINDS
from tests.replay.file_kinds import FILES
from tests.replay.kinds import Kind
from tests.replay.server_kinds import Servers
from tests.replay.sorts import ROLES, Rows, awkward, joined, plain

KEY = bytes(range(16))
SORTS = ("text", "bytes", "any of texts")
LETTER = "\u00e9"  # two bytes
CASES = [(kind, sort) for kind in KINDS.values() for sort in SORTS if sort in kind.sorts and kind.name != "JSON array"]
pytestmark = pytest.mark.usefixtures("one_duckdb")


def values_of(sort: str) -> list[object]:
    """The longest value, and two that are too long."""
    texts = [LETTER * (MAX_VALUE_BYTES // 2), LETTER * (MAX_VALUE_BYTES // 2) + "x", "x" * (3 * MAX_VALUE_BYTES)]
    return [text.encode() if sort == "bytes" else text for text in texts]


def check(kind: Kind, sort: str, folder: Path) -> None:
    """Everybody's rows, and those of one user more with long values as user, as item and in a third column."""
    longest, *longer = values_of(sort)
    one = int(kind.name not in FILES and "CSV" not in kind.name)  # of a text file the whole line is too long
    sorts = (sort,) * 3
    before, _ = counts(kind, plain(sorts), folder / "before")
    more = {role: awkward(sorts, role, [longest, *longer]) for role in ROLES}
    theirs = more["other"]["item"].values[0]  # the item that goes with whatever is awkward
    for role, rows in more.items():
        after, missing = counts(kind, joined(plain(sorts), rows, "middle"), folder / role)
        came = {item: number - before.get(item, 0) for item, number in after.items()}
        whose = longest if role == "item" else theirs
        assert came == dict.fromkeys(before, 0) | ({whose: 1} if one else {})
        assert missing == ({theirs: 1} if one and role == "other" else {})


def counts(kind: Kind, rows: Rows, folder: Path) -> list[dict[object, int]]:
    """Users by item, of all rows and of those whose third column is missing."""
    folder.mkdir()
    source, table = kind.make(rows, folder)
    columns = {"user": ROLES[0], "item": ROLES[1], "table": table, "max_items_per_user": None, "split": None}
    found = []
    for where in (None, f"{ROLES[2]} IS NULL"):
        with open_engine(source, where=where, key=KEY, **columns) as engine:
            found.append(dict(pairs(engine.top(100))))
    return found


@pytest.mark.parametrize(
    ("kind", "sort"),
    [case for case in CASES if case[0].needs in (None, "postgres")],
    ids=lambda one: getattr(one, "name", one),
)
def test_every_source(kind: Kind, sort: str, tmp_path: Path, request: pytest.FixtureRequest):
    Servers.run(kind, request)
    check(kind, sort, tmp_path)
