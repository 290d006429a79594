"""Awkward rows in a DuckDB table and as another engine has them, and the rows that a filter keeps on DuckDB."""

from __future__ import annotations

from dpselect.engines import duckdb_filter
from dpselect.engines.duckdb_types import filter_form
from dpselect.engines.duckdb_workspace import Workspace, quoted

# A column, its type in DuckDB, its values; lists of different lengths, so that pairs of columns meet in many ways.
COLUMNS: dict[str, tuple[str, list[str | None]]] = {
    "text": ("VARCHAR", ["a", "A", "a ", " a", "", None, "b", "\u00e9", "e\u0301", "\U0001f600", "it's", "50%", "a_b",
                         "back\\slash", "a\nb", "%s {}", "5", "Z", "\u00df", "ss", "\uffff", "10", "-- x", "a\tb"]),
    "other": ("VARCHAR", ["a", "b", None, "\U0001f600", "\uffff", "A", "e\u0301"]),
    "small": ("SMALLINT", ["0", "-5", "7", None, "32767"]),
    "big": ("BIGINT", ["0", "7", "9223372036854775807", "-9223372036854775808", None, "9007199254740993", "2", "-5"]),
    "double": ("DOUBLE", ["0.1", "-0.0", "0.0", "NaN", "Infinity", "-Infinity", None, "0.30000000000000004", "0.5",
                          "9007199254740992", "7", "1e300", "5e-324"]),
    "float": ("FLOAT", ["0.1", "-0.0", "NaN", "0.5", "16777216", None, "Infinity", "0.30000001", "7", "0.3", "3.4e38"]),
    "money": ("DECIMAL(10,2)", ["0.10", "-0.50", None, "7.00", "99999999.99", "2.50", "0.00"]),
    "wide": ("DECIMAL(38,4)", ["7", "0.1", "9999999999999999999999999999999999.9999", None, "-5"]),
    "yes": ("BOOLEAN", ["true", "false", None]),
    "no": ("BOOLEAN", ["true", "false", "false", None]),
    "day": ("DATE", ["2024-01-31", "0001-01-01", "9999-12-31", None, "2024-02-29", "1582-10-10", "1970-01-01"]),
    "other day": ("DATE", ["2024-01-31", "2024-02-29", "1970-01-02", None]),
    "moment": ("TIMESTAMP", ["2024-01-31 00:00:00", "2024-01-31 23:59:59.999999", None, "1969-12-31 23:59:59.5",
                         "0001-01-01 00:00:00", "2024-03-31 02:30:00"]),
    "zone": ("TIMESTAMPTZ", ["2024-01-31 00:00:00+00", "2024-01-31 01:00:00+02", None, "2024-03-31 02:30:00+00"]),
    "other zone": ("TIMESTAMPTZ", ["2024-01-31 00:00:00+00", "2024-03-31 04:30:00+02", None]),
    'O"dd %s {}': ("INTEGER", ["1", "2", None]),
}  # fmt: skip
ROWS = [[number, *(values[number % len(values)] for _, values in COLUMNS.values())] for number in range(120)]


def filled() -> Workspace:
    """A DuckDB of its own with the table t."""
    workspace = Workspace()
    columns = ", ".join(f"{quoted(name)} {sql_type}" for name, (sql_type, _) in COLUMNS.items())
    workspace.rows(f"CREATE TABLE t (id INTEGER, {columns})")
    workspace.connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(ROWS[0]))})", ROWS).fetchall()
    return workspace


def kept(workspace: Workspace, where: str) -> list[int]:
    """The rows that DuckDB's own filter keeps, checked as an engine checks it."""
    found = duckdb_filter.parse(workspace, where)
    types = {name: sql_type for name, (sql_type, _) in COLUMNS.items()}
    by_lower = {name.lower(): name for name in types}
    meant = {"text", *(by_lower[column.lower()] for column in found.columns)}  # an engine always reads some
    duckdb_filter.check(workspace, found, {name: types[name] for name in meant})
    assert all(filter_form(name, types[name]) == quoted(name) for name in meant)
    return [row[0] for row in workspace.rows(f"SELECT id FROM t WHERE {found.sql()} ORDER BY id")]


# Here \n stands for the end of a line.
CONDITIONS = [
    line.replace("\\n", "\n")
    for line in """
text = 'a'
text <> 'a'
text != 'a '
'a' < text
text >= 'Z'
text > '\u00e9'
text < other
other >= TEXT
text IN ('a', 'A', 'it''s', 'back\\slash', '50%', '%s {}', '\U0001f600')
text NOT IN ('a', '')
text BETWEEN 'A' AND 'b'
text NOT BETWEEN 'A' AND 'b'
text LIKE 'a%'
text LIKE '_'
text LIKE '__'
text LIKE 'a_b'
text LIKE '%\\n%'
text LIKE ''
text LIKE '%'
text NOT LIKE '%a%'
NOT text LIKE '%a%'
text LIKE '%''s'
text LIKE '%slash' OR text LIKE '50%'
text = '%s {}' OR text = '-- x'
text IS NULL
text IS NOT NULL
"O""DD %S {}" = 1
"o""dd %s {}" IS NULL OR "TEXT" = 'a'
small = 7
small <> -5
small > 100000
small < big
big >= small
big = 9223372036854775807
big = -9223372036854775808
big < 2.5
big >= -4.99999999999999
big IN (0, 7, 2.0)
big > 1_000
big BETWEEN -5 AND 2.5
double = 0.1
double > 0.1
double >= 0.1 AND double <= 0.5
double = 0
double = -0.0
double < 0
double > 1e299
double = 0.30000000000000004
double <> 0.5
double NOT IN (0.1, 0.5, 7)
double = big
double < small
double > 9007199254740993
double = 5e-324
float = 0.1
float > 0.1
float <= 0.3
float = double
double > float
float = 16777216
float IN (0.1, 7, 0.5)
float BETWEEN -0.5 AND 0.3
float <> 0.5
NOT float > 1000000
money = 0.1
money > 2.4999
money < 0
money = 7
money = big OR money > small
money BETWEEN 0 AND 2.5
wide = 0.1
wide > 7
money = wide
wide >= big
yes
NOT yes
yes = true
yes <> no
yes < no
yes IN (true)
yes AND no
yes OR no
NOT (yes AND no)
NOT (yes OR NOT no)
TRUE
FALSE OR yes
yes IS NULL AND no IS NOT NULL
day = '2024-01-31'
day >= DATE '2024-01-31'
DATE '1582-10-10' < day
day BETWEEN '1970-01-01' AND DATE '2024-02-29'
day IN ('0001-01-01', '9999-12-31')
day <> "other day"
day < '1582-10-15'
moment = '2024-01-31'
moment >= DATE '2024-01-31'
moment < '2024-01-31 23:59:59.999999'
moment <= TIMESTAMP '2024-01-31 23:59:59.999999'
moment > '1969-12-31T23:59:59'
moment = TIMESTAMP '2024-03-31 02:30:00'
moment BETWEEN '0001-01-01' AND '1970-01-01 00:00:00'
zone = '2024-01-31'
zone < '2024-01-31 00:00:00'
zone >= TIMESTAMP '2024-03-31 02:30:00'
zone = "other zone"
NOT zone = DATE '2024-01-31'
NOT text = 'a' AND yes OR small > 0
(text = 'a' OR text IS NULL) AND (NOT (small < 5 OR no))
NOT NOT yes
text = 'a' or TEXT = 'A' and not Yes
NOT text IN ('a') AND NOT small BETWEEN 0 AND 7
NOT text IS NULL
""".strip().splitlines()
]
