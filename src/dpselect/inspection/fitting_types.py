"""Which declared types fit a column of texts: how many of its values each type reads, and which is proposed.

Nothing here is private. No question uses it: it is for the owner, who declares.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dpselect._ground.dataclass import dataclass
from dpselect.engines.duckdb.workspace import Row, quoted
from dpselect.engines.sources.scans.declarations import UNITS, ZONED, DeclaredType, number_type, time_type
from dpselect.engines.sources.scans.reading import read_value
from dpselect.engines.values import TYPE_MARK

POINT, COMMA = number_type(thousands=","), number_type(decimal=",", thousands=".")
_COMMA_ALONE = number_type(decimal=",")
_ZONED_TIME = time_type(zone="UTC")
_DAYS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y")
_TIME_FORMATS = tuple(time_type(format=day + clock) for day in _DAYS for clock in ("", " %H:%M", " %H:%M:%S"))
_PLAIN_TYPES = tuple(DeclaredType(name) for name in ("BIGINT", "DOUBLE", "DATE", "TIMESTAMP", ZONED, "BOOLEAN"))
_CANDIDATE_TYPES = (*_PLAIN_TYPES, POINT, COMMA, _COMMA_ALONE, _ZONED_TIME, *_TIME_FORMATS)
_NUMBER_START = "^[ ]*[+-]?[.,]?[0-9]"
"""The start of every number and every time. Most texts differ, so few are compared with every pattern."""
_SINCE, _UNTIL = 946_684_800, 4_102_444_800  # the seconds from 1970 to 2000 and to 2100
EPOCHS = {unit: f"BETWEEN {_SINCE * 10**digits} AND {_UNTIL * 10**digits - 1}" for unit, digits in UNITS.items()}
"""For each unit the SQL condition that a whole number counts it, up to a time of this century."""


def _contains(pattern: str) -> str:
    return f"regexp_matches({{}}, '{pattern}')"


# Other conditions that are counted, of values that begin as numbers and times do; {} is the text.
_MARKS: Mapping[str, str] = {
    "decimal": "regexp_full_match({}, '[ ]*[+-]?[0-9]+([.][0-9]*)?[ ]*')",
    "marked": _contains("[.,]"),
    "zero before": _contains("^[ ]*[+-]?0[0-9]"),
    "zero and point": _contains("^[ ]*[+-]?0[.][0-9]"),
    "zero and comma": _contains("^[ ]*[+-]?0,[0-9]"),
    "other form": f"CAST({read_value('{}', 'VARCHAR', _PLAIN_TYPES[0], '')} AS VARCHAR) <> {{}}",
    **{unit: f"{read_value('{}', 'VARCHAR', _PLAIN_TYPES[0], '')} {inside}" for unit, inside in EPOCHS.items()},
}


@dataclass(frozen=True)
class Fit:
    """Counts of what the texts of a column can be read as. Those of several files are added."""

    values: int
    read: tuple[int, ...]  # by each candidate type
    marks: tuple[int, ...]
    digits: tuple[int, ...]  # the most before and after a decimal point, and before and after a decimal comma

    @classmethod
    def parse(cls, numbers: Sequence[int | None]) -> Fit:
        """Return the fit from the numbers of one query over `fit_columns`."""
        counts = [number or 0 for number in numbers]
        ends = 1 + len(_CANDIDATE_TYPES), 1 + len(_CANDIDATE_TYPES) + len(_MARKS)
        return cls(counts[0], tuple(counts[1 : ends[0]]), tuple(counts[ends[0] : ends[1]]), tuple(counts[ends[1] :]))

    def __add__(self, other: Fit) -> Fit:
        return Fit(
            self.values + other.values,
            tuple(map(sum, zip(self.read, other.read, strict=True))),
            tuple(map(sum, zip(self.marks, other.marks, strict=True))),
            tuple(map(max, zip(self.digits, other.digits, strict=True))),
        )

    def count_marked(self, mark: str) -> int:
        """Return the number of values for which a condition of `_MARKS` holds."""
        return self.marks[list(_MARKS).index(mark)]

    def count_read_as(self, declared: DeclaredType) -> int:
        """Return the number of values that a type reads."""
        return self.read[_CANDIDATE_TYPES.index(declared)]

    def exact_number_type(self, mark: str) -> str:
        """Return the type of every number whose decimals follow this mark: BIGINT, a DECIMAL, or else DOUBLE."""
        integer_digits, decimal_places = self.digits[:2] if mark == "." else self.digits[2:]
        if not decimal_places and integer_digits <= 18:
            return "BIGINT"
        max_digits = 18 if integer_digits + decimal_places <= 18 else 38
        return f"DECIMAL({max_digits},{decimal_places})" if integer_digits + decimal_places <= 38 else "DOUBLE"


FIT_COLUMNS = 1 + len(_CANDIDATE_TYPES) + len(_MARKS) + 4
"""The number of columns of `fit_columns`."""


def fit_columns(column: str) -> str:
    """Compile the numbers of a `Fit` of one column, over rows of `mark_number_starts`."""
    text, starts_as_number = quoted(column), quoted(TYPE_MARK + column)

    def counted(condition: str) -> str:
        return f"count(CASE WHEN {starts_as_number} AND {condition} THEN 1 END)"

    counts = [f"count({text})"]
    for declared_type in _CANDIDATE_TYPES:
        read = f"({read_value(text, 'VARCHAR', declared_type, column)}) IS NOT NULL"
        counts.append(f"count(CASE WHEN {read} THEN 1 END)" if declared_type.type == "BOOLEAN" else counted(read))
    counts += [counted(condition.replace("{}", text)) for condition in _MARKS.values()]
    for declared in (POINT, COMMA):
        decimal_places = f"length(regexp_extract({text}, '[{declared.decimal}]([0-9]*)[ ]*$', 1))"
        digits = f"length(regexp_replace({text}, '[^0-9]', '', 'g'))"
        read = f"{starts_as_number} AND ({read_value(text, 'VARCHAR', declared, column)}) IS NOT NULL"
        counts += [
            f"max(CASE WHEN {read} THEN {number} END)" for number in (f"{digits} - {decimal_places}", decimal_places)
        ]
    return ", ".join(counts)


def mark_number_starts(columns: Iterable[str], source: str) -> str:
    """Compile the rows of a source, with whether a text of each column begins as numbers and times do."""
    starts = {column: f"regexp_matches(left({quoted(column)}, 100), '{_NUMBER_START}')" for column in columns}
    marks = "".join(f", coalesce({sql}, false) AS {quoted(TYPE_MARK + column)}" for column, sql in starts.items())
    return f"(SELECT *{marks} FROM {source})"


def parse_fits(columns: Sequence[str], row: Row) -> dict[str, Fit]:
    """Return the fit of each column from one row of numbers."""
    return {
        column: Fit.parse(row[index * FIT_COLUMNS : (index + 1) * FIT_COLUMNS]) for index, column in enumerate(columns)
    }


@dataclass(frozen=True)
class Proposal:
    """The type to declare for a column, or several if the values leave a choice, with a remark."""

    types: tuple[DeclaredType, ...] = ()
    remark: str = ""
    is_needed: bool = True  # does the column mean something else without it?

    @property
    def chosen(self) -> DeclaredType | None:
        """The type to declare if only one fits, else None."""
        return self.types[0] if len(self.types) == 1 and self.is_needed else None


def propose(fit: Fit, *, is_time: bool = False, is_user: bool = False, is_item: bool = False) -> Proposal:
    """Propose the first type that reads most of the values, if it reads more than half of them.

    Items may well be texts, so a type is proposed for them only if hardly any would be missing.
    """
    proposal = _propose_for_values(fit, is_time=is_time, is_user=is_user)
    if proposal.chosen is None or not is_item or max(_count_reads(fit).values()) * 20 >= fit.values * 19:
        return proposal
    return Proposal(
        proposal.types, "not proposed for items, of which more than 1 in 20 would be missing", is_needed=False
    )


def _propose_for_values(fit: Fit, *, is_time: bool, is_user: bool) -> Proposal:
    reads = _count_reads(fit)
    best = max(reads.values(), default=0)
    best_type = next((candidate for candidate, number in reads.items() if number == best), None)
    if best_type is None or best * 2 <= fit.values:
        return Proposal(
            remark=f"{best_type.text} reads {best:,} of {fit.values:,} values" if best_type and best else ""
        )
    best_types = [candidate for candidate, number in reads.items() if number == best]
    if best_type.unit is None and (ambiguous_types := _two_readings(fit, best_types)):
        return Proposal(ambiguous_types, "two readings, of which you alone know which was meant")
    if best_type == _ZONED_TIME:
        clocks = fit.count_read_as(DeclaredType("TIMESTAMP"))
        return Proposal(
            remark=f"times, of which {clocks:,} of {fit.values:,} have no zone: "
            "TIME(zone='...') says where the clocks stood that showed these"
        )
    if best_type.type == "BIGINT" and best_type.decimal == ".":
        return _propose_integer(fit, best_type, is_time=is_time, is_user=is_user)
    return Proposal((best_type,), is_needed=not is_user)


def _count_reads(fit: Fit) -> dict[DeclaredType, int]:
    """Count the values that each type reads, in the order in which types are proposed."""
    reads = {_PLAIN_TYPES[0]: fit.count_read_as(_PLAIN_TYPES[0])}
    if (of_points := fit.exact_number_type(".")).startswith("DECIMAL"):
        reads[DeclaredType(of_points)] = fit.count_marked("decimal")
    reads |= {candidate: fit.count_read_as(candidate) for candidate in _PLAIN_TYPES[1:2]}
    if not fit.count_marked("zero and comma"):
        reads[number_type(of_points, thousands=",")] = fit.count_read_as(POINT)
    if not fit.count_marked("zero and point"):
        of_commas = fit.exact_number_type(",")
        reads[number_type(of_commas, decimal=",")] = fit.count_read_as(_COMMA_ALONE)
        reads[number_type(of_commas, decimal=",", thousands=".")] = fit.count_read_as(COMMA)
    return reads | {
        candidate: fit.count_read_as(candidate) for candidate in (*_PLAIN_TYPES[2:], _ZONED_TIME, *_TIME_FORMATS)
    }


def _two_readings(fit: Fit, best_types: Sequence[DeclaredType]) -> tuple[DeclaredType, ...]:
    """Return two types that read as many values, but different ones: points for commas, days for months."""
    if (best_type := best_types[0]).format is not None:
        other_formats = [candidate for candidate in best_types[1:] if candidate.format is not None]
        return (best_type, other_formats[0]) if other_formats else ()
    comma_type = next((candidate for candidate in best_types if candidate.decimal == ","), None)
    if comma_type is None or best_type.decimal == "," or not fit.count_marked("marked"):
        return ()
    return best_type, comma_type


def _propose_integer(fit: Fit, best_type: DeclaredType, *, is_time: bool, is_user: bool) -> Proposal:
    """Propose how to declare integers: as times, as codes that begin with 0, or as numbers."""
    unit, is_epoch = guess_epoch_unit({unit: fit.count_marked(unit) for unit in UNITS}, fit.values)
    if is_epoch and is_time:
        return propose_epoch(unit)
    if codes := fit.count_marked("zero before"):
        return Proposal(
            (best_type,),
            f"but {codes:,} begin with 0, as codes do, and would lose it, so it is not proposed",
            is_needed=False,
        )
    remark = f"as times they would be {_UNIT_NAMES[unit]}: {time_type(unit=unit).text}" if is_epoch else ""
    if is_user:
        other_forms = fit.count_marked("other form")
        remark = (
            f"{other_forms:,} of them in another form than 7, such as 7.0: other users until it is declared"
            if other_forms
            else ""
        )
        return Proposal((best_type,), remark, is_needed=bool(other_forms))
    return Proposal((best_type,), remark)


def guess_epoch_unit(numbers: Mapping[str, int], values: int) -> tuple[str, bool]:
    """Return the unit in which most integers are times of this century, and whether more than half of them are."""
    unit = max(numbers, key=lambda unit: numbers[unit])
    return unit, numbers[unit] * 2 > values


def propose_epoch(unit: str) -> Proposal:
    """Propose a type for integers in a column of times."""
    return Proposal((time_type(unit=unit),), f"whole numbers that count {_UNIT_NAMES[unit]} from 1970 on")


_UNIT_NAMES = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
