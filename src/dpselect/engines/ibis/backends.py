"""Backends of Ibis: their own functions of a text, the types that they read exactly, and whether our tests run on them.

Text is compared as the hexadecimal digits of its bytes in UTF-8, or as these bytes where they are a type without a
collation. So no collation, which a column, a database or a session may have, takes two people for one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from inspect import Parameter, Signature
from typing import Any

from dpselect._ground.dataclass import dataclass
from dpselect.engines.values import MAX_VALUE_BYTES
from dpselect.errors import DataError, SourceError

Value = Any
"""An expression of Ibis."""
Steps = tuple[tuple[Any, ...], ...]
"""Functions of a backend, each of the result of the one before: its name, the type it returns, more arguments."""

_HEX, _UNHEX, _TO_HEX, _ENCODE = (
    ("hex", "string"),
    ("unhex", "binary"),
    ("to_hex", "string"),
    ("encode", "string", "hex"),
)
_BYTES, _UTF8 = ("cast", "binary"), ("to_utf8", "binary")
_OCTETS, _LENGTH = ("octet_length", "int64"), ("length", "int64")
_SHA256, _SHA2 = ("sha256", "binary"), ("sha2", "string", 256)
_COMPARED = frozenset({"text", "integer", "boolean", "date", "decimal"})
_FETCHED = frozenset({"double"})  # bit by bit, as our tests show
_MOST_SORTED = 1000  # bytes
_CANNOT = "pass the result of its to_pyarrow(), which fails before anybody asks if a row cannot be read"


def call(value: Value, *steps: tuple[Any, ...]) -> Value:
    """Return functions of the backend itself of a value."""
    import ibis

    for name, returns, *more in steps:
        arguments = [value, *map(ibis.literal, more)]

        def function(*_arguments: object) -> None: ...

        parameters = [Parameter(f"a{index}", Parameter.POSITIONAL_OR_KEYWORD) for index in range(len(arguments))]
        function.__name__, function.__signature__ = name, Signature(parameters)  # type: ignore[attr-defined]
        types = tuple(argument.type() for argument in arguments)
        builtin = ibis.udf.scalar.builtin(name=name, signature=(types, returns))
        value = value.cast(returns) if name == "cast" else builtin(function)(*arguments)
    return value


@dataclass(frozen=True)
class Backend:
    """One backend, with its own functions of a text."""

    name: str
    form: Steps  # the hexadecimal digits of the bytes of a text, or these bytes
    size: Steps = (_OCTETS,)  # how many bytes these are
    lower: bool = False  # are digits lower case?
    max_bytes: int = MAX_VALUE_BYTES  # of a text that is compared in full; a longer one is missing
    digest: Steps | None = None  # a fixed hash of a text; None where there is none
    kinds: frozenset[str] = _COMPARED  # of types that it reads exactly
    stored_as: str | None = None  # the function that names the type of a value, if that need not be its column's
    character_set: str | None = None  # the function that names that of a text, if it need not be UTF-8
    settings: tuple[str, str] | None = None  # a condition on a session without which bytes are cut off; a hint
    by_cursor: bool = False  # are results fetched by the driver's cursor? Ibis would send them through pandas
    tested: Callable[[Any], bool] = lambda _connection: False  # do our tests run on servers of this kind?
    outside: str | None = None  # what every answer names, where they do not

    def constant(self, text: str) -> Value:
        """Return the form of a text that the caller wrote."""
        import ibis

        digits = text.encode("utf-8", "replace").hex()
        literal = ibis.literal(digits if self.lower else digits.upper())
        return call(literal, _UNHEX) if self.form[-1] == _UNHEX else literal


BACKENDS = {
    backend.name: backend
    for backend in (
        Backend(
            "datafusion",
            form=(_ENCODE,),
            lower=True,
            digest=(_SHA256, _ENCODE),
            kinds=_COMPARED | _FETCHED,
            tested=lambda _connection: True,
        ),
        # MariaDB sorts by the first 1,024 bytes of a value, and may group by sorting. The digits of a LONGTEXT are more
        # than it counts: it has none.
        Backend(
            "mysql",
            form=(("substr", "string", 1, _MOST_SORTED), _HEX, _UNHEX),
            max_bytes=_MOST_SORTED,
            digest=(_SHA2,),
            kinds=_COMPARED - {"boolean"} | {"uuid"} | _FETCHED,
            character_set="charset",
            settings=(
                "@@max_sort_length >= 1024 AND @@sql_select_limit >= 18446744073709551615",
                "SET SESSION max_sort_length = DEFAULT, sql_select_limit = DEFAULT",
            ),
            by_cursor=True,
            tested=lambda connection: "MariaDB" in connection.con.get_server_info(),
        ),
        Backend(
            "sqlite",
            form=(_HEX,),
            size=(_BYTES, _LENGTH),
            kinds=frozenset({"text", "integer"}) | _FETCHED,
            stored_as="typeof",
            settings=(
                "(SELECT encoding FROM pragma_encoding) = 'UTF-8'",
                "export it into a database whose PRAGMA encoding is 'UTF-8'",
            ),
            by_cursor=True,
            tested=lambda _connection: True,
        ),
        Backend("clickhouse", form=(_HEX,), size=(_LENGTH,), digest=(("SHA256", "string"), _HEX)),
        Backend("snowflake", form=(("hex_encode", "string"),), digest=(_SHA2,)),
        Backend("bigquery", form=(_BYTES, _TO_HEX), lower=True, digest=(_SHA256, _TO_HEX)),
        Backend("databricks", form=(_HEX,), digest=(_SHA2,)),
        Backend("trino", form=(_UTF8, _TO_HEX), size=(_UTF8, _LENGTH), digest=(_UTF8, _SHA256, _TO_HEX)),
        Backend("athena", form=(_UTF8, _TO_HEX), size=(_UTF8, _LENGTH), digest=(_UTF8, _SHA256, _TO_HEX)),
    )
}


def find_backend(connection: Any, *, untested: bool) -> Backend:
    """Return the backend of a connection; refuse one whose text has no exact form, or on which no test of ours runs."""
    backend = BACKENDS.get(connection.name)
    if backend is None:
        must = f"be an Ibis table over DuckDB, polars, PostgreSQL, {', '.join(BACKENDS)}"
        came = f"one over {connection.name}, for whose text no exact form is known"
        raise SourceError("source", must, came, _CANNOT)
    is_tested = None
    with suppress(Exception):  # whatever it is: a connection may be closed
        is_tested = backend.tested(connection)
    if is_tested is None:
        raise DataError(f"Ibis over {backend.name}: the connection cannot be used", "open it again")
    if is_tested:
        return backend
    if not untested:
        must = "be over a backend on which dpselect is tested: DuckDB, polars, PostgreSQL, DataFusion, MariaDB, SQLite"
        hint = 'dps.Table(connection, "events", untested=True) reads it all the same, and every answer says so'
        raise SourceError("source", must, f"one over {connection.name}", hint)
    return replace(backend, outside=f"ibis-framework {version('ibis-framework')} over {backend.name}, untested")
