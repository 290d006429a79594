"""Every kind of picture that dpselect draws of the demonstration's data, and the page with them.

Writes docs/figures/gallery-*.svg and docs/gallery.md. Nothing is measured; each run draws anew, so counts differ.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import dpselect as dps
from dpselect.demo import write_listening_events

DOCS = Path(__file__).resolve().parents[1] / "docs"
FIGURES, PAGE = DOCS / "figures", DOCS / "gallery.md"
USERS = 20_000
SVG = "{http://www.w3.org/2000/svg}"
COUNTRIES = ["France", "Germany", "India", "Japan", "Mexico", "Poland"]
DAYS = 12

INTRODUCTION = """\
# Gallery

Every picture that dpselect draws, with the call that makes it, using the data of `dpselect demo`.
Noise is random, so your numbers will differ.

`plot` returns a picture and needs no other package.

- `picture.save("top.svg")` writes an SVG that follows the reader's theme; `theme="dark"` fixes it.
- `picture.alt` describes it in words.

A picture shows only what was released, so it costs nothing and may be published.

For a PNG or PDF, pass Matplotlib's axes (`pip install matplotlib`), one for each panel:

```py
figure, ax = plt.subplots()
artists.top_k(10, epsilon=1, counts=True).plot(ax=ax)
figure.savefig("top.png", bbox_inches="tight")
```

The calls below use

```py
artists = dps.Dataset("events.parquet", user="user", item="artist")
three = dps.Dataset("events.parquet", user="user", item="artist", max_items_per_user=3)
minutes = dps.Dataset("events.parquet", user="user", item="minutes")
countries = dps.Dataset("events.parquet", user="user", item="country")
```
"""


@dataclass(frozen=True)
class Picture:
    """One kind of picture: its name in a file, its heading, what to know of it, and the call, which is also run."""

    name: str
    heading: str
    words: str
    call: str

    @property
    def file(self) -> Path:
        """Where it is."""
        return FIGURES / f"gallery-{self.name}.svg"


PICTURES = (
    Picture(
        "top",
        "The top k, with counts",
        "Best first; each error bar contains the item's true number of users with 95 % confidence.",
        "artists.top_k(10, epsilon=1, counts=True).plot()",
    ),
    Picture(
        "ranks",
        "The top k, without counts",
        "The mark on the right is the most by which a lower or missing item could exceed this one, in users.",
        "artists.top_k(5, epsilon=1).plot()",
    ),
    Picture(
        "groups",
        "The top k of every group",
        "One panel for each of the first 12 groups, with its own scale.",
        'country = dps.By("country", groups=["France", "Germany", "Japan"], max_groups_per_user=1)\n'
        "artists.top_k(5, epsilon=1, by=country, counts=True).plot()",
    ),
    Picture(
        "sums",
        "The largest sums",
        "Items by minutes played; a user adds at most 60 to each.",
        'artists.top_k(8, epsilon=1, score=dps.Total("minutes", at_most=60), counts=True).plot()',
    ),
    Picture(
        "histogram",
        "A histogram",
        "In the domain's order; all error bars contain their true values at the same time, with 95 % confidence.",
        'countries.histogram(domain=COUNTRIES, epsilon="0.05").plot()',
    ),
    Picture(
        "union",
        "A set, with counts",
        "A set has no ranks; the first 50 items are drawn.",
        'three.union(epsilon="0.1", counts=True).plot()',
    ),
    Picture(
        "quantiles",
        "Quantiles",
        "Each dot is a noisy quantile; the line runs from the first to the last.",
        "minutes.quantile([0.1, 0.25, 0.5, 0.75, 0.9], bounds=(0, 60), step=1, epsilon=1).plot()",
    ),
    Picture(
        "distribution",
        "Many quantiles: a distribution",
        "With nine or more quantiles, steps show the share of users up to each value, and bars between round numbers "
        "spread the users between two quantiles evenly.\n"
        "The error of a step is a number of users, not a share, because the number of all users is private.",
        "minutes.quantile([place / 20 for place in range(1, 20)], bounds=(0, 60), step=1, epsilon=1).plot()",
    ),
    Picture(
        "quantile-groups",
        "Quantiles of every group",
        "A line for each group.",
        'country = dps.By("country", groups=COUNTRIES, max_groups_per_user=1)\n'
        "minutes.quantile([0.1, 0.5, 0.9], bounds=(0, 60), step=1, epsilon=1, by=country).plot()",
    ),
    Picture(
        "forecast",
        "A forecast",
        "What to expect from each method at each epsilon, without data or budget.",
        "people = dps.Population(5_000, items=1_000)\n"
        'dps.TopK(10).forecast(people, max_items_per_user=10, epsilon=["0.1", "0.3", 1]).plot()',
    ),
    Picture(
        "ledger",
        "The spending of a ledger",
        "How much of each budget is used after each entry; `dpselect ledger show --plot` draws the same.\n"
        "A line falls when an answer cost less than its reserve.",
        "ledger.plot()",
    ),
)


# ---- what the calls speak of ------------------------------------------------------------------------------


@contextmanager
def names(folder: Path) -> Iterator[dict[str, Any]]:
    """The names in the calls: data sets, and a ledger in which two analysts have asked."""
    events = folder / "events.parquet"
    write_listening_events(events, users=USERS)
    items = {"artists": "artist", "minutes": "minutes", "countries": "country"}
    found: dict[str, Any] = {name: dps.Dataset(events, user="user", item=item) for name, item in items.items()}
    with dps.Ledger.create(folder / "ledger.sqlite") as ledger:
        ledger.data("plays", "0.9", "1e-5")
        for analyst, epsilon in (("ann", "0.5"), ("bob", "0.4")):
            ledger.grant(dps.Account("plays", analyst), epsilon, "4e-6")
        for day in range(DAYS):
            budget = dps.Budget.open(folder / "ledger.sqlite", analyst="bob" if day % 3 == 2 else "ann", data="plays")
            asked = dps.Dataset(events, user="user", item="artist", where=f"minutes > {day}", budget=budget)
            asked.top_k(5, epsilon="0.2", delta="1e-8")
        found["three"] = dps.Dataset(events, user="user", item="artist", max_items_per_user=3)
        yield {**found, "dps": dps, "COUNTRIES": COUNTRIES, "ledger": ledger}


def draw() -> None:
    """All pictures."""
    with tempfile.TemporaryDirectory() as folder, names(Path(folder)) as known:
        for picture in PICTURES:
            before, _, call = picture.call.rpartition("\n")
            here = dict(known)
            exec(before, here)
            eval(call, here).save(picture.file)


# ---- the page ---------------------------------------------------------------------------------------------


def alt(file: Path) -> str:
    """The first sentence of what an SVG says of itself; the numbers after it are those of one draw."""
    return ElementTree.parse(file).getroot().findtext(f"{SVG}desc", "").partition(". ")[0].removesuffix(".") + "."


def page() -> str:
    """The gallery in Markdown."""
    parts = [INTRODUCTION]
    for picture in PICTURES:
        said = alt(picture.file).replace("[", "\\[").replace("]", "\\]")
        shown = f"![{said}](figures/{picture.file.name})\n"
        parts.append(f"## {picture.heading}\n\n{picture.words}\n\n```py\n{picture.call}\n```\n\n{shown}")
    return "\n".join(parts)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--page", action="store_true", help="only write docs/gallery.md, of the pictures that are there"
    )
    if not parser.parse_args().page:
        draw()
    PAGE.write_text(page(), "utf-8")
