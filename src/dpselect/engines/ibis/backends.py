"""Backends of Ibis: how each writes the bytes of a text, which types it reads exactly, and whether our tests run on it.

Text is compared as the hexadecimal digits of its bytes in UTF-8, or as these bytes where they are a type without a
collation. So no collation, which a column, a database or a session may have, takes two people for one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

from dpselect.engines.values import MAX_VALUE_BYTES
from dpselect.errors import SourceError

Value = Any
"""An expression of Ibis."""

_EXACT = frozenset({"text", "integer", "boolean", "date", "decimal"})
_FETCHED = frozenset({"double"})
"""Kinds that are fetched bit by bit, as our tests show."""
_MOST_SORTED = 1000
_CANNOT = "pass the result of its to_pyarrow(), which fails before anybody asks if a row cannot be read"


def call(name: str, returns: str, *arguments: Value) -> Value:
    """Return a call of a function of the backend itself."""
    import ibis

    def function(*_arguments: object) -> None: ...

    function.__name__ = name
    names = [f"a{index}" for index in range(len(arguments))]
    function.__signature__ = _signature(names)  # type: ignore[attr-defined]
    types = tuple(argument.type() for argument in arguments)
    return ibis.udf.scalar.builtin(name=name, signature=(types, returns))(function)(*arguments)


def _signature(names: list[str]) -> Any:
    from inspect import Parameter, Signature

    return Signature([Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in names])


def _size(text: Value) -> Value:
    return call("octet_length", "int64", text)


def _upper_digits(data: bytes) -> Value:
    import ibis

    return ibis.literal(data.hex().upper())


def _lower_digits(data: bytes) -> Value:
    import ibis

    return ibis.literal(data.hex())


@dataclass(frozen=True)
class Backend:
    """One backend, with its own functions of a text."""

    name: str
    form: Callable[[Value], Value]  # the bytes of a text, or their hexadecimal digits
    size: Callable[[Value], Value] = _size  # how many bytes these are
    constant: Callable[[bytes], Value] = _upper_digits  # the form of a text with these bytes
    max_bytes: int = MAX_VALUE_BYTES  # of a text that is compared in full; a longer one is missing
    digest: Callable[[Value], Value] | None = None  # a fixed hash of a text; None where there is none
    types: frozenset[str] = _EXACT  # the kinds of types that it reads exactly
    stored_as: str | None = None  # the function that names the type of a value, if that need not be its column's
    character_set: str | None = None  # the function that names that of a text, if it need not be UTF-8
    by_cursor: bool = False  # are results fetched by the driver's cursor? Ibis would send them through pandas
    settings: tuple[str, str] | None = None  # a condition on a session in which bytes are as they must be; a hint
    tested: Callable[[Any], bool] = lambda _connection: False  # do our tests run on servers of this kind?
    untested: bool = True  # is this one of the others?

    @property
    def outside(self) -> str | None:
        """What every answer names, where no test of ours runs on the server."""
        return f"ibis-framework {version('ibis-framework')} over {self.name}, untested" if self.untested else None


def _hex(text: Value) -> Value:
    return call("hex", "string", text)


def _sha2(text: Value) -> Value:
    import ibis

    return call("sha2", "string", text, ibis.literal(256))


def _utf8(text: Value) -> Value:
    return call("to_utf8", "binary", text)


def _to_hex(data: Value) -> Value:
    return call("to_hex", "string", data)


def _encoded(data: Value) -> Value:
    import ibis

    return call("encode", "string", data, ibis.literal("hex"))


def _sha256(data: Value) -> Value:
    return call("sha256", "binary", data)


BACKENDS = {
    backend.name: backend
    for backend in (
        Backend(
            "datafusion",
            _encoded,
            constant=_lower_digits,
            digest=lambda text: _encoded(_sha256(text)),
            types=_EXACT | _FETCHED,
            tested=lambda _connection: True,
        ),
        # By default MariaDB sorts by the first 1,024 bytes of a value, and may group by sorting. The digits of a LONGTEXT
        # may be more than it can count: it then keeps none of them.
        Backend(
            "mysql",
            lambda text: call("unhex", "binary", _hex(text.left(_MOST_SORTED))),
            constant=lambda data: call("unhex", "binary", _upper_digits(data)),
            max_bytes=_MOST_SORTED,
            digest=_sha2,
            types=_EXACT - {"boolean"} | {"uuid"} | _FETCHED,
            character_set="charset",
            by_cursor=True,
            settings=(
                "@@max_sort_length >= 1024 AND @@sql_select_limit >= 18446744073709551615",
                "SET SESSION max_sort_length = DEFAULT, sql_select_limit = DEFAULT",
            ),
            tested=lambda connection: "MariaDB" in connection.con.get_server_info(),
        ),
        Backend(
            "sqlite",
            _hex,
            size=lambda text: call("length", "int64", text.cast("binary")),
            types=frozenset({"text", "integer"}) | _FETCHED,
            stored_as="typeof",
            settings=(
                "(SELECT encoding FROM pragma_encoding) = 'UTF-8'",
                "export it into a database whose PRAGMA encoding is 'UTF-8'",
            ),
            by_cursor=True,
            tested=lambda _connection: True,
        ),
        Backend(
            "clickhouse",
            _hex,
            size=lambda text: call("length", "int64", text),
            digest=lambda text: _hex(call("SHA256", "string", text)),
        ),
        Backend("snowflake", lambda text: call("hex_encode", "string", text), digest=_sha2),
        Backend(
            "bigquery",
            lambda text: _to_hex(text.cast("binary")),
            constant=_lower_digits,
            digest=lambda text: _to_hex(_sha256(text)),
        ),
        Backend("databricks", _hex, digest=_sha2),
        *(
            Backend(
                name,
                lambda text: _to_hex(_utf8(text)),
                size=lambda text: call("length", "int64", _utf8(text)),
                digest=lambda text: _to_hex(_sha256(_utf8(text))),
            )
            for name in ("trino", "athena")
        ),
    )
}


def find_backend(connection: Any, *, untested: bool) -> Backend:
    """Return the backend of a connection; refuse one without an exact form of text, or on which no test of ours runs."""
    backend = BACKENDS.get(connection.name)
    if backend is None:
        must = f"be an Ibis table over DuckDB, polars, PostgreSQL, {', '.join(BACKENDS)}"
        came = f"one over {connection.name}, for whose text no exact form is known"
        raise SourceError("source", must, came, _CANNOT)
    with suppress(Exception):  # whatever it is: a connection may be closed, which is told when rows are read
        if backend.tested(connection):
            return replace(backend, untested=False)
    if not untested:
        hint = 'dps.Table(connection, "events", untested=True) reads it all the same, and every answer says so'
        must = "be over a backend on which dpselect is tested: DuckDB, polars, PostgreSQL, DataFusion, MariaDB, SQLite"
        raise SourceError("source", must, f"one over {connection.name}", hint)
    return backend
