"""Same object: an Arrow table in memory is known again for as long as it lives.

Its name is random and belongs to one object. Nothing in it depends on rows: if two tables of equal rows had one name,
the second question would be free, and would tell that nobody stands in one of them alone. For the same reason pandas
and polars frames, which change in place, have no name: a change that moved no row would tell so (docs/budgets.md).
"""

from __future__ import annotations

import weakref
from functools import partial

from dpselect.draws import fresh_key
from dpselect.engines.sources.narwhals_frames import native

_known: dict[int, tuple[weakref.ref[object], str]] = {}  # by id, which may be another object's later: the ref tells


def name_of(source: object) -> str | None:
    """The name of a table or a batch of PyArrow's, which have no method that changes them; None for everything else."""
    import pyarrow as pa

    table = native(source)
    if type(table) not in (pa.Table, pa.RecordBatch):
        return None
    found = _known.get(id(table))
    if found is None or found[0]() is not table:
        found = weakref.ref(table, partial(_forget, id(table))), fresh_key().hex()
        _known[id(table)] = found
    return found[1]


def _forget(place: int, ref: weakref.ref[object]) -> None:
    """Called when the object is gone, at any moment, so without a lock. What is forgotten too early is paid again."""
    found = _known.get(place)
    if found is not None and found[0] is ref:
        _known.pop(place, None)
