"""Files of prepared data: what they are made from is read as any source, and what they answer is as there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dpselect.flat import prepare
from tests.replay.file_kinds import written
from tests.replay.frame_kinds import EVERY_ARROW, arrow_table
from tests.replay.kinds import ANY, kind
from tests.replay.sorts import ROLES, Rows


def prepared(source: object, folder: Path, **more: Any) -> Path:
    """The rows, prepared for their users and items, with the third column kept."""
    to = folder / "rows.prepared"
    prepare(source, user=ROLES[0], item=ROLES[1], to=to, **({"keep": ROLES[2]} | more))
    return to


@kind("prepared", EVERY_ARROW, cannot="surrogate, special decimal")
def _prepared(rows: Rows, folder: Path) -> object:
    return prepared(arrow_table(rows), folder)


@kind("prepared, of objects", ANY, like="prepared")
def _objects(rows: Rows, folder: Path) -> object:
    return prepared({name: column.values for name, column in rows.items()}, folder)


@kind("prepared, with rows added", ("text", "whole", "day"), cannot="surrogate, special decimal", like="prepared")
def _added(rows: Rows, folder: Path) -> object:
    table = arrow_table(rows)
    half = table.num_rows // 2
    to = prepared(table.slice(0, half), folder, weights=())
    prepare(table.slice(half), to=to, add=True)
    return to


@kind("prepared, by weeks", ("day", "moment us", "moment in a zone"), cannot="surrogate, special decimal")
def _weeks(rows: Rows, folder: Path) -> object:
    return prepared(arrow_table(rows), folder, time=ROLES[2], period="week")


@kind("prepared, of CSV", ("text",), cannot="surrogate", like="prepared")
def _csv(rows: Rows, folder: Path) -> object:
    return prepared(written("CSV", rows, {}, folder), folder)
