"""What came back and every form it is written in. Import from here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpselect._ground.first_use import lazy_attributes

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpselect._ground.privacy import Neighbors
    from dpselect.release.archive import restore_release
    from dpselect.release.charts import draw_release
    from dpselect.release.formatting import Json
    from dpselect.release.formatting import price as format_price
    from dpselect.release.formatting import text as format_text
    from dpselect.release.notebook import STYLE_DIGEST
    from dpselect.release.notebook import html as leaflet_html
    from dpselect.release.statement import Ended, Kind
    from dpselect.release.svg import DIGEST as PICTURE_STYLE_DIGEST
    from dpselect.release.typed import label_to_json

_HOMES = {
    "Ended": "statement",
    "Json": "formatting",
    "Kind": "statement",
    "Neighbors": "dpselect._ground.privacy",
    "PICTURE_STYLE_DIGEST": "svg:DIGEST",
    "STYLE_DIGEST": "notebook",
    "draw_release": "charts",
    "format_price": "formatting:price",
    "format_text": "formatting:text",
    "label_to_json": "typed",
    "leaflet_html": "notebook:html",
    "restore_release": "archive",
}

__all__ = [
    "PICTURE_STYLE_DIGEST",
    "STYLE_DIGEST",
    "Ended",
    "Json",
    "Kind",
    "Neighbors",
    "draw_release",
    "format_price",
    "format_text",
    "label_to_json",
    "leaflet_html",
    "restore_release",
]

__getattr__: Callable[[str], object] = lazy_attributes(__name__, _HOMES)
