"""What single values of the settings are. Each is checked where it is read, and says what it must be."""

from __future__ import annotations

import datetime
import ipaddress
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import field
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, ClassVar
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationInfo,
    WrapValidator,
)

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect.engines import Address, SourceKind, parse_type
from dpselect.errors import ParameterError, came
from dpselect.ledger import PERIOD_KINDS, clean_name, parse_timezone
from dpselect.questions import parse_key, typed_label

LATEST = 3_600
"""Seconds after which every answer has left."""
ANY_CONDITION = "any"
MAX_ITEMS_OR_QUESTIONS = 10**7  # of imagined data, and questions of a person in a day
MAX_TEXT_CHARACTERS = 1_000  # characters of a text
_HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_DIGEST = re.compile(r"sha256:([0-9A-Fa-f]{64})")

Scalar = str | int | bool | Decimal | datetime.date | datetime.datetime
Key = str | tuple[str, ...]
"""A column, or several that say something together."""


def plain(key: Key | None) -> Any:
    """Return several columns, or several paths, as the list that JSON and a Dataset take."""
    return list(key) if isinstance(key, tuple) else key


class Role(StrEnum):
    """The rights of a person, who has one role."""

    OWNER = "owner"  # declares data, grants quotas, approves questions, sees the record
    ANALYST = "analyst"  # plans, asks, reads answers
    AUDITOR = "auditor"  # reads the record, verifies it


class WrongError(ValueError):
    """A mistake in a value that need not be repeated, or in one key of a table."""

    def __init__(self, text: str, hint: str | None = None, key: str | None = None) -> None:
        super().__init__(text)
        self.hint: str | None = hint
        self.key: str | None = key


@dataclass
class ReadingContext:
    """The context that values are checked against: the folder of the file, and what it says elsewhere."""

    base: Path = Path()
    data: list[str] | None = None  # the names of data sets; None where they are not known
    written_paths: dict[str, str] = field(default_factory=dict)  # keys of the server, and the paths that it writes
    sign_ins: dict[tuple[str | None, str], str] = field(default_factory=dict)  # how people sign in, and who


def reading_context(info: ValidationInfo) -> ReadingContext:
    """Return the context of a value that is read."""
    return info.context or ReadingContext()


def _require(is_right: Callable[[Any], object], requirement: str) -> AfterValidator:
    """Return a validator of values for which a condition holds."""

    def check(value: Any) -> Any:
        if not is_right(value):
            raise ParameterError("value", requirement, came(value))
        return value

    return AfterValidator(check)


def _one_of(members: Iterable[str]) -> BeforeValidator:
    """Return a validator that maps the text of a member to the member."""
    words = {str(member): member for member in members}

    def check(value: object) -> str:
        hint = parameters.suggest(value, words) if isinstance(value, str) else None
        return words[parameters.one_of("value", value, words, hint=hint)]

    return BeforeValidator(check)


def _refuse_duplicates(values: tuple[Any, ...]) -> tuple[Any, ...]:
    if len({typed_label(value) for value in values}) < len(values):
        raise WrongError("must have each once")
    return values


# ---- texts, numbers and columns ------------------------------------------------------------------------------


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_TEXT_CHARACTERS or not value.isprintable():
        raise ParameterError(
            "value", f"be a text of one line, of 1 to {MAX_TEXT_CHARACTERS:,} visible characters", came(value)
        )
    return value


Text = Annotated[str, PlainValidator(_text)]
Prose = Annotated[
    str,
    _require(lambda text: len(text) <= 10_000 and "\0" not in text, "be a text of up to 10,000 characters"),
    AfterValidator(str.strip),
]
Name = Annotated[str, AfterValidator(lambda name: clean_name("name", name))]
Separator = Annotated[str, _require(lambda text: text and "\0" not in text, "be the text that separates items")]
Column = Annotated[str, _require(lambda name: name.strip() and "\0" not in name, "be the name of a column")]
DeclaredText = Annotated[str, PlainValidator(lambda text: parse_type("", text).text)]
"""The type of a column, in its one form."""
Zone = Annotated[str, PlainValidator(parse_timezone)]
Sort = Annotated[str, _one_of(PERIOD_KINDS)]
OneRole = Annotated[Role, _one_of(Role)]

