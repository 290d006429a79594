"""Preparing with Spark: all steps from a frame to the files of a folder, and every step of their size is Spark's.

A code is the place of a value in a dictionary of distinct values, or of a user what is drawn for that place: where each
partition of it begins is counted when it is written, and a file that is written stays as it is. So a task that runs
again gives no value another code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from dpselect.engines.duckdb.preparing.preparation import Written
from dpselect.engines.duckdb.preparing.segments import stacked
from dpselect.engines.prepared.rules import Rules
from dpselect.engines.prepared.state import CODES, Part, Segment
from dpselect.engines.prepared.users import numbers_of
from dpselect.engines.prepared.writing import Writing
from dpselect.engines.spark.dialect import quoted
from dpselect.engines.spark.jobs import Work
from dpselect.engines.spark.names import Names
from dpselect.engines.spark.prepared_files import SEGMENT, Files
from dpselect.engines.spark.prepared_forms import Times, back, bucket, kept_form, refuse_type
from dpselect.engines.spark.source import frame_of, work_of
from dpselect.engines.spark.tables import fields_of, view_of
from dpselect.engines.sql.port import SqlType
from dpselect.engines.sql.totals import refuse_no_numbers
from dpselect.errors import DataError
from dpselect.parameters import Progress

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS_OF_A_FILE = 4 * 10**6
_PARTITION = 33  # bits below a partition's number in what Spark numbers rows by
_SHARES = (0.2, 0.35, 0.6, 0.75, 1.0)  # of the time, when each step is done, about


@dataclass
class Preparing:
    """A source of Spark, its rules, and the steps."""

    work: Work
    frame: DataFrame
    types: Mapping[str, SqlType]
    rules: Rules
    files: Files = field(init=False)
    sizes: dict[str, int] = field(default_factory=dict)  # of steps and dictionaries

    @classmethod
    def of(cls, source: object, table: str | None, given: Mapping[str, Any]) -> Preparing:
        """What is to be prepared: columns that the source has, each of a type that can be kept as it is."""
        work = work_of(source)
        frame = frame_of(work, source, table)
        asked = [(parameter, name) for parameter in ("user", "item", "keep", "weight") for name in given[parameter]]
        kept = [name for _, name in asked]
        asked += [] if given["time"] is None else [("time", given["time"])]
        types = fields_of(work, frame, asked)
        for name in kept:
            refuse_type(types[name])
        for name in given["weight"]:
            refuse_no_numbers(types[name])
        rules = Rules(**given, types={name: str(one.duckdb) for name, one in types.items()}, untyped=False)
        if rules.time is not None:
            Times(rules, types[rules.time])
        return cls(work, frame, types, rules)

    def written(self, writing: Writing, progress: Progress | None) -> Written:
        """Read the rows once, and write the files of a state that has them."""
        self.files = Files(self.work, writing)
        try:
            return self._steps(progress)
        finally:
            self.files.close()

    def _steps(self, progress: Progress | None) -> Written:
        done = iter(_SHARES)

        def tell() -> None:
            share = next(done)
            if progress is not None:
                progress(share)
                self.files.progress = lambda _: progress(share)

        if progress is not None:
            self.files.progress = progress
        rows = self._stage()
        tell()
        dictionaries = {name: self._dictionary(name, columns) for name, columns in self._columns.items()}
        tell()
        self._code(rows)
        tell()
        files = dictionaries | self._count()
        tell()
        segments = self._segments()
        tell()
        return Written(files, segments, rows, self._values())

    @property
    def _columns(self) -> dict[str, tuple[str, ...]]:
        """The columns of each dictionary."""
        rules = self.rules
        return {"users": rules.user, "items": rules.item, **({"kept": rules.keep} if rules.keep else {})}

    @property
    def _weights(self) -> str:
        return "".join(f"w{at}, " for at in range(len(self.rules.weight)))

    def _staged(self, column: str) -> str:
        return f"s{self.rules.stored.index(column)}"

    def _stage(self) -> int:
        """Keep the rows that have a user, read once in the caller's session; an item or a kept value may be missing."""
        rules, work = self.rules, self.work
        view = view_of(work, self.frame, list(self.types))
        forms = [f"{kept_form(name, self.types[name])} AS {self._staged(name)}" for name in rules.stored]
        times = None if rules.time is None else Times(rules, self.types[rules.time])
        forms += [] if times is None else [f"{times.form} AS t"]
        present = " AND ".join(self.types[name].present.replace("{}", quoted(name)) for name in rules.user)
        read = f"SELECT {', '.join(forms)} FROM {view} WHERE {present}"
        Names(work).check(f"{read} count()")  # rows are counted while they are written
        try:
            frame = work.guarded(lambda: work.session.sql(read))
            rows = self.files.keep("source", frame)
        finally:
            work.guarded(lambda: work.session.catalog.dropTempView(view))
        values = [f"{back(self._staged(name), self.types[name])} AS {self._staged(name)}" for name in rules.stored]
        values += [] if times is None else [f"{times.micros('t')} AS t"]
        self.files.view("staged", self.files.sql(f"SELECT {', '.join(values)} FROM source"))
        return rows

    def _dictionary(self, name: str, columns: Sequence[str]) -> tuple[Part, ...]:
        """Distinct values of some columns, which have numbers from here on, under the name of the dictionary."""
        values = [f"v{at}" for at in range(len(columns))]
        staged = (f"{self._staged(column)} AS {value}" for column, value in zip(columns, values, strict=True))
        more = ""
        if name == "items":
            types = [self.types[column] for column in columns]
            can = " AND ".join(
                f"({(one.nameable or one.present).replace('{}', v)})" for one, v in zip(types, values, strict=True)
            )
            more = f", {can} AS k"  # can it be an item that comes back?
        code = f"{{}} AS {CODES[name]}"
        return self._placed(name, f"SELECT DISTINCT {', '.join(staged)} FROM staged", values, code, more)

    def _placed(self, name: str, distinct: str, values: Sequence[str], code: str, more: str) -> tuple[Part, ...]:
        """Write values with their places, in their own order from 0; users with what is drawn for these."""
        import numpy as np
        import pyarrow as pa

        files = self.files
        ordered = f"SELECT * FROM ({distinct}) ORDER BY {', '.join(values)}"
        numbered = f"SELECT *, monotonically_increasing_id() AS place FROM ({ordered})"
        self.sizes[name] = files.keep("placed", files.sql(numbered))
        part = f"shiftright(place, {_PARTITION})"
        sizes = files.rows(f"SELECT {part}, count(*) FROM placed GROUP BY {part} ORDER BY {part}")
        parts, numbers = ([int(row[at]) for row in sizes] for at in (0, 1))
        firsts = [0, *accumulate(numbers)][: len(parts)]
        files.put("firsts", pa.table({"part": pa.array(parts, pa.int64()), "first": pa.array(firsts, pa.int64())}))
        number, drawn = f"first + place % {2**_PARTITION}", ""
        if name == "users":
            codes = pa.array(numbers_of(self.sizes[name], np.empty(0, np.int64)))
            files.put("drawn", pa.table({"at": pa.array(np.arange(len(codes))), "code": codes}))
            number, drawn = "code", f" JOIN drawn ON drawn.at = {number}"
        frame = files.sql(
            f"SELECT /*+ BROADCAST(firsts) */ {code.format(number)}, {', '.join(values)}{more} "
            f"FROM placed JOIN firsts ON part = {part}{drawn}"
        )
        found = files.write(name, frame)[0]
        files.read_parts(name, found, frame)
        return found

    def _code(self, rows: int) -> None:
        """Distinct combinations of codes, weights and periods, and how often each is there."""
        rules = self.rules
        columns = {CODES[name]: f"{name}.{CODES[name]}" for name in self._columns}
        if not rules.keep:
            columns["c"] = "0L"
        columns |= {f"w{at}": f"staged.{self._staged(name)}" for at, name in enumerate(rules.weight)}
        columns["p"] = "CAST(NULL AS DATE)" if rules.time is None else "date_from_unix_date(CAST(stretches.p AS INT))"
        source = "staged"
        if rules.time is not None:
            self._put_stretches(Times(rules, self.types[rules.time]))
            inside = "staged.t >= stretches.begin AND staged.t < stretches.stop"
            source += f" LEFT JOIN stretches ON stretches.bucket = {bucket('staged.t')} AND {inside}"
        for name, values in self._columns.items():
            same = (f"staged.{self._staged(value)} <=> {name}.v{at}" for at, value in enumerate(values))
            source += f" JOIN {name} ON {' AND '.join(same)}"
        named = ", ".join(f"{sql} AS {name}" for name, sql in columns.items())
        grouped = f"SELECT *, count(*) AS n FROM (SELECT {named} FROM {source}) GROUP BY {', '.join(columns)}"
        self.sizes["coded"] = self.files.keep("coded", self.files.sql(grouped))
        if self.files.number("SELECT coalesce(sum(n), 0) FROM coded") != rows:
            raise DataError("the source's values cannot be told apart", "cast its columns to text or to numbers")

    def _put_stretches(self, times: Times) -> None:
        import pyarrow as pa

        found = self.files.rows("SELECT DISTINCT year(timestamp_micros(t)) FROM staged WHERE t IS NOT NULL")
        stretches = times.stretches({int(row[0]) for row in found})
        self.files.put("stretches", pa.table({name: pa.array(values) for name, values in stretches.items()}))

    def _count(self) -> dict[str, tuple[Part, ...]]:
        """Numbers of users by sets of kept combinations, and the files of sets and totals."""
        periods = self.rules.period is not None
        named = "SELECT coded.* FROM coded JOIN items ON coded.i = items.i WHERE items.k"
        for name, by in (("counted", "p, i"), ("summed", "i")):
            if name == "counted" or periods:
                sets = f"SELECT {by}, u, sort_array(collect_set(c)) AS cs FROM ({named}) GROUP BY {by}, u"
                grouped = f"SELECT {by}, cs, count(*) AS n FROM ({sets}) GROUP BY {by}, cs"
                self.sizes[name] = self.files.keep(name, self.files.sql(grouped))
        both = "SELECT cs FROM counted" + (" UNION ALL SELECT cs FROM summed" if periods else "")
        several = f"SELECT DISTINCT cs FROM ({both}) WHERE size(cs) > 1"
        found = {"sets": self._placed("sets", several, ["cs"], "-1 - ({}) AS s", "")}
        if periods:
            totals = self.files.write("totals", self._in_sets("i", "summed").sortWithinPartitions("s", "i"))
            found["totals"] = totals[0]
        sums = f"SELECT i, CAST(sum(n) AS BIGINT) AS n FROM {'summed' if periods else 'counted'} GROUP BY i"
        found["sums"] = self.files.write("sums", self.files.sql(sums).sortWithinPartitions("i"))[0]
        return found

    def _in_sets(self, by: str, counted: str) -> DataFrame:
        """Numbers of users by the numbers of sets; a set of one combination has that one's."""
        number = "coalesce(sets.s, element_at(q.cs, 1)) AS s"
        return self.files.sql(f"SELECT {by}, {number}, q.n FROM {counted} AS q LEFT JOIN sets ON sets.cs <=> q.cs")

    def _segments(self) -> tuple[Segment, ...]:
        """Rows and cells, those of periods in a row together, in files that many workers read and write at once."""
        import pyarrow as pa

        files, period = self.files, "coalesce(CAST(p AS STRING), '')"
        sizes = files.rows(f"SELECT {period}, count(*) FROM coded GROUP BY {period} ORDER BY {period}")
        stacks = stacked([(str(one), int(size)) for one, size in sizes]) or [(("",), 0)]
        places = [(one, place) for place, (periods, _) in enumerate(stacks) for one in periods]
        columns = zip(("period", SEGMENT), zip(*places, strict=True), (pa.string(), pa.int32()), strict=True)
        files.put("segments", pa.table({name: pa.array(values, sort) for name, values, sort in columns}))
        files.view("cells", self._in_sets("q.p, q.i", "counted"))
        rows, cells = (
            self._lie(
                kind, f"SELECT p, {codes}n, {SEGMENT} FROM {name} JOIN segments ON period = {period}", size, order
            )
            for kind, name, codes, size, order in (
                ("rows", "coded", f"i, u, c, {self._weights}", self.sizes["coded"], ("p", "i", "u", "c")),
                ("cells", "cells", "i, s, ", self.sizes["counted"], ("p", "s", "i")),
            )
        )
        return tuple(
            Segment(periods, size, rows.get(place, ()), cells.get(place, ()))
            for place, (periods, size) in enumerate(stacks)
        )

    def _lie(self, kind: str, sql: str, size: int, order: Sequence[str]) -> dict[int, tuple[Part, ...]]:
        """Write rows in an order, so that each file has a stretch of it."""
        if not size:  # a file tells which columns there are
            return self.files.write(kind, self.files.sql(sql).drop(SEGMENT))
        spread = self.files.sql(sql).repartitionByRange(size // ROWS_OF_A_FILE + 1, SEGMENT, *order[:-1])
        return self.files.write(kind, spread.sortWithinPartitions(SEGMENT, *order), by_segment=True)

    def _values(self) -> dict[str, int]:
        kept = [f"(SELECT count(DISTINCT struct(v{at})) FROM kept)" for at in range(len(self.rules.keep))]
        items, *others = self.files.rows(f"SELECT {', '.join(['(SELECT count(*) FROM items WHERE k)', *kept])}")[0]
        return {"users": self.sizes["users"], "items": items} | dict(zip(self.rules.keep, others, strict=True))
