"""The preparation: all steps from a source to files, which count once a state names them. Nothing here is private."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from dpselect._ground.parameters import Progress
from dpselect.draws import fresh_key
from dpselect.engines.duckdb.preparing.bounded import keep_few
from dpselect.engines.duckdb.preparing.cells import keep_cells, keep_sets, keep_totals
from dpselect.engines.duckdb.preparing.codes import keep_coded, keep_dictionaries, stage
from dpselect.engines.duckdb.preparing.segments import PERIOD, merge, packed
from dpselect.engines.duckdb.preparing.work import Work
from dpselect.engines.duckdb.scans import Scan
from dpselect.engines.duckdb.workspace import Workspace, literal
from dpselect.engines.prepared.reading import Reading
from dpselect.engines.prepared.rules import Rules
from dpselect.engines.prepared.state import CODES, Part, Segment
from dpselect.engines.prepared.writing import Writing

T = TypeVar("T")
MOST_FILES = 8  # of a dictionary: each is opened by every question
_SHARES = (0.2, 0.1, 0.3, 0.25, 0.15)  # of the time that each step takes, about


@dataclass(frozen=True)
class Written:
    """The files of a new state, and what its owner may want to know: how many rows were read, how many values are."""

    files: dict[str, tuple[Part, ...]]
    segments: tuple[Segment, ...]
    rows: int
    values: dict[str, int]


def written(
    workspace: Workspace,
    scan: Scan,
    rules: Rules,
    writing: Writing,
    before: Reading | None,
    progress: Progress | None,
) -> Written:
    """Read the rows of a source once, and write the files of a state that has them, and what was there before."""
    work, step = Work(workspace, rules, before), _Steps(workspace, progress).step
    rows = step(lambda: stage(work, scan))
    step(lambda: keep_dictionaries(work))
    step(lambda: keep_coded(work, rows))
    again = step(lambda: _count(work))
    return step(lambda: _write(work, writing, again, rows))


@dataclass
class _Steps:
    """One after the other, guarded, each with its share of the progress."""

    workspace: Workspace
    progress: Progress | None
    done: int = 0
    furthest: float = 0.0

    def step(self, work: Callable[[], T]) -> T:
        before, share = sum(_SHARES[: self.done]), _SHARES[self.done]

        def tell(part: float | None) -> None:
            if self.progress is not None:
                self.furthest = max(self.furthest, before + share * (part or 0))  # each statement begins again
                self.progress(self.furthest)

        found = self.workspace.guarded(work, progress=tell)
        self.done += 1
        return found


def _count(work: Work) -> list[Segment]:
    """Cells and totals of the rows that stay; the segments from before that are written again."""
    keep_few(work)
    keep_sets(work)
    if work.rules.period is not None:
        keep_totals(work)
    again = merge(work)
    keep_cells(work, "cells", "coded", ["p"])
    return again


def _write(work: Work, writing: Writing, again: list[Segment], rows: int) -> Written:
    def file(name: str, sql: str) -> Part:
        path = writing.new(name, fresh_key())
        work.rows(f"COPY ({sql}) TO {literal(path)} (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)")
        return writing.part(path)

    def segment(periods: tuple[str, ...], size: int) -> Segment:
        inside = f"{PERIOD} IN ({', '.join(map(literal, periods))})"
        columns = ", ".join(["p", "i", "u", "c", *work.carried("w", work.rules.weight), "n"])
        return Segment(
            periods,
            size,
            (file("rows", f"SELECT {columns} FROM coded WHERE {inside} ORDER BY p, i, u, c"),),
            (file("cells", f"SELECT p, i, s, n FROM cells WHERE {inside} ORDER BY p, s, i"),),
        )

    def grown(name: str, select: str, new: str, order: str) -> tuple[Part, ...]:
        """The files of a dictionary: those from before and what is new; or, where they are many, all of it in one."""
        old = work.old(name)
        if len(old) < MOST_FILES:
            return (*old, file(name, f"{select} FROM {name} WHERE {new} ORDER BY {order}"))
        return (file(name, f"{select} FROM {name} ORDER BY {order}"),)

    files: dict[str, tuple[Part, ...]] = {}
    for name, columns in work.dictionaries.items():
        listed = ", ".join([f"code AS {CODES[name]}", *work.carried("v", columns), *(["k"] if name == "items" else [])])
        files[name] = grown(name, f"SELECT {listed}", "fresh", "code")
    files["sets"] = grown("sets", "SELECT s, cs", f"s < {work.last_set}", "s DESC")
    totals = "cells" if work.rules.period is None else "totals"
    if work.rules.period is not None:
        files["totals"] = (file("totals", "SELECT s, i, n FROM totals ORDER BY s, i"),)
    sums = f"SELECT i, CAST(sum(n) AS BIGINT) AS n FROM {totals} GROUP BY i ORDER BY i"
    earlier = () if work.before is None else work.before.state.segments
    left = [one for one in earlier if one not in again]
    same = left and work.rules.period is None  # the one segment stays, for there are no new rows
    files["sums"] = work.old("sums") if same else (file("sums", sums),)
    segments = (*left, *(segment(periods, size) for periods, size in packed(work, left)))
    return Written(files, segments, rows, _values(work))


def _values(work: Work) -> dict[str, int]:
    found = {
        "users": work.number("SELECT count(*) FROM users"),
        "items": work.number("SELECT count(*) FROM items WHERE k"),
    }
    for at, name in enumerate(work.rules.keep):
        found[name] = work.number(f"SELECT count(*) FROM (SELECT DISTINCT v{at} FROM kept)")
    return found
