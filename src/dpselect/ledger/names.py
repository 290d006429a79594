"""Names of analysts and data sets: two that look alike by what cannot be seen are one name, or none."""

from __future__ import annotations

import unicodedata

from dpselect.errors import ParameterError, came

LONGEST = 200  # characters: two names fit into one index row of every store
_MUST = f"be a text of 1 to {LONGEST} characters that can be seen, with single spaces between words"

# Controls, marks of direction and joining, halves of pairs, private and unassigned ones, separators, other spaces.
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"))
_ENDS_A_LINE = frozenset(("Cc", "Cs", "Zl", "Zp"))

# What Unicode ignores by default or draws as a blank although it counts as a letter, a mark or a symbol.
_BLANK = frozenset(
    chr(point)
    for first, last in (
        (0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2800, 0x2800), (0x3164, 0x3164),
        (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0x1D159, 0x1D159), (0xE0100, 0xE01EF),
    )
    for point in range(first, last + 1)
)  # fmt: skip


def clean_name(parameter: str, name: object) -> str:
    """The name, composed (NFC); ParameterError where something in it cannot be seen."""
    if not isinstance(name, str) or not 1 <= len(name) <= LONGEST:
        raise ParameterError(parameter, _MUST, came(name))
    composed = unicodedata.normalize("NFC", name)
    if is_clean(composed):
        return composed
    unseen = next((one for one in composed if _is_unseen(one)), None)
    hint = "leave out the spaces at its ends, and all but one between words"
    if unseen is not None:
        hint = f"leave out U+{ord(unseen):04X}, which cannot be seen or is another kind of space"
    raise ParameterError(parameter, _MUST, ascii(name)[:LONGEST], hint)


def is_clean(name: str) -> bool:
    """May it be given today? Earlier versions took more."""
    single = "  " not in name and name == name.strip(" ")
    composed = unicodedata.is_normalized("NFC", name)
    return 1 <= len(name) <= LONGEST and single and composed and not any(map(_is_unseen, name))


def was_a_name(name: str) -> bool:
    """What any version may have written."""
    return 1 <= len(name) <= LONGEST and not any(unicodedata.category(one) in _ENDS_A_LINE for one in name)


def seen(name: str) -> str:
    """The name as it is shown: one of earlier versions with its letters spelled out."""
    return name if is_clean(name) else ascii(name)[1:-1]


def looks(name: str) -> str:
    """What is left of a name without all that cannot be seen; equal for names that look alike by that."""
    composed = unicodedata.normalize("NFC", name)
    spaced = "".join(" " if unicodedata.category(one) == "Zs" else one for one in composed)
    return " ".join("".join(one for one in spaced if one == " " or not _is_unseen(one)).split())


def _is_unseen(character: str) -> bool:
    return character != " " and (unicodedata.category(character) in _UNSEEN or character in _BLANK)
