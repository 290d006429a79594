"""Inspecting a source for its owner: what is left out, what would fail, how users and items are spread.

Nothing here is private. No question uses it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from dpselect.engines.duckdb.inspect_parts import on_one_line
from dpselect.engines.duckdb.lines import json_values
from dpselect.engines.duckdb.scans import Scan, Select, described
from dpselect.engines.duckdb.workspace import Row, Workspace, quoted
from dpselect.engines.sources.csv_form import UTF_8, CsvForm
from dpselect.engines.sources.files import Files
from dpselect.engines.sources.scans.parquet import parquet_rows
from dpselect.engines.sources.text_faults import NOT_UTF8, TOO_LONG, Fault, csv_judge, faults, json_judge
from dpselect.engines.sources.text_lines import UNREADABLE, header
from dpselect.engines.values import LONGEST
from dpselect.errors import DataError

_SHOWN = 5  # line numbers of each fault
DECLARE_ENCODING = "; in Python, dps.CSV(files, encoding='cp1252') declares another encoding"
SHARES = (0, 0.25, 0.5, 0.75, 0.9, 0.99, 1)


def file_findings(files: Files, csv: CsvForm) -> Iterator[str]:
    """What is wrong with the files themselves, one sentence each."""
    workspace = Workspace()
    try:
        for path in files.paths:
            try:
                if files.kind == "parquet":
                    yield from _parquet_findings(workspace, path)
                else:
                    yield from _text_findings(workspace, path, files.kind, csv)
            except DataError as error:
                yield f"{path}: FAILS: {on_one_line(error)}"
    finally:
        workspace.close()


def _text_findings(workspace: Workspace, path: str, kind: str, csv: CsvForm) -> Iterator[str]:
    first = None if kind == "json" else header(path, kind, csv)
    if kind != "json" and first is None:
        yield f"{path}: empty"
        return
    judge = json_judge(lambda line: _is_record(workspace, line)) if first is None else csv_judge(first)
    before, encoding = (0, UTF_8) if first is None else (first.lines, first.encoding)
    counted: Counter[str] = Counter()
    places: defaultdict[str, list[int]] = defaultdict(list)
    lines = 0
    try:
        for number, fault in faults(path, judge, header=before, encoding=encoding):
            lines += 1
            _note(fault, number, counted, places)
    except UNREADABLE:
        yield f"{path}: FAILS after {lines:,} lines: the file or its archive is damaged; every question fails"
    yield f"{path}: {lines:,} lines, {lines - counted.total():,} of them read"
    for fault, times in counted.most_common():
        shown = ", ".join(map(str, places[fault])) + (", ..." if times > _SHOWN else "")
        advice = DECLARE_ENCODING if fault == NOT_UTF8 and kind != "json" else ""
        yield f"{path}: left out: {times:,} {fault} (line {shown}){advice}"


def _note(fault: Fault, number: int, counted: Counter[str], places: defaultdict[str, list[int]]) -> None:
    if fault is not None:
        counted[fault] += 1
        if len(places[fault]) < _SHOWN:
            places[fault].append(number)


def _is_record(workspace: Workspace, line: str) -> bool:
    sql = f"SELECT v IS NOT NULL FROM {json_values('(SELECT ? AS line, 0 AS place)', ['v'])}"
    return bool(workspace.fetch(sql, [line])[0][0])


def _parquet_findings(workspace: Workspace, path: str) -> Iterator[str]:
    rows = parquet_rows([path])
    types = described(workspace, f"SELECT * FROM {rows}")
    ((number,),) = workspace.fetch(f"SELECT count(*) FROM {rows}")
    yield f"{path}: {number:,} rows"
    for name, sql_type in types.items():
        column = quoted(name)
        try:
            workspace.fetch(f"SELECT count(hash({column})) FROM {rows}")
        except DataError:
            yield (
                f"{path}: FAILS: column {name} ({sql_type}) has values that cannot be read, such as times out of "
                "range; every question that uses it fails. Write the file again without them"
            )
            continue
        if sql_type == "VARCHAR":
            yield from _bad_texts(workspace, path, name)
    yield from _long_values(workspace, path, types)


def _bad_texts(workspace: Workspace, path: str, name: str) -> Iterator[str]:
    try:
        workspace.fetch(f"SELECT count(hash({quoted(name)})) FROM {parquet_rows([path], text='strict')}")
        return
    except DataError:
        pass
    numbered = (parquet_rows([path], text=how, more=", file_row_number = true") for how in ("replace", "ignore"))
    with_marks, without = (f"(SELECT {quoted(name)} AS t, file_row_number AS n FROM {rows})" for rows in numbered)
    sql = f"SELECT count(*), min(a.n) FROM {with_marks} AS a JOIN {without} AS b USING (n) WHERE a.t <> b.t"
    ((times, first),) = workspace.fetch(sql)
    found = f"{times:,} texts of column {name} that are not UTF-8 (the first in row {first + 1})"
    yield f"{path}: read with ? instead of invalid bytes: {found}"


def _long_values(workspace: Workspace, path: str, types: Mapping[str, str]) -> Iterator[str]:
    lengths = {
        name: f"{'strlen' if sql_type == 'VARCHAR' else 'octet_length'}({quoted(name)})"
        for name, sql_type in types.items()
        if sql_type in ("VARCHAR", "BLOB")
    }
    if not lengths:
        return
    rows = [f"CASE WHEN {length} > {LONGEST} THEN file_row_number END" for length in lengths.values()]
    asked = ", ".join(f"count({row}), min({row})" for row in rows)
    found = workspace.fetch(f"SELECT {asked} FROM {parquet_rows([path], more=', file_row_number = true')}")[0]
    for name, times, first in zip(lengths, found[::2], found[1::2], strict=True):
        if times:
            yield f"{path}: missing: {times:,} values of column {name} {TOO_LONG} (the first in row {first + 1})"


def row_findings(
    workspace: Workspace, scan: Scan, columns: Sequence[str], select: Select, conditions: Mapping[str, str]
) -> Iterator[str]:
    """How many rows each condition lets through, and how users and items are spread over those that count."""

    def ask(which: Select, sql: Callable[[str], str]) -> list[Row]:
        with scan.rows(workspace, columns, which) as source:
            return workspace.fetch(sql(source))

    every = ", ".join(map(quoted, columns))
    counted = "".join(f", count(*) FILTER (({condition}) IS NOT TRUE)" for condition in conditions.values())
    ((rows, *lacking),) = ask(
        lambda source: f"SELECT {every} FROM {source}", lambda source: f"SELECT count(*){counted} FROM {source}"
    )
    yield f"rows: {rows:,}"
    for what, number in zip(conditions, lacking, strict=True):
        yield f"rows {what}: {number:,}"
    of_users = f"quantile_disc(n, [{', '.join(map(str, SHARES))}])"
    ((users, pairs, spread),) = ask(
        select,
        lambda source: (
            f"SELECT count(*), coalesce(sum(n), 0)::BIGINT, {of_users} "
            f"FROM (SELECT u, count(DISTINCT i) AS n FROM {source} GROUP BY u)"
        ),
    )
    ((items,),) = ask(select, lambda source: f"SELECT count(DISTINCT i) FROM {source}")
    yield f"users: {users:,}"
    yield f"items: {items:,}"
    yield f"pairs of a user and an item: {pairs:,}"
    if users:
        least, *more = spread
        said = (f"{share:.0%} have at most {number:,}" for share, number in zip(SHARES[1:], more, strict=True))
        yield f"items of a user: at least {least:,}; {', '.join(said)}"
