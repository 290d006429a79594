"""Shapes: what the pictures of the gateway are made of. Colours are attributes that a page's style may replace."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from dpselect.release.table import width

WIDTH, TOP = 330, 8  # of a picture on a page, which may be a telephone
BAR, INK, LINE = "#3d76ad", "#1b1f24", "#c3cbd3"


@dataclass(frozen=True)
class Drawing:
    """One picture without its frame: what it is of, what it shows in words, its shapes."""

    title: str
    finding: str
    shapes: str
    height: int
    width: int = WIDTH


def text(x: float, y: float, said: str, anchor: str = "start", size: int = 13, weight: str = "normal") -> str:
    """A line of text."""
    more = "" if anchor == "start" else f' text-anchor="{anchor}"'
    more += "" if weight == "normal" else f' font-weight="{weight}"'
    return f'<text x="{n(x)}" y="{n(y)}" font-size="{size}" fill="{INK}"{more}>{escape(said)}</text>'


def shortened(said: str, room: int) -> str:
    """A text of so many columns at most."""
    if width(said) <= room:
        return said
    while said and width(said) >= room:
        said = said[:-1]
    return f"{said}\N{HORIZONTAL ELLIPSIS}"


def n(value: float) -> str:
    """A coordinate of at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")
