"""Markdown as lines of prose: what is left without code, tables, headings and front matter, and where sentences end."""

from __future__ import annotations

import re
from collections.abc import Iterator

FENCE = re.compile(r"^\s*(`{3,}|~{3,}|:{3,})(.*)$")
SPAN = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")  # code, in a line
PICTURE = re.compile(r"!\[[^\]]*\]\([^)\s]*\)")  # what it shows is said in one line
TARGET = re.compile(r"(?<=\])\([^)\s]*\)|<https?://[^>\s]*>")  # where a link leads
NOT_PROSE = ("|", "#", "<", "[^", "    ")
# A mark of a list, and a word or two in bold, italics or brackets with which a paragraph begins: "**Checked.** All is."
LEAD = re.compile(
    r"^\s*(?:[-*+>]\s+|\d+\.\s+)*"
    r"(?:(?P<mark>\*\*|\*|_)(?:(?!(?P=mark)).)+(?P=mark)(?: \([^)]*\))?[.:]?\s|\(\w\)\s)?"
)
# The dots of "et al." and "e.g.", of an initial and of "0 .. 9" end no sentence, and QED is none.
END = re.compile(
    r"(?:(?<=[\w)\]\"'”*_`])(?<!\b[A-Z])(?<!\bet al)(?<!\be\.g)(?<!\bi\.e)(?<!\bcf)(?<!\bvs)\.|[!?])[)\"'”*_]*"
    r"\s+(?=[\"'“(*_\[]*[A-Z`\d])(?!\*?QED)"
)


def lines_of(text: str) -> Iterator[tuple[int, str]]:
    """Every line of prose with its number."""
    lines = text.splitlines()
    start = lines.index("---", 1) + 1 if lines[:1] == ["---"] else 0
    fence = ""
    for number, line in enumerate(lines[start:], start + 1):
        found = FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not found[2].strip():
                fence = ""
        elif found:
            fence = found[1]
        elif not line.startswith(NOT_PROSE) and not line.lstrip().startswith(NOT_PROSE[:-1]):
            yield number, line


def without_code(line: str) -> str:
    """The line with each span of code and each picture as one word of its length."""
    line = SPAN.sub(lambda found: "`" + "c" * (len(found[0]) - 2) + "`", line)
    return PICTURE.sub(lambda found: "p" * len(found[0]), line)


def words_of(line: str) -> str:
    """The line without code and without the addresses of links."""
    return TARGET.sub("", without_code(line))


def sentence_ends(line: str) -> list[int]:
    """Where a second sentence begins in a line of prose, and a third."""
    blank = TARGET.sub(lambda found: ")" * len(found[0]), without_code(line))
    if blank.lstrip().startswith("("):  # an aside may have two
        return []
    lead = LEAD.match(blank)
    return [found.end() for found in END.finditer(blank, lead.end() if lead else 0)]
