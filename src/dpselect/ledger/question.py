"""Questions: what was asked of which data, as one text. The same text means the same question of the same data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction

from dpselect.parameters import rounded_up
from dpselect.release.formatting import Json


@dataclass(frozen=True)
class Question:
    """The text, and whether it pins down the data: only then is a stored answer the answer to it."""

    text: str
    repeatable: bool


def summary(text: str) -> str:
    """A question for a person: the verb, what matters most of what was asked, and of which columns."""
    body = json.loads(text)
    asked, data = body["asked"], body["data"]
    names = ("k", "q", "k_star", "l_star", "epsilon", "delta", "epsilon_per_pick", "delta_per_query")
    said = [f"{name}={_short(asked[name])}" for name in names if asked.get(name) is not None]
    said += ["counts"] if asked.get("counts") is True else []
    said += ["of a known domain"] if asked.get("domain") is not None else []
    of = [f"{name}={_short(data[name])}" for name in ("user", "item", "text", "where") if data.get(name) is not None]
    return " ".join([body["verb"], *said, *(["from", *of] if of else [])])


def _short(value: Json) -> str:
    try:
        return rounded_up(Fraction(str(value)))
    except ValueError:
        text = str(value)
        return text if len(text) <= 40 else text[:39] + "…"
