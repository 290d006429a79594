"""Options from parameters: how a parameter of each kind is written on a command line, and read from it.

An option has the flat name of its parameter, with dashes: `--k-bar` is `k_bar`. Its help and its default are those of
the field that declares it. Several values stand between commas, or one after the other. Imports nothing heavy.
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
from dpselect.questions.value import strip_links

if TYPE_CHECKING:
    from dpselect._ground.domain import Domain

Group = argparse._ActionsContainer
Fields = Mapping[str, Field[Any]]

SHORT = {"k": "-k", "output": "-o"}
# What stands for a value of each shape in the help; of those of the second several may be given.
ONE = {
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
SEVERAL = {
    "COLUMNS": "COLUMN,...",
    "PERIODS": "PERIOD,...",
    "NUMBERS": "X,...",
    "PAIR": "LOW,HIGH",
    "SIZES": "N,...",
    "ITEMS": "A,B,...",
    "DOMAIN": "A,B,...",
}
LINE = "be values between commas, as one line of CSV has them"  # what an option of several values takes
OTHERWISE = {"from": "FILE:COLUMN", "range": "START..STOP", "size": "N"}  # a domain may be said by, too


# ---- what is added ----------------------------------------------------------------------------------------


def add(group: Group, fields: Fields) -> None:
    """An option for each parameter."""
    for name, one in fields.items():
        _add(group, name, one)


def some(fields: Fields, names: Iterable[str]) -> Fields:
    """The parameters of these names."""
    return {name: fields[name] for name in names}


def option(group: Group, *names: str, help: str, rare: bool = False, **settings: Any) -> Any:
    """An option that is no parameter of a question or its data. What is rare stands in the longer help only."""
    action = group.add_argument(*names, help=help.replace("%", "%%"), **settings)
    action.rare = rare  # type: ignore[attr-defined]
    return action


def several(group: Group, *names: str, shown: str, help: str, **settings: Any) -> Any:
    """An option of several values."""
    return option(group, *names, help=help, action="extend", type=between_commas, metavar=shown, **settings)


def _add(group: Group, name: str, one: Field[Any]) -> None:
    kind, shape, rare = one.metadata["kind"], one.metadata["kind"].shape, one.metadata["rare"]
    flag = f"--{name.replace('_', '-')}"
    names = [*([SHORT[name]] if name in SHORT else []), flag]
    said = _help(one)
    if shape == "FLAG":
        turned = {True: (f"--no-{flag[2:]}", "store_false"), False: (flag, "store_true")}[one.default is True]
        option(group, turned[0], dest=name, action=turned[1], help=said, rare=rare)
    elif shape == "MEASURES":
        option(group, flag, dest=name, action="append", metavar="WHAT", help=said, rare=rare)
    elif shape in ("DOMAIN", "ITEMS"):
        either = group.add_mutually_exclusive_group()
        ways = ["from", "range", "size"] if shape == "DOMAIN" else ["from"]
        option(
            either,
            flag,
            dest=name,
            action="append",
            metavar=SEVERAL[shape],
            help=f"{said}; or {_listed(flag, ways)}",
            rare=rare,
        )
        for way in ways:
            size = {"type": int} if way == "size" else {}
            option(either, f"{flag}-{way}", metavar=OTHERWISE[way], help=WAYS[way], rare=True, **size)
    elif shape in SEVERAL:
        several(group, *names, dest=name, shown=SEVERAL[shape], help=said, rare=rare)
    else:
        action = option(group, *names, dest=name, metavar=ONE[shape], help=said, rare=rare, type=_type(shape))
        action.words = kind.words if isinstance(kind, OneOf) else ()


WAYS = {
    "from": "or the items of a column of a public file",
    "range": "or whole numbers, both ends included",
    "size": "or only how many there are",
}


def _listed(flag: str, ways: Sequence[str]) -> str:
    return ", ".join([f"{flag}-{ways[0]}", *(f"-{way}" for way in ways[1:])])


def _type(shape: str) -> Callable[[str], Any]:
    return int if shape == "WHOLE" else str


def _help(one: Field[Any]) -> str:
    kind, said = one.metadata["kind"], strip_links(one.metadata["help"])
    usual = "" if one.default in (None, MISSING, True, False) else f" (default {one.default})"
    return f"{said}: {', '.join(kind.words)}{usual}" if isinstance(kind, OneOf) else f"{said}{usual}"


# ---- what is read -----------------------------------------------------------------------------------------


def read(args: argparse.Namespace, fields: Fields, columns: Mapping[str, Sequence[str] | None]) -> dict[str, Any]:
    """The values of these parameters, by name. `columns` says of lists of items which columns they are of."""
    found: dict[str, Any] = {}
    for name, one in fields.items():
        shape, value = one.metadata["kind"].shape, getattr(args, name, None)
        if shape in ("DOMAIN", "ITEMS"):
            value = items(args, name, several=len(columns.get(name) or ()) > 1)
        elif shape == "POPULAR" and value is not None:
            value = lines(value, several=len(columns.get(name) or ()) > 1)
        elif shape == "LEVELS" and value is not None:
            value = levels(name, value)
        found[name] = value
    return found


def items(args: argparse.Namespace, name: str, *, several: bool) -> Domain | None:
    """What the options about a list of items say, which exclude each other."""
    from dpselect._ground import domain

    flag = f"--{name.replace('_', '-')}"
    texts, place, ends, size = (getattr(args, f"{name}{way}", None) for way in ("", "_from", "_range", "_size"))
    if texts is not None:
        parts = [tuples(flag, text) if several else texts_of(flag, text) for text in texts]
        return domain.Listed(tuple(item for part in parts for item in part))
    if place is not None:
        source, colon, column = place.rpartition(":")
        if not (source and colon and column):
            raise ParameterError(f"{flag}-from", "be FILE:COLUMN", place)
        return domain.Column(source, column)
    if ends is not None:
        return domain.Span(*_ends(f"{flag}-range", ends))
    return None if size is None else domain.Size(size)


def between_commas(text: str) -> list[str]:
    """Names between commas, as a line of CSV has them."""
    found = _line(text)
    if not found:
        raise argparse.ArgumentTypeError(f"must {LINE}, got {came(text)}")
    return found


def texts_of(flag: str, text: str) -> list[str]:
    """Items of one column, in the same way."""
    found = _line(text)
    if not found:
        hint = f"{flag}-from FILE:COLUMN reads the items of a public file"
        raise ParameterError(flag, LINE, came(text), hint)
    return found


def _line(text: str) -> list[str]:
    """The values between commas, where there are any; a space after a comma belongs to one within quotes only."""
    try:
        return next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error:
        return []


def tuples(flag: str, text: str) -> tuple[tuple[object, ...], ...]:
    """Items of several columns, as lists in JSON."""
    found = _json_list(text)
    if not found or not all(isinstance(item, list) for item in found):
        must = "be a list of lists in JSON where items have several columns"
        raise ParameterError(flag, must, text, '[["DE", "tea"], ["SE", "milk"]]')
    return tuple(tuple(item) for item in found if isinstance(item, list))


def lines(path: str, *, several: bool) -> list[Any]:
    """The items of a public file, one a line: what stands before a tab, so that a list of frequencies will do."""
    try:
        with open(path, encoding="utf-8") as file:
            found = [line.rstrip("\n").partition("\t")[0] for line in file]
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read", getattr(error, "strerror", None) or "it must be UTF-8 text") from None
    return [_tuple(line) for line in found] if several else found


def _tuple(line: str) -> tuple[object, ...]:
    found = _json_list(line)
    if found is None:
        raise ParameterError("--popular", "have a list in JSON in each line where items have several columns", line)
    return tuple(found)


def levels(name: str, text: str) -> int | tuple[int, int]:
    """2 is 2, and 1-3 is one to three."""
    found = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", text)
    first, last = (0, 0) if found is None else (int(found[1]), int(found[2] or found[1]))
    if not 1 <= first <= last:
        must = "be a whole number of at least 1, or two of them, the smaller first"
        raise ParameterError(f"--{name}", must, text, "for example 2 or 1-3")
    return first if first == last else (first, last)


def _json_list(text: str) -> list[object] | None:
    import json

    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None


def _ends(flag: str, text: str) -> tuple[int, int]:
    start, _, stop = text.partition("..")
    try:
        return int(start), int(stop) + 1  # a Span is half open, as a range of Python's
    except ValueError:
        raise ParameterError(flag, "be START..STOP, two whole numbers", text, "for example 1..5") from None


def named(args: argparse.Namespace, name: str) -> str:
    """The option of this name, as it is typed."""
    return f"--{'no-' if args.usual(name) is True else ''}{name.replace('_', '-')}"


def given(args: argparse.Namespace, names: Iterable[str]) -> list[str]:
    """Those of these options that say something: they are not as they are where nobody names them."""
    return [name for name in names if getattr(args, name, None) not in (None, args.usual(name))]
