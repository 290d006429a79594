"""Plain forms that judge the text engine: tokenizers that walk over characters, n-grams from lists and sets."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence

Message = Sequence[str]
Sets = list[set[str]]

INSIDE = {"'", "\u00b7", "\u200c", "\u200d"}
LINE_ENDS = set("\n\r\x0b\x0c\x85\u2028\u2029")
STOPS, CLOSERS = set(".!?\u2026"), set("\"'\u2019\u201d\u00bb)]")
WIDE_STOPS, WIDE_CLOSERS = set("\u3002\uff01\uff1f"), set("\u201d\u2019\u300d\u300f\uff09")


def in_form(text: str, lower: bool) -> str:
    text = unicodedata.normalize("NFC", text)
    if lower:  # character by character: not as long as Python's lower makes some
        text = "".join("i" if c == "\u0130" else c.lower() if c != "\u03a3" else "\u03c3" for c in text)
    return unicodedata.normalize("NFC", text)


def words(text: str, lower: bool = True) -> list[str]:
    text = in_form(text, lower).replace("\u2019", "'").replace("\u00ad", "")
    found: list[str] = []
    at = 0
    while at < len(text):
        start = at
        at += 1
        if alone(text[start]):
            while at < len(text) and unicodedata.category(text[at])[0] == "M":
                at += 1
        elif in_word(text[start]):
            while at < len(text) and (in_word(text[at]) or joins(text, at)):
                at += 1
        else:
            continue
        found.append(text[start:at])
    return found


def alone(c: str) -> bool:
    return unicodedata.name(c, "").startswith(("CJK UNIFIED IDEOGRAPH", "HIRAGANA LETTER"))


def in_word(c: str) -> bool:
    category = unicodedata.category(c)
    return (category[0] in "LMN" or category == "Pc") and not alone(c)


def joins(text: str, at: int) -> bool:
    """Does the character at this place hold what is before and after it together?"""
    before, after = text[at - 1], text[at + 1 : at + 2]
    if not after or not in_word(before) or not in_word(after):
        return False
    if text[at] in ".,":
        return unicodedata.category(before)[0] == unicodedata.category(after)[0] == "N"
    return text[at] in INSIDE


def spaces(text: str, lower: bool = True) -> list[str]:
    return in_form(text, lower).split()


def sentences(text: str, lower: bool = True) -> list[str]:
    text = in_form(text, lower)
    found, start, at = [], 0, 0
    while at < len(text):
        end = sentence_end(text, at)
        if end is not None:
            found.append(text[start:end])
            start = end
        at = at + 1 if end is None else end
    found.append(text[start:])
    return [folded for folded in (" ".join(one.split()) for one in found) if folded]


def sentence_end(text: str, at: int) -> int | None:
    """Where a sentence ends whose last mark begins here, None where it goes on."""
    if text[at] in LINE_ENDS:
        return at + 1
    for stops, closers, wide in ((STOPS, CLOSERS, False), (WIDE_STOPS, WIDE_CLOSERS, True)):
        if text[at] in stops:
            end = past(text, past(text, at, stops), closers)
            if wide or text[end : end + 1].isspace() or end == len(text):
                return end
    return None


def past(text: str, at: int, marks: set[str]) -> int:
    while at < len(text) and text[at] in marks:
        at += 1
    return at


PLAIN: dict[str, Callable[[str, bool], list[str]]] = {"words": words, "spaces": spaces, "sentences": sentences}


def grams(message: Message, length: int) -> set[tuple[str, ...]]:
    return {tuple(message[at : at + length]) for at in range(len(message) - length + 1)}


def level_sets(people: Iterable[Iterable[Message]], released: Sequence[set[str]]) -> list[Sets]:
    """What every user has at level 1, 2, ...: n-grams of which both parts are among what the level before released."""
    people = [list(messages) for messages in people]
    found: list[Sets] = []
    for length in range(1, len(released) + 2):
        sets: Sets = []
        for messages in people:
            mine = {gram for message in messages for gram in grams(message, length)}
            if length > 1:
                allowed = released[length - 2]
                # A part must itself have been a candidate, or it could not have been released.
                mine = {g for g in mine if {" ".join(g[:-1]), " ".join(g[1:])} <= allowed}
            sets.append({" ".join(gram) for gram in mine})
        found.append(sets)
    return found
