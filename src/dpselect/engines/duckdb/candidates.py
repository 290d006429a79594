"""Candidates from a table: one row each, its label and its score. Nothing is counted here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from dpselect._ground.parameters import suggest_column
from dpselect.engines.address import Address
from dpselect.engines.duckdb.sources import open_scan
from dpselect.engines.duckdb.types import FLOATS, INTEGERS, OBJECT, TEXTS, base_type, item_form, label_function
from dpselect.engines.duckdb.workspace import Row, Workspace, quoted
from dpselect.engines.sources.scans.scan import Scan
from dpselect.errors import SourceError

Score = int | float | Fraction

MUST_BE_NUMBER = "be a finite number in every row"
MAX_DECIMALS = 400  # decimal places before or after the point: beyond floats, and still quick to be exact with


def read_candidates(source: object, label: str, score: str, *, table: str | None = None) -> dict[object, Score]:
    """Return the score of each label. A label may occur once; candidates are public, so a second one is refused."""
    workspace = Workspace()
    try:
        scan = open_scan(workspace, Address.parse(source, table))
        _check_columns(scan, label, score)
        types = scan.types(workspace, [label, score])
        if base_type(types[score]) not in {*INTEGERS, *FLOATS, *TEXTS, "DECIMAL", OBJECT}:
            raise SourceError("score", "be a column of numbers", f"one of type {base_type(types[score])}")
        columns = f"{item_form(quoted(label), types[label])}, {quoted(score)}"

        def read() -> list[Row]:
            with scan.rows(workspace, [label, score]) as rows:
                return workspace.fetch_unguarded(f"SELECT {columns} FROM {rows}")

        return _collect_candidates(workspace.guarded(read), types[label], types[score])
    finally:
        workspace.close()


def _check_columns(scan: Scan, label: str, score: str) -> None:
    for name, column in (("label", label), ("score", score)):
        if scan.names and column not in scan.names:
            raise SourceError(name, "be a column of the source", repr(column), suggest_column(column, scan.names))
    if label == score:
        raise SourceError("score", "be a column other than label", repr(score))


def _collect_candidates(rows: Sequence[Row], label_type: str, score_type: str) -> dict[object, Score]:
    if any(row[0] is None for row in rows):
        raise SourceError("label", "be there in every row", "rows without one")
    to_label, to_score = label_function(label_type), label_function(score_type)
    score_of_label = {to_label(row[0]): _parse_score(to_score(row[1])) for row in rows}
    if len(score_of_label) < len(rows):
        raise SourceError("label", "name every candidate once", "one that occurs again")
    return score_of_label


def _parse_score(value: object) -> Score:
    """Return a score as the exact number that it is; text is read as a decimal."""
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    try:
        number = Decimal(value) if isinstance(value, (str, Decimal)) else Decimal("nan")
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite() or abs(number.adjusted()) > MAX_DECIMALS:
        raise SourceError("score", MUST_BE_NUMBER, "something else")
    return int(number) if number == number.to_integral_value() else Fraction(number)
