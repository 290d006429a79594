"""The harness refuses what is broken: readers, and calls, that let one row speak for another."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpselect.engines.duckdb import dialect
from dpselect.engines.duckdb.types import present_condition
from dpselect.engines.sources.scans import frames
from tests.replay.broken import CALLS, READERS, quotes_run_on, twin
from tests.replay.calls import ROWS, makers
from tests.replay.cells import FEW, Bench, Values
from tests.replay.judge import Allowed, broken
from tests.replay.kinds import KINDS
from tests.replay.odd_lines import LINES
from tests.replay.odd_values import ANY, TEXTS
from tests.replay.questions import Noticed, notice
from tests.replay.record import difference, recorded, same_answer
from tests.replay.sorts import PLACES, Sorts, plain

TEXT = next(odd for odd in ANY if odd.name == "a text")


@pytest.mark.usefixtures("one_duckdb")
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_a_broken_reader_is_refused(reader):
    """By few questions, as a kind is asked that is read as another one."""
    cell = Values(twin(reader), ("any of texts", "any of numbers", "any of texts"), ((), (TEXT,), ()), 0, FEW)
    bench = Bench()
    assert bench.before(cell).failed is None
    assert bench.run(cell) is not None


def test_a_broken_reader_of_lines_is_refused(tmp_path: Path):
    sorts: Sorts = ("text", "text", "text")
    line = next(line for line in LINES["csv"] if line.name == "an open quote")

    def noticed(odd: dict[str, bytes]) -> Noticed:
        return notice((quotes_run_on(plain(sorts), odd, tmp_path), None), sorts)

    before = noticed({})
    assert before.failed is None
    for place in PLACES[:2]:  # behind the last line there is nobody to swallow
        assert broken(before, noticed({place: line.line}), Allowed()) is not None


def test_texts_that_nobody_checked_are_found_out(monkeypatch):
    monkeypatch.setattr(frames, "validated_form", lambda expression, _type: expression)
    monkeypatch.setattr(dialect, "nameable_condition", present_condition)
    invalid = next(odd for odd in TEXTS if odd.name == "invalid UTF-8")
    assert Bench().run(Values(KINDS["pyarrow"], ("text", "text", "text"), ((), (invalid,), ()), 0, FEW)) is not None


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_a_broken_call_is_refused(call):
    plain_rows, more = makers(KINDS["DuckDB table"])
    recorded(plain_rows, call, 0)
    before = recorded(plain_rows, call, 0)
    assert before.failed is None
    after = same_answer(more, call, before)
    assert after is not None
    assert difference(before, after, ROWS) is not None
