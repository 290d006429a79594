"""A release: the items, their accuracy, and the privacy statement with its price. All of it is safe to publish."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, overload

from dpselect._ground.parameters import check_keywords
from dpselect.errors import ParameterError
from dpselect.release import formatting
from dpselect.release.accuracy import CHOSEN, LEAD, NO_OTHER, NONE, NOTHING, SHORT, TIMES, TOO_MANY, Accuracy
from dpselect.release.formatting import Json
from dpselect.release.scale import GROUP_USERS, LOST, score_column, score_name, unit_of_counts
from dpselect.release.statement import (
    FROM_ZERO,
    NOT_SECURE,
    Ended,
    Item,
    Kind,
    Label_co,
    Measurement,
    Receipt,
    Statement,
)
from dpselect.release.table import HEAD_ROWS, Bars, Leaflet, Tabular, TextTable, escape_markdown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpselect.release.groups import Groups
    from dpselect.release.picture import Picture

__all__ = ["Accuracy", "Ended", "Item", "Kind", "Measurement", "Receipt", "Release", "Statement"]

GOOD = f"how good it is (each line with {TIMES} % confidence):"
MEASURES = "measures"  # the parameter of a statement that says what was measured
Place = str | os.PathLike[str]


@check_keywords
@dataclass(frozen=True, repr=False)
class Release(Tabular, Generic[Label_co]):
    """The items that were selected, best first, with their accuracy and the privacy statement.

    A release is a sequence of its items. Printing it is short; `explain()` shows everything.

    `kind` says how the items are related (ranked, or a set), `counted` whether noisy counts were asked for (also where
    no item was found), and `ended` why there are no more. `secure` is False if the draws were made for tests. `charged`
    is the receipt of a budget, which may be less than the statement's price. Asked by group, `groups` has those that
    are shown, and the items come group after group. `question` is the question, from which `check` plans the release
    again.
    """

    items: tuple[Item[Label_co], ...]
    privacy: Statement
    secure: bool
    kind: Kind = Kind.RANKING
    counted: bool = False
    ended: Ended = Ended.FULL
    charged: Receipt | None = None
    accuracy: Accuracy = NOTHING
    groups: Groups | None = None
    question: Mapping[str, Json] | None = None

    def __iter__(self) -> Iterator[Item[Label_co]]:
        return iter(self.items)

    def __contains__(self, candidate: object) -> bool:
        """Return whether this is one of the items. A key of several columns is a tuple or a list of their values.

        By group an item is one if any group has it; with the values of its group before it, only in that group.
        """
        if isinstance(candidate, Item):
            return candidate in self.items
        label = tuple(candidate) if isinstance(candidate, list) else candidate
        if label in self.labels:
            return True
        return self.groups is not None and label in [_label_in_group(item) for item in self.items]

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, place: int) -> Item[Label_co]: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Item[Label_co], ...]: ...
    def __getitem__(self, place: int | slice) -> Item[Label_co] | tuple[Item[Label_co], ...]:
        return self.items[place]

    @property
    def labels(self) -> list[Label_co]:
        """Labels of the selected items, best first."""
        return [item.item for item in self.items]

    @property
    def ranked(self) -> bool:
        """True if the order of the items is a ranking."""
        return self.kind is not Kind.SET

    @property
    def complete(self) -> bool:
        """True if there are as many items as asked for. False if bottom was drawn or too few were discovered."""
        return self.ended is Ended.FULL

    @property
    def found(self) -> tuple[int, ...]:
        """Number of items; for a question by group, one number for each group that has any."""
        if self.groups is None:
            return (len(self.items),)
        from dpselect.release.groups import typed_group

        return tuple(Counter(typed_group(item.group) for item in self.items).values())

    @property
    def places(self) -> list[tuple[int, int]] | None:
        """Places that each item can have by its count without noise, best to worst; None if they are not known.

        They are those among the items of the answer, in groups of its group, and all of them are right at once with
        the confidence of `accuracy`. Of a histogram these are the places in the domain. No count of an item that was
        not returned is known, so no item is said to be in the true top k.
        """
        if LEAD not in self.accuracy.numbers:
            return None
        from dpselect.release import places

        return places.places_of(self.items, self.accuracy.numbers[LEAD], self.privacy.parameters)

    # ---- other forms --------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Json]:
        """Return the release in JSON types: items, complete, accuracy, privacy, secure, exact, and the charge."""
        from dpselect.release import serialization

        return serialization.to_dict(**vars(self))

    @overload
    def to_json(self, path: None = None) -> str: ...
    @overload
    def to_json(self, path: Place) -> None: ...
    def to_json(self, path: Place | None = None) -> str | None:
        """Return the release as JSON, or write it to a file; `from_json` reads both."""
        import json

        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        if path is None:
            return text
        from dpselect.release import files

        files.save(path, f"{text}\n")
        return None

    @classmethod
    def from_json(cls, text: Place) -> Release[Any]:
        """Return the release that `to_json` wrote, from its text or the path of its file."""
        from dpselect.release import serialization

        fields = serialization.parse_release(text)
        return cls(**fields)

    @overload
    def to_csv(self, path: None = None, *, escape: bool = True) -> str: ...
    @overload
    def to_csv(self, path: Place, *, escape: bool = True) -> None: ...
    def to_csv(self, path: Place | None = None, *, escape: bool = True) -> str | None:
        """Return the table as comma-separated values, or write it to a file.

        Args:
            path: The file; without one the text is returned.
            escape: Put an apostrophe before labels that a spreadsheet would run as formulas.
        """
        from dpselect.release import files

        text = files.csv_text(self.to_columns(), escape=escape)
        if path is None:
            return text
        files.save(path, text)
        return None

    def to_parquet(self, path: Place) -> None:
        """Write the table to a Parquet file."""
        from dpselect.release import files

        files.save(path, self._parquet())

    def _parquet(self) -> bytes:
        """Return the table as a Parquet file, which an engine writes."""
        from dpselect.engines.duckdb.tables import parquet_bytes

        return parquet_bytes(self.to_columns())

    def to_columns(self) -> dict[str, list[object]]:
        """Return the table as columns: rank (not for a set), item and, if counts were released, count, low, high.

        Quantiles have q, value, and how many users too many lie below and above it at most. Items of several columns
        have one column each. By group, the columns of groups come first. If a bound keeps users, or a part of them,
        from counting, counts are named counted_users, and sums, gains and losses counted_sum, counted_gain and
        counted_loss.
        """
        groups = self.groups
        columns: dict[str, list[object]] = {name: formatting.column(cells) for name, cells in self._cells.items()}
        if self._quantile_shares:
            shares = self._quantile_shares if groups is None else self._quantile_shares * len(groups.shown)
            columns = {"q": [float(q) for q in shares], **columns}
            if all(item.ranked is not None for item in self.items):
                columns |= {name: [getattr(item.ranked, name) for item in self.items] for name in TOO_MANY}
            if groups is None:
                return columns
            users = {self._group_users: groups.users_of(self.items)} if groups.counted else {}
            return {**groups.to_columns(self.items, tuple(columns)), **columns, **users}
        if self.ranked:
            columns = {"rank": [item.rank for item in self.items], **columns}
        if self.counted:
            columns[self._score_column] = [item.count for item in self.items]
            columns |= {name: [getattr(item, name) for item in self.items] for name in self._interval_columns}
        if MEASURES in self.privacy.parameters:
            from dpselect.release.measures import tabulate_measures

            columns |= tabulate_measures(self.items, self.privacy.parameters)
        if groups is None:
            return columns
        users = {self._group_users: groups.users_of(self.items)} if groups.counted else {}
        return {**groups.to_columns(self.items, self._item_columns), **columns, **users}

    def plot(self, *, ax: Axes | Iterable[Axes] | None = None) -> Picture:
        """Return a picture of the answer, which a notebook shows and `save` writes as SVG.

        It has bars of the noisy counts, with a panel for each group; for quantiles a row of dots for each group, or
        from nine quantiles on the steps of their distribution; for a top k without counts its ranks and the bound that
        they share.

        Args:
            ax: Matplotlib axes to draw on too, one for each panel.
        """
        from dpselect.release import charts

        picture = charts.draw_release(self)
        if picture is None:
            hint = "ask for them with counts=True"
            raise ParameterError("counts", "be released for a plot", "a release without", hint)
        return picture.on(ax)

    def to_markdown(self) -> str:
        """Return the table in Markdown, with its accuracy, who counted and its price."""
        from dpselect.release import brief

        lines_below = brief.describe_answer(self, ranks_disagree=bool(self._remark()))
        return "\n\n".join([self._table().markdown(), *map(escape_markdown, lines_below)]) + "\n"

    # ---- for people ---------------------------------------------------------------------------------------

    def __str__(self) -> str:
        return self._brief().text(HEAD_ROWS)

    def __repr__(self) -> str:
        return str(self)  # what an interactive Python shows of a last line

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        from dpselect.release import notebook

        return notebook.html(self._leaflet(), HEAD_ROWS)

    @property
    def text(self) -> str:
        """Text that `print` shows, with every item."""
        return self._brief().text()

    def explain(self) -> str:
        """Return the whole answer as text: the table, its accuracy, the promise, who counted, how it was found."""
        return self._leaflet().text()

    @property
    def notes(self) -> list[str]:
        """Lines of text with everything but the items."""
        return self._leaflet().notes

    @property
    def summary(self) -> list[str]:
        """Lines of text that `print` shows apart from the items."""
        return self._brief().notes

    def _brief(self) -> Leaflet:
        """Return the leaflet for a print."""
        from dpselect.release import brief

        return brief.brief_leaflet(
            self,
            self._table(),
            self._headline(formatting.text),
            self._outcome_lines(),
            ranks_disagree=bool(self._remark()),
        )

    def _leaflet(self) -> Leaflet:
        """Return the leaflet with everything, for a person, who is told what an unseen item is."""
        if self.charged is None:
            price = [f"spent: {self.privacy.promise}"]
            cost = f"spent: {self.privacy.amounts}"
        else:
            price = [f"promise: {self.privacy.promise}", f"charged: {self.charged.sentence}"]
            cost = price[1]
        certainty, more_sentences = self.accuracy.opening_and_remainder
        if self.complete and self.groups is None:
            more_sentences = tuple(sentence for sentence in more_sentences if not sentence.startswith(SHORT))
        return Leaflet(
            table=self._table(),
            headline=self._headline(),
            certainty=certainty,
            outcome=self._outcome_lines(),
            remark=self._remark(),
            accuracy_title=GOOD,
            accuracy=more_sentences,
            price=price,
            cost=cost,
            how=self.privacy.sentences,
        )

    def _table(self) -> TextTable:
        """Return the table for a person. A group's values are shown once."""
        names = {name: [formatting.text(value) for value in cells] for name, cells in self._cells.items()}
        columns: dict[str, list[Any]] = {**self.to_columns(), **names}
        bars = None
        if self.counted:
            from dpselect.release.panels import Mark

            bars = Bars(self._score_column, [Mark(bar=item.count, low=item.low, high=item.high) for item in self.items])
        places = self.places
        if places is not None:
            from dpselect.release.places import is_any_certain, places_column

            columns |= places_column(places) if is_any_certain(places) else {}
        if self.groups is None:
            return TextTable(columns, left=() if self._quantile_shares else self._item_columns, bars=bars)
        from dpselect.release.groups import typed_group

        group_columns = list(self.groups.to_columns(self.items, self._item_columns))
        item_groups = [typed_group(item.group) for item in self.items]
        starts = [not index or group != item_groups[index - 1] for index, group in enumerate(item_groups)]
        columns |= {name: [formatting.text(value) for value in columns[name]] for name in group_columns}
        once = [*group_columns, self._group_users] if self.groups.counted else group_columns
        return TextTable(columns, (*group_columns, *self._item_columns), once, starts, bars)

    def _headline(self, show: Callable[[object], str] = formatting.brief) -> str:
        """Return the headline, with a single item as `show` writes it. A sum says that it is none of refunds."""
        sentence = self._describe_items(show)
        return sentence if self.weight is None else f"{sentence.removesuffix('.')}; rows below 0 count as 0."

    def _describe_items(self, show: Callable[[object], str]) -> str:
        if self.groups is not None:
            from dpselect.release.groups import describe_groups_of_user

            sentence = self.groups.outcome(self.items)
            if self.kind is Kind.SET and self.items:
                sentence = (
                    f"{len(self):,} item{'' if len(self) == 1 else 's'} of {sentence} that enough users share, unranked"
                )
            counts_in = describe_groups_of_user(self.privacy) if self.groups.shown else ""
            return f"{sentence[0].upper()}{sentence[1:]}{counts_in}."
        k = self.privacy.parameters.get("k")
        if self.compared is not None:
            from dpselect.release import gains

            lost = LOST in self.privacy.parameters
            return gains.describe_gains(
                len(self), self.compared, lost=lost, k=k, complete=self.complete, ranked=self.ranked
            )
        items = f"{len(self):,} item{'' if len(self) == 1 else 's'}"
        if not self.complete:
            item_count = items if k is None else f"{len(self):,} of at most {formatting.format_count(k)} items"
            return f"{item_count}: {NO_OTHER}."
        if not self.items:
            return f"No items: {NONE}."
        if self._quantile_shares:
            return formatting.quantiles([float(q) for q in self._quantile_shares], self.labels)
        if "users_by" in self.privacy.parameters:
            return self._describe_users()
        if self.of_domain:
            return f"The numbers of {self.unit} of all {items} of the domain, with noise."
        if self.kind is Kind.SET:
            return f"{items}{' that enough users share' if k is None else ''}, unranked."
        if len(self) == 1:
            chosen = bool(self.accuracy.sentences) and self.accuracy.sentences[0].startswith(CHOSEN)
            item_text = "candidate {} (counted from 0)" if self.privacy.parameters.get(FROM_ZERO) == 0 else "{}"
            return f"{'Chosen' if chosen else items}: {item_text.format(show(self.items[0].item))}."
        ranking_basis = "" if self.weight is None else f"by {self._score_column.replace('_', ' ')}s, "
        return f"{items}, {ranking_basis}best first."

    def _describe_users(self) -> str:
        """Describe how many users there are, in all or in each group."""
        if self.privacy.parameters["users_by"]:
            groups = f"{len(self):,} group{'' if len(self) == 1 else 's'}"
            from dpselect.release.groups import describe_groups_of_user

            counts_in = describe_groups_of_user(self.privacy)
            return (
                f"The numbers of {self.unit} of {'the' if len(self) == 1 else 'all'} {groups}, with noise{counts_in}."
            )
        return f"{self.items[0].count:,} {self.unit}, with noise."

    def _outcome_lines(self) -> list[str]:
        """Return what else a reader must know of an answer; it depends on how many items there are, not on labels."""
        lines = []
        if not self.items:
            from dpselect.release.answers.empty_answer import INSPECT, list_remedies

            remedies = list_remedies(self.question or {}, self.privacy.parameters)
            lines.append(f"things to check: {', '.join(remedies)}; {INSPECT}")
        if not self.secure:
            lines.append(NOT_SECURE)
        return lines

    def _remark(self) -> str:
        """Return why a lower rank has a larger count, if one does, or ""."""
        if not (self.counted and self.ranked):
            return ""
        from dpselect.release.table import describe_disagreement

        return describe_disagreement(self.items, self._score_name)

    # ---- what kind of table it is -------------------------------------------------------------------------

    @property
    def weight(self) -> str | None:
        """Column by whose sums items were selected; None if by numbers of users."""
        column = self.privacy.parameters.get("by_weight")
        return column if isinstance(column, str) else None

    @property
    def compared(self) -> str | None:
        """Periods between which items gained users; None if items were not selected by gains."""
        if "compared_with" not in self.privacy.parameters:
            return None
        from dpselect.release.gains import compared_periods

        return compared_periods(self.privacy.parameters)

    @property
    def of_domain(self) -> bool:
        """True if these are the counts of a whole domain, in its own order."""
        return self.privacy.mechanism.startswith("Histogram")

    @property
    def _score_name(self) -> str:
        return score_name(self.privacy.parameters)

    @property
    def unit(self) -> str:
        """Unit of counts and intervals: users, or counted users if a bound cuts, or gains, or a weight."""
        return unit_of_counts(self.privacy.parameters)

    @property
    def _score_column(self) -> str:
        return score_column(self._score_name, self.privacy.parameters)

    @property
    def _group_users(self) -> str:
        return score_column(GROUP_USERS, self.privacy.parameters)

    @property
    def _quantile_shares(self) -> tuple[Any, ...]:
        """The q of every item, if the items are quantiles."""
        q = self.privacy.parameters.get("q") if self.kind is Kind.VALUES else ()
        return q if isinstance(q, tuple) else ()

    @property
    def _cells(self) -> dict[str, list[Any]]:
        """Labels by column."""
        if self._quantile_shares or not {"item", "users_by"} & set(self.privacy.parameters):
            return {"value" if self._quantile_shares else "item": self.labels}
        from dpselect.release.item_columns import item_cells, item_column_names

        return item_cells(self.labels, item_column_names(self.privacy.parameters))

    @property
    def _item_columns(self) -> tuple[str, ...]:
        return tuple(self._cells)

    @property
    def _interval_columns(self) -> tuple[str, ...]:
        """Columns of intervals; releases made before there were any have none."""
        return ("low", "high") if "width_of_counts" in self.accuracy.numbers else ()


def _label_in_group(item: Item) -> tuple[object, ...]:
    """Return the values of the group of an item, and then its own."""
    return (*item.group, *item.item) if isinstance(item.item, tuple) else (*item.group, item.item)
