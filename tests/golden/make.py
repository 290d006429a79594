"""Makes the questions and releases that the tests here read, of invented rows: `python -m tests.golden.make`."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import dpselect as dps
from tests.golden.asked import MORE, QUESTIONS, data_set

HERE = Path(__file__).parent


def main() -> None:
    """Write every file anew."""
    for name, (more, asked) in QUESTIONS.items():
        keep("queries", name, kept_query(asked))
        keep("releases", name, data_set(more).ask(dps.Plan.from_dict(asked)).to_dict())
    for name, asked in MORE.items():
        keep("queries", name, kept_query(asked))
    keep("releases", "scores", dps.choose({"x": 0.25, "y": 30}, epsilon=5).to_dict())


def kept_query(asked: dict[str, Any]) -> dict[str, Any]:
    """A question as it was given, as it is written in full, and its price."""
    query = dps.Plan.from_dict(asked)
    ceiling = query.ceiling
    return {
        "given": asked,
        "full": query.to_dict(),
        "ceiling": {"epsilon": str(ceiling.epsilon), "delta": str(ceiling.delta)},
    }


def keep(folder: str, name: str, what: Any) -> None:
    """Write one part, for people to read too."""
    path = HERE / folder / f"{name.replace(', ', '-').replace(' ', '_')}.json"
    path.write_text(json.dumps(what, indent=1, ensure_ascii=False) + "\n", "utf-8", newline="\n")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dps.WeakPromiseWarning)
        main()
