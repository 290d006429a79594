"""How PostgreSQL writes what databases write differently. A statement takes values, so % is doubled everywhere."""

from __future__ import annotations

from dpselect.engines.sql.port import Dialect


def quoted(name: str) -> str:
    """An SQL identifier."""
    return '"' + name.replace('"', '""').replace("%", "%%") + '"'


def literal(text: str) -> str:
    """A text; a workspace sets standard_conforming_strings, so a backslash is one."""
    return "'" + text.replace("'", "''").replace("%", "%%") + "'"


def _keyed(key: str, user: str, item: str) -> str:
    """The bytes are unambiguous: the key, the length of the user in four bytes, the user, the item.

    Both are in their one form, whose text says which value it is.
    """
    u, i = (f"convert_to(({name})::text, 'UTF8')" for name in (user, item))
    return f"sha256({key} || int4send(length({u})) || {u} || {i})"


POSTGRES = Dialect(
    name="postgres",
    quote=quoted,
    literal=literal,
    text='({})::text COLLATE "C"',
    keyed=_keyed,
    matches="{text} ~ '{pattern}'",
    parts='SELECT u, unnest(string_to_array(i, {separator})) COLLATE "C" AS i FROM {rows}',
)
