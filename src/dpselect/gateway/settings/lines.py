"""On which line of a TOML text each of its names and values begins: `tomllib`, which must take the text, tells none."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left

Steps = tuple[str | int, ...]
"""The way to a value: names of tables and keys, and places in lists."""

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACES = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_OTHER = re.compile(r"[^,\]}#\n]*")  # numbers, booleans and dates
_STRINGS = (
    ('"""', re.compile(r'"""(?:[^\\]|\\.)*?"""(?:""|")?', re.DOTALL)),  # up to two quotes may end what is quoted
    ("'''", re.compile(r"'''.*?'''(?:''|')?", re.DOTALL)),
    ('"', re.compile(r'"(?:[^"\\\n]|\\.)*"')),
    ("'", re.compile(r"'[^'\n]*'")),
)


def lines(text: str) -> dict[Steps, int]:
    """The line of every table, key and element. A table that is only named on the way has the line of what is in it."""
    return _Scanner(text).scanned()


class _Scanner:
    """Goes through the text once. What is no TOML was refused before."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.ends = [found.start() for found in re.finditer("\n", text)]
        self.named: dict[Steps, int] = {}
        self.passed: dict[Steps, int] = {}
        self.tables: dict[Steps, int] = {}  # how many each [[list of tables]] has so far

    def scanned(self) -> dict[Steps, int]:
        """All lines."""
        table: Steps = ()
        self.skip(_BLANK)
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                table = self.header()
            else:
                self.pair(table)
            self.skip(_BLANK)
        return self.passed | self.named

    def header(self) -> Steps:
        """[a.b] or [[a.b]]: the table that follows."""
        many, begun = self.text.startswith("[[", self.at), self.at
        self.at += 2 if many else 1
        names = self.key()
        self.at += 2 if many else 1
        steps: Steps = ()
        for place, name in enumerate(names):
            steps += (name,)
            if many and place == len(names) - 1:
                self.named.setdefault(steps, self.line(begun))
                self.tables[steps] = self.tables.get(steps, 0) + 1
            if steps in self.tables:
                steps += (self.tables[steps] - 1,)
        self.note(steps, begun)
        return steps

    def pair(self, table: Steps) -> None:
        """One key and its value."""
        begun = self.at
        steps = (*table, *self.key())
        self.note(steps, begun)
        self.at += 1  # the =
        self.skip(_SPACES)
        self.value(steps)

    def key(self) -> list[str]:
        """The names between dots."""
        found: list[str] = []
        while True:
            self.skip(_SPACES)
            quoted = self.text[self.at] in "\"'"
            part = self.string() if quoted else self.skip(_BARE)
            found.append(tomllib.loads(f"name = {part}")["name"] if quoted else part)
            self.skip(_SPACES)
            if self.text[self.at] != ".":
                return found
            self.at += 1

    def value(self, steps: Steps) -> None:
        """Whatever stands after = or in a list."""
        first = self.text[self.at]
        if first == "[":
            self.elements(steps)
        elif first == "{":
            self.inline(steps)
        elif first in "\"'":
            self.string()
        else:
            self.skip(_OTHER)

    def elements(self, steps: Steps) -> None:
        """The elements of a list, which may run over lines."""
        place = 0
        self.at += 1
        self.skip(_BLANK)
        while self.text[self.at] != "]":
            self.note((*steps, place), self.at)
            self.value((*steps, place))
            self.comma()
            place += 1
        self.at += 1

    def inline(self, steps: Steps) -> None:
        """The pairs of a table in braces."""
        self.at += 1
        self.skip(_BLANK)
        while self.text[self.at] != "}":
            self.pair(steps)
            self.comma()
        self.at += 1

    def comma(self) -> None:
        """What may stand between two elements."""
        self.skip(_BLANK)
        if self.text[self.at] == ",":
            self.at += 1
            self.skip(_BLANK)

    def string(self) -> str:
        """A text with its quotes, of whichever kind."""
        form = next(form for quotes, form in _STRINGS if self.text.startswith(quotes, self.at))
        return self.skip(form)

    def skip(self, form: re.Pattern[str]) -> str:
        """What the pattern takes from here."""
        found = form.match(self.text, self.at)
        if found is None:
            raise ValueError("no TOML")
        self.at = found.end()
        return found[0]

    def line(self, at: int) -> int:
        """The number of the line of a place in the text."""
        return bisect_left(self.ends, at) + 1

    def note(self, steps: Steps, at: int) -> None:
        """Remember the line of a table, key or element, and of the tables around it that nothing names."""
        line = self.line(at)
        self.named.setdefault(steps, line)
        for size in range(len(steps)):
            self.passed.setdefault(steps[:size], line)
