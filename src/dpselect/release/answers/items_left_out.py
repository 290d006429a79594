"""Items of users that do not count: those that a public list leaves out, and those beyond a bound."""

from __future__ import annotations

from dataclasses import replace

from dpselect._ground.domain import Column, Listed, most_items
from dpselect.release.accuracy import said_items
from dpselect.release.release import Release


def add_left_out(release: Release, items: Listed | Column) -> Release:
    """Return the release with a sentence that says that rows of these items do not count."""
    if isinstance(items, Column):
        sentence = f"Rows of items that a public list has in its column {items.column} do not count."
    else:
        sentence = f"Rows of {said_items(most_items(items) or 0)}, which a public list names, do not count."
    statement = release.privacy
    return replace(release, privacy=replace(statement, sentences=(*statement.sentences, sentence)))


def describe_sampling(max_items_per_user: int | None) -> str:
    """Say which items of a user count where they are bounded: a sentence that follows another, or nothing."""
    if max_items_per_user is None:
        return ""
    return f" Every user counts for at most {said_items(max_items_per_user)}, chosen at random."
