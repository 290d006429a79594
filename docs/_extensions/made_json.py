"""Examples of JSON, made when the page is built by what writes such files."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dpselect as dps

ROWS = {
    "user": [u for u in range(2000) for _ in range(2)],
    "item": [f"song {(u * (p + 1)) % 4}" for u in range(2000) for p in (0, 1)],
}


def example(_page: str, name: str) -> str:
    """One example, as a block of JSON."""
    shown = json.dumps(EXAMPLES[name](), indent=2, ensure_ascii=False)
    return f"```json\n{shown}\n```"


def _release() -> dict[str, Any]:
    return _songs().top_k(2, epsilon=1, counts=True).to_dict()


def _query() -> dict[str, Any]:
    return dps.Plan.from_dict({"verb": "top_k", "k": 2, "epsilon": "1/2", "by": ["country"]}).to_dict()


def _songs(**more: Any) -> dps.Dataset:
    return dps.Dataset(ROWS, user="user", item="item", **more)


def _check() -> dict[str, Any]:
    with _kept(_songs().top_k(2, epsilon=1)) as path:
        found: dict[str, Any] = json.loads(_told("check", path, "--format", "json"))
        return found


def _ledger() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "budget.sqlite"
        with dps.Ledger.create(path) as ledger:
            ledger.data("plays", epsilon=3, delta="1e-5")
            ledger.grant(dps.Account("plays", "ann"), epsilon=1, delta="1e-5")
        with contextlib.closing(dps.Ledger(path)):
            found: dict[str, Any] = json.loads(_told("ledger", "show", str(path), "--format", "json"))
            return found


@contextlib.contextmanager
def _kept(release: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "release.json")
        release.to_json(path)
        yield path


def _told(*words: str) -> str:
    from dpselect.command.main import main

    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        main(words)
    return said.getvalue()


EXAMPLES: dict[str, Callable[[], Any]] = {"release": _release, "query": _query, "check": _check, "ledger": _ledger}
