"""Rows that nobody thought of: Hypothesis makes values and lines, for each kind of source what it can hold.

One user has several of them at once: reading all the rows again is what an example costs. What is wrong with one of
them is found beside the others, and Hypothesis leaves out those that do not matter.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.replay.cells import FEW, Bench, Lines, Values
from tests.replay.kinds import KINDS
from tests.replay.odd_lines import OddLine
from tests.replay.odd_values import Odd
from tests.replay.sorts import PLACES

EXAMPLES = settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture], print_blob=True)
BENCH = Bench()
pytestmark = pytest.mark.usefixtures("one_duckdb")
AT_ONCE = 5
WITH_HALVES = st.text(st.characters(exclude_categories=()), max_size=12)
WHOLE = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WITH_HALVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WITH_HALVES, inner, max_size=3),
    max_leaves=4,
)
_BITS = [b'"', b",", b"\\", b"'", b";", b"\t", b" ", b"#", b"\0", b"\xff", b"\xc3", b"\xa9", b"a", b"mallory", b"yes"]
_MARKS = [b"{", b"}", b"[", b"]", b":", b'"user":', b'"item":', b'"mallory"', b'"b"', b"1e9", b"null", b"\\ud83d"]
CSV_LINES = st.lists(st.sampled_from(_BITS), max_size=12).map(b"".join)
JSON_LINES = st.lists(st.sampled_from(_BITS + _MARKS), max_size=14).map(b"".join)

VALUES = {
    "dict of lists": ("any of numbers", ANYTHING),
    "JSON lines": ("any of texts", ANYTHING),
    "pyarrow": ("text", WHOLE | st.binary(max_size=8)),
    "DuckDB table": ("text", WHOLE),
    "CSV": ("text", WHOLE.filter(lambda text: "\n" not in text and "\r" not in text)),
}
LINES = {"CSV": CSV_LINES, "JSON lines": JSON_LINES}


@pytest.mark.parametrize("kind", VALUES)
@EXAMPLES
@given(st.data())
def test_values(kind: str, data: st.DataObject):
    sort, values = VALUES[kind]
    made = st.lists(values.map(lambda value: Odd("made", value)), max_size=AT_ONCE).map(tuple)
    odds = data.draw(st.tuples(made, made, made))
    assert BENCH.run(Values(KINDS[kind], (sort,) * 3, odds, data.draw(st.integers(0, 2)), FEW)) is None


@pytest.mark.parametrize("kind", LINES)
@EXAMPLES
@given(st.data())
def test_lines(kind: str, data: st.DataObject):
    lines = data.draw(st.lists(LINES[kind], min_size=1, max_size=AT_ONCE))
    line = OddLine("made", b"".join(line + b"\n" for line in lines), users=len(lines))
    assert BENCH.run(Lines(KINDS[kind], {data.draw(st.sampled_from(PLACES)): line})) is None
