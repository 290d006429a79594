"""A TOML file becomes Settings, or one error that names every mistake with its place (docs/gateway-settings.md)."""

from __future__ import annotations

import datetime
import os
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args, get_origin
from unicodedata import normalize

from pydantic import ValidationError

from dpselect._ground.parameters import suggest
from dpselect.errors import DpselectError, ParameterError, came, cut
from dpselect.gateway.settings.kinds import Around, WrongError
from dpselect.gateway.settings.values import Settings

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

NAME = "gateway.toml"  # what a text is called that came from no file
MOST = 1 << 22  # bytes of a file
HIDDEN = "a text that is not shown because it may hold a password"
_SECTIONS = {"data": 2, "people": 2}  # how many names their headings have; all others have one
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_MUST = {  # where the words of pydantic are those of Python
    "missing": "must be given",
    "extra_forbidden": "is not known here",
    "bool_type": "must be true or false",
    "date_type": "must be a date without quotes, such as 2027-12-31",
    "dict_type": "must be a table",
    "int_type": "must be a whole number",
    "model_type": "must be a table",
    "string_type": "must be a text",
    "too_short": "must be a list of at least one value",
    "tuple_type": "must be a list",
}


@dataclass(frozen=True)
class Mistake:
    """What is wrong, and where."""

    text: str
    hint: str | None = None


class SettingsError(DpselectError):
    """The settings of a gateway cannot be read, or are not what they must be. It names every mistake."""

    def __init__(self, file: str, mistakes: Sequence[Mistake]) -> None:
        self.mistakes: tuple[Mistake, ...] = tuple(mistakes)
        many = len(self.mistakes)
        told = [f"{many} mistakes in {file}" if many > 1 else f"a mistake in {file}"]
        for one in self.mistakes:
            told += [f"{file}: {one.text}", *([] if one.hint is None else [f"  hint: {one.hint}"])]
        super().__init__("\n".join(told))


def read(path: str | os.PathLike[str]) -> Settings:
    """The settings in a file. Paths in them are relative to its folder; no source is opened."""
    said = os.fspath(path)
    file = Path(os.path.abspath(os.path.expanduser(said)))
    try:
        with file.open("rb") as opened:
            content = opened.read(MOST + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no name of a file"
        raise SettingsError(said, [Mistake(f"cannot be read: {reason}")]) from None
    if len(content) > MOST:
        raise SettingsError(said, [Mistake(f"must have at most {MOST:,} bytes")])
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SettingsError(said, [Mistake(f"must be text in UTF-8 (at line {line})")]) from None
    return read_text(text, file.parent, said)


def read_text(text: str, base: Path, file: str = NAME) -> Settings:
    """The settings in a text, whose paths are relative to a folder."""
    tables = _tables(text, file)
    data = tables.get("data")
    known = [normalize("NFC", name) for name in data] if isinstance(data, dict) else None
    try:
        return Settings.model_validate(tables, context=Around(base.absolute(), known))
    except ValidationError as error:
        found = error.errors(include_url=False)
        raise SettingsError(file, [*_mistakes(found)]) from None


def _tables(text: str, file: str) -> dict[str, Any]:
    """The text as TOML, with numbers as they are written."""
    try:
        return tomllib.loads(text, parse_float=_decimal)
    except RecursionError:
        raise SettingsError(file, [Mistake("is nested too deeply")]) from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(file, [Mistake(f"is no TOML: {_secretless(str(error))}")]) from None
    except ValueError:  # a whole number of thousands of digits
        raise SettingsError(file, [Mistake("holds a value that no setting can have")]) from None


def _decimal(text: str) -> Decimal:
    """A number exactly as written; one beyond all limits is none."""
    try:
        return Decimal(text)
    except InvalidOperation:
        return Decimal("nan")


# ---- mistakes in words ---------------------------------------------------------------------------------------


def _mistakes(found: Sequence[ErrorDetails]) -> Iterator[Mistake]:
    for one in found:
        *way, last = one["loc"]
        if last == "" or one["type"] == "default_factory_not_called" or (one["type"] == "too_short" and one["input"]):
            continue  # what follows from another mistake: in a heading, in a key beside it, in a value of a list
        place = way if last == "[key]" else one["loc"]
        error = one.get("ctx", {}).get("error")
        hint = getattr(error, "hint", None)
        if isinstance(error, ParameterError):
            told = f"must {error.must}, got {_came(error, one['input'])}"
        elif isinstance(error, WrongError):
            told = str(error)
            place = place if error.key is None else (*place, error.key)
        else:
            told = _MUST.get(one["type"]) or f"must {one['msg'].partition(' should ')[2]}"
            if one["type"] == "extra_forbidden":
                hint = suggest(str(last), sorted(_known(way)))
            elif one["type"] != "missing":
                told += f", got {_shown(one['input'])}"
        yield Mistake(f"{_place(place)} {told}", hint)


def _place(way: Sequence[str | int]) -> str:
    """The heading of the table, and the key in it; a value of a list by its number."""
    size = _SECTIONS.get(str(way[0]), 1)
    inner = "".join(f"[{step}]" if isinstance(step, int) else f".{_dotted([step])}" for step in way[size:])
    return f"[{_dotted(way[:size])}] {inner.removeprefix('.')}".rstrip()


def _dotted(steps: Sequence[str | int]) -> str:
    """Names as they stand in a heading; strange ones with escapes."""
    names = (str(step) for step in steps)
    return ".".join(name if _BARE.fullmatch(name) else _secretless(cut(ascii(name))) for name in names)


def _known(way: Sequence[str | int]) -> list[str]:
    """The keys of the table at the end of a way."""
    kind: Any = Settings
    for step in way:
        kind = get_args(kind)[-1] if get_origin(kind) is dict else kind.model_fields[step].annotation
        kind = get_args(kind)[0] if NoneType in get_args(kind) else kind
    return [name for name in kind.model_fields if name != "name"]


def _came(error: ParameterError, value: object) -> str:
    return _shown(value) if error.came == came(value) else _secretless(error.came)


def _shown(value: object) -> str:
    """A value of the file in a message, unless it may hold a password."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return cut(str(value))
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (dict, list)):
        return "a table" if isinstance(value, dict) else "a list"
    return _secretless(came(value))


def _secretless(text: str) -> str:
    """The text, unless it looks like an address, or names a password."""
    return HIDDEN if "@" in text or "://" in text or "password" in text.lower() else text
