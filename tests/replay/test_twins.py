"""The harness refuses what is broken: readers, and calls, that let one row speak for another."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.replay.broken import CALLS, LINE_READERS, READERS, twin
from tests.replay.calls import ROWS, makers
from tests.replay.cells import Bench, Cell
from tests.replay.judge import Allowed, broken
from tests.replay.kinds import KINDS
from tests.replay.odd_lines import LINES
from tests.replay.odd_values import ANY
from tests.replay.questions import notice
from tests.replay.record import difference, recorded, same_answer
from tests.replay.sorts import PLACES, plain

TEXT = next(odd for odd in ANY if odd.name == "a text")


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_a_broken_reader_is_refused(reader):
    cell = Cell(twin(reader), "any of numbers", "item", "middle", (TEXT,))
    bench = Bench()
    assert bench.before(cell).failed is None
    assert bench.run(cell) is not None


@pytest.mark.parametrize("reader", LINE_READERS, ids=lambda reader: reader.__name__)
def test_a_broken_reader_of_lines_is_refused(reader, tmp_path: Path):
    rows = plain("text", "item")
    before = notice((reader(rows, None, "first", tmp_path), None), "item", "text", all_questions=False)
    assert before.failed is None
    found = set()
    for line in LINES["csv"]:
        for place in PLACES if len(line.line) < 100 else ():
            made = reader(rows, line, place, tmp_path), None
            after = notice(made, "item", "text", all_questions=False)
            if broken(before, after, Allowed(line.users, line.users)):
                found.add(line.name)
    assert "an open quote" in found


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_a_broken_call_is_refused(call):
    plain_rows, more = makers(KINDS["DuckDB table"])
    recorded(plain_rows, call, 0)
    before = recorded(plain_rows, call, 0)
    assert before.failed is None
    after = same_answer(more, call, before)
    assert after is not None
    assert difference(before, after, ROWS) is not None