AsFloat: PlainSerializer = PlainSerializer(parameters.float_rounded_up, when_used="json")
Number = Annotated[
    Fraction, PlainValidator(lambda value: parameters.rational("value", value, "be a finite number")), AsFloat
]
Epsilon = Annotated[Fraction, PlainValidator(lambda value: parameters.epsilon("value", value)), AsFloat]
Delta = Annotated[Fraction, PlainValidator(lambda value: parameters.probability("value", value, zero=True)), AsFloat]
Seconds = Annotated[Number, Field(gt=0, le=LATEST)]
Share = Annotated[
    Fraction,
    PlainValidator(lambda value: parameters.part("value", value, 'be a share, such as 0.2 or "20%"')),
    Field(ge=0, lt=1),
]


def _key(value: object) -> Key:
    key = parse_key("value", value)
    if any("\0" in name for name in ([key] if isinstance(key, str) else key)):
        raise ParameterError("value", "be the name of a column, or a list of such names", came(value))
    return key


def _scalar(value: Any) -> Scalar:
    has_no_offset = not isinstance(value, datetime.datetime) or value.tzinfo is None
    is_finite = not isinstance(value, Decimal) or value.is_finite()
    if not isinstance(value, (str, int, Decimal, datetime.date)) or not has_no_offset or not is_finite:
        hint = None if has_no_offset else "leave out the offset: filters compare times as they are written"
        requirement = "be a text, a number, true, false, a date or a time of a day with its date"
        raise ParameterError("value", requirement, came(value), hint)
    if not isinstance(value, (str, bool, datetime.date)):
        parameters.rational("value", value, "be a number of a size that filters have")
    return value


def _allowed(value: object, read: Callable[[object], Any]) -> Any:
    if value == ANY_CONDITION or value is None:
        return None
    if not isinstance(value, (list, tuple)):
        raise ParameterError("value", f'be a list of values, or "{ANY_CONDITION}" for every condition', came(value))
    return read(value)


AKey = Annotated[Key, PlainValidator(_key), PlainSerializer(lambda key: key)]
Some: Any = Field(strict=False, min_length=1)  # TOML has lists only
Keys = Annotated[tuple[AKey, ...], Some, AfterValidator(_refuse_duplicates)]
Columns = Annotated[tuple[Column, ...], Some, AfterValidator(_refuse_duplicates)]
Scalars = Annotated[tuple[Annotated[Scalar, PlainValidator(_scalar)], ...], Some, AfterValidator(_refuse_duplicates)]
Names = Annotated[tuple[Name, ...], Some, AfterValidator(_refuse_duplicates)]
Allowed = Annotated[Scalars | None, WrapValidator(_allowed)]
"""Values that a filter may name, or None for any condition on the column."""


# ---- paths and addresses -------------------------------------------------------------------------------------


def is_address(source: object) -> bool:
    """Return whether a source is a database that is reached by its address."""
    return Address.parse(source).is_elsewhere


def _is_postgres(text: str) -> bool:
    return Address.parse(text).kind is SourceKind.POSTGRES


def _path(text: str, info: ValidationInfo) -> str:
    """Return an absolute path; one in the settings is relative to their folder."""
    if "://" in text:
        raise ParameterError("value", "be a path on this machine", came(text))
    return os.path.abspath(reading_context(info).base / os.path.expanduser(text))


def _folder(value: object, info: ValidationInfo) -> Path:
    return Path(_path(_text(str(value) if isinstance(value, Path) else value), info))


def _ledger(text: str, info: ValidationInfo) -> str:
    if "://" in text and not _is_postgres(text):
        raise ParameterError("value", "be the path of a file, or postgresql://HOST/DATABASE", came(text))
    return text if _is_postgres(text) else _path(text, info)


