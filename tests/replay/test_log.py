"""What the package logs, at its most talkative, depends on no row: neither the lines nor when they come."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dpselect as dps
from dpselect.engines.duckdb.engine import DuckDBEngine
from dpselect.ledger import Account, Ledger
from tests.replay.calls import ROWS, makers
from tests.replay.kinds import KINDS
from tests.replay.record import Lines, difference, listening, recorded, same_answer
from tests.replay.verbs import LONE, VERBS, Data

GRANT = "100000"
LABELS = ("a", "b", "c", LONE, "zz", "u1", "mallory", "8")
ASKED = ("top k, filter", "top k, domain", "top k, discover", "union", "choose", "quantile", "the same again")


@pytest.mark.parametrize("verb", ASKED)
def test_no_line_names_what_is_in_rows(verb: str) -> None:
    """Neighbours leave the same lines: every call that is replayed compares them."""
    lines = recorded(makers(KINDS["DuckDB table"])[0], VERBS[verb], 0, GRANT).log
    assert any("-DP for add-remove neighbours, paid by LedgerBudget" in line for line in lines)
    assert "DEBUG dpselect: engine: DuckDB" in lines
    words = {word.strip("',()") for line in lines for word in line.split()}
    assert words.isdisjoint(LABELS)


def test_a_line_that_tells_of_rows_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = DuckDBEngine.top

    def talks(self: DuckDBEngine, *args: Any, **more: Any) -> Any:
        found = plain(self, *args, **more)
        logging.getLogger("dpselect").debug("%s users", sum(found.counts))
        return found

    monkeypatch.setattr(DuckDBEngine, "top", talks)
    rows, more = makers(KINDS["DuckDB table"])
    before = recorded(rows, VERBS["top k"], 0, GRANT)
    after = same_answer(more, VERBS["top k"], before, grant=GRANT)
    assert str(difference(before, after, ROWS)).startswith("log differ")


@pytest.mark.parametrize("verb", ["top k", "union in the engine", "quantile"])
def test_every_line_comes_before_a_row_is_read(verb: str, tmp_path: Path) -> None:
    """So that the time of a line says nothing of rows either."""
    where = tmp_path / "budget.sqlite"
    ledger = Ledger.create(where)
    ledger.data("default", GRANT, "0.2")
    ledger.grant(Account("default", "ann"), GRANT, "0.1")
    rows = {"user": ["u1", "u2"] * 20, "item": ["a", "b"] * 20, "number": [1, 2] * 20}

    def data(**more: Any) -> dps.Dataset:
        budget = dps.Budget.open(where, analyst="ann")
        return dps.Dataset(rows, **({"user": "user", "item": "item", "budget": budget} | more))

    def kinds() -> tuple[str, ...]:
        with Ledger(where) as opened:
            return tuple(str(one.kind) for one in opened.entries())

    asked: Callable[[Data, Any, Any], object] = VERBS[verb]
    with listening(Lines(kinds)) as lines:
        asked(data, None, None)
    assert "read" in kinds()
    assert lines.when
    assert all("read" not in when for when in lines.when)


def test_values_of_the_caller() -> None:
    with listening(Lines()) as lines:
        dps.choose({"left": 3, "right": 90}, epsilon=1)
        dps.quantile([1, 2, 3], bounds=(0, 9), epsilon="0.5", budget=dps.Budget(epsilon=1, delta=0))
    assert [line.partition(": ")[2] for line in lines.lines] == [
        "choose by exponential, at most (1, 0)-DP for add-remove neighbours, nobody keeps account",
        "quantile by Quantile, at most (0.5, 0)-DP for add-remove neighbours, paid by Budget",
    ]


def test_nobody_is_told_anything_unless_they_ask() -> None:
    """Without a handler nothing is printed, and a program that does not use `logging` does not get it."""
    code = (
        "import sys; import dpselect as dps; dps.choose({'a': 1, 'b': 2}, epsilon=1);"
        "assert 'dpselect._ground.logs' not in sys.modules; import logging; dps.choose({'a': 1}, epsilon=1);"
        "assert logging.getLogger('dpselect').handlers; logging.getLogger('dpselect').warning('never')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
