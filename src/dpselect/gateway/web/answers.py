"""An answer in every form: as its JSON, a table, a picture, a page."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import replace

from dpselect._ground.dataclass import dataclass
from dpselect.gateway.answers import PaidAnswer
from dpselect.gateway.pages.words import format_question

CSV = "text/csv; charset=utf-8"


@dataclass(frozen=True)
class AnswerForm:
    """A form of an answer: its media type, its description in words, and its writer."""

    media: str
    description: str
    write: Callable[[PaidAnswer], bytes]
    download: bool = False


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _svg(answer: PaidAnswer) -> bytes:
    return _encode(replace(answer.release.plot(), title=format_question(answer.question)).svg())


def _html(answer: PaidAnswer) -> bytes:
    """Return a page with the release as a notebook shows it, and its picture."""
    from dpselect.release import draw_release

    title, picture = (
        html.escape(format_question(answer.question)),
        draw_release(answer.release) if answer.release.items else None,
    )
    head = f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
    head += '<meta name="viewport" content="width=device-width,initial-scale=1">'
    head += '<meta name="color-scheme" content="light dark"></head>'
    release_html = answer.release._repr_html_() + (picture.html() if picture else "")
    return _encode(f"{head}<body><main><h1>{title}</h1>{release_html}</main></body></html>")


ANSWER_FORMS = {
    "json": AnswerForm("application/json", "as JSON", lambda answer: answer.json),
    "csv": AnswerForm(CSV, "as CSV, without formulas", lambda answer: _encode(answer.release.to_csv()), download=True),
    "plain-csv": AnswerForm(
        CSV,
        "as CSV, with labels as they are",
        lambda answer: _encode(answer.release.to_csv(escape=False)),
        download=True,
    ),
    "parquet": AnswerForm(
        "application/vnd.apache.parquet", "as Parquet", lambda answer: answer.release._parquet(), download=True
    ),
    "svg": AnswerForm("image/svg+xml", "as a picture", _svg),
    "html": AnswerForm("text/html; charset=utf-8", "as a page", _html),
}
