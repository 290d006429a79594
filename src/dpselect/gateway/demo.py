"""A whole gateway to try: invented data, a ledger, three people and their tokens, in one folder."""

from __future__ import annotations

import json
import os
import re
from importlib.resources import files
from pathlib import Path

from dpselect import Dataset
from dpselect.demo import ARTISTS, COUNTRIES, write_listening_events
from dpselect.errors import OutputError, ParameterError
from dpselect.gateway.settings.tokens import digest, fresh_token

DEMO_USERS = 20_000
BYTES_OF_A_ROW = 50  # at most: two numbers, an artist, a country
PEOPLE = ("owner", "analyst", "auditor")
SETTINGS_FILE, TOKENS_FILE = "gateway.toml", "tokens.json"
ROWS_FILE, PREPARED_FILE = "plays.parquet", "plays.prepared"


def make(folder: Path, users: int = DEMO_USERS) -> dict[str, str]:
    """Fill the folder, unless it is a demo already; return the tokens by the names of the people."""
    settings_path, tokens_path = folder / SETTINGS_FILE, folder / TOKENS_FILE
    if settings_path.exists() and tokens_path.exists():
        return read_tokens(tokens_path)
    if folder.exists() and any(folder.iterdir()):
        raise ParameterError("folder", "be new, empty, or one of an earlier demo", str(folder))
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        rows = write_listening_events(folder / ROWS_FILE, users)
        Dataset(folder / ROWS_FILE, user="user", item="artist").prepare(
            folder / PREPARED_FILE, keep="country", weights="minutes"
        )
        tokens = {name: fresh_token() for name in PEOPLE}
        _write_private(tokens_path, json.dumps(tokens, indent=2) + "\n")
        _write_private(settings_path, text(users, rows, {name: digest(token) for name, token in tokens.items()}))
    except OSError as error:
        raise OutputError(f"the demo cannot be made in {folder}: {error.strerror}") from None
    return tokens


def read_tokens(path: Path) -> dict[str, str]:
    """Read the tokens of an earlier demo."""
    try:
        tokens = json.loads(path.read_text("utf-8"))
        return {name: str(tokens[name]) for name in PEOPLE}
    except (OSError, ValueError, KeyError, TypeError):
        raise ParameterError("folder", "be one of an earlier demo, whole", str(path.parent)) from None


def text(users: int, rows: int, digests: dict[str, str]) -> str:
    """Return the settings of the demo, as an owner would write them."""
    template = (files("dpselect.gateway.settings") / "demo.toml").read_text("utf-8")
    replacements = {f"TOKEN_OF_{match.upper()}": digest for match, digest in digests.items()}
    replacements |= {
        "USERS": str(users),
        "ROWS": str(rows),
        "BYTES": str(rows * BYTES_OF_A_ROW),
        "ITEMS": str(ARTISTS),
        "COUNTRIES": ", ".join(map(json.dumps, COUNTRIES)),
    }
    return re.sub("|".join(replacements), lambda match: replacements[match[0]], template)


def _write_private(path: Path, content: str) -> None:
    """Write a new file that only this user may read."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(content)
