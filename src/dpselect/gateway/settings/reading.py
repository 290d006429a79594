"""A TOML file becomes Settings, or one error that names every mistake with its place (docs/gateway-settings.md)."""

from __future__ import annotations

import datetime
import os
import re
import tomllib
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args, get_origin
from unicodedata import normalize

from pydantic import ValidationError

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import suggest
from dpselect.errors import DpselectError, ParameterError, came, cut
from dpselect.gateway.settings.kinds import ReadingContext, WrongError
from dpselect.gateway.settings.values import Settings

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

NAME = "gateway.toml"  # what a text is called that came from no file
MAX_FILE_BYTES = 1 << 22  # bytes of a file
HIDDEN_TEXT = "a text that is not shown because it may hold a password"
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
    """A mistake in the settings, with its location."""

    text: str
    hint: str | None = None


class SettingsError(DpselectError):
    """The error of settings that cannot be read or used. It names every mistake."""

    def __init__(self, file: str, mistakes: Sequence[Mistake]) -> None:
        self.mistakes: tuple[Mistake, ...] = tuple(mistakes)
        many = len(self.mistakes)
        lines = [f"{many} mistakes in {file}" if many > 1 else f"a mistake in {file}"]
        for mistake in self.mistakes:
            lines += [f"{file}: {mistake.text}", *([] if mistake.hint is None else [f"  hint: {mistake.hint}"])]
        super().__init__("\n".join(lines))


def read(path: str | os.PathLike[str]) -> Settings:
    """Read the settings in a file. Paths in them are relative to its folder; no source is opened."""
    written_path = os.fspath(path)
    file = Path(os.path.abspath(os.path.expanduser(written_path)))
    try:
        with file.open("rb") as stream:
            content = stream.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no name of a file"
        raise SettingsError(written_path, [Mistake(f"cannot be read: {reason}")]) from None
    if len(content) > MAX_FILE_BYTES:
        raise SettingsError(written_path, [Mistake(f"must have at most {MAX_FILE_BYTES:,} bytes")])
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SettingsError(written_path, [Mistake(f"must be text in UTF-8 (at line {line})")]) from None
    return read_text(text, file.parent, written_path)


def read_text(text: str, base: Path, file: str = NAME) -> Settings:
    """Parse settings in a text, whose paths are relative to a folder."""
    tables = _parse_toml(text, file)
    data = tables.get("data")
    data_names = [normalize("NFC", name) for name in data] if isinstance(data, dict) else None
    try:
        return Settings.model_validate(tables, context=ReadingContext(base.absolute(), data_names))
    except ValidationError as error:
        details = error.errors(include_url=False)
        raise SettingsError(file, [*_describe_errors(details)]) from None


def _parse_toml(text: str, file: str) -> dict[str, Any]:
    """Parse a text as TOML, with numbers as they are written."""
    try:
        return tomllib.loads(text, parse_float=_parse_decimal)
    except RecursionError:
        raise SettingsError(file, [Mistake("is nested too deeply")]) from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(file, [Mistake(f"is no TOML: {_hide_secrets(str(error))}")]) from None
    except ValueError:  # a whole number of thousands of digits
        raise SettingsError(file, [Mistake("holds a value that no setting can have")]) from None


def _parse_decimal(text: str) -> Decimal:
    """Parse a number exactly as written; one beyond all limits is NaN."""
    try:
        return Decimal(text)
    except InvalidOperation:
        return Decimal("nan")


# ---- mistakes in words ---------------------------------------------------------------------------------------


def _describe_errors(errors: Sequence[ErrorDetails]) -> Iterator[Mistake]:
    for details in errors:
        *steps, last = details["loc"]
        if (
            last == ""
            or details["type"] == "default_factory_not_called"
            or (details["type"] == "too_short" and details["input"])
        ):
            continue  # what follows from another mistake: in a heading, in a key beside it, in a value of a list
        location = steps if last == "[key]" else details["loc"]
        error = details.get("ctx", {}).get("error")
        hint = getattr(error, "hint", None)
        if isinstance(error, ParameterError):
            sentence = f"must {error.must}, got {_format_came(error, details['input'])}"
        elif isinstance(error, WrongError):
            sentence = str(error)
            location = location if error.key is None else (*location, error.key)
        else:
            sentence = _MUST.get(details["type"]) or f"must {details['msg'].partition(' should ')[2]}"
            if details["type"] == "extra_forbidden":
                hint = suggest(str(last), sorted(_known_keys(steps)))
            elif details["type"] != "missing":
                sentence += f", got {_format_value(details['input'])}"
        yield Mistake(f"{_format_location(location)} {sentence}", hint)


def _format_location(steps: Sequence[str | int]) -> str:
    """Format the heading of the table and the key in it; a value of a list has its number."""
    size = _SECTIONS.get(str(steps[0]), 1)
    inner = "".join(f"[{step}]" if isinstance(step, int) else f".{_format_heading([step])}" for step in steps[size:])
    return f"[{_format_heading(steps[:size])}] {inner.removeprefix('.')}".rstrip()


def _format_heading(steps: Sequence[str | int]) -> str:
    """Format names as in a heading; unusual ones have escapes."""
    names = (str(step) for step in steps)
    return ".".join(name if _BARE.fullmatch(name) else _hide_secrets(cut(ascii(name))) for name in names)


def _known_keys(steps: Sequence[str | int]) -> list[str]:
    """List the keys of the table at the end of these steps."""
    kind: Any = Settings
    for step in steps:
        kind = get_args(kind)[-1] if get_origin(kind) is dict else kind.model_fields[step].annotation
        kind = get_args(kind)[0] if NoneType in get_args(kind) else kind
    return [name for name in kind.model_fields if name != "name"]


def _format_came(error: ParameterError, value: object) -> str:
    return _format_value(value) if error.came == came(value) else _hide_secrets(error.came)


def _format_value(value: object) -> str:
    """Format a value of the file for a message, unless it may hold a password."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return cut(str(value))
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (dict, list)):
        return "a table" if isinstance(value, dict) else "a list"
    return _hide_secrets(came(value))


def _hide_secrets(text: str) -> str:
    """Return the text, unless it looks like an address or names a password."""
    return HIDDEN_TEXT if "@" in text or "://" in text or "password" in text.lower() else text
