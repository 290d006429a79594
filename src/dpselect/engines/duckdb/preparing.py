"""Preparing: the rows of a source as codes, in files that are quick to ask. For its owner: nothing here is private.

A code is a place in a dictionary of distinct values, so no two values share one. Rows are distinct combinations of
codes with the number of times that they stand in the source. Cells say how many users have an item with which set of
kept values, in which period.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from dpselect.draws import fresh_key
from dpselect.engines.duckdb.files import parquet_rows
from dpselect.engines.duckdb.keys import Key
from dpselect.engines.duckdb.scans import Scan
from dpselect.engines.duckdb.times import row_time
from dpselect.engines.duckdb.types import FLOATS, OBJECT, has_text, item_form, kind
from dpselect.engines.duckdb.workspace import Workspace, quoted
from dpselect.engines.prepared.reading import Reading
from dpselect.engines.prepared.rules import Rules
from dpselect.engines.prepared.state import Part, Segment
from dpselect.engines.prepared.writing import Writing
from dpselect.engines.row_periods import RowPeriods
from dpselect.errors import DataError
from dpselect.parameters import Progress
from dpselect.periods import YEARS, Day, Period, Periods, between

T = TypeVar("T")
SEGMENTS = 64  # about so many at most, so that few files are opened
LEAST_ROWS = 10**5  # of a segment
_LARGE = frozenset({"HUGEINT", "UHUGEINT"})  # which Parquet would round
_STEPS = {"read": 0.3, "dictionaries": 0.15, "codes": 0.3, "cells": 0.1, "files": 0.15}  # of the time, about
_DAYS = "CAST(p AS VARCHAR)"


@dataclass(frozen=True)
class Written:
    """What was written, beside the files of the state before, and what its owner may want to know."""

    users: tuple[Part, ...]
    items: tuple[Part, ...]
    kept: tuple[Part, ...]
    sets: tuple[Part, ...]
    segments: tuple[Segment, ...]
    rows: int
    sizes: dict[str, int]


@dataclass
class Preparation:
    """The steps, in a workspace of its own; `before` is the state to which rows are added."""

    workspace: Workspace
    scan: Scan
    rules: Rules
    writing: Writing
    before: Reading | None
    progress: Progress | None
    _done: float = field(default=0.0, init=False)

    def run(self) -> Written:
        """All of it: the rows are read once."""
        self._step("read", self._read)
        self._step("dictionaries", self._number)
        self._step("codes", self._code)
        self._step("cells", self._count)
        return self._step("files", self._write)

    def _step(self, name: str, work: Callable[[], T]) -> T:
        """Some of the work, guarded, with its part of the progress."""
        start, share = self._done, _STEPS[name]

        def tell(done: float | None) -> None:
            if self.progress is not None:
                self.progress(start + share * (done or 0))

        found = self.workspace.guarded(work, progress=tell)
        self._done = start + share
        tell(0 if self._done > 0.99 else None)
        return found

    # ---- the rows -------------------------------------------------------------------------------------------

    def _read(self) -> None:
        rules = self.rules
        columns = list(rules.names)
        present = Key(tuple(map(quoted, rules.user)), tuple(rules.types[name] for name in rules.user)).present
        forms = [f"{_form(name, rules.types[name])} AS {self._staged(name)}" for name in rules.stored]
        if rules.time is not None:
            forms.append(f"{self._times.moment} AS t")
        with self.scan.rows(
            self.workspace, columns, lambda source: f"SELECT {', '.join(forms)} FROM {source} WHERE {present}"
        ) as source:
            self._sql(f"CREATE TEMP TABLE staged AS FROM {source}")

    def _staged(self, column: str) -> str:
        """The name of a stored column among the rows that were read."""
        return f"s{self.rules.stored.index(column)}"

    def _number(self) -> None:
        """Every value has its number: those from before keep theirs, new ones follow in their own order."""
        for name, columns in self._dictionaries.items():
            staged = [f"{self._staged(column)} AS v{at}" for at, column in enumerate(columns)]
            values = [f"v{at}" for at in range(len(columns))]
            listed = ", ".join(values)
            distinct = f"SELECT DISTINCT {', '.join(staged)} FROM staged"
            old = self._old(name)
            self._sql(f"CREATE TEMP TABLE {name} AS SELECT 0::BIGINT AS code, {listed} FROM ({distinct}) LIMIT 0")
            if old:
                back = (f"CAST(v{at} AS {_kept_type(self.rules.types[one])})" for at, one in enumerate(columns))
                self._sql(f"INSERT INTO {name} SELECT {CODES[name]}, {', '.join(back)} FROM {self._files(old)}")
            first = self._first(f"SELECT coalesce(max(code) + 1, 0) FROM {name}")
            fresh = distinct if not old else f"SELECT n.* FROM ({distinct}) AS n ANTI JOIN {name} AS o ON {_same(values)}"
            self._sql(
                f"INSERT INTO {name} SELECT row_number() OVER (ORDER BY {listed}) - 1 + {first}, {listed} FROM ({fresh})"
            )
            self._firsts[name] = first

    def _code(self) -> None:
        """Distinct combinations of codes, and how often each is there."""
        rules, source, joined = self.rules, "staged", ""
        for name, columns in self._dictionaries.items():
            same = " AND ".join(
                f"staged.{self._staged(column)} IS NOT DISTINCT FROM {name}.v{at}" for at, column in enumerate(columns)
            )
            joined += f" JOIN {name} ON {same}"
        codes = [f"{name}.code AS {CODES[name]}" for name in self._dictionaries]
        codes += [] if rules.keep else ["0::BIGINT AS c"]
        codes += [f"staged.{self._staged(column)} AS w{at}" for at, column in enumerate(rules.weight)]
        if rules.time is None:
            codes.append("NULL::DATE AS p")
        else:
            codes.append("bounds.p AS p")
            self._bounds()
            source = "staged ASOF LEFT JOIN bounds ON staged.t >= bounds.start"
        self._sql(f"CREATE TEMP TABLE coded AS SELECT {', '.join(codes)}, count(*) AS n FROM {source}{joined} GROUP BY ALL")
        rows = self._first("SELECT count(*) FROM staged")
        if self._first("SELECT coalesce(sum(n), 0) FROM coded") != rows:
            raise DataError("the source's values cannot be told apart", "cast its columns to text or to numbers")
        self._rows = rows
        self._sql("DROP TABLE staged")
        self._touched = self._to_write_again()
        if self._touched:
            old = self._files([one.rows for one in self._touched])
            back = [f"CAST(w{at} AS {_kept_type(rules.types[one])}) AS w{at}" for at, one in enumerate(rules.weight)]
            names = ", ".join(["u", "i", "c", *back, "p", "n"])
            plain = ", ".join(["u", "i", "c", *(f"w{at}" for at in range(len(rules.weight))), "p"])
            both = f"SELECT {plain}, n FROM coded UNION ALL SELECT {names} FROM {old}"
            self._sql(f"CREATE TEMP TABLE both AS SELECT {plain}, CAST(sum(n) AS BIGINT) AS n FROM ({both}) GROUP BY ALL")
            self._sql("DROP TABLE coded")
            self._sql("ALTER TABLE both RENAME TO coded")

    def _to_write_again(self) -> list[Segment]:
        """The segments from before whose periods have new rows, and those that are small."""
        if self.before is None:
            return []
        segments = self.before.state.segments
        least = self._room(sum(one.size for one in segments))
        here = self._periods()
        return [one for one in segments if one.size < least or not here.isdisjoint(one.periods)]

    def _bounds(self) -> None:
        """When each period begins that may hold a row; after the last of a stretch of years there is none."""
        rules = self.rules
        assert rules.period is not None and rules.time is not None
        ours = "t >= '0999-12-01' AND t <= '9999-02-01'"
        years = {int(row[0]) for row in self.workspace.rows(f"SELECT DISTINCT year(t) FROM staged WHERE {ours}")}
        near = sorted({year + step for year in years for step in (-1, 0, 1)} & set(YEARS))
        marks: list[tuple[Day, Day | None]] = []
        for first, last in _runs(near):
            found: list[Period] = []
            for one in between(rules.period, Day(first, 1, 1), Day(last, 12, 31)):
                if one.start.year in YEARS:
                    found.append(one)
            marks += [(one.start, one.start) for one in found] + [(found[-1].stop, None)]
        times = self._times
        dates = np.array([None if day is None else np.datetime64(day) for _, day in marks], "datetime64[D]")
        starts = np.array([times.periods.midnight(day, in_utc=times.in_utc) for day, _ in marks], "datetime64[us]")
        with self.workspace.registered({"start": starts, "p": dates.astype("datetime64[us]")}) as given:
            self._sql("CREATE TEMP TABLE bounds AS SELECT t AS start, NULL::DATE AS p FROM staged LIMIT 0")
            self._sql(f"INSERT INTO bounds SELECT start, p::DATE FROM {given}")

    # ---- what is counted beforehand -------------------------------------------------------------------------

    def _count(self) -> None:
        """i, s and n in each period: how many users have an item with which set of combinations of kept values."""
        nameable = Key(
            tuple(f"v{at}" for at in range(len(self.rules.item))),
            tuple(_kept_type(self.rules.types[one]) for one in self.rules.item),
        ).nameable
        self._sql(f"CREATE TEMP TABLE named AS SELECT code AS i, {nameable} AS k FROM items")
        pairs = "SELECT p, i, u, min(c) AS a, max(c) AS b FROM coded SEMI JOIN (FROM named WHERE k) USING (i) GROUP BY p, i, u"
        self._sql(f"CREATE TEMP TABLE pairs AS {pairs}")
        several = (
            "SELECT p, i, u, list(DISTINCT c ORDER BY c) AS cs FROM coded AS r "
            "SEMI JOIN (FROM pairs WHERE a < b) AS s ON r.p IS NOT DISTINCT FROM s.p AND r.i = s.i AND r.u = s.u "
            "GROUP BY p, i, u"
        )
        self._sql(f"CREATE TEMP TABLE several AS {several}")
        self._sql("CREATE TEMP TABLE sets AS SELECT 0::BIGINT AS s, cs FROM several LIMIT 0")
        old = self._old("sets")
        if old:
            self._sql(f"INSERT INTO sets SELECT s, cs FROM {self._files(old)}")
        first = self._first("SELECT coalesce(min(s), 0) FROM sets")
        fresh = "SELECT DISTINCT cs FROM several ANTI JOIN sets USING (cs)"
        self._sql(f"INSERT INTO sets SELECT {first} - row_number() OVER (ORDER BY cs), cs FROM ({fresh})")
        self._firsts["sets"] = first
        each = "SELECT p, i, a AS s FROM pairs WHERE a = b UNION ALL SELECT p, i, s FROM several JOIN sets USING (cs)"
        self._sql(f"CREATE TEMP TABLE cells AS SELECT p, i, s, count(*) AS n FROM ({each}) GROUP BY ALL")
        self._sizes = {
            "users": self._first("SELECT count(*) FROM users"),
            "items": self._first("SELECT count(*) FROM named WHERE k"),
            **{
                name: self._first(f"SELECT count(DISTINCT v{at}) + max((v{at} IS NULL)::INT) FROM kept")
                for at, name in enumerate(self.rules.keep)
                if self._first("SELECT count(*) FROM kept")
            },
        }
        self._sql("DROP TABLE pairs")
        self._sql("DROP TABLE several")

    # ---- files ----------------------------------------------------------------------------------------------

    def _write(self) -> Written:
        parts: dict[str, tuple[Part, ...]] = {}
        for name, columns in self._dictionaries.items():
            values = [_carried(f"v{at}", self.rules.types[one]) + f" AS v{at}" for at, one in enumerate(columns)]
            more = ", k" if name == "items" else ""
            source = "items JOIN named ON code = i" if name == "items" else name
            sql = f"SELECT code AS {CODES[name]}, {', '.join(values)}{more} FROM {source} WHERE code >= {self._firsts[name]}"
            parts[name] = self._more(name, f"{sql} ORDER BY code")
        parts["sets"] = self._more("sets", f"SELECT s, cs FROM sets WHERE s < {self._firsts['sets']} ORDER BY s DESC")
        touched = {id(one) for one in self._touched}
        before = () if self.before is None else self.before.state.segments
        segments = [one for one in before if id(one) not in touched]
        return Written(
            users=parts["users"],
            items=parts["items"],
            kept=parts.get("kept", ()),
            sets=parts["sets"],
            segments=(*segments, *map(self._segment, self._packed(sum(one.size for one in segments)))),
            rows=self._rows,
            sizes=self._sizes,
        )

    def _more(self, name: str, sql: str) -> tuple[Part, ...]:
        """The files of a dictionary: those from before, and one of what is new."""
        return (*self._old(name), self._file(name, sql))

    def _packed(self, others: int) -> list[tuple[list[str], int]]:
        """Periods that stand together in a segment, and how many rows they have."""
        found = self.workspace.rows(f"SELECT coalesce({_DAYS}, ''), count(*) FROM coded GROUP BY 1 ORDER BY 1")
        least = self._room(others + sum(size for _, size in found))
        packed: list[tuple[list[str], int]] = [([], 0)]
        for period, size in found:
            if packed[-1][1] >= least:
                packed.append(([], 0))
            packed[-1][0].append(period)
            packed[-1] = packed[-1][0], packed[-1][1] + size
        return packed if found or others else [([""], 0)]

    def _segment(self, packed: tuple[list[str], int]) -> Segment:
        periods, size = packed
        listed = ", ".join(f"'{one}'" for one in periods)
        inside = f"coalesce({_DAYS}, '') IN ({listed})" if listed else "false"
        weights = [_carried(f"w{at}", self.rules.types[one]) + f" AS w{at}" for at, one in enumerate(self.rules.weight)]
        columns = ", ".join(["p", "i", "u", "c", *weights, "n"])
        rows = self._file("rows", f"SELECT {columns} FROM coded WHERE {inside} ORDER BY p, i, u, c")
        cells = self._file("cells", f"SELECT p, i, s, n FROM cells WHERE {inside} ORDER BY p, i, s")
        return Segment(tuple(periods), size, rows, cells)

    def _file(self, name: str, sql: str) -> Part:
        path = self.writing.new(name, fresh_key())
        target = "'" + path.replace("'", "''") + "'"
        self._sql(f"COPY ({sql}) TO {target} (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)")
        return self.writing.part(path)

    # ---- what the steps share -------------------------------------------------------------------------------

    def __post_init__(self) -> None:
        rules = self.rules
        kept = {"kept": rules.keep} if rules.keep else {}
        self._dictionaries: dict[str, tuple[str, ...]] = {"users": rules.user, "items": rules.item, **kept}
        self._firsts: dict[str, int] = {}
        self._touched: list[Segment] = []
        self._sizes: dict[str, int] = {}
        self._rows = 0

    @property
    def _times(self) -> RowPeriods:
        """The time of a row, as questions compare it."""
        rules = self.rules
        assert rules.time is not None and rules.period is not None
        return row_time(Periods(rules.time, rules.period, rules.timezone, ()), rules.types, raw=True)

    def _sql(self, sql: str) -> None:
        self.workspace.rows(sql)

    def _first(self, sql: str) -> int:
        return int(self.workspace.rows(sql)[0][0])

    def _periods(self) -> set[str]:
        return {str(row[0]) for row in self.workspace.rows(f"SELECT DISTINCT coalesce({_DAYS}, '') FROM coded")}

    def _old(self, name: str) -> tuple[Part, ...]:
        return () if self.before is None else getattr(self.before.state, name)

    def _files(self, parts: Sequence[Part]) -> str:
        assert self.before is not None
        return parquet_rows(self.before.paths(parts))

    @staticmethod
    def _room(rows: int) -> int:
        return max(LEAST_ROWS, rows // SEGMENTS)


CODES = {"users": "u", "items": "i", "kept": "c"}


def refuse_types(rules_types: dict[str, str], columns: Sequence[str]) -> None:
    """Refuse columns of types that cannot be kept as they are."""
    for name in columns:
        item_form(quoted(name), rules_types[name])


def kept_types(types: dict[str, str]) -> dict[str, str]:
    """The types by which prepared columns are read; texts of every sort are texts."""
    return {name: OBJECT if one == OBJECT else "VARCHAR" if has_text(one) else one for name, one in types.items()}


def _form(column: str, sql_type: str) -> str:
    """A value as it is stored: equal values in one form, texts without a collation of theirs."""
    if has_text(sql_type) or kind(sql_type) in FLOATS:
        return item_form(quoted(column), sql_type)
    return quoted(column)


def _kept_type(sql_type: str) -> str:
    return "VARCHAR" if has_text(sql_type) else sql_type


def _carried(expression: str, sql_type: str) -> str:
    """A value as Parquet holds it exactly."""
    return f"CAST({expression} AS VARCHAR)" if kind(sql_type) in _LARGE else expression


def _same(values: Sequence[str]) -> str:
    return " AND ".join(f"n.{one} IS NOT DISTINCT FROM o.{one}" for one in values)


def _runs(years: Sequence[int]) -> list[tuple[int, int]]:
    """Years in a row, as the first and the last of each stretch."""
    found: list[tuple[int, int]] = []
    for year in years:
        if found and found[-1][1] == year - 1:
            found[-1] = found[-1][0], year
        else:
            found.append((year, year))
    return found

