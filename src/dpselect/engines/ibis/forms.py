"""Columns of a table of Ibis: the one form in which a backend compares their values, and how it is read here.

A form is a value or NULL on every row, whatever the row holds: it casts whole numbers to wider ones and dates to whole
numbers, and nothing else. What is fetched is text, for some drivers make floats of decimals, and of whole numbers where
others are missing. Doubles are only fetched: backends compare 0.0 and -0.0 as they like.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpselect._ground.dataclass import dataclass
from dpselect.engines.ibis.backends import Backend, Value, call
from dpselect.engines.sources.refused_types import refused_type

_STORED = {"text": "text", "integer": "integer", "double": "real"}
_TYPES = {"text": "VARCHAR", "uuid": "VARCHAR", "date": "DATE", "boolean": "BOOLEAN", "double": "DOUBLE"}
_READ = {
    "date": "TRY_CAST(try_strptime(lpad({}, 8, '0'), '%Y%m%d') AS DATE)",
    "boolean": "{} = '1'",
    **dict.fromkeys(("text", "uuid", "double"), "{}"),
}
_UNICODE = ("utf8mb4", "utf8mb3", "utf8", "ascii")
_DECIMAL = "cast it to decimals in the expression, as in table.mutate({0}=table[{0}].cast('decimal(18, 6)'))"
_HINTS = {
    "double": _DECIMAL,
    "float32": _DECIMAL,
    "timestamp": "use its days: table.mutate({0}=table[{0}].date())",
}
_CAST = "cast it to text, a whole number or a date in the expression, as in table.mutate({0}=table[{0}].cast(...))"


@dataclass(frozen=True)
class Form:
    """How one column is compared, and read: its kind, its type in Ibis, and its type here."""

    kind: str
    type: Any
    duckdb: str
    backend: Backend

    @classmethod
    def of(cls, name: str, data_type: Any, backend: Backend) -> Form:
        """Return the form of a column, by its declared type alone, or refuse it."""
        kind = _kind(data_type)
        if kind not in backend.kinds:
            hint = _HINTS.get(kind, _CAST).replace("{0}", repr(name))
            raise refused_type(name, f"{str(data_type).lower()} of {backend.name}", hint)
        duckdb = "UBIGINT" if data_type.is_integer() and str(data_type).endswith("uint64") else "BIGINT"
        if kind == "decimal":
            duckdb = f"DECIMAL({data_type.precision},{data_type.scale})"
        return cls(kind, data_type, _TYPES.get(kind, duckdb), backend)

    @property
    def read(self) -> str:
        """The SQL of a value from what was fetched of it, in {}."""
        return _READ.get(self.kind, f"TRY_CAST({{}} AS {self.duckdb})")

    def value(self, column: Value) -> Value:
        """Return the form of a column, NULL where its value is missing."""
        import ibis

        backend, form = self.backend, column
        if self.kind in ("text", "uuid"):
            text = column.cast("string").lower() if self.kind == "uuid" else column
            form = ibis.cases((call(text, *backend.size) <= backend.max_bytes, call(text, *backend.form)))
        elif self.kind == "date":
            form = _day_number(column)
        elif self.kind == "boolean":
            form = ibis.cases((column, ibis.literal(1, "int64")), (~column, ibis.literal(0, "int64")))
        elif self.duckdb == "BIGINT":
            form = column.cast("int64")
        if backend.stored_as is None:
            return form
        return ibis.cases((call(column, (backend.stored_as, "string")) == _STORED[self.kind], form))


def character_sets(table: Value, names: Sequence[str], backend: Backend) -> Value:
    """Return the character set of each of these texts, as a table of one row; no row is read for it."""
    import ibis

    assert backend.character_set is not None
    empty = table.filter(ibis.literal(1) == ibis.literal(0))  # an aggregate of no row has the type of its column
    return empty.aggregate(**{name: call(empty[name].max(), (backend.character_set, "string")) for name in names})


def refuse_character_sets(sets: Mapping[str, str | None]) -> None:
    """Refuse text whose bytes are not those of UTF-8."""
    for name, character_set in sets.items():
        if character_set not in _UNICODE:
            hint = f"read it in a view: SELECT CONVERT({name} USING utf8mb4) AS {name}, ..."
            raise refused_type(name, f"text in the character set {character_set}", hint)


def read_text(form: str | bytes | None) -> str | None:
    """Return a text from its form; bytes that are no UTF-8 become U+FFFD."""
    if form is None:
        return None
    return (bytes.fromhex(form) if isinstance(form, str) else form).decode("utf-8", "replace")


def read_group(form: str | bytes | None) -> str | None:
    """Return a text from its form; None for bytes that are no UTF-8."""
    text = read_text(form)
    return text if text is None or text.encode() == (bytes.fromhex(form) if isinstance(form, str) else form) else None


def _kind(data_type: Any) -> str:
    if data_type.is_decimal():
        precision, scale = data_type.precision, data_type.scale
        known = precision is not None and scale is not None and 0 <= scale <= precision <= 38
        return "decimal" if known else "decimal of unknown digits"
    kinds = {"text": data_type.is_string(), "integer": data_type.is_integer(), "double": data_type.is_float64()}
    return next((kind for kind, fits in kinds.items() if fits), type(data_type).__name__.lower())


def _day_number(column: Value) -> Value:
    """Return 20261231 for the last day of 2026, NULL for what Python has no date for, such as the day 0 of MariaDB."""
    import ibis

    year, month, day = (part.cast("int64") for part in (column.year(), column.month(), column.day()))
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    last = ibis.cases((month.isin([4, 6, 9, 11]), 30), (month != 2, 31), (leap, 29), else_=28)
    exists = year.between(1, 9999) & month.between(1, 12) & (day >= 1) & (day <= last)
    return ibis.cases((exists, year * 10000 + month * 100 + day))
