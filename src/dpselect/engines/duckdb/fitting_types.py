"""Which declared types fit a column of texts: how many of its values each type reads, and which is proposed.

Nothing here is private. No question uses it: it is for the owner, who declares.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dpselect.engines.duckdb.workspace import Row, quoted
from dpselect.engines.sources.scans.declarations import UNITS, ZONED, DeclaredType, number_type, time_type
from dpselect.engines.sources.scans.reading import read_value
from dpselect.engines.values import MARK

POINT, COMMA = number_type(thousands=","), number_type(decimal=",", thousands=".")
_COMMA_ALONE = number_type(decimal=",")
_MIXED = time_type(zone="UTC")
_DAYS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y")
_FORMATS = tuple(time_type(format=day + clock) for day in _DAYS for clock in ("", " %H:%M", " %H:%M:%S"))
_PLAIN = tuple(DeclaredType(one) for one in ("BIGINT", "DOUBLE", "DATE", "TIMESTAMP", ZONED, "BOOLEAN"))
_TRIED = (*_PLAIN, POINT, COMMA, _COMMA_ALONE, _MIXED, *_FORMATS)
_BEGINS = "^[ ]*[+-]?[.,]?[0-9]"
"""What every number and every time begins with. Most texts do not, so few are compared with every pattern."""
_SINCE, _UNTIL = 946_684_800, 4_102_444_800  # the seconds from 1970 to 2000 and to 2100
EPOCHS = {unit: f"BETWEEN {_SINCE * 10**digits} AND {_UNTIL * 10**digits - 1}" for unit, digits in UNITS.items()}
"""For each unit the SQL condition that a whole number counts it, up to a time of this century."""


def _found(pattern: str) -> str:
    return f"regexp_matches({{}}, '{pattern}')"


# What else is counted, of values that begin as numbers and times do; {} is the text.
_MARKS: Mapping[str, str] = {
    "decimal": "regexp_full_match({}, '[ ]*[+-]?[0-9]+([.][0-9]*)?[ ]*')",
    "marked": _found("[.,]"),
    "zero before": _found("^[ ]*[+-]?0[0-9]"),
    "zero and point": _found("^[ ]*[+-]?0[.][0-9]"),
    "zero and comma": _found("^[ ]*[+-]?0,[0-9]"),
    "other form": f"CAST({read_value('{}', 'VARCHAR', _PLAIN[0], '')} AS VARCHAR) <> {{}}",
    **{unit: f"{read_value('{}', 'VARCHAR', _PLAIN[0], '')} {inside}" for unit, inside in EPOCHS.items()},
}


@dataclass(frozen=True)
class Fit:
    """What texts of a column were counted to be. Those of several files are added."""

    values: int
    read: tuple[int, ...]  # by each of the types that are tried
    marks: tuple[int, ...]
    digits: tuple[int, ...]  # the most before and after a decimal point, and before and after a decimal comma

    @classmethod
    def of(cls, numbers: Sequence[int | None]) -> Fit:
        """What one query over `fit_columns` said."""
        found = [number or 0 for number in numbers]
        ends = 1 + len(_TRIED), 1 + len(_TRIED) + len(_MARKS)
        return cls(found[0], tuple(found[1 : ends[0]]), tuple(found[ends[0] : ends[1]]), tuple(found[ends[1] :]))

    def __add__(self, other: Fit) -> Fit:
        return Fit(
            self.values + other.values,
            tuple(map(sum, zip(self.read, other.read, strict=True))),
            tuple(map(sum, zip(self.marks, other.marks, strict=True))),
            tuple(map(max, zip(self.digits, other.digits, strict=True))),
        )

    def marked(self, mark: str) -> int:
        """How many values have something."""
        return self.marks[list(_MARKS).index(mark)]

    def read_as(self, declared: DeclaredType) -> int:
        """How many values a type reads."""
        return self.read[_TRIED.index(declared)]

    def number_of(self, mark: str) -> str:
        """The type that holds every number whose decimals stand after a mark: BIGINT, a DECIMAL, or else DOUBLE."""
        whole, places = self.digits[:2] if mark == "." else self.digits[2:]
        if not places and whole <= 18:
            return "BIGINT"
        most = 18 if whole + places <= 18 else 38
        return f"DECIMAL({most},{places})" if whole + places <= 38 else "DOUBLE"


FIT_COLUMNS = 1 + len(_TRIED) + len(_MARKS) + 4
"""How many numbers `fit_columns` asks for."""


def fit_columns(column: str) -> str:
    """The SQL of the numbers of a `Fit` of one column, over rows that `begun` has."""
    text, begins = quoted(column), quoted(MARK + column)

    def counted(condition: str) -> str:
        return f"count(CASE WHEN {begins} AND {condition} THEN 1 END)"

    asked = [f"count({text})"]
    for one in _TRIED:
        read = f"({read_value(text, 'VARCHAR', one, column)}) IS NOT NULL"
        asked.append(f"count(CASE WHEN {read} THEN 1 END)" if one.type == "BOOLEAN" else counted(read))
    asked += [counted(condition.replace("{}", text)) for condition in _MARKS.values()]
    for declared in (POINT, COMMA):
        places = f"length(regexp_extract({text}, '[{declared.decimal}]([0-9]*)[ ]*$', 1))"
        digits = f"length(regexp_replace({text}, '[^0-9]', '', 'g'))"
        read = f"{begins} AND ({read_value(text, 'VARCHAR', declared, column)}) IS NOT NULL"
        asked += [f"max(CASE WHEN {read} THEN {number} END)" for number in (f"{digits} - {places}", places)]
    return ", ".join(asked)


def begun(columns: Iterable[str], source: str) -> str:
    """The rows of a source, with whether a text of each column begins as numbers and times do."""
    more = "".join(
        f", coalesce(regexp_matches(left({quoted(one)}, 100), '{_BEGINS}'), false) AS {quoted(MARK + one)}"
        for one in columns
    )
    return f"(SELECT *{more} FROM {source})"


def fits_of(columns: Sequence[str], row: Row) -> dict[str, Fit]:
    """What one row of numbers says of each column."""
    return {one: Fit.of(row[at * FIT_COLUMNS : (at + 1) * FIT_COLUMNS]) for at, one in enumerate(columns)}


@dataclass(frozen=True)
class Proposal:
    """The type to declare of a column, or several where the values leave a choice; and why, or what else to know."""

    types: tuple[DeclaredType, ...] = ()
    remark: str = ""
    is_needed: bool = True  # does the column mean something else without it?

    @property
    def chosen(self) -> DeclaredType | None:
        """The one type to declare."""
        return self.types[0] if len(self.types) == 1 and self.is_needed else None


def propose(fit: Fit, *, is_time: bool = False, is_user: bool = False, is_item: bool = False) -> Proposal:
    """The first type that reads most of the values, where it reads more than half of them.

    Items may well be texts, so they are declared only where hardly any would be missing.
    """
    found = _proposed(fit, is_time=is_time, is_user=is_user)
    if found.chosen is None or not is_item or max(_reads(fit).values()) * 20 >= fit.values * 19:
        return found
    return Proposal(found.types, "not proposed for items, of which more than 1 in 20 would be missing", is_needed=False)


def _proposed(fit: Fit, *, is_time: bool, is_user: bool) -> Proposal:
    reads = _reads(fit)
    best = max(reads.values(), default=0)
    first = next((one for one, number in reads.items() if number == best), None)
    if first is None or best * 2 <= fit.values:
        return Proposal(remark=f"{first.text} reads {best:,} of {fit.values:,} values" if first and best else "")
    same = [one for one, number in reads.items() if number == best]
    if first.unit is None and (two := _two_readings(fit, same)):
        return Proposal(two, "two readings, of which you alone know which was meant")
    if first == _MIXED:
        clocks = fit.read_as(DeclaredType("TIMESTAMP"))
        return Proposal(
            remark=f"times, of which {clocks:,} of {fit.values:,} have no zone: "
            "TIME(zone='...') says where the clocks stood that showed these"
        )
    if first.type == "BIGINT" and first.decimal == ".":
        return _whole(fit, first, is_time=is_time, is_user=is_user)
    return Proposal((first,), is_needed=not is_user)


def _reads(fit: Fit) -> dict[DeclaredType, int]:
    """How many values each type reads, in the order in which types are proposed."""
    found = {_PLAIN[0]: fit.read_as(_PLAIN[0])}
    if (of_points := fit.number_of(".")).startswith("DECIMAL"):
        found[DeclaredType(of_points)] = fit.marked("decimal")
    found |= {one: fit.read_as(one) for one in _PLAIN[1:2]}
    if not fit.marked("zero and comma"):
        found[number_type(of_points, thousands=",")] = fit.read_as(POINT)
    if not fit.marked("zero and point"):
        of_commas = fit.number_of(",")
        found[number_type(of_commas, decimal=",")] = fit.read_as(_COMMA_ALONE)
        found[number_type(of_commas, decimal=",", thousands=".")] = fit.read_as(COMMA)
    return found | {one: fit.read_as(one) for one in (*_PLAIN[2:], _MIXED, *_FORMATS)}


def _two_readings(fit: Fit, same: Sequence[DeclaredType]) -> tuple[DeclaredType, ...]:
    """The types that read as many values but not the same ones: points for commas, days for months."""
    if (first := same[0]).format is not None:
        others = [one for one in same[1:] if one.format is not None]
        return (first, others[0]) if others else ()
    other = next((one for one in same if one.decimal == ","), None)
    return () if other is None or first.decimal == "," or not fit.marked("marked") else (first, other)


def _whole(fit: Fit, first: DeclaredType, *, is_time: bool, is_user: bool) -> Proposal:
    """Whole numbers: as times, as codes that begin with 0, or as what they are."""
    unit, is_epoch = epoch_of({unit: fit.marked(unit) for unit in UNITS}, fit.values)
    if is_epoch and is_time:
        return epochs(unit)
    if codes := fit.marked("zero before"):
        return Proposal(
            (first,),
            f"but {codes:,} begin with 0, as codes do, and would lose it, so it is not proposed",
            is_needed=False,
        )
    remark = f"as times they would be {_UNIT_NAMES[unit]}: {time_type(unit=unit).text}" if is_epoch else ""
    if is_user:
        other = fit.marked("other form")
        remark = (
            f"{other:,} of them in another form than 7, such as 7.0: other users until it is declared" if other else ""
        )
        return Proposal((first,), remark, is_needed=bool(other))
    return Proposal((first,), remark)


def epoch_of(numbers: Mapping[str, int], values: int) -> tuple[str, bool]:
    """The unit in which most whole numbers are times of this century, and whether more than half of them are."""
    unit = max(numbers, key=lambda one: numbers[one])
    return unit, numbers[unit] * 2 > values


def epochs(unit: str) -> Proposal:
    """What to declare of whole numbers in a column of times."""
    return Proposal((time_type(unit=unit),), f"whole numbers that count {_UNIT_NAMES[unit]} from 1970 on")


_UNIT_NAMES = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
