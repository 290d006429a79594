"""Data by flat names, one for each setting, as the command and the settings of a gateway have them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dpselect.dataset import Dataset
from dpselect.engines.sources.files import prepared_path
from dpselect.errors import naming_parameter

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    outside: str | None = None,
    **options: Any,
) -> Dataset:
    """Return the data of flat names, of the command and of a gateway's settings; None means left out.

    `outside` is the only other package that may read the source.
    """
    time_fields = {"time": time, "period": period, "timezone": None if timezone == "UTC" else timezone}
    if newlines_in_values or [table, split, *time_fields.values()] != [None] * 5:
        from dpselect.rows import CSV, Split, Table, Time

        if newlines_in_values:
            source = CSV(source, newlines_in_values=newlines_in_values)  # type: ignore[arg-type] # it looks for itself
        with naming_parameter("table", "name"):
            source = source if table is None else Table(source, table)
        if split is not None:
            with naming_parameter("split", "separator"), naming_parameter("item", "column"):
                item = Split(item[0] if isinstance(item, list) and len(item) == 1 else item, split)
        if [*time_fields.values()] != [None] * 3:
            with naming_parameter("time", "column"):
                options["time"] = Time.from_flat(time_fields)
    data = Dataset(source, item=item, **options)
    if outside is not None:
        data._address = data._address.with_package(outside)
    return data if during is None else data.during(during)


def prepare(source: object, to: str | os.PathLike[str], *, add: bool = False, **options: Any) -> Prepared:
    """Prepare data by flat names, as `Dataset.prepare`. Rows are added by the file's own rules, unless others came."""
    from dpselect.engines.preparation import path_of
    from dpselect.engines.prepared.file import read_state

    path, file_options = path_of(to), ("keep", "weights", "max_rows_per_user", "memory", "progress")
    file_values = {name: options.pop(name) for name in file_options if name in options}
    options = {name: value for name, value in options.items() if value is not None}
    if add is True and prepared_path(path) is not None:
        rules = read_state(path).rules
        defaults: dict[str, Any] = {"user": list(rules.user), "item": list(rules.item)}
        defaults |= {name: getattr(rules, name) for name in ("time", "period", "timezone")}
        defaults |= {"types": dict(rules.declared)} if rules.declared else {}
        options = {**defaults, **options}
    return dataset_of(source, **options)._prepare(path, add=add, **file_values)


def missing_as_declared(source: object, types: Mapping[str, str], *, table: str | None = None) -> list[str]:
    """Count the missing values of each column of a declared type, one sentence each; reads rows, for their owner."""
    from dpselect.inspection import report
    from dpselect.rows import parse_types

    return report.missing_as_declared(source, parse_types(types), table=table)
