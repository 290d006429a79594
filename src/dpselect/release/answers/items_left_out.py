"""Items of users that do not count: those that a public list leaves out, and those beyond a bound.

Where a list leaves items out, no sentence about missing items is about these: they may have any number of users.
"""

from __future__ import annotations

from dataclasses import replace

from dpselect._ground.domain import Column, Listed, max_domain_size
from dpselect.release.accuracy import BELOW, EXCLUDED, Accuracy
from dpselect.release.release import Release
from dpselect.release.scale import format_items


def add_left_out(release: Release, items: Listed | Column) -> Release:
    """Return the release with a sentence that says that rows of these items do not count."""
    if isinstance(items, Column):
        sentence = f"Rows of items that a public list has in its column {items.column} do not count."
    else:
        sentence = f"Rows of {format_items(max_domain_size(items) or 0)}, which a public list names, do not count."
    statement = release.privacy
    parameters = {
        **statement.parameters,
        EXCLUDED: items.column if isinstance(items, Column) else max_domain_size(items),
    }
    privacy = replace(statement, parameters=parameters, sentences=(*statement.sentences, sentence))
    return replace(release, privacy=privacy, accuracy=but_excluded(release.accuracy))


def but_excluded(accuracy: Accuracy) -> Accuracy:
    """Return the accuracy, which says nothing of items that are left out by a list."""
    return replace(accuracy, sentences=tuple(map(_but_excluded, accuracy.sentences)))


def _but_excluded(sentence: str) -> str:
    for phrase, replacement in _BUT_EXCLUDED.items():
        sentence = sentence.replace(phrase, replacement)
    return sentence


_BUT_EXCLUDED = {
    f"An item {BELOW}": f"An item other than the excluded {BELOW}",
    "no missing item has": "no missing item but the excluded has",
    "No item has": "No item but the excluded has",
    "An item is found": "An item other than the excluded is found",
}


def describe_sampling(max_items_per_user: int | None) -> str:
    """Say which items of a user count where they are bounded: a sentence that follows another, or nothing."""
    if max_items_per_user is None:
        return ""
    return f" Every user counts for at most {format_items(max_items_per_user)}, chosen at random."
