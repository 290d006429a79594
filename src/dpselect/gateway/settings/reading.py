"""A TOML file becomes Settings, or one error that names every mistake with its line (docs/gateway-settings.md)."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any
from unicodedata import normalize

from dpselect._ground.parameters import near
from dpselect.gateway.settings import data_sets, leaves, persons, server
from dpselect.gateway.settings.mistakes import Mistake, Page, SettingsError, dotted, secretless, shown
from dpselect.gateway.settings.places import Place, Reader, by_name, fields
from dpselect.gateway.settings.values import Settings

NAME = "gateway.toml"  # what a text is called that came from no file
MOST = 1 << 22  # bytes of a file
_PLACE = re.compile(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", re.DOTALL)
_READERS: Mapping[str, Reader] = {
    "server": server.READ,
    "data": by_name(leaves.name, data_sets.READ),
    "people": by_name(leaves.name, persons.READ),
}


def read(path: str | os.PathLike[str]) -> Settings:
    """The settings in a file. Paths in them are relative to its folder; no source is opened."""
    said = os.fspath(path)
    file = Path(os.path.abspath(os.path.expanduser(said)))
    try:
        with file.open("rb") as opened:
            content = opened.read(MOST + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no name of a file"
        raise SettingsError(said, [Mistake(f"cannot be read: {reason}")]) from None
    if len(content) > MOST:
        raise SettingsError(said, [Mistake(f"must have at most {MOST:,} bytes")])
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SettingsError(said, [Mistake("must be text in UTF-8", line)]) from None
    return read_text(text, file.parent, said)


def read_text(text: str, base: Path, file: str = NAME) -> Settings:
    """The settings in a text, whose paths are relative to a folder."""
    page = Page(base.absolute())
    tables = _tables(text, file)
    found = fields(Place(tables, (), page), _READERS, frozenset(_READERS))
    for name, what in (("data", "data set"), ("people", "person")):
        if tables.get(name) == {}:
            page.add((name,), f"must have at least one {what}")
    _check_people(page, tables)
    _check_places(page)
    if page.found:
        raise page.error(file, text)
    return Settings(**found)


def _tables(text: str, file: str) -> dict[str, Any]:
    """The text as TOML, with numbers as they are written."""
    try:
        return tomllib.loads(text, parse_float=_decimal)
    except RecursionError:
        raise SettingsError(file, [Mistake("is nested too deeply")]) from None
    except ValueError as error:
        found = _PLACE.fullmatch(str(error))
        if found is None:  # a whole number of thousands of digits
            raise SettingsError(file, [Mistake("holds what no setting can be")]) from None
        line = int(found[2]) if found[2] else text.count("\n") + 1
        raise SettingsError(file, [Mistake(f"is no TOML: {secretless(found[1])}", line)]) from None


def _decimal(text: str) -> Decimal:
    """A number exactly as written; one beyond all limits is none."""
    try:
        return Decimal(text)
    except InvalidOperation:
        return Decimal("nan")


# ---- tables beside each other --------------------------------------------------------------------------------


def _check_people(page: Page, tables: Mapping[str, Any]) -> None:
    """The data of a person are there, and nobody signs in as two."""
    data = tables.get("data")
    known = [normalize("NFC", name) for name in data] if isinstance(data, dict) else None
    seen: dict[tuple[str, str], str | int] = {}
    for steps, person in page.tables.items():
        if steps[:1] != ("people",) or len(steps) != len(("people", "NAME")):
            continue
        for at, one in enumerate(person.get("data", ())):
            if known is not None and one not in known:
                page.add((*steps, "data", at), f"must name data sets, got {shown(one)}", near(one, known))
        for field in ("token", "subject"):
            value = person.get(field)
            other = None if value is None else seen.setdefault((field, value), steps[1])
            if other is not None and other != steps[1]:
                page.add((*steps, field), f"must be another than that of {dotted([other])}")


def _check_places(page: Page) -> None:
    """What the gateway writes is not read as data."""
    server = page.tables.get(("server",), {})
    written = {field: str(server[field]) for field in ("folder", "ledger") if field in server}
    for steps, data in page.tables.items():
        if steps[:1] != ("data",) or len(steps) != len(("data", "NAME")) or "source" not in data:
            continue
        sources = (data["source"],) if isinstance(data["source"], str) else data["source"]
        roots = [source.partition("**")[0].rstrip(os.sep) for source in sources]
        for field, path in written.items():
            if any(path == root or path.startswith(root + os.sep) for root in roots):
                page.add(("server", field), f"must not lie in the source of {dotted(steps[1:])}")
