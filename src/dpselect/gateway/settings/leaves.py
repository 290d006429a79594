"""Single values of the file: texts, numbers, names, columns, paths and addresses, each checked by itself."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from urllib.parse import urlsplit

from dpselect._ground import parameters
from dpselect._ground.keys import key_of
from dpselect.engines.postgres.address import is_postgres
from dpselect.gateway.settings.places import Place
from dpselect.gateway.settings.values import Key, Scalar
from dpselect.ledger.account import clean_name

LONGEST, LONGEST_PROSE = 1_000, 10_000  # characters


# ---- texts and names ----------------------------------------------------------------------------------------


def text(place: Place) -> str:
    """One line that can be read."""
    value = place.value
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST or not value.isprintable():
        raise place.wrong(f"be a text of one line, of 1 to {LONGEST:,} characters that can be seen")
    return value


def prose(place: Place) -> str:
    """Lines for people; the breaks around them are left out."""
    value = place.value
    if not isinstance(value, str) or len(value) > LONGEST_PROSE or "\0" in value:
        raise place.wrong(f"be a text of up to {LONGEST_PROSE:,} characters")
    return value.strip()


def name(place: Place) -> str:
    """The name of a data set, a person or a unit, as ledgers take it."""
    return clean_name("name", place.value)


def separator(place: Place) -> str:
    """What stands between items; it may be a space."""
    if not isinstance(place.value, str) or not place.value or "\0" in place.value:
        raise place.wrong("be the text that stands between items")
    return place.value


def one_of(known: Iterable[str]) -> Callable[[Place], str]:
    """One of some words."""
    words = list(known)

    def read(place: Place) -> str:
        hint = parameters.near(place.value, words) if isinstance(place.value, str) else None
        return parameters.one_of("value", place.value, words, hint=hint)

    return read


# ---- numbers, switches and other values ----------------------------------------------------------------------


def flag(place: Place) -> bool:
    """A switch."""
    if not isinstance(place.value, bool):
        raise place.wrong("be true or false")
    return place.value


def whole(least: int, most: int) -> Callable[[Place], int]:
    """A whole number between two others."""

    def read(place: Place) -> int:
        value = place.value
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise place.wrong(f"be a whole number from {least:,} to {most:,}")
        return value

    return read


def number(place: Place) -> Fraction:
    """Any number, exactly as it is written."""
    return parameters.rational("value", place.value, "be a finite number")


def between(least: int, most: int, *, above: bool = False) -> Callable[[Place], Fraction]:
    """A number between two others; `above` leaves the first out."""
    must = f"be a number above {least} and at most {most:,}" if above else f"be a number from {least} to {most:,}"

    def read(place: Place) -> Fraction:
        found = parameters.rational("value", place.value, must)
        if not least <= found <= most or (above and found == least):
            raise place.wrong(must)
        return found

    return read


def epsilon(place: Place) -> Fraction:
    """An epsilon."""
    must = "be above 0"
    if parameters.rational("value", place.value, must) <= 0:
        raise place.wrong(must)
    return parameters.epsilon("value", place.value)


def delta(place: Place) -> Fraction:
    """A delta; without one an account only adds up."""
    return parameters.probability("value", place.value, zero=True)


def share(place: Place) -> Fraction:
    """A share that is not all: 0.2 or "20%"."""
    must = 'be a share from 0 to 1, 1 excluded, such as 0.2 or "20%"'
    found = parameters.part("value", place.value, must)
    if not 0 <= found < 1:
        raise place.wrong(must)
    return found


def scalar(place: Place) -> Scalar:
    """A value of a column."""
    value = place.value
    local = not isinstance(value, datetime.datetime) or value.tzinfo is None
    finite = not isinstance(value, Decimal) or value.is_finite()
    if not isinstance(value, (str, int, Decimal, datetime.date)) or not local or not finite:
        hint = None if local else "leave out the offset: filters compare times as they are written"
        raise place.wrong("be a text, a number, true, false, a date or a time of a day with its date", hint)
    if not isinstance(value, (str, bool, datetime.date)):
        parameters.rational("value", value, "be a number of a size that filters have")
    return value


def date(place: Place) -> datetime.date:
    """A day without a time."""
    if not isinstance(place.value, datetime.date) or isinstance(place.value, datetime.datetime):
        raise place.wrong("be a date without quotes, such as 2027-12-31")
    return place.value


# ---- columns -------------------------------------------------------------------------------------------------


def column(place: Place) -> str:
    """One column."""
    if not isinstance(place.value, str) or not place.value.strip() or "\0" in place.value:
        raise place.wrong("be the name of a column")
    return place.value


def key(place: Place) -> Key:
    """A column, or a list of several that say something together."""
    found = key_of("value", place.value)
    if any("\0" in one for one in ([found] if isinstance(found, str) else found)):
        raise place.wrong("be the name of a column, or a list of such names")
    return found


# ---- paths and addresses -------------------------------------------------------------------------------------


def path(place: Place) -> str:
    """A file or folder on this machine, absolute: a path is relative to the folder of the settings."""
    value = text(place)
    if "://" in value:
        raise place.wrong("be a path on this machine")
    return os.path.abspath(place.page.base / os.path.expanduser(value))


def ledger(place: Place) -> str:
    """The file of a ledger, or an address of PostgreSQL."""
    value = text(place)
    if "://" in value and not is_postgres(value):
        raise place.wrong("be the path of a file, or postgresql://HOST/DATABASE")
    return value if is_postgres(value) else path(place)


def postgres(place: Place) -> str:
    """An address of PostgreSQL."""
    value = text(place)
    if not is_postgres(value):
        raise place.wrong("be an address postgresql://HOST/DATABASE")
    return value


def url(place: Place) -> str:
    """An address of the web; what may follow its path is refused, and so is a password."""
    must = "be an address that begins with https:// or http://, without a name, a password, ? or #"
    value = text(place)
    try:
        parts = urlsplit(value)
        named = parts.hostname is not None and parts.port != 0
    except ValueError:
        raise place.wrong(must) from None
    extra = "@" in parts.netloc or "?" in value or "#" in value or " " in value
    if parts.scheme not in ("http", "https") or not named or extra:
        raise place.wrong(must)
    return value.rstrip("/")
