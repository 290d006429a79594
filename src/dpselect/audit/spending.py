"""Pictures of spending: the share of each budget that is used after every entry of a ledger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from dpselect._ground.dataclass import dataclass
from dpselect.audit.sums import replay
from dpselect.release.panels import Axis, Chart, Line
from dpselect.release.picture import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpselect.ledger import Ledger


@dataclass(frozen=True)
class SpentSoFar:
    """An entry's number, its day, and the share of a budget that is used after it."""

    entry: int
    day: str
    part: float


def draw_picture(lines: Mapping[str, Sequence[SpentSoFar]], x_label: str = "entry of the ledger") -> Picture:
    """Draw a line of steps for each budget, against the numbers of `x_label`."""
    points = [point for line_points in lines.values() for point in line_points]
    days = sorted({point.day for point in points})
    date_range = f", from {days[0]} to {days[-1]}" if len(days) > 1 else f", of {days[0]}" if days else ""
    entries = sorted({point.entry for point in points})
    x_axis = Axis.from_values(f"{x_label}{date_range}", map(float, entries))
    whole_ticks = [(position, label) for position, label in x_axis.ticks if position == round(position)]
    x_axis = Axis(x_axis.name, x_axis.low, x_axis.high, whole_ticks)
    chart_lines = [
        Line(name, [(point.entry, 100 * point.part) for point in line_points], steps=True)
        for name, line_points in lines.items()
    ]
    chart = Chart(chart_lines, x_axis, Axis.from_values("percent of the budget used", [0, 100]))
    final_shares = {
        name: f"{100 * line_points[-1].part:.0f} % used." for name, line_points in lines.items() if line_points
    }
    summary = " ".join(f"{name}: {end}" if name else end for name, end in final_shares.items())
    title = "How much of each budget is used"
    return Picture(title, [chart], [], f"{title}{date_range}. {summary or 'Nothing was spent.'}")


def plot(ledger: Ledger, *, analyst: str | None, data: str | None, ax: Axes | Iterable[Axes] | None) -> Picture:
    """Draw a line for the data and one for every analyst; in each period, where the data have periods."""
    lines: dict[str, list[SpentSoFar]] = {}
    for entry, question, sums in replay(ledger.entries()):
        is_selected = analyst in (None, entry.account.analyst) and data in (None, entry.account.dataset)
        for period in question.periods if is_selected and (entry.question or entry.refers_to) else ():
            standing = sums.standing(entry.account, period)
            if standing is None:
                continue
            everybody_used = standing.data.promise.limits.part(standing.all.total.as_spent)
            owners = {f"everybody on {standing.data.dataset!r}": everybody_used, str(entry.account): 1 - standing.left}
            for name, used_share in owners.items():
                line = lines.setdefault(f"{name} in {period}" if period else name, [])
                line.append(SpentSoFar(entry.number, entry.at[:10], float(used_share)))
    return draw_picture(lines).on(ax)
