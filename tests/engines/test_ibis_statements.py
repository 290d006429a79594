"""What every backend of Ibis is asked, as SQL that a person has read: ibis_statements.sql. Nothing of it may estimate.

The file is written anew by `python -m tests.engines.test_ibis_statements`, and then read before it is committed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ibis
import pytest

from dpselect.engines import row_filter
from dpselect.engines.ibis import statements
from dpselect.engines.ibis.backends import BACKENDS, Backend
from dpselect.engines.ibis.filters import compile_condition
from dpselect.engines.ibis.forms import Form
from dpselect.errors import ParameterError

REVIEWED = Path(__file__).with_name("ibis_statements.sql")
COLUMNS = {"user": "string", "item": "string", "country": "string", "age": "int32"}
MORE = {"day": "date", "price": "decimal(10, 2)", "flag": "boolean"}
WHERE = "country IN ('DE', 'it''s') AND NOT (age >= 18 OR user IS NULL)"
ESTIMATE = re.compile(r"approx|uniq|hll|hyper|sketch|ndv|estimate|sample", re.IGNORECASE)


def forms_of(backend: Backend, table: Any) -> Mapping[str, Form]:
    schema = table.schema()
    return {name: Form.of(name, schema[name], backend) for name in schema.names}


def filtered(backend: Backend, table: Any, where: str) -> Any:
    """The rows of a table for which a filter holds."""
    forms, condition = forms_of(backend, table), row_filter.parse(where)
    columns = {name: (forms[name], forms[name].value(table[name])) for name in condition.columns}
    return table.filter(compile_condition(condition.tree, columns))


def asked(backend: Backend) -> dict[str, Any]:
    """Everything that is asked of a backend."""
    more = {name: sort for name, sort in MORE.items() if sort.partition("(")[0] in backend.kinds}
    table = ibis.table(COLUMNS | more, name="events")
    forms = forms_of(backend, table)
    columns = {"u": ["user"], "g": ["country"], "i": ["item"], "c": list(table.columns)}
    two, none = columns | {"i": ["item", "age"]}, columns | {"i": []}
    kept, few = filtered(backend, table, WHERE), columns | {"c": ["user", "item"]}
    found = {
        "the items with the most users": statements.users_per_item(table, columns, forms, 11),
        "all items, each of two columns": statements.users_per_item(table, two, forms, None),
        "the number of users": statements.users_per_item(table, none, forms, 1),
        "different rows": statements.all_rows(table, columns, forms, distinct=True),
        "all rows of a filter": statements.all_rows(kept, few, forms, distinct=False),
    }
    if backend.digest is not None:
        counted = statements.users_per_item_and_group(table, columns, forms, (2, 11), b"key", backend)
        found["the items with the most users in each group"] = counted
    return found


def compiled(expression: Any, backend: Backend) -> str:
    return " ".join(str(ibis.to_sql(expression, dialect=backend.name)).split())


def written() -> str:
    """All statements of all backends, as they are now."""
    return "\n".join(
        f"-- {name}: {what}\n{compiled(expression, backend)};\n"
        for name, backend in sorted(BACKENDS.items())
        for what, expression in asked(backend).items()
    )


def test_a_person_has_read_every_statement() -> None:
    assert written() == REVIEWED.read_text("utf-8")


@pytest.mark.parametrize("backend", BACKENDS.values(), ids=BACKENDS)
def test_people_are_counted_one_by_one(backend: Backend) -> None:
    for what, expression in asked(backend).items():
        sql = compiled(expression, backend)
        assert not ESTIMATE.search(sql), what
        if what.startswith(("the", "all items")):
            assert re.search(r"count\(\*\)", sql, re.IGNORECASE)
            assert "SELECT DISTINCT" in sql


def test_the_number_of_distinct_values_would_be_an_estimate() -> None:
    table = ibis.table(COLUMNS, name="events")
    estimates = {
        name
        for name, backend in sorted(BACKENDS.items())
        if ESTIMATE.search(compiled(table.aggregate(n=table.user.nunique()), backend))
    }
    assert estimates == {"clickhouse"}


@pytest.mark.parametrize("backend", BACKENDS.values(), ids=BACKENDS)
def test_no_text_of_a_filter_stands_in_a_statement(backend: Backend) -> None:
    table = ibis.table(COLUMNS, name="events")
    hostile = "\\' OR 1=1; DROP TABLE events -- \u00fc"
    sql = compiled(filtered(backend, table, f"country = '{hostile.replace(chr(39), chr(39) * 2)}'"), backend)
    assert "DROP" not in sql
    assert hostile.encode().hex() in sql.lower()


@pytest.mark.parametrize(
    "where",
    [
        "country LIKE 'D%'", "lower(country) = 'de'", "age + 1 = 2", "country = item", "age = 1.5", "age > 1e3",
        "CASE WHEN age = 1 THEN TRUE ELSE FALSE END", "TRUE", "age IN (1, age)",
        "coalesce(country, 'x') = 'x'",
    ],
)  # fmt: skip
def test_what_not_every_backend_reads_alike_is_refused_with_what_to_do(where: str) -> None:
    table = ibis.table(COLUMNS, name="events")
    with pytest.raises(ParameterError, match=r"where must be .*over a table of Ibis\nhint: filter the expression"):
        filtered(BACKENDS["datafusion"], table, where)


if __name__ == "__main__":
    REVIEWED.write_text(written(), "utf-8")
