"""Inspecting the columns of a source for its owner: what each is, what to declare, and what would be missing then.

Each file is opened by itself, so files that no question could read together are explained rather than refused.
Nothing here is private. No question uses it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial

from dpselect._ground.dataclass import dataclass
from dpselect.engines.duckdb.types import (
    FLOATS,
    INTEGERS,
    NULL_TYPE,
    OBJECT,
    TEXTS,
    base_type,
    filter_type,
    item_form,
    nameable_condition,
    number_form,
    user_form,
)  # fmt: skip
from dpselect.engines.duckdb.workspace import Workspace, quoted
from dpselect.engines.sources.scans.declarations import ZONED, DeclaredType, Types
from dpselect.engines.sources.scans.lines import JsonScan
from dpselect.engines.sources.scans.reading import read_value
from dpselect.engines.sources.scans.unions import common_type, proposed_type
from dpselect.engines.values import TYPE_MARK
from dpselect.errors import DataError, DpselectError, ParameterError
from dpselect.inspection.fitting_types import (
    EPOCHS,
    Fit,
    Proposal,
    fit_columns,
    guess_epoch_unit,
    mark_number_starts,
    parse_fits,
    propose,
    propose_epoch,
)  # fmt: skip
from dpselect.inspection.parts import KEYS, Part, format_error

_MAX_COLUMNS = 200  # of a source that are inspected
_AT_ONCE = 16  # columns of one query
_ROW_NUMBER = quoted(f"{TYPE_MARK}row")
_TIME_TYPES = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", ZONED, "TIMESTAMPTZ_NS"})


@dataclass(frozen=True)
class IntendedUse:
    """The columns that a question would use, by role, and the types that the owner declares already."""

    user: tuple[str, ...] = ()
    item: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    time: str | None = None
    parts: bool = False  # are the items parts of a text, which must stay text?
    types: Types = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns, each once."""
        time_columns = () if self.time is None else (self.time,)
        return tuple(dict.fromkeys((*self.user, *self.item, *self.others, *time_columns, *self.types)))


