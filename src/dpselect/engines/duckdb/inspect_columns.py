"""Inspecting the columns of a source for its owner: what each is, what to declare, and what would be missing then.

Each file is opened by itself, so files that no question could read together are explained rather than refused.
Nothing here is private. No question uses it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from dpselect.engines.duckdb.fitting_types import (
    EPOCHS,
    Fit,
    Proposal,
    begun,
    epoch_of,
    epochs,
    fit_columns,
    fits_of,
    propose,
)  # fmt: skip
from dpselect.engines.duckdb.inspect_parts import KEYS, Part, on_one_line
from dpselect.engines.duckdb.lines import JsonScan
from dpselect.engines.duckdb.types import (
    FLOATS,
    INTEGERS,
    NOTHING,
    OBJECT,
    TEXTS,
    filter_type,
    item_form,
    kind,
    nameable,
    number_form,
    user_form,
)  # fmt: skip
from dpselect.engines.duckdb.workspace import Workspace, quoted
from dpselect.engines.sources.scans.declarations import ZONED, DeclaredType, Types
from dpselect.engines.sources.scans.reading import read_value
from dpselect.engines.sources.scans.unions import common_type, proposed_type
from dpselect.engines.values import MARK
from dpselect.errors import DataError, DpselectError, ParameterError

_COLUMNS = 200  # of a source, each of which is looked at
_AT_ONCE = 16  # columns that one query looks at
_NUMBER = quoted(f"{MARK}row")
_TIMES = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", ZONED, "TIMESTAMPTZ_NS"})


@dataclass(frozen=True)
class Wanted:
    """Which columns a question would use, and as what; and what the owner declares already."""

    user: tuple[str, ...] = ()
    item: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    time: str | None = None
    parts: bool = False  # are the items parts of a text, which must stay one?
    types: Types = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """All of them, each once."""
        time = () if self.time is None else (self.time,)
        return tuple(dict.fromkeys((*self.user, *self.item, *self.others, *time, *self.types)))


@dataclass
class _Held:
    """A column: its type in each part that has it, and why it cannot be read in others."""

    types: list[tuple[Part, str]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    fit: Fit | None = None

    @property
    def by_type(self) -> dict[str, Part]:
        """Each type with the first part that has it."""
        return {sql_type: part for part, sql_type in reversed(self.types)}

    @property
    def is_text(self) -> bool:
        """Is it text wherever it is anything?"""
        there = {kind(one) for one in self.by_type if one != NOTHING}
        return bool(there) and there <= TEXTS | {"ENUM"}


@dataclass
class _Missing:
    """How many values there are, and how many a type does not read; where the first of these is."""

    values: int = 0
    missing: int = 0
    first: str = ""

    @property
    def told(self) -> str:
        """The same as words."""
        if not self.missing:
            return f"reads all {self.values:,} values"
        return f"leaves {self.missing:,} of {self.values:,} values missing (the first in {self.first})"


class Columns:
    """The columns of a source, as its owner should know them."""

    def __init__(self, workspace: Workspace, parts: Sequence[Part], wanted: Wanted) -> None:
        self._workspace, self._parts, self._wanted = workspace, parts, wanted
        self._held = self._types()
        self._fit()
        self.proposed: dict[str, DeclaredType] = dict(wanted.types)
        """What to declare: what is declared, and each type that is proposed for a column and leaves no choice."""

    @property
    def names(self) -> tuple[str, ...]:
        """All columns; of JSON lines those that lines have, and those that are wanted."""
        return tuple(self._held)

    def _types(self) -> dict[str, _Held]:
        found: dict[str, _Held] = {}
        for part in self._parts:
            known = part.scan.names
            if isinstance(part.scan, JsonScan):
                keys = part.scan.key_counts(self._workspace, KEYS)
                known = tuple(dict.fromkeys((*self._wanted.columns, *part.scan.folders, *(key for key, _ in keys))))
            for name in dict.fromkeys((*(one for one in self._wanted.columns if one in known), *known[:_COLUMNS])):
                held = found.setdefault(name, _Held())
                try:
                    held.types.append((part, self._type(part, name)))
                except DpselectError as error:
                    held.refused.append(on_one_line(error))
        return found

    def _type(self, part: Part, name: str) -> str:
        return part.scan.types(self._workspace, [name])[name]

    def _fit(self) -> None:
        """Count which types read the columns of texts."""
        for part in self._parts:
            texts = [name for name, held in self._held.items() if self._is_asked(name, held, part)]
            for columns in _some(texts):
                asked = ", ".join(map(fit_columns, columns))
                with contextlib.suppress(DataError):
                    row = part.count(self._workspace, columns, asked, partial(begun, columns))
                    for name, fit in fits_of(columns, row).items():
                        held = self._held[name]
                        held.fit = fit if held.fit is None else held.fit + fit

    def _is_asked(self, name: str, held: _Held, part: Part) -> bool:
        in_part = any(one is part and sql_type != NOTHING for one, sql_type in held.types)
        return in_part and held.is_text and name not in self._wanted.types

    # ---- sentences

    def findings(self) -> Iterator[str]:
        """One sentence about each column."""
        for name, held in self._held.items():
            for said in dict.fromkeys(held.refused):
                yield f"column {name}: FAILS: {said}"
            if held.types:
                yield f"column {name}: {self._said(name, held)}{self._lacking(held)}"
        if most := [len(part.scan.names) for part in self._parts if len(part.scan.names) > _COLUMNS]:
            yield f"of {max(most):,} columns only the first {_COLUMNS} and those that are asked for were looked at"
        if any(held.is_text and name not in self._wanted.types for name, held in self._held.items()):
            yield "text can be used as user and item, and as weight, measure and time only once it is declared"
        yield from self._without_user()

    def _lacking(self, held: _Held) -> str:
        """Which files of a table have no such column, and so only missing values."""
        there = {id(part) for part, _ in held.types}
        without = (part for part in self._parts if part.kind == "parquet" and id(part) not in there)
        lacking = [place for part in without for place in part.places]
        return f"; missing in {len(lacking):,} files, such as {lacking[0]}" if lacking and not held.refused else ""

    def declared(self) -> Iterator[str]:
        """One sentence about each column that the owner declares."""
        for name, declared in self._wanted.types.items():
            if name in self._held:
                yield f"{name}: {self._as_declared(self._held[name], name, declared)}"

    def _without_user(self) -> Iterator[str]:
        for name in self._wanted.user:
            has = {id(part) for part, _ in self._held[name].types} if name in self._held else set()
            lacking = next((part.place for part in self._parts if id(part) not in has), None)
            if has and lacking:
                yield f"FAILS: {lacking} has no column {name}, which says who a user is: every file must have it"

    def _said(self, name: str, held: _Held) -> str:
        wanted = self._wanted
        if (declared := wanted.types.get(name)) is not None:
            said = f"{declared.text}, as you declare: {self._as_declared(held, name, declared)}"
            return said + _cannot(declared.type)
        types = {one: part.place for one, part in held.by_type.items() if one != NOTHING}
        if len(types) > 1 and common_type(types) is None:
            return self._unequal(name, held)
        if not held.is_text:
            sql_type = common_type(types) or NOTHING
            if name == wanted.time and sql_type in INTEGERS and (proposal := self._epochs(held, name)):
                return self._proposed(name, held, proposal, shown_type(sql_type))
            return f"{shown_type(sql_type)}, as the source declares{self._unreadable(name, held)}{_cannot(sql_type)}"
        proposal = Proposal()
        if held.fit is not None and not (wanted.parts and name in wanted.item):
            roles = {"is_time": name == wanted.time, "is_user": name in wanted.user, "is_item": name in wanted.item}
            proposal = propose(held.fit, **roles)
        return self._proposed(name, held, proposal, "text")

    def _proposed(self, name: str, held: _Held, proposal: Proposal, what: str) -> str:
        if proposal.chosen is not None:
            self.proposed[name] = proposal.chosen
        said = ", or ".join(f"{one.text} {self._as_declared(held, name, one)}" for one in proposal.types)
        return "; ".join(filter(None, [what, said, proposal.remark]))

    def _epochs(self, held: _Held, name: str) -> Proposal | None:
        """What to declare of a column of times that are whole numbers."""
        column = quoted(name)
        asked = ", ".join(f"count(CASE WHEN {column} {inside} THEN 1 END)" for inside in EPOCHS.values())
        counted = [
            part.count(self._workspace, [name], f"count({column}), {asked}", lambda source: source)
            for part, _ in held.types
        ]
        values, *numbers = map(sum, zip(*counted, strict=True))
        unit, is_epoch = epoch_of(dict(zip(EPOCHS, numbers, strict=True)), values)
        return epochs(unit) if is_epoch else None

    def _unequal(self, name: str, held: _Held) -> str:
        types = {one: part for one, part in held.by_type.items() if one != NOTHING}
        there = " and ".join(f"{shown_type(one)} in {part.place}" for one, part in types.items())
        found: dict[DeclaredType, _Missing] = {}
        for one in dict.fromkeys((proposed_type(types), "DOUBLE")):
            with contextlib.suppress(ParameterError):
                if one is not None:
                    found[DeclaredType(one)] = self._missing(held, name, DeclaredType(one))
        if not found:
            times = {kind(one) for one in types} <= _TIMES
            hint = "; TIME(zone='...') says where the clocks stood that showed times without a zone" if times else ""
            return f"FAILS until it is declared: {there}{hint}"
        best = min(found, key=lambda one: found[one].missing)
        self.proposed[name] = best
        return f"FAILS until it is declared: {there}; {best.text} {found[best].told}"

    def _as_declared(self, held: _Held, name: str, declared: DeclaredType) -> str:
        try:
            return self._missing(held, name, declared).told
        except DpselectError as error:
            return f"FAILS: {on_one_line(error)}"

    def _missing(self, held: _Held, name: str, declared: DeclaredType) -> _Missing:
        """What a type does not read; ParameterError where it can read no value of a part."""
        forms = {sql_type: read_value(quoted(name), _as_read(sql_type), declared, name) for sql_type in held.by_type}
        return self._counted(held, name, {sql_type: f"({form}) IS NULL" for sql_type, form in forms.items()})

    def _counted(self, held: _Held, name: str, wrong: Mapping[str, str]) -> _Missing:
        """How many values there are, and of how many the condition for their type holds."""
        found = _Missing()
        for part, sql_type in held.types:
            column = quoted(name)
            condition = f"{column} IS NOT NULL AND {wrong[sql_type]}"
            rows = f"CASE WHEN {condition} THEN {_NUMBER} END"
            asked = f"count({column}), count({rows}), min({rows})"
            values, missing, _ = part.count(self._workspace, [name], asked, _numbered)
            found.values += values
            found.missing += missing
            if missing and not found.first:
                found.first = self._first(part, name, asked)
        return found

    def _first(self, part: Part, name: str, asked: str) -> str:
        """Where the first value is that is missing."""
        for one in part.alone or (part,):
            _, missing, first = one.count(self._workspace, [name], asked, _numbered)
            if missing:
                several = part.alone or len(self._parts) > 1
                return one.located(first) + (f" of {one.place}" if several else "")
        return "a row"

    def _unreadable(self, name: str, held: _Held) -> str:
        """Values of a declared type that are missing all the same."""
        checked = FLOATS | _TIMES
        if not any(kind(one) in checked for one in held.by_type):
            return ""
        wrong = {
            one: f"NOT ({nameable(quoted(name), one)})" if kind(one) in checked else "false" for one in held.by_type
        }
        with contextlib.suppress(DataError):  # a file whose values cannot be read has a finding of its own
            found = self._counted(held, name, wrong)
            if found.missing:
                where = f"NaN or out of range, the first in {found.first}"
                return f"; {found.missing:,} values are missing ({where})"
        return ""


def _numbered(source: str) -> str:
    return f"(SELECT *, row_number() OVER () AS {_NUMBER} FROM {source})"


def _as_read(sql_type: str) -> str:
    return "VARCHAR" if kind(sql_type) == "ENUM" else sql_type


def _some(columns: Sequence[str]) -> Iterator[Sequence[str]]:
    return (columns[at : at + _AT_ONCE] for at in range(0, len(columns), _AT_ONCE))


def shown_type(sql_type: str) -> str:
    """The name of a type in messages; of texts with names of its own, such as the members of an ENUM, none is shown."""
    if sql_type == NOTHING:
        return "nothing but missing values"
    if sql_type == OBJECT:
        return "values each of its own type"
    return "TIMESTAMPTZ" if sql_type == ZONED else sql_type if kind(sql_type) == "DECIMAL" else kind(sql_type)


def uses_of(sql_type: str) -> list[str]:
    """What a column of this declared type can be used as; a weight and a measure are numbers."""
    found = []
    for roles, form in (("user", user_form), ("item", item_form), ("number", number_form)):
        with contextlib.suppress(DataError):
            form("x", sql_type)
            found += [roles] if roles != "number" or kind(sql_type) not in TEXTS else []
    return [*found, "time"] if sql_type == OBJECT or filter_type(sql_type).kind in ("date", "timestamp") else found


def _cannot(sql_type: str) -> str:
    """What a column of this type cannot be used as, as a clause."""
    there = uses_of(sql_type)
    roles = {"user": "user", "item": "item", "number": "weight, measure", "time": "time"}
    cannot = [role for use, role in roles.items() if use not in there]
    return f"; cannot be used as {', '.join(cannot)}" if cannot else ""
