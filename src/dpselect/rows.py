"""Rows of a Dataset: their time, the parts of a text that are items, and the table or files that hold them.

These parts of a Dataset are declared as those of questions are (`questions/value.py`).
"""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from dpselect.engines.sources.csv_form import UTF_8, CsvForm
from dpselect.errors import ParameterError, came
from dpselect.questions.kinds import COLUMN, FLAG, ParameterKind, one_of, whole_number_kind
from dpselect.questions.value import ParameterSet, frozen, param

if TYPE_CHECKING:
    from dpselect._ground.periods import Periods
    from dpselect.engines.sources.scans.declarations import DeclaredType

UTC = "UTC"


def _parse_zone(_name: str, value: object) -> str:
    from dpselect._ground.periods import parse_timezone

    return parse_timezone(value)


@frozen
class Time(ParameterSet):
    """The `time` of a Dataset: the column with the time of a row. The guarantee is then for one user in one period.

    `Dataset.during` names the periods of a question (docs/periods.md).
    """

    error_noun: ClassVar[str] = "periods"

    column: str = param(
        COLUMN, help="the column with the time of a row; the promise is for one user in one period", flat="time"
    )
    _: KW_ONLY
    period: Literal["day", "week", "month", "quarter", "year"] = param(
        one_of("day", "week", "month", "quarter", "year"), help="the kind of period"
    )
    timezone: str = param(
        ParameterKind(_parse_zone, "TEXT"), default=UTC, help="the time zone in which days begin", rare=True
    )

    def periods(self, names: Sequence[str]) -> Periods:
        """Return the periods of these names."""
        from dpselect._ground.periods import parse_periods

        return parse_periods(self.column, self.period, names, self.timezone)


