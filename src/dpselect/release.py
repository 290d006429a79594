"""A release: what was found, and what it cost. Everything in it is safe to publish."""

from __future__ import annotations

import html
import json
import os
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpselect import forms, plots
from dpselect.errors import ParameterError
from dpselect.forms import Json
from dpselect.parameters import shown
from dpselect.privacy import Neighbors

if TYPE_CHECKING:
    import polars
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Item:
    """One released item, its place (1 is the best; None in a set) and its noisy count where counts were asked for."""

    item: object
    rank: int | None
    count: int | None


@dataclass(frozen=True)
class Statement:
    """What is promised: (epsilon, delta)-DP for one `unit` against `neighbors`, by which mechanism and theorem.

    `sentences` say in plain English what was assumed, what the threshold was, how near the answer is and why
    this method was taken.
    """

    epsilon: Fraction
    delta: Fraction
    neighbors: Neighbors
    mechanism: str
    parameters: Mapping[str, object]
    bound: str
    sentences: tuple[str, ...]
    unit: str = "user"

    @property
    def promise(self) -> str:
        """The guarantee in one line; its numbers never understate the exact ones."""
        price = f"({forms.price(self.epsilon)}, {forms.price(self.delta)})-DP"
        return f"{price} per {self.unit}, {self.neighbors} neighbours"

    def to_dict(self) -> dict[str, Json]:
        """JSON types only."""
        return {
            "epsilon": shown(self.epsilon),
            "delta": shown(self.delta),
            "neighbors": str(self.neighbors),
            "unit": self.unit,
            "mechanism": self.mechanism,
            "parameters": {name: forms.plain(value) for name, value in self.parameters.items()},
            "bound": self.bound,
            "statement": list(self.sentences),
        }


@dataclass(frozen=True)
class Receipt:
    """What a budget was charged for a release: one sentence, and the numbers in it."""

    sentence: str
    numbers: Mapping[str, object]

    def to_dict(self) -> dict[str, Json]:
        """JSON types only."""
        return {name: forms.plain(value) for name, value in self.numbers.items()}


@dataclass(frozen=True)
class Release:
    """The items that were selected, best first, and the privacy statement.

    `complete` is False where bottom, or a lack of discovered items, ended the list before k items were found. `secure`
    is False where the draws were made for tests. `charged` is the receipt of a ledger or a session, which may be less
    than the statement's price. A release is iterable over its items and has their number as its length.
    """

    items: tuple[Item, ...]
    complete: bool
    privacy: Statement
    secure: bool
    charged: Receipt | None = None

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def labels(self) -> list[Any]:
        """The selected items themselves, best first."""
        return [item.item for item in self.items]

    @property
    def ranked(self) -> bool:
        """Do the items come best first? Those of a set do not, nor do those of a union where there is none."""
        return "epsilon_of_items" not in self.privacy.parameters and all(i.rank is not None for i in self.items)

    @property
    def has_counts(self) -> bool:
        """Were noisy counts asked for? True also where no item was found, so that a table keeps its columns."""
        asked = {"epsilon_per_count", "epsilon_of_counts"} & set(self.privacy.parameters)
        return bool(asked) or any(i.count is not None for i in self.items)

    # ---- other forms --------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Json]:
        """The release in JSON types: items, complete, privacy, secure, and charged where a budget was."""
        items: list[Json] = []
        for item in self.items:
            row: dict[str, Json] = {"item": forms.plain(item.item), "rank": item.rank}
            items.append(row if item.count is None else {**row, "count": item.count})
        found: dict[str, Json] = {
            "items": items,
            "complete": self.complete,
            "privacy": self.privacy.to_dict(),
            "secure": self.secure,
        }
        return found if self.charged is None else {**found, "charged": self.charged.to_dict()}

    def to_json(self) -> str:
        """The release as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def to_columns(self) -> dict[str, list[object]]:
        """Columns rank (but of a set), item and, where counts were released, count."""
        columns: dict[str, list[object]] = {"item": forms.column(self.labels)}
        if self.ranked:
            columns = {"rank": [item.rank for item in self.items], **columns}
        if self.has_counts:
            columns["count"] = [item.count for item in self.items]
        return columns

    def to_polars(self) -> polars.DataFrame:
        """A polars data frame."""
        frame: polars.DataFrame = forms.optional("polars", "polars").DataFrame(self.to_columns())
        return frame

    def to_pandas(self) -> Any:
        """A pandas data frame."""
        return forms.optional("pandas", "pandas").DataFrame(self.to_columns())

    def to_arrow(self) -> Any:
        """A pyarrow table."""
        return forms.optional("pyarrow", "pyarrow").table(self.to_columns())

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """A bar plot of the noisy counts, as a matplotlib figure; saved where a path is given."""
        if not self.has_counts:
            raise ParameterError(
                "counts", "be released for a plot", "a release without", "ask for them with counts=True"
            )
        labels = [forms.text(label) for label in self.labels]
        return plots.bars(labels, [item.count or 0 for item in self.items], self.privacy.promise, path)

    # ---- for people ---------------------------------------------------------------------------------------

    def __str__(self) -> str:
        table = [forms.text_table(self._shown())] if self.items else []
        return "\n".join([*table, *self._outcome(), "", *self._promise()])

    @property
    def notes(self) -> list[str]:
        """All that must be said beside the items, as lines for a person."""
        return [*self._outcome(), *self._promise()]

    def _promise(self) -> list[str]:
        """The price and the statement."""
        said = [textwrap.fill(s, 100, initial_indent="  ", subsequent_indent="    ") for s in self.privacy.sentences]
        return [*self._price(), *said]

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        table = forms.html_table(self._shown()) if self.items else ""
        lines = [*self._outcome(), *self._price(), *self.privacy.sentences]
        return table + "".join(f"<p>{html.escape(line)}</p>" for line in lines)

    def _price(self) -> list[str]:
        """The promise, and what a budget was charged for it."""
        if self.charged is None:
            return [f"spent: {self.privacy.promise}"]
        return [f"promise: {self.privacy.promise}", f"charged: {self.charged.sentence}"]

    def _shown(self) -> dict[str, list[object]]:
        """Columns for a person, who is told what an unseen item is."""
        return {**self.to_columns(), "item": [forms.text(label) for label in self.labels]}

    def _outcome(self) -> list[str]:
        """What the reader must know beside the table."""
        lines = []
        if not self.complete:
            wanted = self.privacy.parameters.get("k")
            found = f"{len(self)} items" if wanted is None else f"{len(self)} of at most {wanted} items"
            ended = "no more were discovered" if "discovered" in self.privacy.parameters else "bottom was drawn"
            lines.append(f"{found}: {ended}, so the rest is not far enough above the threshold to tell")
        elif not self.items:
            lines.append("no items: none is shared by enough users to tell")
        if not self.secure:
            lines.append("NOT SECURE: made with draws for tests, do not publish")
        return lines