@dataclass
class _Column:
    """A column: its type in each part that has it, and why it cannot be read in others."""

    types: list[tuple[Part, str]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    fit: Fit | None = None

    @property
    def by_type(self) -> dict[str, Part]:
        """The types, each with the first part that has it."""
        return {sql_type: part for part, sql_type in reversed(self.types)}

    @property
    def is_text(self) -> bool:
        """True if the column is text in each part where it has values."""
        kinds = {base_type(sql_type) for sql_type in self.by_type if sql_type != NULL_TYPE}
        return bool(kinds) and kinds <= TEXTS | {"ENUM"}


@dataclass
class _MissingValues:
    """The number of values, the number that a type does not read, and the position of the first of these."""

    values: int = 0
    missing: int = 0
    first: str = ""

    @property
    def sentence(self) -> str:
        """A predicate with the numbers of values read and missing."""
        if not self.missing:
            return f"reads all {self.values:,} values"
        return f"leaves {self.missing:,} of {self.values:,} values missing (the first in {self.first})"


class Columns:
    """The columns of a source, described for its owner."""

    def __init__(self, workspace: Workspace, parts: Sequence[Part], intended_use: IntendedUse) -> None:
        self._workspace, self._parts, self._intended_use = workspace, parts, intended_use
        self._columns = self._read_columns()
        self._count_fits()
        self.proposed: dict[str, DeclaredType] = dict(intended_use.types)
        """The types to declare: the declared ones, and each proposed type of a column that leaves no choice."""

    @property
    def names(self) -> tuple[str, ...]:
        """All columns; of JSON lines those that lines have, and those of the intended use."""
        return tuple(self._columns)

    def _read_columns(self) -> dict[str, _Column]:
        columns: dict[str, _Column] = {}
        for part in self._parts:
            part_columns = part.scan.names
            if isinstance(part.scan, JsonScan):
                keys = part.scan.key_counts(self._workspace, KEYS)
                part_columns = tuple(
                    dict.fromkeys((*self._intended_use.columns, *part.scan.folders, *(key for key, _ in keys)))
                )
            for name in dict.fromkeys(
                (*(name for name in self._intended_use.columns if name in part_columns), *part_columns[:_MAX_COLUMNS])
            ):
                column = columns.setdefault(name, _Column())
                try:
                    column.types.append((part, self._read_type(part, name)))
                except DpselectError as error:
                    column.refused.append(format_error(error))
        return columns

    def _read_type(self, part: Part, name: str) -> str:
        return part.scan.types(self._workspace, [name])[name]

    def _count_fits(self) -> None:
        """Count which types read the columns of texts."""
        for part in self._parts:
            texts = [name for name, column in self._columns.items() if self._can_fit(name, column, part)]
            for columns in _in_batches(texts):
                counts_sql = ", ".join(map(fit_columns, columns))
                with contextlib.suppress(DataError):
                    row = part.count(self._workspace, columns, counts_sql, partial(mark_number_starts, columns))
                    for name, fit in parse_fits(columns, row).items():
                        column = self._columns[name]
                        column.fit = fit if column.fit is None else column.fit + fit

    def _can_fit(self, name: str, column: _Column, part: Part) -> bool:
        in_part = any(other_part is part and sql_type != NULL_TYPE for other_part, sql_type in column.types)
        return in_part and column.is_text and name not in self._intended_use.types

    # ---- sentences

    def findings(self) -> Iterator[str]:
        """Yield one sentence about each column."""
        for name, column in self._columns.items():
            for message in dict.fromkeys(column.refused):
                yield f"column {name}: FAILS: {message}"
            if column.types:
                yield f"column {name}: {self._describe(name, column)}{self._files_without(column)}"
        if column_counts := [len(part.scan.names) for part in self._parts if len(part.scan.names) > _MAX_COLUMNS]:
            yield (
                f"of {max(column_counts):,} columns only the first {_MAX_COLUMNS} and those that are asked for were "
                "looked at"
            )
        if any(column.is_text and name not in self._intended_use.types for name, column in self._columns.items()):
            yield "text can be used as user and item, and as weight, measure and time only once it is declared"
        yield from self._files_without_user()

    def _files_without(self, column: _Column) -> str:
        """Describe the files of a table that have no such column, and so only missing values."""
        parts_with_column = {id(part) for part, _ in column.types}
        without = (part for part in self._parts if part.kind == "parquet" and id(part) not in parts_with_column)
        paths = [path for part in without for path in part.paths]
        return f"; missing in {len(paths):,} files, such as {paths[0]}" if paths and not column.refused else ""

    def declared(self) -> Iterator[str]:
        """Yield one sentence about each column that the owner declares."""
        for name, declared in self._intended_use.types.items():
            if name in self._columns:
                yield f"{name}: {self._describe_declared(self._columns[name], name, declared)}"

    def _files_without_user(self) -> Iterator[str]:
        for name in self._intended_use.user:
            parts_with_user = {id(part) for part, _ in self._columns[name].types} if name in self._columns else set()
            path_without = next((part.path for part in self._parts if id(part) not in parts_with_user), None)
            if parts_with_user and path_without:
                yield f"FAILS: {path_without} has no column {name}, which says who a user is: every file must have it"

    def _describe(self, name: str, column: _Column) -> str:
        use = self._intended_use
        if (declared := use.types.get(name)) is not None:
            description = f"{declared.text}, as you declare: {self._describe_declared(column, name, declared)}"
            return description + _unusable_as(declared.type)
        types = {sql_type: part.path for sql_type, part in column.by_type.items() if sql_type != NULL_TYPE}
        if len(types) > 1 and common_type(types) is None:
            return self._describe_unequal(name, column)
        if not column.is_text:
            sql_type = common_type(types) or NULL_TYPE
            if name == use.time and sql_type in INTEGERS and (proposal := self._propose_times(column, name)):
                return self._describe_proposal(name, column, proposal, format_type(sql_type))
            unreadable = self._describe_unreadable(name, column)
            return f"{format_type(sql_type)}, as the source declares{unreadable}{_unusable_as(sql_type)}"
        proposal = Proposal()
        if column.fit is not None and not (use.parts and name in use.item):
            roles = {"is_time": name == use.time, "is_user": name in use.user, "is_item": name in use.item}
            proposal = propose(column.fit, **roles)
        return self._describe_proposal(name, column, proposal, "text")

    def _describe_proposal(self, name: str, column: _Column, proposal: Proposal, source_type: str) -> str:
        if proposal.chosen is not None:
            self.proposed[name] = proposal.chosen
        proposals = ", or ".join(
            f"{declared_type.text} {self._describe_declared(column, name, declared_type)}"
            for declared_type in proposal.types
        )
        return "; ".join(filter(None, [source_type, proposals, proposal.remark]))

    def _propose_times(self, column: _Column, name: str) -> Proposal | None:
        """Propose a type for a column of times that holds integers."""
        quoted_name = quoted(name)
        counts_sql = ", ".join(f"count(CASE WHEN {quoted_name} {inside} THEN 1 END)" for inside in EPOCHS.values())
        counts_by_part = [
            part.count(self._workspace, [name], f"count({quoted_name}), {counts_sql}", lambda source: source)
            for part, _ in column.types
        ]
        values, *numbers = map(sum, zip(*counts_by_part, strict=True))
        unit, is_epoch = guess_epoch_unit(dict(zip(EPOCHS, numbers, strict=True)), values)
        return propose_epoch(unit) if is_epoch else None

    def _describe_unequal(self, name: str, column: _Column) -> str:
        types = {sql_type: part for sql_type, part in column.by_type.items() if sql_type != NULL_TYPE}
        types_and_files = " and ".join(f"{format_type(sql_type)} in {part.path}" for sql_type, part in types.items())
        missing_by_type: dict[DeclaredType, _MissingValues] = {}
        for sql_type in dict.fromkeys((proposed_type(types), "DOUBLE")):
            with contextlib.suppress(ParameterError):
                if sql_type is not None:
                    missing_by_type[DeclaredType(sql_type)] = self._count_missing(column, name, DeclaredType(sql_type))
        if not missing_by_type:
            are_times = {base_type(sql_type) for sql_type in types} <= _TIME_TYPES
            hint = (
                "; TIME(zone='...') says where the clocks stood that showed times without a zone" if are_times else ""
            )
            return f"FAILS until it is declared: {types_and_files}{hint}"
        best = min(missing_by_type, key=lambda sql_type: missing_by_type[sql_type].missing)
        self.proposed[name] = best
        return f"FAILS until it is declared: {types_and_files}; {best.text} {missing_by_type[best].sentence}"

    def _describe_declared(self, column: _Column, name: str, declared: DeclaredType) -> str:
        try:
            return self._count_missing(column, name, declared).sentence
        except DpselectError as error:
            return f"FAILS: {format_error(error)}"

    def _count_missing(self, column: _Column, name: str, declared: DeclaredType) -> _MissingValues:
        """Count the values that a type does not read; raise ParameterError if it can read no value of a part."""
        forms = {
            sql_type: read_value(quoted(name), _type_as_read(sql_type), declared, name) for sql_type in column.by_type
        }
        return self._count_where(column, name, {sql_type: f"({form}) IS NULL" for sql_type, form in forms.items()})

    def _count_where(self, column: _Column, name: str, condition_of_type: Mapping[str, str]) -> _MissingValues:
        """Count the values, and those for which the condition of their type holds."""
        missing_values = _MissingValues()
        for part, sql_type in column.types:
            quoted_name = quoted(name)
            condition = f"{quoted_name} IS NOT NULL AND {condition_of_type[sql_type]}"
            rows = f"CASE WHEN {condition} THEN {_ROW_NUMBER} END"
            counts_sql = f"count({quoted_name}), count({rows}), min({rows})"
            part_values, part_missing, _ = part.count(self._workspace, [name], counts_sql, _with_row_numbers)
            missing_values.values += part_values
            missing_values.missing += part_missing
            if part_missing and not missing_values.first:
                missing_values.first = self._first_position(part, name, counts_sql)
        return missing_values

    def _first_position(self, part: Part, name: str, counts_sql: str) -> str:
        """Return the position of the first missing value."""
        for single_part in part.single_files or (part,):
            _, missing, first = single_part.count(self._workspace, [name], counts_sql, _with_row_numbers)
            if missing:
                several = part.single_files or len(self._parts) > 1
                return single_part.locate_row(first) + (f" of {single_part.path}" if several else "")
        return "a row"

    def _describe_unreadable(self, name: str, column: _Column) -> str:
        """Describe values of a declared type that are missing nevertheless."""
        checked = FLOATS | _TIME_TYPES
        if not any(base_type(sql_type) in checked for sql_type in column.by_type):
            return ""
        condition_of_type = {
            sql_type: f"NOT ({nameable_condition(quoted(name), sql_type)})"
            if base_type(sql_type) in checked
            else "false"
            for sql_type in column.by_type
        }
        with contextlib.suppress(DataError):  # a file whose values cannot be read has a finding of its own
            missing_values = self._count_where(column, name, condition_of_type)
            if missing_values.missing:
                description = f"NaN or out of range, the first in {missing_values.first}"
                return f"; {missing_values.missing:,} values are missing ({description})"
        return ""


def _with_row_numbers(source: str) -> str:
    return f"(SELECT *, row_number() OVER () AS {_ROW_NUMBER} FROM {source})"


def _type_as_read(sql_type: str) -> str:
    return "VARCHAR" if base_type(sql_type) == "ENUM" else sql_type


def _in_batches(columns: Sequence[str]) -> Iterator[Sequence[str]]:
    return (columns[start : start + _AT_ONCE] for start in range(0, len(columns), _AT_ONCE))


def format_type(sql_type: str) -> str:
    """Format a type for messages, without names of its own, such as the members of an ENUM."""
    if sql_type == NULL_TYPE:
        return "nothing but missing values"
    if sql_type == OBJECT:
        return "values each of its own type"
    return "TIMESTAMPTZ" if sql_type == ZONED else sql_type if base_type(sql_type) == "DECIMAL" else base_type(sql_type)


def possible_uses(sql_type: str) -> list[str]:
    """Return the roles that a column of this type can have; a weight and a measure are numbers."""
    uses = []
    for use, form in (("user", user_form), ("item", item_form), ("number", number_form)):
        with contextlib.suppress(DataError):
            form("x", sql_type)
            uses += [use] if use != "number" or base_type(sql_type) not in TEXTS else []
    return [*uses, "time"] if sql_type == OBJECT or filter_type(sql_type).kind in ("date", "timestamp") else uses


def _unusable_as(sql_type: str) -> str:
    """Return a clause with the roles that a column of this type cannot have."""
    uses = possible_uses(sql_type)
    roles = {"user": "user", "item": "item", "number": "weight, measure", "time": "time"}
    cannot = [role for use, role in roles.items() if use not in uses]
    return f"; cannot be used as {', '.join(cannot)}" if cannot else ""
