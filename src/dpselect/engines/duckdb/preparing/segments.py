"""Segments: rows of the same periods lie together, so that new rows leave most of the others where they are."""

from __future__ import annotations

from collections.abc import Sequence

from dpselect.engines.duckdb.preparing.work import Work
from dpselect.engines.prepared.state import Segment

SEGMENTS = 64  # about so many at most, so that few files are opened
LEAST_ROWS = 10**5  # of a segment
PERIOD = "coalesce(CAST(p AS VARCHAR), '')"


def merge(work: Work) -> list[Segment]:
    """The segments from before that are written again: those of periods with new rows, and small ones.

    Their rows join the new ones in `coded`.
    """
    if work.before is None:
        return []
    segments = work.before.state.segments
    here = {str(row[0]) for row in work.rows(f"SELECT DISTINCT {PERIOD} FROM coded")}
    least = _least(sum(one.size for one in segments))
    again = [one for one in segments if one.size < least or not here.isdisjoint(one.periods)]
    if again:
        weights = work.rules.weight
        columns = ", ".join(["u", "i", "c", *(f"w{at}" for at in range(len(weights))), "p"])
        old = ", ".join(["u", "i", "c", *work.back("w", weights), "p"])
        files = work.files([part for one in again for part in one.rows])
        both = f"SELECT {columns}, n FROM coded UNION ALL SELECT {old}, n FROM {files}"
        sums = f"SELECT {columns}, CAST(sum(n) AS BIGINT) AS n FROM ({both}) GROUP BY ALL"
        work.rows(f"CREATE TEMP TABLE merged AS {sums}")
        work.rows("DROP TABLE coded")
        work.rows("ALTER TABLE merged RENAME TO coded")
    return again


def packed(work: Work, others: Sequence[Segment]) -> list[tuple[tuple[str, ...], int]]:
    """The periods of the segments that are written, and how many rows each has."""
    found = work.rows(f"SELECT {PERIOD}, count(*) FROM coded GROUP BY 1 ORDER BY 1")
    stacks = stacked([(str(period), int(size)) for period, size in found], sum(one.size for one in others))
    return stacks or ([] if others else [(("",), 0)])


def stacked(found: Sequence[tuple[str, int]], others: int = 0) -> list[tuple[tuple[str, ...], int]]:
    """Periods in a row together until they have enough rows for a segment; there are so many `others` already."""
    least = _least(sum(size for _, size in found) + others)
    stacks: list[tuple[tuple[str, ...], int]] = []
    for period, size in found:
        if stacks and stacks[-1][1] < least:
            periods, before = stacks.pop()
            stacks.append(((*periods, period), before + size))
        else:
            stacks.append(((period,), size))
    return stacks


def _least(rows: int) -> int:
    return max(LEAST_ROWS, rows // SEGMENTS)
