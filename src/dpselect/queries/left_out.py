"""Items that shall not come back: a public list, whose rows do not count for anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dpselect._ground.domain import Column, Listed, most_items
from dpselect.engines.port import Engine
from dpselect.queries.plan import Ready
from dpselect.release.accuracy import said_items
from dpselect.release.release import Release


def without(items: Listed | Column, engine: Engine, answer: Callable[[Engine], Ready]) -> Ready:
    """The answer of an engine that leaves out these items, and says so."""
    engine.leave_out(items)
    ready = answer(engine)
    return lambda draws, progress: left_out_of(ready(draws, progress), items)


def left_out_of(release: Release, items: Listed | Column) -> Release:
    """The answer, which says that these items were left out."""
    statement = release.privacy
    return replace(release, privacy=replace(statement, sentences=(*statement.sentences, _said(items))))


def _said(items: Listed | Column) -> str:
    if isinstance(items, Column):
        return f"Rows of items that a public list has in its column {items.column} do not count."
    return f"Rows of {said_items(most_items(items) or 0)}, which a public list names, do not count."
