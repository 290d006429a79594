"""Inspecting a source for its owner: what is left out, what would fail, how users and items are spread.

Nothing here is private. No question uses it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from dpselect.engines.duckdb.workspace import Workspace, quoted
from dpselect.engines.sources.csv_form import UTF_8, CsvForm
from dpselect.engines.sources.files import Files
from dpselect.engines.sources.scans.lines import json_values
from dpselect.engines.sources.scans.parquet import parquet_rows
from dpselect.engines.sources.scans.scan import describe_columns
from dpselect.engines.sources.text_lines import UNREADABLE, read_header
from dpselect.engines.values import MAX_VALUE_BYTES
from dpselect.errors import DataError
from dpselect.inspection.parts import format_error
from dpselect.inspection.text_faults import NOT_UTF8, TOO_LONG, Fault, csv_judge, find_faults, json_judge

_MAX_LINE_NUMBERS = 5  # line numbers of each fault
DECLARE_ENCODING = "; in Python, dps.CSV(files, encoding='cp1252') declares another encoding"


def file_findings(files: Files, csv: CsvForm) -> Iterator[str]:
    """Yield what is wrong with the files themselves, one sentence each."""
    workspace = Workspace()
    try:
        for path in files.paths:
            try:
                if files.kind == "parquet":
                    yield from _parquet_findings(workspace, path)
                else:
                    yield from _text_file_findings(workspace, path, files.kind, csv)
            except DataError as error:
                yield f"{path}: FAILS: {format_error(error)}"
    finally:
        workspace.close()


def _text_file_findings(workspace: Workspace, path: str, kind: str, csv: CsvForm) -> Iterator[str]:
    file_header = None if kind == "json" else read_header(path, kind, csv)
    if kind != "json" and file_header is None:
        yield f"{path}: empty"
        return
    judge = json_judge(lambda line: _is_record(workspace, line)) if file_header is None else csv_judge(file_header)
    header_lines, encoding = (0, UTF_8) if file_header is None else (file_header.lines, file_header.encoding)
    fault_counts: Counter[str] = Counter()
    lines_of_fault: defaultdict[str, list[int]] = defaultdict(list)
    lines = 0
    try:
        for number, fault in find_faults(path, judge, header=header_lines, encoding=encoding):
            lines += 1
            _record_fault(fault, number, fault_counts, lines_of_fault)
    except UNREADABLE:
        yield f"{path}: FAILS after {lines:,} lines: the file or its archive is damaged; every question fails"
    yield f"{path}: {lines:,} lines, {lines - fault_counts.total():,} of them read"
    for fault, times in fault_counts.most_common():
        line_numbers = ", ".join(map(str, lines_of_fault[fault])) + (", ..." if times > _MAX_LINE_NUMBERS else "")
        advice = DECLARE_ENCODING if fault == NOT_UTF8 and kind != "json" else ""
        yield f"{path}: left out: {times:,} {fault} (line {line_numbers}){advice}"


def _record_fault(
    fault: Fault, number: int, fault_counts: Counter[str], lines_of_fault: defaultdict[str, list[int]]
) -> None:
    if fault is not None:
        fault_counts[fault] += 1
        if len(lines_of_fault[fault]) < _MAX_LINE_NUMBERS:
            lines_of_fault[fault].append(number)


def _is_record(workspace: Workspace, line: str) -> bool:
    sql = f"SELECT v IS NOT NULL FROM {json_values('(SELECT ? AS line)', 'line', ['v'])}"
    return bool(workspace.fetch(sql, [line])[0][0])


def _parquet_findings(workspace: Workspace, path: str) -> Iterator[str]:
    rows = parquet_rows([path])
    types = describe_columns(workspace, f"SELECT * FROM {rows}")
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
            yield from _invalid_text_findings(workspace, path, name)
    yield from _long_value_findings(workspace, path, types)


def _invalid_text_findings(workspace: Workspace, path: str, name: str) -> Iterator[str]:
    try:
        workspace.fetch(f"SELECT count(hash({quoted(name)})) FROM {parquet_rows([path], text='strict')}")
        return
    except DataError:
        pass
    numbered = (
        parquet_rows([path], text=on_invalid, more_options=", file_row_number = true")
        for on_invalid in ("replace", "ignore")
    )
    with_marks, without_marks = (f"(SELECT {quoted(name)} AS t, file_row_number AS n FROM {rows})" for rows in numbered)
    sql = f"SELECT count(*), min(a.n) FROM {with_marks} AS a JOIN {without_marks} AS b USING (n) WHERE a.t <> b.t"
    ((times, first),) = workspace.fetch(sql)
    description = f"{times:,} texts of column {name} that are not UTF-8 (the first in row {first + 1})"
    yield f"{path}: read with ? instead of invalid bytes: {description}"


def _long_value_findings(workspace: Workspace, path: str, types: Mapping[str, str]) -> Iterator[str]:
    lengths = {
        name: f"{'strlen' if sql_type == 'VARCHAR' else 'octet_length'}({quoted(name)})"
        for name, sql_type in types.items()
        if sql_type in ("VARCHAR", "BLOB")
    }
    if not lengths:
        return
    rows = [f"CASE WHEN {length} > {MAX_VALUE_BYTES} THEN file_row_number END" for length in lengths.values()]
    counts = ", ".join(f"count({row}), min({row})" for row in rows)
    numbers = workspace.fetch(f"SELECT {counts} FROM {parquet_rows([path], more_options=', file_row_number = true')}")[
        0
    ]
    for name, times, first in zip(lengths, numbers[::2], numbers[1::2], strict=True):
        if times:
            yield f"{path}: missing: {times:,} values of column {name} {TOO_LONG} (the first in row {first + 1})"
