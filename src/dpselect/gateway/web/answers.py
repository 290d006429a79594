"""An answer in every form: as its JSON, a table, a picture, a page."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass, replace

from dpselect.gateway.gateway import Answer
from dpselect.gateway.pages.words import asked


@dataclass(frozen=True)
class AnswerForm:
    """A form of an answer: its media type, what it is in words, and how it is written."""

    media: str
    said: str
    write: Callable[[Answer], bytes]
    download: bool = False


def _json(answer: Answer) -> bytes:
    return answer.json


def _csv(answer: Answer) -> bytes:
    return answer.release.to_csv().encode("utf-8", "backslashreplace")


def _plain_csv(answer: Answer) -> bytes:
    return answer.release.to_csv(escape=False).encode("utf-8", "backslashreplace")


def _parquet(answer: Answer) -> bytes:
    from dpselect.release import files

    return files.parquet_bytes(answer.release.to_columns())


def _svg(answer: Answer) -> bytes:
    drawn = replace(answer.release.plot(), title=asked(answer.question))
    return drawn.svg().encode("utf-8", "backslashreplace")


def _html(answer: Answer) -> bytes:
    """The release as a notebook shows it and its picture, on a page of its own."""
    from dpselect.release import charts

    title, picture = (
        html.escape(asked(answer.question)),
        charts.picture(answer.release) if answer.release.items else None,
    )
    head = f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
    head += '<meta name="viewport" content="width=device-width,initial-scale=1">'
    head += '<meta name="color-scheme" content="light dark"></head>'
    shown = answer.release._repr_html_() + (picture.html() if picture else "")
    return f"{head}<body><main><h1>{title}</h1>{shown}</main></body></html>".encode("utf-8", "backslashreplace")


FORMS = {
    "json": AnswerForm("application/json", "as JSON", _json),
    "csv": AnswerForm("text/csv; charset=utf-8", "as CSV, without formulas", _csv, download=True),
    "plain-csv": AnswerForm("text/csv; charset=utf-8", "as CSV, with labels as they are", _plain_csv, download=True),
    "parquet": AnswerForm("application/vnd.apache.parquet", "as Parquet", _parquet, download=True),
    "svg": AnswerForm("image/svg+xml", "as a picture", _svg),
    "html": AnswerForm("text/html; charset=utf-8", "as a page", _html),
}
