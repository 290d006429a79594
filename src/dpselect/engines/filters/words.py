"""Words: the text of a filter, split into names, constants and signs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from dpselect.engines.filters.tree import VIEW, refuse

LONGEST = 200_000
"""The largest number of characters of a filter."""
HINT = "write what would follow WHERE in a query"
_WORD = re.compile(
    r"""(?P<space>\s+)
    |(?P<name>[^\W\d]\w*)
    |(?P<quoted>"(?:[^"]|"")+")
    |(?P<text>'(?:[^']|'')*')
    |(?P<number>[0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.]))
    |(?P<sign><=|>=|<>|!=|==|\|\||::|[=<>+*/%(),-])""",
    re.VERBOSE,
)
_REFUSED_STARTS = {
    "--": ("a remark", "leave it out"),
    "/*": ("a remark", "leave it out"),
    "'": ("a text without an end", "a quote inside a text is written twice: 'it''s'"),
    '"': ("a name without an end", "a quote inside a name is written twice"),
    ";": ("more than one statement", HINT),
    ".": ("a dot outside of a number", "name a column by its own name alone, and write 0.5 for .5"),
    **dict.fromkeys("?$:{#", ("a placeholder", "write the value itself")),
    "[": ("a list", VIEW),
}


@dataclass(frozen=True)
class Word:
    """A piece of the text, with its position."""

    sort: str  # name, quoted, text, number, sign, or end
    text: str
    start: int

    @property
    def span(self) -> tuple[int, int]:
        """The start and the end in the text."""
        return self.start, self.start + len(self.text)

    def is_(self, *words: str) -> bool:
        """Return whether it is one of these signs or unquoted words, which are in capitals."""
        return self.sort in ("name", "sign") and self.text.upper() in words


def split_words(text: str) -> list[Word]:
    """Return all words of a text, and the end."""
    if len(text) > LONGEST:
        refuse(f"one of {len(text)} characters", f"at most {LONGEST} are allowed")
    return [*_generate_words(text), Word("end", "", len(text))]


def _generate_words(text: str) -> Iterator[Word]:
    position = 0
    while position < len(text):
        for prefix, (description, hint) in _REFUSED_STARTS.items():
            if len(prefix) > 1 and text.startswith(prefix, position):
                refuse(f"{description} at character {position + 1}", hint)
        match = _WORD.match(text, position)
        if match is None:
            _refuse_character(text, position)
        sort = str(match.lastgroup)
        if sort != "space":
            yield Word(sort, match[0], position)
        position = match.end()


def _refuse_character(text: str, position: int) -> NoReturn:
    if text[position].isdigit():
        description, hint = f"the number {excerpt(text, position)}", "write it like 12, 0.5 or 1e-3"
    else:
        description, hint = _REFUSED_STARTS.get(text[position], (f"the sign {text[position]!r}", VIEW))
    refuse(f"{description} at character {position + 1}", hint)


def excerpt(text: str, position: int) -> str:
    """Return a short excerpt of the caller's own text."""
    return text[position : position + 20]
