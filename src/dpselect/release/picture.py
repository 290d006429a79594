"""Picture: the one quiet look that all plots share, in light and dark, and how a figure is saved and shown.

A saved SVG holds its text as text in fonts that every system has, loads nothing, and says what it shows in words.
"""

from __future__ import annotations

import io
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpselect.errors import OutputError, ParameterError
from dpselect.release.formatting import optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Place = str | os.PathLike[str]
LONGEST = 40  # characters of an item beside its bar
DOTS, SHARP = 100, 150  # dots per inch in a notebook, and of a saved picture


@dataclass(frozen=True)
class Theme:
    """Colours: of the ground, of words and whiskers, of what is beside the point, of scales, of bars and lines."""

    ground: str
    ink: str
    grey: str
    grid: str
    bar: str
    lines: tuple[str, ...]


THEMES = {
    "light": Theme(
        ground="#ffffff",
        ink="#22272e",
        grey="#57606a",
        grid="#dfe3e8",
        bar="#4f86b8",
        lines=("#33689c", "#b8552b", "#2f7d4f", "#8a4f9e", "#8c6d1f", "#a33c5c", "#3b8088", "#5f6670"),
    ),
    "dark": Theme(
        ground="#15191e",
        ink="#e4e7eb",
        grey="#a2abb6",
        grid="#333b45",
        bar="#4a86bd",
        lines=("#7fb3e3", "#ee9b6f", "#77c596", "#c79bd8", "#d9bd66", "#ee8ba6", "#7fc9d1", "#b3bac4"),
    ),
}


def themed(name: str) -> Theme:
    """The theme of this name."""
    if name not in THEMES:
        raise ParameterError("theme", "be light or dark", name)
    return THEMES[name]


# ---- a figure ---------------------------------------------------------------------------------------------


def new_figure(size: tuple[float, float], theme: Theme) -> Figure:
    """A figure that a notebook shows as the last line of a cell; pyplot does not know it, so it is shown once."""
    make = optional("matplotlib.figure", "plots").Figure
    figure: Figure = make(figsize=size, layout="constrained", facecolor=theme.ground)
    shown = vars(figure)
    shown["alt"] = ""
    shown["_repr_png_"] = partial(png, figure)
    shown["_repr_mimebundle_"] = partial(bundle, figure)
    return figure


def finished(figure: Figure, title: str, alt: str, path: Place | None) -> Figure:
    """The figure with its words; saved where a path is given."""
    shown = vars(figure)
    shown["alt"], shown["headline"] = f"{title}. {alt}", title
    if path is not None:
        save(figure, Path(path))
    return figure


def clean(axes: Axes, theme: Theme, along: str = "x") -> None:
    """Nothing but what is drawn and the scales, with lines across from one of them."""
    axes.set_facecolor(theme.ground)
    axes.spines[["top", "right", "left" if along == "x" else "bottom"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(theme.grid)
    axes.tick_params(labelsize=9, color=theme.grid, labelcolor=theme.ink)
    axes.grid(axis="x" if along == "x" else "y", color=theme.grid, linewidth=0.6)
    axes.set_axisbelow(True)


def heading(figure: Figure, said: str, theme: Theme) -> None:
    """A small line over everything. Words are names, not formulas: a dollar sign must not start mathematics."""
    figure.suptitle(said, fontsize=8, color=theme.grey, x=0.01, ha="left", parse_math=False)


def shortened(label: str, room: int = LONGEST) -> str:
    """A label that leaves room for its bar."""
    return label if len(label) <= room else label[: room - 1] + "…"


def counted(drawn: int, of: int, what: str) -> str:
    """What is said before a caption where not all is drawn."""
    return f"the first {drawn:,} of {of:,} {what}; " if drawn < of else ""


# ---- as a file, and in a notebook -------------------------------------------------------------------------


def save(figure: Figure, path: Path) -> None:
    """Write the picture, or say that it could not be written."""
    try:
        if path.suffix.lower() == ".svg":
            path.write_text(svg(figure), "utf-8", newline="\n")
        else:
            with _without_letters():
                figure.savefig(path, dpi=SHARP, metadata=_words(figure, path.suffix.lower()))
    except (OSError, ValueError) as error:
        known = sorted(figure.canvas.get_supported_filetypes())
        if isinstance(error, ValueError) and path.suffix.lower().removeprefix(".") in known:
            raise
        why = error.strerror if isinstance(error, OSError) else f"its extension must be one of {', '.join(known)}"
        raise OutputError(f"the plot cannot be written to {path}: {why}") from None


@contextmanager
def _without_letters() -> Iterator[None]:
    """A label may have letters that no font here has: the picture shows boxes, and the warning would be about them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+", UserWarning)
        yield


def _words(figure: Figure, suffix: str) -> dict[str, str] | None:
    """Title and description, where a kind of file has a place for them."""
    words = vars(figure)
    place = {".png": "Description", ".pdf": "Subject"}.get(suffix)
    return None if place is None else {"Title": words.get("headline", ""), place: words["alt"]}


def svg(figure: Figure) -> str:
    """The picture as SVG: text stays text, nothing is loaded, and a title and a description come first."""
    content, words = io.StringIO(), vars(figure)
    fixed = {"svg.fonttype": "none", "svg.hashsalt": "dpselect"}
    with optional("matplotlib", "plots").rc_context(fixed), _without_letters():  # who shows the picture has them
        figure.savefig(content, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    _, _, drawn = content.getvalue().partition("<svg ")
    root, _, shapes = drawn.partition(">")
    shapes = re.sub(r"\s*<metadata>.*?</metadata>", "", shapes, count=1, flags=re.DOTALL)
    shapes = re.sub(r"\s*<defs>\s*<style[^>]*>[^<]*</style>\s*</defs>", "", shapes, count=1)
    said = f"<title>{escape(words.get('headline', ''))}</title>\n <desc>{escape(words['alt'])}</desc>"
    begun = '<?xml version="1.0" encoding="utf-8"?>\n<svg'
    return f'{begun} {root} role="img" stroke-linejoin="round">\n {said}{shapes}'


def png(figure: Figure) -> bytes:
    """The picture in dots."""
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=DOTS, metadata=_words(figure, ".png"))
    return content.getvalue()


def bundle(figure: Figure, include: object = None, exclude: object = None) -> tuple[dict[str, Any], dict[str, Any]]:  # noqa: ARG001
    """What a notebook shows: the sharp picture, one in dots for what shows no SVG, and the same words for both."""
    with _without_letters():
        dots = png(figure)
    words = {"alt": vars(figure)["alt"]}
    shown = {"image/svg+xml": svg(figure), "image/png": dots}
    return shown, dict.fromkeys(shown, words)
