"""A release: the items, their accuracy, and the privacy statement with its price. All of it is safe to publish."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, overload

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import check_keywords
from dpselect.errors import ParameterError
from dpselect.release.accuracy import CONFIDENCE_PERCENT, IF_FEWER, LEAD, NO_ACCURACY, Accuracy
from dpselect.release.formatting import Json
from dpselect.release.scale import score_name, unit_of_counts
from dpselect.release.statement import (
    NOT_SECURE,
    Ended,
    Item,
    Kind,
    Label_co,
    Measurement,
    Receipt,
    Statement,
)
from dpselect.release.table import HEAD_ROWS, Leaflet, Tabular, TextTable, describe_disagreement, escape_markdown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpselect.release.groups import Groups
    from dpselect.release.picture import Picture

__all__ = ["Accuracy", "Ended", "Item", "Kind", "Measurement", "Receipt", "Release", "Statement"]

ACCURACY_TITLE = f"how good it is (each line with {CONFIDENCE_PERCENT} % confidence):"
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
    accuracy: Accuracy = NO_ACCURACY
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
    def __getitem__(self, index: int) -> Item[Label_co]: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Item[Label_co], ...]: ...
    def __getitem__(self, index: int | slice) -> Item[Label_co] | tuple[Item[Label_co], ...]:
        return self.items[index]

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
        from dpselect.release import columns

        return columns.tabulate(self)

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

        return brief.brief_leaflet(self, self._table(), self._outcome_lines(), ranks_disagree=bool(self._remark()))

    def _leaflet(self) -> Leaflet:
        """Return the leaflet with everything, for a person, who is told what an unseen item is."""
        if self.charged is None:
            price = [f"spent: {self.privacy.promise}"]
            cost = f"spent: {self.privacy.amounts}"
        else:
            price = [f"promise: {self.privacy.promise}", f"charged: {self.charged.sentence}"]
            cost = price[1]
        from dpselect.release import headline

        certainty, more_sentences = self.accuracy.opening_and_remainder
        if self.complete and self.groups is None:
            more_sentences = tuple(sentence for sentence in more_sentences if not sentence.startswith(IF_FEWER))
        return Leaflet(
            table=self._table(),
            headline=headline.describe_result(self),
            certainty=certainty,
            outcome=self._outcome_lines(),
            remark=self._remark(),
            accuracy_title=ACCURACY_TITLE,
            accuracy=more_sentences,
            price=price,
            cost=cost,
            how=self.privacy.sentences,
        )

    def _table(self) -> TextTable:
        from dpselect.release import columns

        return columns.text_table(self)

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
        return describe_disagreement(self.items, score_name(self.privacy.parameters))

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
        from dpselect.release.headline import compared_periods

        return compared_periods(self.privacy.parameters)

    @property
    def of_domain(self) -> bool:
        """True if these are the counts of a whole domain, in its own order."""
        return self.privacy.mechanism.startswith("Histogram")

    @property
    def unit(self) -> str:
        """Unit of counts and intervals: users, or counted users if a bound cuts, or gains, or a weight."""
        return unit_of_counts(self.privacy.parameters)


def _label_in_group(item: Item) -> tuple[object, ...]:
    """Return the values of the group of an item, and then its own."""
    return (*item.group, *item.item) if isinstance(item.item, tuple) else (*item.group, item.item)
