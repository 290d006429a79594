"""A release: what was found, how good it is, and what it cost. Everything in it is safe to publish."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from dpselect import forms, plots, release_json, saving
from dpselect.accuracy import NOTHING, TIMES, Accuracy
from dpselect.errors import ParameterError
from dpselect.forms import Json
from dpselect.leaflet import HEAD, Leaflet
from dpselect.statement import Item, Receipt, Statement

if TYPE_CHECKING:
    import polars
    from matplotlib.figure import Figure

__all__ = ["Accuracy", "Item", "Receipt", "Release", "Statement"]

GOOD = f"how good it is (each line {TIMES} times of 100):"
Place = str | os.PathLike[str]


@dataclass(frozen=True, repr=False)
class Release:
    """The items that were selected, best first, how good they are, and the privacy statement.

    `complete` is False where bottom, or a lack of discovered items, ended the list before k items were found. `secure`
    is False where the draws were made for tests. `charged` is the receipt of a ledger or a session, which may be less
    than the statement's price. A release is a sequence of its items.
    """

    items: tuple[Item, ...]
    complete: bool
    privacy: Statement
    secure: bool
    charged: Receipt | None = None
    accuracy: Accuracy = NOTHING

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, place: int) -> Item: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Item, ...]: ...
    def __getitem__(self, place: int | slice) -> Item | tuple[Item, ...]:
        return self.items[place]

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
        """The release in JSON types: items, complete, accuracy, privacy, secure, exact, and charged by a budget."""
        return release_json.to_dict(self.items, self.privacy, self.accuracy, self.charged, self.complete, self.secure)

    @overload
    def to_json(self, path: None = None) -> str: ...
    @overload
    def to_json(self, path: Place) -> None: ...
    def to_json(self, path: Place | None = None) -> str | None:
        """The release as JSON, in a file or as text; `from_json` reads either."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        if path is None:
            return text
        saving.save(path, f"{text}\n")
        return None

    @classmethod
    def from_json(cls, text: Place) -> Release:
        """The release that `to_json` wrote: its text, or the path of a file with it."""
        found = release_json.parsed(text)
        return cls(**found)

    @overload
    def to_csv(self, path: None = None) -> str: ...
    @overload
    def to_csv(self, path: Place) -> None: ...
    def to_csv(self, path: Place | None = None) -> str | None:
        """The table as comma-separated values, in a file or as text. A spreadsheet may take a label for a formula."""
        text = saving.csv_text(self.to_columns())
        if path is None:
            return text
        saving.save(path, text)
        return None

    def to_parquet(self, path: Place) -> None:
        """The table as a Parquet file."""
        saving.save(path, saving.parquet_bytes(self.to_columns()))

    def to_columns(self) -> dict[str, list[object]]:
        """Columns rank (but of a set), item and, where counts were released, count, low, high; quantiles: q, value."""
        columns: dict[str, list[object]] = {self._name: forms.column(self.labels)}
        if self._asked:
            return {"q": [float(q) for q in self._asked], **columns}
        if self.ranked:
            columns = {"rank": [item.rank for item in self.items], **columns}
        if self.has_counts:
            columns["count"] = [item.count for item in self.items]
            columns |= {name: [getattr(item, name) for item in self.items] for name in self._ends}
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

    def plot(self, path: Place | None = None) -> Figure:
        """A bar plot of the noisy counts, a matplotlib figure that a notebook shows; saved where a path is given."""
        if not self.has_counts:
            raise ParameterError(
                "counts", "be released for a plot", "a release without", "ask for them with counts=True"
            )
        bars = [plots.Bar(forms.text(i.item), i.count or 0, i.low, i.high) for i in self.items]
        return plots.bars(bars, self.privacy.promise, path)

    # ---- for people ---------------------------------------------------------------------------------------

    def __str__(self) -> str:
        return self._leaflet().text(HEAD)

    def __repr__(self) -> str:
        return str(self)  # what an interactive Python shows of a last line

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self._leaflet().html()

    @property
    def text(self) -> str:
        """What `print` shows, with every item."""
        return self._leaflet().text()

    @property
    def notes(self) -> list[str]:
        """All that must be said beside the items, as lines for a person."""
        return self._leaflet().notes

    def _leaflet(self) -> Leaflet:
        """For a person, who is told what an unseen item is."""
        if self.charged is None:
            price = [f"spent: {self.privacy.promise}"]
        else:
            price = [f"promise: {self.privacy.promise}", f"charged: {self.charged.sentence}"]
        names = [forms.text(label) for label in self.labels]
        return Leaflet(
            table={**self.to_columns(), self._name: names},
            left=() if self._asked else (self._name,),
            outcome=self._outcome(),
            good=GOOD,
            accuracy=self.accuracy.sentences,
            price=price,
            how=self.privacy.sentences,
        )

    def _outcome(self) -> list[str]:
        """What the reader must know beside the table. It depends on how many items came back, and on nothing else."""
        lines: list[str] = []
        wanted = self.privacy.parameters.get("k")
        if not self.complete:
            found = f"{len(self)} items" if wanted is None else f"{len(self)} of at most {wanted} items"
            lines.append(f"{found}: no other has enough users to tell")
        elif not self.items:
            lines.append("no items: none is shared by enough users to tell")
        if not self.items:
            fewer = ", fewer k" if wanted is not None else ""
            lines.append(f"what to look at: the filter and the column of items, a larger epsilon or delta{fewer}")
        if not self.secure:
            lines.append("NOT SECURE: made with draws for tests, do not publish")
        return lines

    # ---- what kind of table it is -------------------------------------------------------------------------

    @property
    def _asked(self) -> tuple[Any, ...]:
        """The q of every item, where the items are quantiles."""
        q = self.privacy.parameters.get("q") if self.privacy.mechanism == "Quantile" else None
        return q if isinstance(q, tuple) and len(q) == len(self.items) else ()

    @property
    def _name(self) -> str:
        return "value" if self._asked else "item"

    @property
    def _ends(self) -> tuple[str, ...]:
        """The columns of intervals; releases made before there were any have none."""
        return ("low", "high") if "width_of_counts" in self.accuracy.numbers else ()
