"""Somebody without a quota has no answer of others' questions over it, and leaves nothing wrong in the record."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpselect.gateway.problems import Refused
from dpselect.gateway.settings.kinds import Role
from dpselect.gateway.settings.server import Person
from dpselect.ledger import Account, Ledger
from tests.gateway.served import serving

TOP = {"verb": "top_k", "data": "plays", "k": 3, "epsilon": "1/4", "delta": "1e-8"}


def test_a_stored_answer_is_for_those_who_were_granted_something(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        served.ann.ask(TOP)
        nina = Person(name="nina", role=Role.ANALYST, data=("plays",))
        with pytest.raises(Refused, match="You have no budget"):
            served.gateway.ask(nina, TOP)
        assert served.bob.ask(TOP)["cost"]["repeated"]
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        assert ledger.verify() == []


def test_a_repeat_is_noted_only_for_those_who_have_a_right_to_it(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        served.ann.ask(TOP)
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        settle = next(entry for entry in ledger.entries() if entry.kind == "settle")
        before = ledger.count
        ledger.record_repeats(
            [(Account("plays", "nobody"), "q", settle.number), (Account("plays", "bob"), "q", settle.number)]
        )
        assert ledger.count == before + 1
        assert ledger.verify() == []