def _parse_separator(name: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ParameterError(name, "be the text that separates items", came(value))
    return value


def _parse_text_column(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ParameterError(name, "be one column of texts, whose parts are the items", came(value))
    return value


@frozen
class Split(ParameterSet):
    """An `item` of a Dataset: the parts of a column of text are the items; each counts once for a user."""

    column: str = param(ParameterKind(_parse_text_column, "TEXT"), help="the column of texts", flat="item")
    separator: str = param(
        ParameterKind(_parse_separator, "SEPARATOR"),
        help="what separates items in one text, such as ' ' for words",
        flat="split",
        rare=True,
    )


def _parse_database(name: str, value: object) -> object:
    if value is None or isinstance(value, (list, tuple, ParameterSet)):
        requirement = "be a DuckDB file or connection, a Spark session, or a postgresql://, spark: or iceberg: address"
        raise ParameterError(name, requirement, came(value))
    return value


def _database_to_json(value: object) -> Any:
    return os.fsdecode(value) if isinstance(value, (str, os.PathLike)) else ["object", id(value)]


def _format_source(value: object) -> str:
    from dpselect.engines.identity import display_name

    return display_name(value)


def _parse_table(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ParameterError(name, "be the name of a table", came(value))
    return value


@frozen
class Table(ParameterSet):
    """A source of a Dataset: a table or view of DuckDB, PostgreSQL, Spark, a connection of Ibis or an Iceberg catalog.

    The name may include its schema, as in "shop.orders" (docs/data.md).
    """

    database: object = param(
        ParameterKind(_parse_database, "TEXT", _database_to_json, python=_format_source),
        help="a DuckDB file or connection, a Spark session, a connection of Ibis, or a postgresql://, spark: or "
        "iceberg: address",
        flat="source",
    )
    name: str = param(ParameterKind(_parse_table, "TEXT"), help="the name of a table in the database", flat="table")
    _: KW_ONLY
    untested: bool = param(
        FLAG, default=False, help="read it through Ibis though no test of dpselect runs on that database", rare=True
    )


def _parse_files(name: str, value: Any) -> str | tuple[str, ...]:
    values = value if isinstance(value, (list, tuple)) else [value]
    paths = tuple(os.fsdecode(path) for path in values if isinstance(path, (str, os.PathLike)))
    if not paths or len(paths) < len(values):
        raise ParameterError(name, "be the path of text files, or a list of such", came(value))
    from dpselect.engines.address import Address

    if any("://" in path or Address.parse(path).is_elsewhere for path in paths):
        raise ParameterError(name, "be CSV or TSV files on this machine", "an address")
    return paths if isinstance(value, (list, tuple)) else paths[0]


def _format_paths(files: str | tuple[str, ...]) -> str:
    return repr(files if isinstance(files, str) else list(files))


def _parse_columns(name: str, value: object) -> tuple[str, ...]:
    names = list(value) if isinstance(value, (list, tuple)) else []
    if not names or not all(isinstance(column, str) and column for column in names) or len({*names}) < len(names):
        raise ParameterError(name, "be a list of the names of all columns, each once", came(value))
    return tuple(names)


def _parse_delimiter(name: str, value: object) -> str:
    if not isinstance(value, str) or value not in {",", ";", "\t", "|"}:
        raise ParameterError(name, "be one of , ; | and a tab", came(value))
    return value


def _parse_encoding(name: str, value: object) -> str:
    """Parse an encoding of one byte a letter in which ASCII is as it is everywhere, so that lines end where they end.

    Python has these as tables of 256 letters. In others a byte may change the letters after it, even in other lines.
    """
    try:
        encoding = codecs.lookup(value).name if isinstance(value, str) else ""
        if encoding in (UTF_8, "utf-8-sig"):  # a mark at the start of a file is left out anyway
            return UTF_8
        table = getattr(sys.modules.get(f"encodings.{encoding.replace('-', '_')}"), "decoding_table", "")
        if encoding in ("ascii", "iso8859-1") or (len(table) == 256 and table[:128] == bytes(range(128)).decode()):
            return encoding
    except (LookupError, ValueError):
        pass
    hint = "write files of other encodings again in UTF-8, for example with iconv"
    raise ParameterError(name, "be utf-8, or an encoding of one byte a letter such as cp1252", came(value), hint)


@frozen
class CSV(ParameterSet):
    """A source of a Dataset: CSV or TSV files, or a folder or glob of them, with options.

    With `newlines_in_values=True` a quoted value may contain line breaks. All quotes in the files must then match, or
    one row may hide others (docs/data.md). Files without a header need `columns`.
    """

    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = param(
        ParameterKind(_parse_files, "TEXT", python=_format_paths), help="a path, or a list of paths"
    )
    _: KW_ONLY
    newlines_in_values: bool = param(
        FLAG,
        default=False,
        help="CSV: quoted values may contain line breaks; all quotes must match, or one row hides others",
        rare=True,
    )
    header: bool = param(FLAG, default=True, help="does a line name the columns? If not, give `columns`")
    columns: Sequence[str] | None = param(
        ParameterKind(_parse_columns, "TEXTS", python=lambda names: repr(list(names))),
        default=None,
        help="the columns of files without a header, all of them",
    )
    delimiter: str | None = param(
        ParameterKind(_parse_delimiter, "TEXT"),
        default=None,
        help="what separates columns; otherwise the header shows it",
    )
    skip: int = param(
        whole_number_kind(minimum=0, maximum=1000), default=0, help="lines to skip at the start, such as a title"
    )
    encoding: str = param(ParameterKind(_parse_encoding, "TEXT"), default=UTF_8, help="the encoding, such as cp1252")

    def check(self) -> None:
        """Refuse files without a header whose columns are not given."""
        if not self.header and self.columns is None:
            raise ParameterError("columns", "be given if header is False", "nothing", 'columns=["user", "item"]')
        if self.newlines_in_values and self.encoding != UTF_8:
            raise ParameterError("encoding", "be utf-8 if newlines_in_values is given", came(self.encoding))

    @property
    def form(self) -> CsvForm:
        """Form of the files, for engines."""
        names = None if self.columns is None else tuple(self.columns)
        return CsvForm(self.newlines_in_values, names, self.delimiter, self.skip, self.encoding)


def _parse_text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise ParameterError(name, "be a text", came(value))
    return value


_TEXT = ParameterKind(_parse_text, "TEXT")


@frozen
class NumberText(ParameterSet):
    """A type of a column in `types` of a Dataset: numbers in text, with their own marks.

    Example:
        >>> NumberText(decimal=",", thousands=".")
        NumberText(decimal=',', thousands='.')
    """

    type: str = param(_TEXT, default="DOUBLE", help="the type of the numbers, such as DECIMAL(18,2)")
    _: KW_ONLY
    decimal: str = param(_TEXT, default=".", help="the mark before the decimals")
    thousands: str = param(_TEXT, default="", help="the mark between thousands")

    def check(self) -> None:
        """Refuse marks that numbers use otherwise."""
        _ = self.declared

    @property
    def declared(self) -> DeclaredType:
        """Declared type, for engines."""
        from dpselect.engines.sources.scans.declarations import number_type

        return number_type(self.type, self.decimal, self.thousands)


@frozen
class TimeText(ParameterSet):
    """A type of a column in `types` of a Dataset: times in text, or numbers that count time from 1970 on.

    A value without a zone of its own is a time on the clocks of `zone`.

    Example:
        >>> TimeText(zone="Europe/Berlin")
        TimeText(zone='Europe/Berlin')
    """

    _: KW_ONLY
    zone: str | None = param(_TEXT, default=None, help="the time zone of values without one")
    format: str | None = param(_TEXT, default=None, help="the form of the texts, such as %d.%m.%Y %H:%M")
    unit: str | None = param(_TEXT, default=None, help="s, ms, us or ns: the unit of numbers that count from 1970 on")

    def check(self) -> None:
        """Refuse options that mean nothing, and unknown zones, formats and units."""
        _ = self.declared

    @property
    def declared(self) -> DeclaredType:
        """Declared type, for engines."""
        from dpselect.engines.sources.scans.declarations import time_type

        return time_type(self.zone, self.format, self.unit)


def parse_types(types: object) -> dict[str, DeclaredType]:
    """Return the types that `types` of a Dataset declares, by column."""
    from dpselect.engines.sources.scans.declarations import parse_type

    if not isinstance(types, Mapping):
        raise ParameterError("types", "be a dict from columns to types", came(types))
    declared_types = {}
    for name, column_type in types.items():
        if not isinstance(name, str):
            raise ParameterError("types", "name columns", came(name))
        declared_types[name] = (
            column_type.declared if isinstance(column_type, (NumberText, TimeText)) else parse_type(name, column_type)
        )
    return declared_types
