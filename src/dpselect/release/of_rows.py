"""Releases about rows: which of them count, and of an answer without items what holds of it."""

from __future__ import annotations

from dataclasses import replace

from dpselect.release.release import Release

UNREADABLE = "Rows that cannot be read do not count; `dpselect inspect` counts them for the owner."


def of_rows(release: Release) -> Release:
    """The release with a statement about rows, the same whatever they are."""
    said = replace(release.privacy, sentences=(*release.privacy.sentences, UNREADABLE))
    good = release.accuracy if release.items else release.accuracy.of_nothing
    return replace(release, privacy=said, accuracy=good)
