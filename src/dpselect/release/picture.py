"""Picture: panels with a title and a caption, and all in words for who cannot see it, from the release alone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpselect.errors import OutputError
from dpselect.release.panels import Panel, line_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
            from dpselect.release.axes import plot_panels

            plot_panels(self.title, self.panels, self.caption, ax)
        return self

    def __repr__(self) -> str:
        return self.alt

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        return self.html()
