"""Data by flat names, one for each setting, as the command and a gateway's settings have them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dpselect.dataset import Dataset
from dpselect.engines.sources.files import prepared_path
from dpselect.errors import naming_parameter

if TYPE_CHECKING:
    from dpselect.engines.preparation import Prepared


def dataset_of(
    source: object,
    *,
    item: Any = None,
    split: str | None = None,
    table: str | None = None,
    newlines_in_values: bool = False,
    time: str | None = None,
    period: str | None = None,
    during: str | Sequence[str] | None = None,
    timezone: str = "UTC",
    **given: Any,
) -> Dataset:
    """Data by the flat names of the command and of a gateway's settings; what is None was left out."""
    when = {"time": time, "period": period, "timezone": None if timezone == "UTC" else timezone}
    if newlines_in_values or [table, split, *when.values()] != [None] * 5:
        from dpselect.rows import CSV, Split, Table, Time

        if newlines_in_values:
            source = CSV(source, newlines_in_values=newlines_in_values)  # type: ignore[arg-type] # it looks for itself
        with naming_parameter("table", "name"):
            source = source if table is None else Table(source, table)
        if split is not None:
            with naming_parameter("split", "separator"), naming_parameter("item", "column"):
                item = Split(item[0] if isinstance(item, list) and len(item) == 1 else item, split)
        if [*when.values()] != [None] * 3:
            with naming_parameter("time", "column"):
                given["time"] = Time.from_flat(when)
    data = Dataset(source, item=item, **given)
    return data if during is None else data.during(during)


def prepare(source: object, to: str | os.PathLike[str], *, add: bool = False, **given: Any) -> Prepared:
    """`Dataset.prepare` by flat names. Rows are added by the file's own rules, where nothing else is said."""
    from dpselect.engines.preparation import path_of
    from dpselect.engines.prepared.file import state_of

    path, own = path_of(to), ("keep", "weights", "max_rows_per_user", "memory", "progress")
    written = {name: given.pop(name) for name in own if name in given}
    given = {name: value for name, value in given.items() if value is not None}
    if add is True and prepared_path(path) is not None:
        before = state_of(path).rules
        was: dict[str, Any] = {"user": list(before.user), "item": list(before.item)}
        was |= {name: getattr(before, name) for name in ("time", "period", "timezone")}
        was |= {"types": dict(before.declared)} if before.declared else {}
        given = {**was, **given}
    return dataset_of(source, **given)._prepare(path, add=add, **written)
