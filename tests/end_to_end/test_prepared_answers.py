"""A stored answer is one of a state of prepared data: the same state anywhere, and no other state."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dpselect as dps
from dpselect.asked_rows import AskedRows
from dpselect.engines.duckdb.workspace import Workspace
from dpselect.engines.prepared import file
from dpselect.flat import prepare
from tests.end_to_end.prepared_rows import RULES, write
from tests.ledger.amounts import grant

ANN = dps.Account("default", "ann")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[dps.Ledger]:
    with dps.Ledger.create(tmp_path / "budget.db") as made:
        grant(made, ANN, 10**6, "1e-2")
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Prepared data of the first file, in which a has the most users."""
    prepare(write(tmp_path, 0), to=tmp_path / "data.prepared", **RULES)
    return tmp_path / "data.prepared"


def add_many_of(item: str, folder: Path) -> None:
    """So many users more that an answer tells of which state it is."""
    path = folder.parent / f"many-{item}.csv"
    lines = [f"many{one},{item},DE,2026-01-01,1" for one in range(200)]
    path.write_text("\n".join(["user,item,country,day,minutes", *lines]) + "\n", "utf-8")
    prepare(path, to=folder, add=True)


def ask(folder: Path, ledger: dps.Ledger, **more: Any) -> tuple[object, bool]:
    """The answer, and whether it was free."""
    data = dps.Dataset(folder, budget=dps.Budget.open(ledger, analyst="ann"), **more)
    release = data.choose(domain=["a", "z"], epsilon=100)  # the wrong one with odds of exp(-1500) at most
    assert release.charged is not None
    return release.items[0].item, bool(release.charged.numbers["repeated"])


def test_what_the_file_says_of_itself_is_read_once_and_of_another_anew(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = []

    def workspace() -> Workspace:
        opened.append(1)
        return Workspace()

    monkeypatch.setattr(file, "Workspace", workspace)
    names = []
    for rules in (RULES, {**RULES, "item": "country", "keep": "item"}):
        prepare(write(folder.parent, 0), to=folder, **rules)
        opened.clear()
        names += [dps.Dataset(folder).column for _ in range(3)]
        assert len(opened) == 1
    assert names == ["item"] * 3 + ["country"] * 3
    folder.with_name("data.prepared.wal").touch()
    with pytest.raises(dps.DataError, match="cannot be read as prepared data"):
        dps.Dataset(folder).users(epsilon=1)


def test_the_same_state_is_asked_once_and_another_anew(folder: Path, ledger: dps.Ledger) -> None:
    assert ask(folder, ledger) == ("a", False)
    assert ask(folder, ledger) == ("a", True)
    assert ask(folder, ledger, user="user", item="item") == ("a", True)
    add_many_of("z", folder)
    assert ask(folder, ledger) == ("z", False)
    assert ask(folder, ledger) == ("z", True)
    prepare(write(folder.parent, 0), to=folder, **RULES)
    assert ask(folder, ledger) == ("a", False)


def test_a_copy_is_the_same_state_until_rows_are_added_to_it(folder: Path, ledger: dps.Ledger) -> None:
    copy = Path(shutil.copy(folder, folder.parent / "copy.prepared"))
    assert ask(folder, ledger) == ("a", False)
    assert ask(copy, ledger) == ("a", True)
    copy.rename(folder.parent / "moved.prepared")
    (folder.parent / "link.prepared").symlink_to("moved.prepared")
    assert ask(folder.parent / "link.prepared", ledger) == ("a", True)
    add_many_of("z", folder.parent / "moved.prepared")
    assert ask(folder.parent / "link.prepared", ledger) == ("z", False)
    assert ask(folder, ledger) == ("a", True)


def test_a_question_is_known_by_the_state_that_answered(
    folder: Path, ledger: dps.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are added when the question's engine is open and nothing is asked of it yet."""
    before = Path(shutil.copy(folder, folder.parent / "before.prepared"))
    opened = AskedRows.open_engine

    def then_added(self: AskedRows, *given: Any, **more: Any) -> Any:
        engine = opened(self, *given, **more)
        add_many_of("z", folder)
        return engine

    with monkeypatch.context() as patch:
        patch.setattr(AskedRows, "open_engine", then_added)
        assert ask(folder, ledger) == ("a", False)
    assert ask(before, ledger) == ("a", True)
    assert ask(folder, ledger) == ("z", False)


def test_two_files_of_the_same_rows_are_two_states(folder: Path, ledger: dps.Ledger) -> None:
    other = folder.parent / "other.prepared"
    prepare(write(folder.parent, 0), to=other, **RULES)
    assert ask(folder, ledger) == ("a", False)
    assert ask(other, ledger) == ("a", False)
