"""Texts without what is new each time: secret keys, temporary names and folders."""

from __future__ import annotations

import re

MASKS = (
    (re.compile(r"[0-9a-f]{32,}|(\\x[0-9A-F]{2}){16}"), "KEY"),
    (re.compile(r"dpselect_\d+"), "dpselect_N"),
    (re.compile(r"/[^'\"\s]*/(replay-|test_)[^'\"\s]*/"), "FOLDER/"),
    (re.compile(r"replay\d+"), "SCHEMA"),
    (re.compile(r"part-\d+-[0-9a-f-]{36}"), "PART"),  # a file of a Delta table
    # The places of released items among all: they go by counts, to the engine that has counted them.
    (re.compile(r"FETCH ABSOLUTE \d+"), "FETCH ABSOLUTE PLACE"),
    (re.compile(r"place IN \([\d, ]+\)"), "place IN (PLACES)"),
)


def masked(text: str) -> str:
    """A text without secret keys, temporary names and folders."""
    for pattern, name in MASKS:
        text = pattern.sub(name, text)
    return text
