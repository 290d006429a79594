"""Mistakes in settings: each is written down where it is found, and all of them are told at once."""

from __future__ import annotations

import contextlib
import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from dpselect.errors import DpselectError, ParameterError, came, cut
from dpselect.gateway.settings.lines import Steps, lines

HIDDEN = "a text that is not shown: it may hold a password"
_SECTIONS = {"data": 2, "people": 2}  # how many names their headings have; all others have one
_BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Mistake:
    """What is wrong, and on which line; None where that is not known."""

    text: str
    line: int | None = None
    hint: str | None = None


class SettingsError(DpselectError):
    """The settings of a gateway cannot be read, or are not what they must be. It names every mistake."""

    def __init__(self, file: str, mistakes: Sequence[Mistake]) -> None:
        self.mistakes: tuple[Mistake, ...] = tuple(sorted(mistakes, key=lambda one: one.line or 0))
        many = len(self.mistakes)
        told = [f"{many} mistakes in {file}" if many > 1 else f"a mistake in {file}"]
        for one in self.mistakes:
            told.append(f"{file}: {one.text}" if one.line is None else f"{file}:{one.line}: {one.text}")
            told += [] if one.hint is None else [f"  hint: {one.hint}"]
        super().__init__("\n".join(told))


class ToldError(Exception):
    """What is wrong here was written down already."""


@dataclass
class Page:
    """The file that is read: what of its tables could be read so far, and the mistakes, by the ways to them."""

    base: Path
    tables: dict[Steps, dict[str, Any]] = field(default_factory=dict)
    found: list[tuple[Steps, str, str | None]] = field(default_factory=list)

    def add(self, steps: Steps, text: str, hint: str | None = None) -> None:
        """Write down a mistake; the text says what is wrong of what is named by the way."""
        section = steps[: _SECTIONS.get(str(steps[0]), 1) if steps else 0]
        rest = [str(step) for step in steps[len(section) :] if isinstance(step, str)]
        heading = f"[{dotted(section)}] " if section else ""
        named = f"{dotted(rest)} " if rest else ""
        self.found.append((steps, f"{heading}{named}{text}", hint))

    def error(self, file: str, text: str) -> SettingsError:
        """All of them, with the lines of what is wrong, or of the table that it is in."""
        known: dict[Steps, int] = {}
        with contextlib.suppress(RecursionError, ValueError, IndexError):  # a later TOML may take more than `lines`
            known = lines(text)
        return SettingsError(file, [Mistake(said, _line(known, steps), hint) for steps, said, hint in self.found])


def _line(known: dict[Steps, int], steps: Steps) -> int | None:
    return next((known[steps[:size]] for size in range(len(steps), 0, -1) if steps[:size] in known), None)


def dotted(steps: Sequence[str | int]) -> str:
    """Names as they stand in a heading; strange ones with escapes."""
    names = (str(step) for step in steps)
    return ".".join(name if _BARE.fullmatch(name) else secretless(cut(ascii(name))) for name in names)


def of_parameter(error: ParameterError, value: object) -> str:
    """What a parameter's error says of a value, in the words of the file."""
    said = shown(value) if error.came == came(value) else secretless(error.came)
    return f"must {error.must}, got {said}"


def shown(value: object) -> str:
    """A value of the file in a message, unless it may hold a password."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return cut(str(value))
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (dict, list)):
        return "a table" if isinstance(value, dict) else "a list"
    return secretless(came(value))


def secretless(text: str) -> str:
    """The text, unless it looks like an address."""
    return HIDDEN if "@" in text or "://" in text else text
