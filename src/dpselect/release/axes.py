"""The picture on Matplotlib's axes, for who composes a figure there, in the figure's colours of words and ground."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from dpselect.errors import ParameterError
from dpselect.release.panels import Axis, Chart, Panel, RowPanel, line_names
from dpselect.release.svg import BAR, DASHES, LINES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONGEST = 40  # characters of a label beside its bar
STYLES = ["-", "--", ":"][: len(DASHES)]


def plot_panels(title: str, panels: Sequence[Panel], caption: Sequence[str], ax: Axes | Iterable[Axes]) -> None:
    """Each panel on axes of its own; what is said below goes to the last one's scale."""
    given = list(ax.flat if hasattr(ax, "flat") else ax) if isinstance(ax, Iterable) else [ax]
    if len(given) != len(panels):
        hint = f"such as plt.subplots(1, {len(panels)})[1]"
        raise ParameterError("ax", f"have {len(panels)} axes, one for each panel", len(given), hint)
    known = line_names(panels)
    for axes, panel in zip(given, panels, strict=True):
        axes.set_title(panel.title or title, loc="left", parse_math=False)
        axes.spines[["top", "right"]].set_visible(False)
        _rows(panel, axes) if isinstance(panel, RowPanel) else _lines(panel, known, axes)
    said = "\n".join([given[-1].get_xlabel(), *caption])
    given[-1].set_xlabel(said, parse_math=False, wrap=True)
    if known:
        for entry in given[0].legend(frameon=False).get_texts():
            entry.set_parse_math(False)


def _rows(panel: RowPanel, axes: Axes) -> None:
    ink, places = axes.xaxis.label.get_color(), range(len(panel.marks))
    for place, mark in enumerate(panel.marks):
        if mark.bar is not None:
            axes.barh(place, mark.bar, color=BAR, height=0.6)
        if mark.high is not None:
            low = panel.across.low if mark.low is None else mark.low
            axes.plot([low, mark.high], [place, place], color=ink, linewidth=1.2, marker="|", markersize=6)
        axes.plot(mark.dots, [place] * len(mark.dots), "o", color=BAR)
    names = [f"{mark.rank}  {_short(mark.label)}".lstrip() for mark in panel.marks]
    axes.set_yticks(places, names, parse_math=False)
    axes.set_ylim(max(len(panel.marks), 1) - 0.5, -0.5)
    _across(axes, panel.across)


def _lines(panel: Chart, known: list[str], axes: Axes) -> None:
    for line in panel.lines:
        place = known.index(line.name) if line.name else 0
        colour, dashes = LINES[place % len(LINES)], STYLES[place % len(STYLES)]
        across, up = [x for x, _ in line.points], [y for _, y in line.points]
        if line.filled:
            axes.fill_between(across, up, step="post", color=BAR)
        else:
            marker = "" if line.steps and len(across) > 1 else "o"
            kind = "steps-post" if line.steps else "default"
            look: dict[str, Any] = {"color": colour, "linestyle": dashes, "marker": marker, "markersize": 4}
            axes.plot(across, up, drawstyle=kind, label=line.name, **look)
    _across(axes, panel.across)
    _up(axes, panel.up)


def _across(axes: Axes, axis: Axis) -> None:
    """The ends of the scale below, its numbers and its name."""
    axes.set_xscale("log" if axis.log else "linear")
    axes.set_xlim(axis.low, axis.high)
    axes.set_xticks([at for at, _ in axis.ticks], [said for _, said in axis.ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel(axis.name, parse_math=False)


def _up(axes: Axes, axis: Axis) -> None:
    """The same of the scale at the side, whose name is the title."""
    axes.set_yscale("log" if axis.log else "linear")
    axes.set_ylim(axis.low, axis.high)
    axes.set_yticks([at for at, _ in axis.ticks], [said for _, said in axis.ticks])
    axes.set_yticks([], minor=True)


def _short(label: str) -> str:
    return label if len(label) <= LONGEST else f"{label[: LONGEST - 1]}…"
