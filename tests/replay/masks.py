"""Texts without what is new each time: secret keys, temporary names and folders."""

from __future__ import annotations

import re

MASKS = (
    (re.compile(r"[0-9a-f]{32,}|(\\x[0-9A-F]{2}){16}"), "KEY"),
    (re.compile(r"dpselect_\d+"), "dpselect_N"),
    (re.compile(r"(?<![\w.])/[^'\"\s]*/replay-[^'\"]*/"), "FOLDER/"),
    (re.compile(r"replay\d+"), "SCHEMA"),
)


def masked(text: str) -> str:
    """A text without secret keys, temporary names and folders."""
    for pattern, name in MASKS:
        text = pattern.sub(name, text)
    return text
