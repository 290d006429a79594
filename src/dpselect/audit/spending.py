"""The spending of budgets as a picture: the part of each that is used after every entry of a ledger."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpselect.audit.verification import Sums
from dpselect.release.panels import Axis, Chart, Line
from dpselect.release.picture import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpselect.ledger.entry import Entry
    from dpselect.ledger.ledger import Ledger
    from dpselect.ledger.standing import Standing


@dataclass(frozen=True)
class SpentSoFar:
    """After an entry of a ledger: its number, its day, the part of a budget that is used."""

    entry: int
    day: str
    part: float


def picture(lines: Mapping[str, Sequence[SpentSoFar]], what: str = "entry of the ledger") -> Picture:
    """A line of steps for each budget, against the numbers of `what`."""
    points = [point for of_line in lines.values() for point in of_line]
    days = sorted({point.day for point in points})
    when = f", from {days[0]} to {days[-1]}" if len(days) > 1 else f", of {days[0]}" if days else ""
    entries = sorted({point.entry for point in points})
    across = Axis.from_values(f"{what}{when}", map(float, entries))
    whole = [(at, said) for at, said in across.ticks if at == round(at)]
    across = Axis(across.name, across.low, across.high, whole)
    drawn = [
        Line(name, [(one.entry, 100 * one.part) for one in of_line], steps=True) for name, of_line in lines.items()
    ]
    chart = Chart(drawn, across, Axis.from_values("percent of the budget used", [0, 100]))
    ends = {name: f"{100 * of_line[-1].part:.0f} % used." for name, of_line in lines.items() if of_line}
    told = " ".join(f"{name}: {end}" if name else end for name, end in ends.items())
    title = "How much of each budget is used"
    return Picture(title, [chart], [], f"{title}{when}. {told or 'Nothing was spent.'}")


def plot(ledger: Ledger, *, analyst: str | None, data: str | None, ax: Axes | Iterable[Axes] | None) -> Picture:
    """Draw a line for the data and one for every analyst; in each period, where the data have periods."""

    def meant(entry: Entry) -> bool:
        return analyst in (None, entry.account.analyst) and data in (None, entry.account.dataset)

    lines: dict[str, list[SpentSoFar]] = {}
    for entry, when, standing in _standings(ledger.entries()):
        if standing is None or not meant(entry):
            continue
        everybody = standing.data.promise.limits.part(standing.all.total.sums)
        whose = {f"everybody on {standing.data.dataset!r}": everybody, str(entry.account): 1 - standing.left}
        for name, used in whose.items():
            lines.setdefault(f"{name}{when}", []).append(SpentSoFar(entry.number, entry.at[:10], float(used)))
    return picture(lines).on(ax)


def _standings(entries: Iterable[Entry]) -> Iterator[tuple[Entry, str, Standing | None]]:
    """Each entry of a question, in which period, and how its account stands after it there."""
    sums = Sums()
    parts: dict[int, Sequence[str]] = {}
    for entry in entries:
        for _ in sums.problems(entry):
            pass  # verify tells of them
        parts[entry.number] = parts.get(entry.refers_to or 0) or list(entry.parts)
        for period in parts[entry.number] if entry.question or entry.refers_to else []:
            yield entry, f" in {period}" if period else "", sums.standing(entry.account, period)
