"""Words: the text of a filter, cut into names, constants and signs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from dpselect.engines.filters.tree import VIEW, refuse

LONGEST = 200_000
"""Characters of a filter."""
WRITE = "write what would follow WHERE in a query"
_WORD = re.compile(
    r"""(?P<space>\s+)
    |(?P<name>[^\W\d]\w*)
    |(?P<quoted>"(?:[^"]|"")+")
    |(?P<text>'(?:[^']|'')*')
    |(?P<number>[0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.]))
    |(?P<sign><=|>=|<>|!=|==|\|\||::|[=<>+*/%(),-])""",
    re.VERBOSE,
)
_WRONG = {
    "--": ("a remark", "leave it out"),
    "/*": ("a remark", "leave it out"),
    "'": ("a text without an end", "a quote inside a text is written twice: 'it''s'"),
    '"': ("a name without an end", "a quote inside a name is written twice"),
    ";": ("more than one statement", WRITE),
    ".": ("a dot outside of a number", "name a column by its own name alone, and write 0.5 for .5"),
    **dict.fromkeys("?$:{#", ("a placeholder", "write the value itself")),
    "[": ("a list", VIEW),
}


@dataclass(frozen=True)
class Word:
    """A piece of the text, and where it begins."""

    sort: str  # name, quoted, text, number, sign, or end
    text: str
    at: int

    @property
    def span(self) -> tuple[int, int]:
        """Where it starts and ends in the text."""
        return self.at, self.at + len(self.text)

    def is_(self, *words: str) -> bool:
        """Is it one of these signs or unquoted words, which are in capitals?"""
        return self.sort in ("name", "sign") and self.text.upper() in words


def words(text: str) -> list[Word]:
    """All words of a text, and the end."""
    if len(text) > LONGEST:
        refuse(f"one of {len(text)} characters", f"at most {LONGEST} are allowed")
    return [*_words(text), Word("end", "", len(text))]


def _words(text: str) -> Iterator[Word]:
    at = 0
    while at < len(text):
        for start, (came, hint) in _WRONG.items():
            if len(start) > 1 and text.startswith(start, at):
                refuse(f"{came} at character {at + 1}", hint)
        found = _WORD.match(text, at)
        if found is None:
            _wrong(text, at)
        sort = str(found.lastgroup)
        if sort != "space":
            yield Word(sort, found[0], at)
        at = found.end()


def _wrong(text: str, at: int) -> NoReturn:
    if text[at].isdigit():
        came, hint = f"the number {shown(text, at)}", "write it like 12, 0.5 or 1e-3"
    else:
        came, hint = _WRONG.get(text[at], (f"the sign {text[at]!r}", VIEW))
    refuse(f"{came} at character {at + 1}", hint)


def shown(text: str, at: int) -> str:
    """A little of the caller's own text."""
    return text[at : at + 20]
