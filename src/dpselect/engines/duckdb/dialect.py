"""How DuckDB writes what databases write differently, and how its columns are counted (`types`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dpselect.engines.duckdb.types import (
    INTEGERS,
    OBJECT,
    base_type,
    is_text,
    item_form,
    label_function,
    nameable_condition,
    number_form,
    present_condition,
)
from dpselect.engines.duckdb.workspace import literal, quoted
from dpselect.engines.sql.keys import compile_key
from dpselect.engines.sql.port import CompiledKey, Dialect, SqlType, UndeclaredText
from dpselect.engines.values import TYPE_MARK
from dpselect.errors import DataError


def secret_key_sql(key: bytes) -> str:
    """Return a key as SQL."""
    return "'" + "".join(f"\\x{byte:02X}" for byte in key) + "'::BLOB"


def _hash_with_key(key: str, user: str, item: str) -> str:
    """Compile a hash of a user and an item, which nobody can compute without the key.

    The outer hash matters: hash(key, u, i) alone is a mask of (key, u) laid over hash(i), so which of two
    items comes first would depend on one bit, and an item alone on its side of the highest bit would be kept
    half of the time. Equal hashes are ordered by the item, so the choice depends on the user's rows only.
    """
    return f"hash(hash({key}, {user}, {item}))"


DUCKDB = Dialect(
    name="duckdb",
    quote=quoted,
    literal=literal,
    text="{}",
    keyed_hash=_hash_with_key,
    split_query="SELECT t.u AS u{more}, unnest(string_split(i, {separator})) AS i FROM {rows}",
    exact_sum="sum({})",  # in 128 bits
    period_literal="{}::SMALLINT",
    user_in_period="struct_pack(u := u, p := {})",
    struct="struct_pack({})",
    first_by_hash="min(struct_pack(h := {hash}, v := {value})).v",
    big_integer="HUGEINT",
    double="DOUBLE",
    floor_division="(({}) // ({}))",
)

# The numbers among values without a declared type, in the form of `objects.encode_values`.
_INTEGER_OF_OBJECT = (
    f"CASE WHEN starts_with(i, {literal(TYPE_MARK)}) AND substr(i, 2, 1) > 'z' AND NOT contains(i, '.') "
    "THEN TRY_CAST(substr(i, 3) AS BIGINT) END"
)
_INTEGER_FORMS = {
    OBJECT: _INTEGER_OF_OBJECT,
    # Beside a number below 0 it would become a HUGEINT, and large values of it cannot.
    "UHUGEINT": "TRY_CAST(i AS HUGEINT)",
}


def counted_type(sql_type: str, undeclared: UndeclaredText | None = None) -> SqlType:
    """Return the type of a column as it is counted."""
    name = base_type(sql_type)
    value_kind = "text" if is_text(sql_type) else "integer" if name in INTEGERS else "other"
    return SqlType(
        name,
        "any" if name == OBJECT else value_kind,
        _try_form(item_form, sql_type) or "{}",
        sql_type,
        sql_type,
        present_condition=present_condition("{}", sql_type),
        nameable_condition=nameable_condition("{}", sql_type),
        number_form=_try_form(number_form, sql_type),
        to_label=label_function(sql_type),
        integer_form=_INTEGER_FORMS.get(name),
        undeclared_text=undeclared,
    )


def compile_plain_key(columns: Iterable[tuple[str, str]]) -> CompiledKey:
    """Return the key of columns, each the SQL of a value and its type."""
    return compile_key([(sql, counted_type(sql_type)) for sql, sql_type in columns], DUCKDB)


def _try_form(form: Callable[[str, str], str], sql_type: str) -> str | None:
    """Return a form of {}, or None if the type has none."""
    try:
        return form("{}", sql_type)
    except DataError:
        return None
