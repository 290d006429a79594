"""Options from parameters: add an option for a parameter of each kind, and parse its value.

An option has the flat name of its parameter, with dashes: `--k-bar` is `k_bar`. Its help and its default are those of
the field that declares it. Several values are separated by commas, or given one after the other. Imports nothing heavy.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field
from typing import TYPE_CHECKING, Any

from dpselect.errors import DataError, ParameterError, came
from dpselect.questions.kinds import OneOf
from dpselect.questions.value import plain

if TYPE_CHECKING:
    from dpselect._ground.domain import Domain

Group = argparse._ActionsContainer
Fields = Mapping[str, Field[Any]]

_SHORT_FLAGS = {"k": "-k", "output": "-o"}
# Placeholders of values in the help, by shape: of one value, and of several.
_METAVARS = {
    "WHOLE": "N",
    "NUMBER": "X",
    "EPSILON": "E",
    "DELTA": "D",
    "SHARE": "S",
    "TEXT": "NAME",
    "COLUMN": "COLUMN",
    "TOKENIZER": "NAME",
    "SEPARATOR": "TEXT",
    "LEVELS": "N|M-N",
    "POPULAR": "FILE",
}
_LIST_METAVARS = {
    "COLUMNS": "COLUMN,...",
    "PERIODS": "PERIOD,...",
    "NUMBERS": "X,...",
    "PAIR": "LOW,HIGH",
    "SIZES": "N,...",
    "ITEMS": "A,B,...",
    "DOMAIN": "A,B,...",
}
_CSV_LINE = "be values between commas, as one line of CSV has them"  # what an option of several values must be
_DOMAIN_METAVARS = {"from": "FILE:COLUMN", "range": "START..STOP", "size": "N"}  # other ways to name a domain


# ---- options to add ----------------------------------------------------------------------------------------


def add_options(group: Group, fields: Fields) -> None:
    """Add an option for each parameter."""
    for name, field in fields.items():
        _add_field(group, name, field)


def select_fields(fields: Fields, names: Iterable[str]) -> Fields:
    """Return the fields with these names."""
    return {name: fields[name] for name in names}


def add_option(group: Group, *names: str, help: str, rare: bool = False, **settings: Any) -> Any:
    """Add an option that is no parameter of a question or its data; a `rare` one is shown by --help-all only."""
    action = group.add_argument(*names, help=help.replace("%", "%%"), **settings)
    action.rare = rare  # type: ignore[attr-defined]
    return action


def add_list_option(group: Group, *names: str, placeholder: str, help: str, **settings: Any) -> Any:
    """Add an option that takes several values."""
    return add_option(group, *names, help=help, action="extend", type=_split_names, metavar=placeholder, **settings)


def _add_field(group: Group, name: str, field: Field[Any]) -> None:
    kind, shape, rare = field.metadata["kind"], field.metadata["kind"].shape, field.metadata["rare"]
    flag = f"--{name.replace('_', '-')}"
    names = [*([_SHORT_FLAGS[name]] if name in _SHORT_FLAGS else []), flag]
    help_text = _format_help(field)
    if shape == "FLAG":
        switch = {True: (f"--no-{flag[2:]}", "store_false"), False: (flag, "store_true")}[field.default is True]
        add_option(group, switch[0], dest=name, action=switch[1], help=help_text, rare=rare)
    elif shape == "MEASURES":
        add_option(group, flag, dest=name, action="append", metavar="WHAT", help=help_text, rare=rare)
    elif shape in ("DOMAIN", "ITEMS"):
        exclusive_group = group.add_mutually_exclusive_group()
        sources = ["from", "range", "size"] if shape == "DOMAIN" else ["from"]
        add_option(
            exclusive_group,
            flag,
            dest=name,
            action="append",
            metavar=_LIST_METAVARS[shape],
            help=f"{help_text}; or {_format_flags(flag, sources)}",
            rare=rare,
        )
        for source in sources:
            type_argument = {"type": int} if source == "size" else {}
            add_option(
                exclusive_group,
                f"{flag}-{source}",
                metavar=_DOMAIN_METAVARS[source],
                help=_DOMAIN_HELP[source],
                rare=True,
                **type_argument,
            )
    elif shape in _LIST_METAVARS:
        add_list_option(group, *names, dest=name, placeholder=_LIST_METAVARS[shape], help=help_text, rare=rare)
    else:
        action = add_option(
            group, *names, dest=name, metavar=_METAVARS[shape], help=help_text, rare=rare, type=_parser_of(shape)
        )
        action.words = kind.words if isinstance(kind, OneOf) else ()


_DOMAIN_HELP = {
    "from": "or the items of a column of a public file",
    "range": "or whole numbers, both ends included",
    "size": "or only how many there are",
}


def _format_flags(flag: str, sources: Sequence[str]) -> str:
    return ", ".join([f"{flag}-{sources[0]}", *(f"-{source}" for source in sources[1:])])


def _parser_of(shape: str) -> Callable[[str], Any]:
    return int if shape == "WHOLE" else str


def _format_help(field: Field[Any]) -> str:
    kind, help_text = field.metadata["kind"], plain(field.metadata["help"])
    default = "" if field.default in (None, MISSING, True, False) else f" (default {field.default})"
    return f"{help_text}: {', '.join(kind.words)}{default}" if isinstance(kind, OneOf) else f"{help_text}{default}"


# ---- values to read ---------------------------------------------------------------------------------------


def read_values(
    args: argparse.Namespace, fields: Fields, columns: Mapping[str, Sequence[str] | None]
) -> dict[str, Any]:
    """Return the values of the fields by name. `columns` has the columns of the items of each list of items."""
    values: dict[str, Any] = {}
    for name, field in fields.items():
        shape, value = field.metadata["kind"].shape, getattr(args, name, None)
        if shape in ("DOMAIN", "ITEMS"):
            value = read_domain(args, name, has_tuples=len(columns.get(name) or ()) > 1)
        elif shape == "POPULAR" and value is not None:
            value = _read_lines(value, has_tuples=len(columns.get(name) or ()) > 1)
        elif shape == "LEVELS" and value is not None:
            value = parse_levels(name, value)
        values[name] = value
    return values


def read_domain(args: argparse.Namespace, name: str, *, has_tuples: bool) -> Domain | None:
    """Return the domain that one of four exclusive options names, or None if none is given."""
    from dpselect._ground import domain

    flag = f"--{name.replace('_', '-')}"
    item_texts, column_text, range_text, size = (
        getattr(args, f"{name}{suffix}", None) for suffix in ("", "_from", "_range", "_size")
    )
    if item_texts is not None:
        parts = [_parse_tuples(flag, text) if has_tuples else parse_texts(flag, text) for text in item_texts]
        return domain.Listed(tuple(item for part in parts for item in part))
    if column_text is not None:
        source, colon, column = column_text.rpartition(":")
        if not (source and colon and column):
            raise ParameterError(f"{flag}-from", "be FILE:COLUMN", column_text)
        return domain.Column(source, column)
    if range_text is not None:
        return domain.Span(*_parse_range(f"{flag}-range", range_text))
    return None if size is None else domain.Size(size)


def _split_names(text: str) -> list[str]:
    """Split values between commas as a line of CSV, for argparse."""
    values = _split_line(text)
    if not values:
        raise argparse.ArgumentTypeError(f"must {_CSV_LINE}, got {came(text)}")
    return values


def parse_texts(flag: str, text: str) -> list[str]:
    """Split the items of one column as a line of CSV."""
    values = _split_line(text)
    if not values:
        hint = f"{flag}-from FILE:COLUMN reads the items of a public file"
        raise ParameterError(flag, _CSV_LINE, came(text), hint)
    return values


def _split_line(text: str) -> list[str]:
    """Split a line of CSV; spaces after a comma are part of a value only within quotes. A wrong line is []."""
    try:
        return next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error:
        return []


def _parse_tuples(flag: str, text: str) -> tuple[tuple[object, ...], ...]:
    """Parse items of several columns, a list of lists in JSON."""
    parsed = _parse_json_list(text)
    if not parsed or not all(isinstance(item, list) for item in parsed):
        must = "be a list of lists in JSON where items have several columns"
        raise ParameterError(flag, must, text, '[["DE", "tea"], ["SE", "milk"]]')
    return tuple(tuple(item) for item in parsed if isinstance(item, list))


def _read_lines(path: str, *, has_tuples: bool) -> list[Any]:
    """Read items from a public file, one a line, each up to a tab, so that a list of frequencies will do."""
    try:
        with open(path, encoding="utf-8") as file:
            items = [line.rstrip("\n").partition("\t")[0] for line in file]
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read", getattr(error, "strerror", None) or "it must be UTF-8 text") from None
    return [_parse_tuple(line) for line in items] if has_tuples else items


def _parse_tuple(line: str) -> tuple[object, ...]:
    parsed = _parse_json_list(line)
    if parsed is None:
        raise ParameterError("--popular", "have a list in JSON in each line where items have several columns", line)
    return tuple(parsed)


def parse_levels(name: str, text: str) -> int | tuple[int, int]:
    """Parse a length, or a range of lengths: "2" is 2, and "1-3" is (1, 3)."""
    match = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", text)
    first, last = (0, 0) if match is None else (int(match[1]), int(match[2] or match[1]))
    if not 1 <= first <= last:
        must = "be a whole number of at least 1, or two of them, the smaller first"
        raise ParameterError(f"--{name}", must, text, "for example 2 or 1-3")
    return first if first == last else (first, last)


def _parse_json_list(text: str) -> list[object] | None:
    import json

    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, list) else None


def _parse_range(flag: str, text: str) -> tuple[int, int]:
    start, _, stop = text.partition("..")
    try:
        return int(start), int(stop) + 1  # a Span is half open, as a range of Python's
    except ValueError:
        raise ParameterError(flag, "be START..STOP, two whole numbers", text, "for example 1..5") from None


def option_name(args: argparse.Namespace, name: str) -> str:
    """Return an option as it is typed."""
    return f"--{'no-' if args.usual(name) is True else ''}{name.replace('_', '-')}"


def explicit_options(args: argparse.Namespace, names: Iterable[str]) -> list[str]:
    """Return the names of these options that have another value than their default."""
    return [name for name in names if getattr(args, name, None) not in (None, args.usual(name))]
