"""Picture: panels with a title and a caption, and all in words for who cannot see it, from the release alone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpselect._ground.dataclass import dataclass
from dpselect.errors import OutputError, ParameterError
from dpselect.release.panels import Axis, Chart, Panel, RowPanel, line_names
from dpselect.release.svg import BAR, DASHES, LINES

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MAX_LABEL_CHARACTERS = 40  # characters of a label beside its bar
STYLES = ["-", "--", ":"][: len(DASHES)]


@dataclass(frozen=True, repr=False)
class Picture:
    """Panels with a title, lines of text below, and all in words: `alt`.

    A notebook shows it in the colours of its page. A line of the same name has the same colour in every panel.
    """

    title: str
    panels: Sequence[Panel]
    caption: Sequence[str]
    alt: str

    @property
    def names(self) -> list[str]:
        """The names of lines that have one, for a legend."""
        return line_names(self.panels)

    def svg(self, theme: str = "auto") -> str:
        """Return the picture as SVG, which loads nothing.

        Args:
            theme: "light", "dark", or "auto", which follows the reader's system or page.
        """
        from dpselect.release import svg

        return svg.svg_file(self.title, self.panels, self.caption, self.alt, theme)

    def html(self, *, style: bool = True) -> str:
        """Return the picture for a page, in the page's colours; without its `style` if the page has it already."""
        from dpselect.release import svg

        div = svg.html(self.title, self.panels, self.caption, self.alt)
        return f"<div><style>{svg.STYLE}</style>{div}</div>" if style else div

    def save(self, path: str | os.PathLike[str], theme: str = "auto") -> None:
        """Write the SVG to a file, whose name must end in .svg.

        Args:
            path: The file.
            theme: "light", "dark", or "auto", which follows the reader's system or page.
        """
        from dpselect.release.files import save

        if Path(path).suffix.lower() != ".svg":
            hint = "hint: for other kinds draw it by Matplotlib: plot(ax=axes)"
            raise OutputError(f"{os.fspath(path)} cannot be written: a picture's name must end in .svg\n{hint}")
        save(path, self.svg(theme))

    def on(self, ax: Axes | Iterable[Axes] | None) -> Picture:
        """Return the picture, drawn also on Matplotlib's axes if they are given: one, or one for each panel."""
        if ax is not None:
            plot_panels(self.title, self.panels, self.caption, ax)
        return self

    def __repr__(self) -> str:
        return self.alt

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        return self.html()


def plot_panels(title: str, panels: Sequence[Panel], caption: Sequence[str], ax: Axes | Iterable[Axes]) -> None:
    """Plot each panel on axes of its own; the caption is added to the name of the last one's scale."""
    all_axes = list(ax.flat if hasattr(ax, "flat") else ax) if isinstance(ax, Iterable) else [ax]
    if len(all_axes) != len(panels):
        hint = f"such as plt.subplots(1, {len(panels)})[1]"
        raise ParameterError("ax", f"have {len(panels)} axes, one for each panel", len(all_axes), hint)
    named_lines = line_names(panels)
    for axes, panel in zip(all_axes, panels, strict=True):
        axes.set_title(panel.title or title, loc="left", parse_math=False)
        axes.spines[["top", "right"]].set_visible(False)
        _plot_rows(panel, axes) if isinstance(panel, RowPanel) else _plot_lines(panel, named_lines, axes)
    label = "\n".join([all_axes[-1].get_xlabel(), *caption])
    all_axes[-1].set_xlabel(label, parse_math=False, wrap=True)
    if named_lines:
        for entry in all_axes[0].legend(frameon=False).get_texts():
            entry.set_parse_math(False)


def _plot_rows(panel: RowPanel, axes: Axes) -> None:
    ink, positions = axes.xaxis.label.get_color(), range(len(panel.marks))
    for position, mark in enumerate(panel.marks):
        if mark.bar is not None:
            axes.barh(position, mark.bar, color=BAR, height=0.6)
        if mark.high is not None:
            low = panel.across.low if mark.low is None else mark.low
            axes.plot([low, mark.high], [position, position], color=ink, linewidth=1.2, marker="|", markersize=6)
        axes.plot(mark.dots, [position] * len(mark.dots), "o", color=BAR)
    labels = [f"{mark.rank}  {_short(mark.label)}".lstrip() for mark in panel.marks]
    axes.set_yticks(positions, labels, parse_math=False)
    axes.set_ylim(max(len(panel.marks), 1) - 0.5, -0.5)
    _set_x_axis(axes, panel.across)


def _plot_lines(panel: Chart, named_lines: list[str], axes: Axes) -> None:
    for line in panel.lines:
        index = named_lines.index(line.name) if line.name else 0
        colour, dashes = LINES[index % len(LINES)], STYLES[index % len(STYLES)]
        xs, ys = [x for x, _ in line.points], [y for _, y in line.points]
        if line.filled:
            axes.fill_between(xs, ys, step="post", color=BAR)
        else:
            marker = "" if line.steps and len(xs) > 1 else "o"
            drawstyle = "steps-post" if line.steps else "default"
            style: dict[str, Any] = {"color": colour, "linestyle": dashes, "marker": marker, "markersize": 4}
            axes.plot(xs, ys, drawstyle=drawstyle, label=line.name, **style)
    _set_x_axis(axes, panel.across)
    _set_y_axis(axes, panel.up)


def _set_x_axis(axes: Axes, axis: Axis) -> None:
    """Set the ends of the scale below, its numbers and its name."""
    axes.set_xscale("log" if axis.log else "linear")
    axes.set_xlim(axis.low, axis.high)
    axes.set_xticks([position for position, _ in axis.ticks], [tick_text for _, tick_text in axis.ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel(axis.name, parse_math=False)


def _set_y_axis(axes: Axes, axis: Axis) -> None:
    """Set the ends of the scale at the side and its numbers; its name is the title."""
    axes.set_yscale("log" if axis.log else "linear")
    axes.set_ylim(axis.low, axis.high)
    axes.set_yticks([position for position, _ in axis.ticks], [tick_text for _, tick_text in axis.ticks])
    axes.set_yticks([], minor=True)


def _short(label: str) -> str:
    return label if len(label) <= MAX_LABEL_CHARACTERS else f"{label[: MAX_LABEL_CHARACTERS - 1]}…"