def _source(value: object, info: ValidationInfo) -> str | tuple[str, ...]:
    """Parse files, a folder, a database's address, or one that another package reads."""
    if is_address(value) or Address.parse(value).kind in (SourceKind.OTHER_PACKAGE, SourceKind.ICEBERG):
        return str(value)
    sources = value if isinstance(value, (list, tuple)) else [value]
    if not sources:
        raise ParameterError("value", "be a path, an address, or a list of paths", "an empty list")
    texts = [_text(text) for text in sources]
    for text in texts:
        if is_address(text) or "://" in text:
            requirement = "be a path on this machine, or one postgresql:// or spark: address"
            raise ParameterError("value", requirement, came(text))
    paths = tuple(_path(text, info) for text in texts)
    return paths[0] if len(paths) == 1 else paths


def _url(text: str) -> str:
    """Parse a web address; a password is refused, and whatever may follow the path."""
    requirement = "be an address that begins with https:// or http://, without a name, a password, ? or #"
    try:
        parts = urlsplit(text)
        has_host = parts.hostname is not None and parts.port != 0
    except ValueError:
        raise ParameterError("value", requirement, came(text)) from None
    if parts.path.strip("/"):
        hint = "give the gateway a host name or a port of its own, because its pages begin at the root"
        raise ParameterError("value", "be an address without a path", came(parts.path), hint)
    has_extra_parts = "@" in parts.netloc or "?" in text or "#" in text or " " in text
    if parts.scheme not in ("http", "https") or not has_host or has_extra_parts:
        raise ParameterError("value", requirement, came(text))
    return text.rstrip("/")


def _network(text: str) -> str:
    """Parse an IP address or a network, unless it holds every address."""
    requirement = "be an IP address or a network, such as 10.0.0.5 or 10.0.0.0/8"
    try:
        network = ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise ParameterError("value", requirement, came(text)) from None
    if "/" in text and ipaddress.ip_interface(text).ip != network.network_address:
        raise ParameterError("value", "be a network by its first address", came(text), f"did you mean {network}?")
    if network.prefixlen == 0:
        hint = "whoever reaches the gateway could say that they are anybody"
        raise ParameterError("value", "not be every address", came(text), hint)
    return text


def _digest(value: object) -> str:
    """Parse the digest of a token. A text in its place may be the token itself, so no message repeats it."""
    match = _DIGEST.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        hint = "dpselect gateway token makes a token, and the line for it"
        raise WrongError('must be "sha256:" and 64 hexadecimal digits, got something else', hint)
    return match[1].lower()


Folder = Annotated[Path, PlainValidator(_folder)]
Ledger = Annotated[Text, AfterValidator(_ledger)]
Postgres = Annotated[Text, _require(_is_postgres, "be an address postgresql://HOST/DATABASE")]
Source = Annotated[str | tuple[str, ...], PlainValidator(_source)]
Url = Annotated[Text, AfterValidator(_url)]
Host = Annotated[str, _require(_HOST.fullmatch, "be a name or an address of this machine, such as 127.0.0.1")]
Header = Annotated[str, _require(_HEADER.fullmatch, "be the name of a header, such as X-Forwarded-User")]
Networks = Annotated[tuple[Annotated[str, AfterValidator(_network)], ...], Some]
Digest = Annotated[str, PlainValidator(_digest)]


# ---- tables ---------------------------------------------------------------------------------------------------


class SettingsTable(BaseModel):
    """A table of the file: its keys, what each must be, and what it is unless given."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        hide_input_in_errors=True,
        validate_by_name=True,
        validate_by_alias=True,
    )


class Named(SettingsTable):
    """A table with a name of its own, which its heading says and no key of it."""

    name: Name = Field(validation_alias="")


class Amount(SettingsTable):
    """An (epsilon, delta)."""

    epsilon: Epsilon
    """Above 0."""
    delta: Delta
    """Below 1; with 0 an account only adds epsilons."""
