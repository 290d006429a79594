"""How Spark SQL writes what databases write differently. Nothing here hangs on how a session is set up.

The bound orders a user's items by xxhash64, which takes its columns one after the other, each seeded with the hash of
those before: 64 secret bits decide the order in the end, every step is a bijection of them that mixes all bits, and a
test looks at how often each item of a user is kept. A hash has no state: a task that runs again keeps the same items.
"""

from __future__ import annotations

import re

from dpselect.engines.sql.port import Dialect

_PLAIN = re.compile(r"[A-Za-z0-9 _.,:;|+*/=<>()@#%&!?~^-]*")


def quoted(name: str) -> str:
    """An identifier."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """A text. How a quote or a backslash is written depends on the session, and ${...} stands for its variables."""
    return f"'{text}'" if _PLAIN.fullmatch(text) else f"CAST(X'{text.encode().hex()}' AS STRING)"


def secret(key: bytes) -> str:
    """A key as bytes, the first argument of the hash. Spark compiles a number anew, but not another row of bytes."""
    return f"X'{key.hex()}'"


def _parts() -> str:
    """Spark cuts at a regular expression; quoted in its way, a text means itself."""
    begin, end, again = (f"CAST(X'{part.encode().hex()}' AS STRING)" for part in ("\\Q", "\\E", "\\E\\\\E\\Q"))
    pattern = f"concat({begin}, replace({{separator}}, {end}, {again}), {end})"
    return f"SELECT u, explode(split(i, {pattern})) AS i FROM {{rows}}"


# Without (?!.) a pattern's $ would also match before a line's end.
MATCHES = "{text} RLIKE '(?s)(?:{pattern})(?!.)'"
WHOLE = "DECIMAL(38,0)"
"""Spark's whole numbers of any size that a sum can have."""

SPARK = Dialect(
    name="spark",
    quote=quoted,
    literal=literal,
    text="CAST({} AS STRING)",
    keyed=lambda key, user, item: f"xxhash64({key}, {user}, {item})",
    matches=MATCHES,
    by_user="/*+ REPARTITION(u) */",  # distinct pairs and the bound then take one shuffle, and kept pairs none
    in_order="SORT BY u",  # once: to sort the pairs of every user by their hash is then half the work, each time
    whole=WHOLE,
    double="DOUBLE",
    divided="(({}) div ({}))",
    parts=_parts(),
)
