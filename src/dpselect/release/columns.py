"""The table of a release: its columns for programs, and for people."""

from __future__ import annotations

from typing import Any

from dpselect.release import formatting
from dpselect.release.accuracy import TOO_MANY
from dpselect.release.quantile_values import quantile_shares
from dpselect.release.scale import GROUP_USERS, score_column, score_name
from dpselect.release.shown import ShownRelease
from dpselect.release.table import Bars, TextTable


def tabulate(release: ShownRelease) -> dict[str, list[object]]:
    """Return the table as columns, by name."""
    groups, labels = release.groups, _label_columns(release)
    label_names = tuple(labels)
    columns: dict[str, list[object]] = {name: formatting.column(cells) for name, cells in labels.items()}
    if shares := quantile_shares(release):
        shares = shares if groups is None else shares * len(groups.shown)
        columns = {"q": [float(q) for q in shares], **columns}
        if all(item.ranked is not None for item in release.items):
            columns |= {name: [getattr(item.ranked, name) for item in release.items] for name in TOO_MANY}
        label_names = tuple(columns)
    else:
        if release.ranked:
            columns = {"rank": [item.rank for item in release.items], **columns}
        if release.counted:
            columns[_score_column(release)] = [item.count for item in release.items]
            # releases made before there were intervals have none
            ends = ("low", "high") if "width_of_counts" in release.accuracy.numbers else ()
            columns |= {name: [getattr(item, name) for item in release.items] for name in ends}
        if "measures" in release.privacy.parameters:
            from dpselect.release.measures import tabulate_measures

            columns |= tabulate_measures(release.items, release.privacy.parameters)
    if groups is None:
        return columns
    users = {_users_column(release): groups.users_of(release.items)} if groups.counted else {}
    return {**groups.to_columns(release.items, label_names), **columns, **users}


def text_table(release: ShownRelease) -> TextTable:
    """Return the table for a person. A group's values are shown once."""
    labels, groups = _label_columns(release), release.groups
    label_texts = {name: [formatting.text(value) for value in cells] for name, cells in labels.items()}
    columns: dict[str, list[Any]] = {**tabulate(release), **label_texts}
    bars = None
    if release.counted:
        from dpselect.release.panels import Mark

        marks = [Mark(bar=item.count, low=item.low, high=item.high) for item in release.items]
        bars = Bars(_score_column(release), marks)
    places = release.places
    if places is not None:
        from dpselect.release.places import is_any_certain, places_column

        columns |= places_column(places) if is_any_certain(places) else {}
    if groups is None:
        return TextTable(columns, left=() if quantile_shares(release) else tuple(labels), bars=bars)
    from dpselect.release.groups import typed_group

    group_columns = list(groups.to_columns(release.items, tuple(labels)))
    item_groups = [typed_group(item.group) for item in release.items]
    starts = [not index or group != item_groups[index - 1] for index, group in enumerate(item_groups)]
    columns |= {name: [formatting.text(value) for value in columns[name]] for name in group_columns}
    once = [*group_columns, _users_column(release)] if groups.counted else group_columns
    return TextTable(columns, (*group_columns, *labels), once, starts, bars)


def _label_columns(release: ShownRelease) -> dict[str, list[Any]]:
    """Return the labels by column: of quantiles their values, of items of several columns each by itself."""
    labels = [item.item for item in release.items]
    if quantile_shares(release):
        return {"value": labels}
    if not {"item", "users_by"} & set(release.privacy.parameters):
        return {"item": labels}
    from dpselect.release.item_columns import item_cells, item_column_names

    return item_cells(labels, item_column_names(release.privacy.parameters))


def _score_column(release: ShownRelease) -> str:
    return score_column(score_name(release.privacy.parameters), release.privacy.parameters)


def _users_column(release: ShownRelease) -> str:
    """Return the name of the column of the users of groups."""
    return score_column(GROUP_USERS, release.privacy.parameters)
