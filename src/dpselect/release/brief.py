"""Brief: the print of an answer. One line each: its headline, its accuracy, who counted, and the price.

The words need no theory; `Release.explain` has every sentence. What was counted (users, items, ranks, sums) is
written with separators of thousands; values of a column (items, quantiles) are as the column has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dpselect.release import formatting
from dpselect.release.accuracy_line import describe_accuracy
from dpselect.release.headline import brief_headline
from dpselect.release.quantile_values import rounded_values
from dpselect.release.shown import ShownRelease
from dpselect.release.statement import OUTSIDE_PACKAGE, PAID_AGAIN, Kind, describe_outside
from dpselect.release.table import Leaflet, TextTable, wrap_text
from dpselect.release.who_counts import describe_who_counts


def brief_leaflet(release: ShownRelease, table: TextTable, outcome: Sequence[str], *, ranks_disagree: bool) -> Leaflet:
    """Return the answer for a print; `ranks_disagree` if a lower rank has a larger count."""
    headline = brief_headline(release)
    lines_below = [wrap_text(line) for line in describe_answer(release, ranks_disagree=ranks_disagree)]
    if release.items and not _is_named(release):
        return Leaflet(_round_table(release, table), lines_below, (), headline=headline, outcome=outcome)
    return Leaflet(TextTable({}), [*map(wrap_text, [headline, *outcome]), *lines_below], ())


def describe_answer(release: ShownRelease, *, ranks_disagree: bool = False) -> list[str]:
    """Return lines with the accuracy, who counted if a bound cut, and the cost."""
    lines = (
        describe_accuracy(release, ranks_disagree=ranks_disagree),
        describe_who_counts(release),
        _describe_reader(release),
        _describe_price(release),
    )
    return [line for line in lines if line]


def _is_named(release: ShownRelease) -> bool:
    """Return whether the headline names the one item, and a table would show nothing else."""
    if len(release.items) != 1 or release.groups is not None or release.counted or release.kind is Kind.SET:
        return False
    if formatting.printed(release.items[0].item) != formatting.text(release.items[0].item):
        return False  # only the table says that it is cut, and where all of it is
    return release.complete and "compared_with" not in release.privacy.parameters


def _round_table(release: ShownRelease, table: TextTable) -> TextTable:
    """Return the table, its quantiles without digits that no reader needs."""
    if release.kind is not Kind.VALUES or "value" not in table.columns:
        return table
    values = [formatting.text(value) for value in rounded_values(release)]
    return replace(table, columns={**table.columns, "value": values})


def _describe_reader(release: ShownRelease) -> str:
    """Return the sentence about another package that read the rows, if one did."""
    package = release.privacy.parameters.get(OUTSIDE_PACKAGE)
    return "" if package is None else describe_outside(str(package))


def _describe_price(release: ShownRelease) -> str:
    """Describe the cost: from a budget its share first, since epsilon is no price where questions compose."""
    promise, receipt = release.privacy, release.charged
    if receipt is None:
        return f"spent: {promise.amounts} per {promise.unit}"
    per_unit = "" if promise.unit == "user" else f"; per {promise.unit}"
    return f"charged: {formatting.text(receipt.sentence.removesuffix(f'; {PAID_AGAIN}'))}{per_unit}"
